/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkpoint.h - the files of the checkpoint protocol (topology/checkpoint.h): the
 * request, the marker, the progress; and when what was seen.
 *
 * All times are ms of a clock that only goes forward on this host. The marker's own
 * time is compared with nothing but itself, or with that of another file on the same
 * file server: clocks of two hosts differ.
 */
#ifndef SN_LAUNCHER_CHECKPOINT_H
#define SN_LAUNCHER_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "topology/checkpoint.h"
#include "topology/err.h"

#define SN_CKPT_VARIABLE "SUPERNODE_CHECKPOINT" /* as --checkpoint */
#define SN_CKPT_REQUEST "checkpoint.request" /* in the job directory */
#define SN_CKPT_MARKER "checkpoint"
#define SN_CKPT_PROGRESS "progress"
/* A file that fits a pattern counts once it has been the same for so long, as
 * whoever writes it may not rename it into place. */
#define SN_CKPT_SETTLE_MS 1000
#define SN_CKPT_LOOK_MS 2000 /* between looks while nothing is asked for */
#define SN_CKPT_MEMORY_REST 50 /* times what a look at those in memory took, more */

/* The marker as it is now: nothing there where it cannot be read. */
void sn_ckptfile_look(const struct sn_ckpt *ckpt, const char *dir,
		      struct sn_ckpt_mark *ret);

/* What a request says. */
struct sn_ckptask {
	uint32_t request; /* counts from 1 in one snrun */
	uint32_t generation;
	const char *why; /* "resize", "pause", "stop", … */
	bool exit; /* the ranks are to end after it */
	uint32_t soft, hard; /* s */
};
int sn_ckptfile_ask(const char *dir, const struct sn_ckptask *ask,
		    struct sn_err *err);
/* What an earlier snrun has asked is nothing to the ranks of this one. */
void sn_ckptfile_forget(const char *dir);

/* What is known of a job's checkpoints; begin with _init. */
struct sn_ckptwatch {
	struct sn_ckpt ckpt;
	struct sn_ckpt_mark mark; /* that counts */
	struct sn_ckpt_mark before; /* the last request */
	struct sn_ckpt_mark unsettled; /* seen at unsettled_at */
	int64_t unsettled_at, looked_at;
	int64_t started; /* the ranks; 0: none run */
	int64_t asked; /* and not yet durable; 0: nothing is */
	int64_t durable; /* when the last became so; 0: none was seen */
	double seconds; /* that the last one asked for took; < 0: not known */
	double age; /* s, at age_at, of one from before; by the file server's clock */
	int64_t age_at;
	uint32_t requests;
	struct stat progress; /* of its file when the ranks started */
	uint64_t progress_iteration; /* of the marker then */
	bool had_iteration;
	uint32_t generation; /* the caller's to set before the ranks start */
	/* In memory (memsafe.h): the last one, seen then; 0: none of these ranks. */
	uint64_t memory;
	int64_t memory_at, memory_next; /* when to look again */
	int64_t carried; /* ms of work of earlier ranks that only memory may have */
};

void sn_ckptwatch_init(struct sn_ckptwatch *watch, const struct sn_ckpt *ckpt);
/* Ranks start, or have ended. */
void sn_ckptwatch_start(struct sn_ckptwatch *watch, const char *dir, int64_t now);
void sn_ckptwatch_stop(struct sn_ckptwatch *watch, const char *dir, int64_t now);
/* Look again if it is time. */
void sn_ckptwatch_look(struct sn_ckptwatch *watch, const char *dir, int64_t now);
/* A checkpoint is asked for now. */
void sn_ckptwatch_ask(struct sn_ckptwatch *watch, const char *dir, int64_t now);
/* Has one become durable since it was asked for, as of the last look? */
bool sn_ckptwatch_is_new(const struct sn_ckptwatch *watch);
/* Did the ranks get on since they started? By the progress file, by the marker. */
bool sn_ckptwatch_progressed(const struct sn_ckptwatch *watch, const char *dir);

/* For who reports it. */
struct sn_ckptstate {
	double since_safe; /* s of work that would be lost now */
	double since_memory; /* the same where one node is lost at most, and no region of
			      * the pool besides; < 0: no checkpoint in memory */
	uint64_t memory; /* the iteration of that one */
	double age; /* s, of the last checkpoint; < 0: there is none */
	double seconds; /* that the last took; < 0: not known */
	bool has_iteration;
	uint64_t iteration; /* of the last checkpoint */
	bool has_progress;
	uint64_t progress; /* the iteration that the program is at, by its own word */
};
void sn_ckptwatch_state(const struct sn_ckptwatch *watch, const char *dir,
			int64_t now, struct sn_ckptstate *ret);

#endif
