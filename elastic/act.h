/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act.h - what snelasticd does to jobs and nodes, journalled and done once.
 *
 * An action is written to the journal (journal.h) and on disk before it is begun, and
 * so is its end. Before it is done Slurm is asked whether it is done already, by an
 * earlier daemon or by somebody else, and whether it is still wanted; so one that was
 * begun and not ended, as its daemon was killed, is simply taken up by the next. While
 * the journal cannot be written, or slurmctld does not answer, actions wait, and are
 * tried again.
 *
 * Every end is an event of kind "elastic". In dry-run the event and the journal say
 * what would be done, and nothing is.
 */
#ifndef SN_ELASTIC_ACT_H
#define SN_ELASTIC_ACT_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/control.h"
#include "topology/err.h"
#include "topology/jobspec.h"

struct sn_daemon;

enum sn_act_kind {
	/* An order to the job's snrun (attach.h). It may come twice, with the same id,
	 * and is to be carried out once. */
	SN_ACT_TELL,
	/* state=down, which ends what runs there, then drain: with ReturnToService a
	 * node that is only down and whose slurmd lives is back within seconds. */
	SN_ACT_NODE_OUT,
	/* A running job; one that is not to be requeued (Requeue=0), or cannot be as it
	 * has no script of its own, is cancelled. Node: only if that is its batch host,
	 * and lost. */
	SN_ACT_REQUEUE,
	/* A requeued job, as soon as it is PENDING and no longer COMPLETING: start now,
	 * without the two minutes that Slurm has it wait. Node: one that its -w names
	 * and that is gone; the list is cleared. Held jobs stay held. */
	SN_ACT_START,
	/* A job; of a member only where its base is indeed gone. */
	SN_ACT_CANCEL,
	/* One that slurmctld holds as its launch has failed; nobody else's hold. */
	SN_ACT_RELEASE,
	/* A pool region with a name, of that incarnation: out of the nodes' records. Its
	 * deletion; and what becomes of one whose making was cut short (act_watch()). */
	SN_ACT_REGION_OUT,
	SN_ACT_KINDS
};

#define SN_ACT_WHY 320

struct sn_act {
	uint64_t id; /* the journal's; given by act_do() */
	enum sn_act_kind kind;
	uint32_t job; /* not for NODE_OUT and REGION_OUT */
	/* The run of the job that is meant, by its count of requeues: once the job has
	 * been requeued, an action for an earlier run is void. */
	uint32_t restarts;
	char node[SN_CONTROL_NODE_MAX]; /* NODE_OUT; REQUEUE; START; TELL's swap */
	enum sn_control_op op; /* TELL */
	uint32_t dp; /* TELL */
	uint64_t cards; /* TELL: of the node, as bits; 0: all of it */
	char region[SN_NAME_MAX]; /* REGION_OUT */
	uint64_t incarnation; /* the same */
	double at; /* s since 1970: when it was decided; given by act_do() */
	char why[SN_ACT_WHY]; /* one clause, for the event and the node's reason */
};

enum sn_act_end {
	SN_ACT_DONE,
	SN_ACT_ALREADY, /* it was done */
	SN_ACT_VOID, /* it is no longer wanted */
	SN_ACT_FAILED, /* Slurm, or snrun, has refused it */
	SN_ACT_DRY, /* it would have been done */
	SN_ACT_ENDS
};

const char *sn_act_kind_name(enum sn_act_kind kind); /* "tell", "node-out", … */
int sn_act_kind_find(const char *name, enum sn_act_kind *ret); /* -EINVAL */
const char *sn_act_end_name(enum sn_act_end end); /* "done", "already", … */
int sn_act_end_find(const char *name, enum sn_act_end *ret);
/* Does it say which job, node or region? */
bool sn_act_has_object(const struct sn_act *act);
/* Do both ask for the same? */
bool sn_act_same(const struct sn_act *a, const struct sn_act *b);
/* "requeue job 12", "take node n003 out", for sentences. */
const char *sn_act_text(const struct sn_act *act, char *buf, size_t size);

/*
 * Have it done; by the loop only. The same one while it is under way does nothing
 * more. -EAGAIN: the same one has ended a moment ago, or was refused and is not tried
 * again yet; -EINVAL, -ENOMEM. *ret_id (may be NULL) is that of the action under way.
 */
int act_do(struct sn_daemon *d, const struct sn_act *act, uint64_t *ret_id,
	   struct sn_err *err);
/* Of one action, in the loop. They do not call what is here. */
struct sn_act_watch {
	/* It is in the journal. It is held then, and done by act_let() alone: or by the
	 * next daemon, should this one be killed before act_void(). NULL: not held. */
	void (*begun)(struct sn_daemon *d, void *ctx);
	/* So is its end; or, with SN_ACT_ENDS, this daemon ends first. The last call. */
	void (*ended)(struct sn_daemon *d, void *ctx, enum sn_act_end end, const char *text);
	void *ctx;
};
/* As act_do(); -EALREADY: the same one is under way, and not watched. */
int act_watch(struct sn_daemon *d, const struct sn_act *act, const struct sn_act_watch *watch,
	      uint64_t *ret_id, struct sn_err *err);
void act_let(struct sn_daemon *d, uint64_t id);
void act_void(struct sn_daemon *d, uint64_t id, const char *text); /* it is not wanted */
/* Is any of that kind under way? node NULL: any. job 0: any. */
bool act_under_way(const struct sn_daemon *d, enum sn_act_kind kind, uint32_t job,
		   const char *node);
/* How the last one of that kind for the job (or node, where job is 0) ended: false:
 * none has of late. */
bool act_ended(const struct sn_daemon *d, enum sn_act_kind kind, uint32_t job,
	       const char *node, enum sn_act_end *ret, int64_t *ret_ago_ms);

uint32_t act_open(const struct sn_daemon *d); /* not ended */
bool act_is_ready(const struct sn_daemon *d); /* the journal has been read */
const char *act_journal(const struct sn_daemon *d); /* "written", …: how it is with it */

/* ---- for the daemon's other parts ---- */
struct sn_request;
/* Answer r when the action of that id is in the journal; takes r. */
void act_answer(struct sn_daemon *d, struct sn_request *r, uint64_t id);
int act_start(struct sn_daemon *d, struct sn_err *err);
void act_end(struct sn_daemon *d);
/* In charge: read the journal, and take up what an earlier daemon has begun. */
void act_take_charge(struct sn_daemon *d);
/* Look for the holes that Slurm leaves (holes.h) in the views, which were asked for
 * at `began` (ms). */
void act_follow(struct sn_daemon *d, int64_t began, bool changed);

#endif
