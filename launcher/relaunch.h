/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relaunch.h - what relaunch.c and repair.c share.
 */
#ifndef SN_LAUNCHER_RELAUNCH_H
#define SN_LAUNCHER_RELAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/snrun.h"

/* What is remembered from one generation to the next. */
struct past {
	struct sn_restarts restarts;
	char failed_on[256]; /* the node whose rank failed last */
	bool *lost; /* [nodes of the plan] */
	bool checked; /* the preflight has been */
	int64_t started; /* ms, the generation's ranks */
	int64_t refused_since; /* ms, slurmctld gives no step; 0: it does */
};

uint32_t repair_spares_left(const struct sn_plan *plan);
/* Spares for lost nodes, a smaller size where they do not suffice. live NULL:
 * slurmctld does not say; then what srun has said must do. */
int repair_nodes(struct snrun *run, struct past *past,
		 const struct sn_names *live, struct sn_err *err);
/* A job with members is placed anew each time: what it holds has changed. */
int repair_anew(struct snrun *run, struct past *past, struct sn_err *err);
/* A rank that fails twice in a row on one node has perhaps a bad card. */
void repair_suspect(struct snrun *run, struct past *past,
		    const struct sn_outcome *out);
bool repair_is_in(const struct sn_names *names, const char *name);

#endif
