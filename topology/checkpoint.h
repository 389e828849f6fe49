/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkpoint.h - how a program is asked for a checkpoint, and how one is known to
 * be durable.
 *
 * The conventions are those of the frameworks' own sources: Megatron-LM's
 * training loop and checkpointing.py, Lightning's signal_connector.py and
 * checkpoint_connector.py, NVRx's ft_launcher and progress tracker, MindIO TFT's
 * decorator and controller. docs/checkpoints.md has the table for users.
 *
 * What counts is a *marker*: one file that is written last, or the newest file that
 * a pattern fits. It is compared with what it was before the checkpoint was asked
 * for; clocks are never compared.
 */
#ifndef SN_TOPOLOGY_CHECKPOINT_H
#define SN_TOPOLOGY_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_CKPT_PATH_MAX 4096
#define SN_CKPT_TEXT_MAX 4096 /* of a marker that is read */

/* Where a marker's number is, and what it says. */
enum sn_ckpt_number {
	SN_CKPT_MAY, /* the first number in the file, if there is one */
	SN_CKPT_MUST, /* the file is an iteration, or no checkpoint */
	SN_CKPT_IN_NAME, /* what stands for the pattern's last * is an iteration */
	SN_CKPT_VERSION, /* the same, but it only counts checkpoints */
};

struct sn_ckpt_preset {
	const char *name;
	int signal; /* that asks the ranks; 0: only checkpoint.request does */
	bool exits; /* ranks end by themselves once they have saved */
	bool gasp; /* after a failure the ranks that are left save by themselves */
	const char *marker; /* in the program's directory; NULL: in the job's */
	enum sn_ckpt_number number;
	/* The program's options that name the directory, and the marker itself. */
	const char *dir_option, *marker_option;
	uint32_t soft, hard; /* the least; 0: supernode.conf's */
	const char *help;
};
extern const struct sn_ckpt_preset sn_ckpt_presets[]; /* ends with name NULL */
const struct sn_ckpt_preset *sn_ckpt_find(const char *name);

/* What holds for a job. */
struct sn_ckpt {
	const struct sn_ckpt_preset *preset;
	char marker[SN_CKPT_PATH_MAX]; /* "": "checkpoint" in the job's directory */
	bool pattern; /* its last component has a * */
	enum sn_ckpt_number number;
	int signal;
	bool exits, gasp;
	uint32_t soft, hard; /* s; 0: supernode.conf's */
	bool soft_given, hard_given; /* by the user: they are not the least but it */
};

/*
 * PRESET[:DIR|:FILE|:PATTERN][,soft=S][,hard=S][,signal=NAME|none], or FILE alone,
 * as with plain. command (may be NULL) is the program's, whose --save and the like
 * say where its checkpoints are. NULL or "": plain. -EINVAL with a sentence;
 * -ENOENT where the preset needs a directory and none is said.
 */
int sn_ckpt_parse(const char *text, char *const *command, struct sn_ckpt *ret,
		  struct sn_err *err);
/* "SIGUSR1", "none". */
const char *sn_ckpt_signal_name(int signal);
/* The limits in seconds, with supernode.conf's; hard is never below soft. */
void sn_ckpt_limits(const struct sn_ckpt *ckpt, uint32_t conf_soft,
		    uint32_t conf_hard, uint32_t *ret_soft, uint32_t *ret_hard);

/* Does the pattern, whose * stands for any characters, fit the name? *ret_number is
 * what stands for its last *, from its last digits: 1200 for "*.ckpt" and
 * "epoch=3-step=1200.ckpt"; UINT64_MAX where there are none. */
bool sn_ckpt_fits(const char *pattern, const char *name, uint64_t *ret_number);

/* A marker as it is found. */
struct sn_ckpt_mark {
	bool there; /* false: nothing that counts, with all else 0 */
	bool has_iteration;
	uint64_t iteration;
	uint64_t version; /* orders the files of a pattern */
	uint64_t dev, ino, size;
	int64_t sec; /* mtime, of the file server's clock */
	uint32_t nsec;
};

/* What is in the file, or NULL where the name says it; name is without directories.
 * Sets there, has_iteration, iteration and version; the rest is the caller's. */
void sn_ckpt_read(const struct sn_ckpt *ckpt, const char *name, const char *text,
		  size_t len, struct sn_ckpt_mark *mark);
/* Of two files that a pattern fits: is b the later checkpoint? */
bool sn_ckpt_later(const struct sn_ckpt_mark *a, const struct sn_ckpt_mark *b);
/* Has a checkpoint become durable between two looks? */
bool sn_ckpt_is_new(const struct sn_ckpt_mark *before,
		    const struct sn_ckpt_mark *now);

/*
 * Seconds of work that would be lost now: since the ranks started, or since the
 * last checkpoint became durable, if that is later. All in ms of one clock that
 * only goes forward; durable 0: none was seen. 0 where no ranks run.
 */
double sn_ckpt_since_safe(int64_t now, int64_t started, int64_t durable, bool running);
/* Seconds since a marker was written, by the file server's clock; never below 0. */
double sn_ckpt_age(const struct sn_ckpt_mark *mark, int64_t server_sec,
		   uint32_t server_nsec);

#endif
