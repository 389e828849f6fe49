/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accountjson.h - an account of a job's time (topology/ettr.h) as JSON: in
 * account.json, in `snctl elastic status`, and in what snrun tells snelasticd.
 *
 *	{"began":T,"at":T,"phase":"work","held_cards":16,"rank_cards":12,"want_cards":16,
 *	 "ettr":0.9,"ettr_open":0.95,"generations":2,"safe_points":3,"safe":T,
 *	 "failures":{"node":1,…},
 *	 "seconds":{"wall":…,"useful":…,"provisional":…,"opening":…,"lost":{"startup":…,…}},
 *	 "card_seconds":{"held":…,"useful":…,"provisional":…,"opening":…,"idle":…,
 *		"missing":…,"lost":{…}},
 *	 "recoveries":{"count":1,"sum":…,"last":…,"n":[…]},
 *	 "open":{…what is needed to go on with it}}
 *
 * T is seconds since 1970; times have milliseconds.
 */
#ifndef SN_LAUNCHER_ACCOUNTJSON_H
#define SN_LAUNCHER_ACCOUNTJSON_H

#include <json-c/json.h>

#include "topology/err.h"
#include "topology/ettr.h"

/* Yours to put; NULL: no memory. */
json_object *sn_account_json(const struct sn_ettr *account);

/* What it says, if it is one that can be; what is not known is passed over. -EINVAL
 * with a sentence. */
int sn_account_read(json_object *from, struct sn_ettr *ret, struct sn_err *err);

/* account.json, which holds {"job":N,"requeues":N,"account":{…}}. */
struct sn_account_file {
	uint32_t job, requeues; /* the job, and how often it was requeued then */
	struct sn_ettr account;
};
#define SN_ACCOUNT_FILE "account.json"
#define SN_ACCOUNT_MAX 16384 /* bytes */
int sn_account_parse(const char *text, struct sn_account_file *ret, struct sn_err *err);
char *sn_account_format(const struct sn_account_file *file); /* free(); NULL */

#endif
