/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * members.h - what members.c, standin.c and submit.c share.
 *
 * A member is known by its comment, supernode:member=BASE:RESTARTS, so that there
 * is no list of them that could be lost or stale.
 */
#ifndef SN_LAUNCHER_MEMBERS_H
#define SN_LAUNCHER_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/snrun.h"

#define SN_MEMBER_COMMENT "supernode:member="

/* Submit a member of dp replicas; extra: with the lowest priority; near: only
 * onto the base's supernodes. *ret_id is its number. */
int snrun_submit_member(const struct snrun *run, uint32_t dp, bool extra,
			bool near, uint32_t *ret_id, struct sn_err *err);
/* May a supernode that the base uses have a member's atom free? Else near is in vain. */
bool snrun_has_room_near(const struct snrun *run);
/* Submit a job that stands in for so many nodes of the base, each with so many cards. */
int snrun_submit_standin(const struct snrun *run, uint32_t cards, uint32_t nodes,
			 uint32_t *ret_id, struct sn_err *err);
/* Have ranks left that node, or cards of it? */
bool snrun_is_avoided(const struct snrun *run, const char *node);
/* Another member; the last of run->member. */
int snrun_members_add(struct snrun *run, uint32_t id, uint32_t dp, bool extra);
/* "/usr/bin/env -i" and the little that Slurm's commands need of the environment:
 * what follows is to know nothing of the job around. */
struct sn_words;
void snrun_clean_env(struct sn_words *argv);
/* Let a member that waits go anywhere but to nodes that ranks have left. */
int snrun_free_member(const struct snrun *run, uint32_t id, struct sn_err *err);

#endif
