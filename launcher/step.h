/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step.h - what step.c and steppart.c share: one generation's step, which has a
 * part, an srun, in each Slurm job that gives it cards.
 */
#ifndef SN_LAUNCHER_STEP_H
#define SN_LAUNCHER_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/parts.h"
#include "launcher/snrun.h"

#define SN_STEP_LINE 4096
#define SN_STEP_SIGNALS 16

struct step;

struct step_part {
	struct step *step;
	const struct sn_part *of;
	pid_t pid;
	int status;
	bool ended; /* its srun has */
	int says, tasks; /* descriptors, -1: none */
	char line[SN_STEP_LINE];
	size_t len;
	int pending[SN_STEP_SIGNALS]; /* signals that it could not take yet */
	size_t n_pending;
	bool no_step; /* as of the last signal: there are no ranks that it could reach */
};

struct step {
	struct snrun *run;
	struct sn_outcome *out;
	bool *lost;
	bool watched;
	struct step_part *part;
	uint32_t n_parts;
	int signals, changes; /* descriptors, -1: none */
	bool told; /* of a failure to the account */
	bool ending; /* the ranks are to end */
	bool warned, killed; /* SIGTERM, SIGKILL went to them */
	bool wait_marker; /* they save and go on, and are told to end then */
	int64_t deadline; /* ms, of what was sent; 0: none */
	int64_t grace; /* ms that they have from when they are told */
	int64_t soft_at; /* ms, when to say that they take long; 0: not */
	int64_t began; /* ms, when its sruns were started */
	int again; /* the last signal that we have sent; 0: none */
	int64_t young_until; /* ms, till when ranks that start may not have got it */
	int64_t again_at; /* ms, when they get it once more; 0: not */
	int64_t steer_at; /* ms, the next look at what snctl asks */
	int64_t resize_at; /* ms, when it is ended for another size; 0: not */
};

/* Start the part's srun. */
int step_part_launch(struct step_part *part, struct sn_err *err);
/* False: no step takes the signal yet. */
bool step_part_send(struct step_part *part, int sig);
/* Read what is there; the descriptor is closed at its end. */
void step_part_read_says(struct step_part *part);
void step_part_read_tasks(struct step_part *part);
/* All that is still in the pipes; srun's shepherd may hold them open. */
void step_part_drain(struct step_part *part);

/* stepstop.c. To each part that has not ended, at once or when it can be taken. */
void step_send_all(struct step *s, int sig);
void step_send_later(struct step_part *part, int sig);
void step_send_pending(struct step *s);
bool step_any_pending(const struct step *s);
bool step_all_ended(const struct step *s);
/* Others have failed: the ranks are to go. */
void step_end(struct step *s);
/* The ranks may save what they have, and then go. */
void step_end_on_purpose(struct step *s, const char *why);
/* SIGTERM, or SIGKILL, to all. */
void step_tell(struct step *s);
void step_kill(struct step *s);
/* The user, or Slurm, ends it: who has another way to be asked than SIGTERM is. */
void step_ask_before_stop(struct step *s);
/* Now and then: those that save and go on are told to end once they have saved. */
void step_look_at_checkpoint(struct step *s, int64_t now);
/* Who had only just begun is told once more. */
void step_tell_again(struct step *s, int64_t now);
/* At the deadline: true if they are not to be killed yet. */
bool step_wait_longer(struct step *s);

/* step.c */
void step_lose_node(struct step *s, const char *name);

#endif
