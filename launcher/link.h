/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - snrun's link to snelasticd: it says how the job is, and is told what to do.
 *
 * A thread does all of it, for connecting, munge and name servers take their time, and
 * nothing of snrun's waits for it. Without a daemon, or with one that is slow, goes or
 * comes back, snrun runs on as if there were none, and tries again now and then.
 */
#ifndef SN_LAUNCHER_LINK_H
#define SN_LAUNCHER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/control.h"
#include "launcher/snrun.h"

/* Begin; *run need not stay as it is. Failing is no error of the job's. */
void snrun_link_start(const struct snrun *run);
/* Readable when there is an order; -1: never. */
int snrun_link_fd(void);
/* A daemon is there; or it was within ElasticHelp, and another follows one that was killed,
 * with the decisions that it had come to. */
bool snrun_link_is_there(const struct snrun *run);

/* What is to be known of the job; sent if it says something new. */
void snrun_link_tell(const struct snrun *run);
void snrun_link_look(const struct snrun *run); /* the same, if it is time */
/* A node that ranks have lost, at once. */
void snrun_link_lost(const struct snrun *run, const char *node);

/* The next order; -ENOENT: there is none. */
int snrun_link_next(const struct snrun *run, struct sn_control *ret);
/* What has come of the one that was taken last: rc 0 or why not. */
void snrun_link_answer(const struct snrun *run, int rc, const char *error);

/* The last word, for which at most a moment is waited. */
void snrun_link_end(const struct snrun *run, int exit_code);

#endif
