/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthcode.h - fault codes: how grave each is.
 *
 * Levels are those of Ascend's device plugin (MindCluster, faultCode.json), from
 * the mildest:
 *
 *	NotHandleFault		noted only
 *	RestartRequest		the request is repeated; counts for escalation
 *	RestartBusiness		the job is restarted; the card is suspect
 *	SubHealthFault		the card is suspect
 *	FreeRestartNPU		suspect; to be reset when it is idle
 *	RestartNPU		suspect; to be reset now, running work leaves
 *	PreSeparateNPU		quarantined for new work; running work may end
 *	SeparateNPU		quarantined, running work leaves
 *	ManuallySeparateNPU	the same, until an administrator releases it
 *
 * A site's table is text, a line for each code:
 *
 *	# code        level            text (optional)
 *	0x80E01801    SeparateNPU      HBM multi bit ECC
 *	xid-48        SeparateNPU      double bit ECC
 *	8C*           SubHealthFault   links
 *
 * A * at the end stands for any rest; the exact code wins, then the longest
 * prefix, then the built-in table, then HealthUnknownCode. Letter case is
 * ignored, and so is "0x" before a code.
 */
#ifndef SN_TOPOLOGY_HEALTHCODE_H
#define SN_TOPOLOGY_HEALTHCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

enum sn_health_level {
	SN_LEVEL_NOT_HANDLE, SN_LEVEL_RESTART_REQUEST, SN_LEVEL_RESTART_BUSINESS,
	SN_LEVEL_SUB_HEALTH, SN_LEVEL_FREE_RESTART, SN_LEVEL_RESTART,
	SN_LEVEL_PRE_SEPARATE, SN_LEVEL_SEPARATE, SN_LEVEL_MANUALLY_SEPARATE,
	SN_LEVELS
};
/* The words above, with "|" between: the choices of HealthUnknownCode. */
#define SN_HEALTH_LEVEL_WORDS \
	"NotHandleFault|RestartRequest|RestartBusiness|SubHealthFault|" \
	"FreeRestartNPU|RestartNPU|PreSeparateNPU|SeparateNPU|ManuallySeparateNPU"
const char *sn_health_level_name(enum sn_health_level level);
/* -1: no such word. Any case. */
int sn_health_level_find(const char *word);

enum sn_health_reset { SN_RESET_NONE, SN_RESET_WHEN_IDLE, SN_RESET_NOW };

/* What a level does to a card. */
struct sn_health_effect {
	bool counts; /* for escalation */
	bool suspect; /* at least */
	bool isolate; /* quarantined */
	bool manual;
	bool leave; /* running work should leave the card */
	enum sn_health_reset reset;
};
const struct sn_health_effect *sn_health_effect(enum sn_health_level level);

#define SN_HEALTH_CODE_MAX 64 /* with the NUL; letters, digits and _-.: */
#define SN_HEALTH_CODES_MAX 65536
#define SN_HEALTH_CODE_TEXT_MAX 100

struct sn_health_code {
	char *code; /* lower case, without 0x and * */
	bool prefix;
	enum sn_health_level level;
	char *text; /* "" if there is none */
	uint32_t line;
};

struct sn_health_codes {
	struct sn_health_code *code; /* sorted */
	uint32_t n;
	uint32_t longest; /* the longest prefix */
};

/* An error begins "FILE:LINE: ". *ret is filled on success only. -EINVAL, -ENOMEM. */
int sn_health_codes_parse(const char *text, size_t len, const char *file,
			  struct sn_health_codes *ret, struct sn_err *err);
void sn_health_codes_done(struct sn_health_codes *codes);

/*
 * The level of a code, by the site's table (NULL: none), the built-in one, or
 * unknown. *ret_text: what the table says of it, "" if nothing; may be NULL.
 *
 * Built in, and what the suite's own sources report:
 *	card-lost	SeparateNPU	the device is not there
 *	driver-hang	SeparateNPU	the driver's tool does not answer
 *	probe-failed	PreSeparateNPU
 *	ecc-fatal	SeparateNPU	an uncorrectable memory error
 *	link-down	PreSeparateNPU
 *	over-temperature	SubHealthFault
 *	preflight	SubHealthFault
 *	sick		SubHealthFault	a report without a code
 * and the NVIDIA XIDs whose meaning is beyond doubt, as xid-79.
 */
enum sn_health_level sn_health_code_level(const struct sn_health_codes *codes,
					  const char *code,
					  enum sn_health_level unknown,
					  const char **ret_text);

#endif
