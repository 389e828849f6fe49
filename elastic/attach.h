/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.h - the daemon's side of the link to the jobs' snruns.
 *
 * An snrun asks elastic.attach on a connection that stays open; on it the daemon
 * sends orders, and snrun answers each by an elastic.state. All of this is the loop's.
 *
 * At most one attachment a job, so their number is that of jobs; a newer one of the
 * same job takes the older one's place. What an snrun said last stays while the job
 * runs, also when the connection has gone (`here` false): an snrun that is killed, a
 * host that is lost.
 */
#ifndef SN_ELASTIC_ATTACH_H
#define SN_ELASTIC_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "elastic/attachstate.h"
#include "launcher/control.h"
#include "topology/err.h"

struct sn_daemon;

struct sn_attach {
	uint32_t job, uid; /* uid: who has attached: the owner, root or SlurmUser */
	bool here; /* connected */
	int64_t since; /* ms of sn_loop_now(): connected, or gone, since then */
	int64_t heard; /* ms; when `state` came */
	struct sn_attach_state state;
	char *text; /* the same as it came, JSON; never NULL */
};

/* The latest of a job, NULL: it has never attached (to this daemon). Borrowed till the
 * loop goes on. */
const struct sn_attach *attach_state(const struct sn_daemon *d, uint32_t job);
/* Seconds of work that would be lost now, at most; < 0: not known. */
double attach_since_safe(const struct sn_attach *a);

/*
 * rc 0: snrun has taken the order, and carries it out as soon as it can; else it has
 * refused (-EINVAL), did not answer in time (-ETIMEDOUT), or has gone (-ENOTCONN), and
 * error says so in one sentence. a: its new state, may be NULL.
 */
typedef void (*attach_done_fn)(void *ctx, int rc, const char *error, const struct sn_attach *a);

/*
 * Tell the job's snrun to do something. order->id: by which snrun knows an order that
 * comes once more, also from another daemon, and does it once; "": every one is another.
 * `why` (may be NULL) goes to the user, in the line that snrun prints. done (may be NULL) is called once, later, out of
 * the loop (rc -ECANCELED: the daemon ends), but not where the call fails: -ENOTCONN it is
 * not attached, -EBUSY it has SN_ATTACH_ORDERS orders that it has not answered, -ENOMEM.
 */
#define SN_ATTACH_ORDERS 8
int attach_tell(struct sn_daemon *d, uint32_t job, const struct sn_control *order,
		const char *why, attach_done_fn done, void *ctx, struct sn_err *err);

/* Who wants to know, called out of the loop: what of the job's has changed. */
enum sn_attach_news {
	SN_ATTACH_CAME, SN_ATTACH_STATE, SN_ATTACH_GONE,
	SN_ATTACH_LOST, /* its snrun has lost `node` */
};
typedef void (*attach_news_fn)(struct sn_daemon *d, uint32_t job, enum sn_attach_news news,
			       const char *node);
int attach_listen(struct sn_daemon *d, attach_news_fn fn); /* -ENOSPC: there are 8 */

/* When (ms) the job's snrun last hinted that it had lost the node; 0: it did not. */
int64_t attach_lost_at(const struct sn_daemon *d, uint32_t job, const char *node);

/* ---- for opelastic.c ---- */
/* A connection becomes the job's. Takes the state and text (a copy is made). The link's
 * number goes to snrun, which names it in what it says. -ENOMEM. */
int attach_take(struct sn_daemon *d, uint32_t job, uint32_t uid, uint64_t ticket,
		struct sn_attach_state *state, const char *text);
/* What the snrun with this link says: *state is taken. -ENOENT: it is not the job's (any
 * more). */
int attach_update(struct sn_daemon *d, uint32_t job, uint64_t link,
		  struct sn_attach_state *state, const char *text);
/* It has answered an order; rc as in attach_done_fn. */
void attach_answered(struct sn_daemon *d, uint32_t job, uint64_t id, int rc, const char *error);
/* It has lost a node; false: it has said so within the last minute, or many others. */
bool attach_lost(struct sn_daemon *d, uint32_t job, const char *node);

/* ---- for daemon.c, follow.c ---- */
void attach_gone(struct sn_daemon *d, uint64_t ticket); /* a connection */
void attach_jobs(struct sn_daemon *d); /* there is a new table of jobs */
void attach_end(struct sn_daemon *d);

#endif
