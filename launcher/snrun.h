/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrun.h - the parts of snrun.
 *
 * snrun.c: the command line. setup.c: the job, its plan, its steps' words. takeup.c: the
 * directory, and what an earlier snrun has left there.
 * relaunch.c: one generation after the other; repair.c: lost nodes. resize.c: another
 * size. members.c, submit.c, hold.c, standin.c: jobs that hold more nodes. steer.c: what
 * snctl asks, link.c: what snelasticd does; orders.c: how that is done. step.c, steppart.c:
 * one srun and what happens while it runs; stepstop.c: its end; stepgone.c: until it is
 * gone. watch.c: which nodes the job still has. learn.c: timeouts from records. account.c:
 * the job's time and card-seconds. distribute.c: the files on every node; leftover.c:
 * and no ranks of before.
 * sweep.c: those of jobs long ended. leave.c: pool regions of nodes without ranks.
 */
#ifndef SN_LAUNCHER_SNRUN_H
#define SN_LAUNCHER_SNRUN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "launcher/account.h"
#include "launcher/avoid.h"
#include "launcher/checkpoint.h"
#include "launcher/classify.h"
#include "launcher/job.h"
#include "launcher/parts.h"
#include "launcher/plan.h"
#include "launcher/runstate.h"
#include "launcher/sruncmd.h"
#include "topology/err.h"
#include "topology/sizes.h"
#include "topology/timeouts.h"

/* A job beside the base, which only holds nodes. */
struct sn_member {
	uint32_t id;
	uint32_t dp; /* replicas that its cards are for */
	bool extra; /* beyond the size wanted */
	bool standin; /* with --replaces: dp is 0, its cards are for those lost */
	uint32_t nodes; /* STANDIN: that it is for */
	char *leave; /* STANDIN: a node that is left once it runs; NULL: none */
	uint64_t leave_cards; /* of it; 0: all */
	uint32_t leave_well; /* s, as struct sn_avoid's */
	enum sn_job_phase phase; /* as of the last refresh */
	struct sn_job job; /* what it holds, where it runs */
};

struct snrun {
	/* as asked for */
	bool dry_run, json, preflight, label;
	const char *parallel; /* NULL: the job's */
	const char *bind; /* NULL: as supernode.conf says */
	const char *srun_options;
	const char *checkpoint; /* a preset or a marker; NULL: $SUPERNODE_CHECKPOINT,
				 * else supernode.conf's preset */
	uint32_t max_restarts; /* UINT32_MAX: as supernode.conf says */
	char *const *command;
	char *const *environment;
	sigset_t signals; /* as inherited, for srun */

	struct sn_job job;
	struct sn_layout layout;
	bool elastic; /* it may run at other sizes than the layout's */
	struct sn_sizes sizes;
	uint32_t want; /* the dp that it is to have where it can */
	uint32_t cap; /* the largest that it may have, where cards are free */
	bool paused; /* asked to be */
	bool idle; /* no step runs, and it waits */
	bool runs; /* ranks do */
	bool ending; /* they were told to */
	bool stuck; /* it waits for help */
	bool requeue; /* asked to, when they have ended */
	struct sn_avoids avoid; /* nodes and cards that are to have no ranks */
	uint32_t excluded; /* changes of it that members that wait were told */
	bool regained; /* some may have ranks again, and members wait for the same */
	struct sn_names regions; /* nodes that may have a pool region of the job */
	struct sn_ckptwatch ckpt;
	bool has_members; /* further cards come by member jobs */
	struct sn_member *member;
	uint32_t n_members;
	int64_t near_until; /* ms, when members that wait near the base may go
			     * anywhere; 0: none does */
	struct sn_part *part; /* of the plan, made with its files */
	uint32_t n_parts;
	uint32_t spares; /* in each supernode, SN_PLAN_MOST_SPARES */
	struct sn_plan plan;
	char host[SN_RUNSTATE_HOST_MAX];
	char dir[PATH_MAX];
	int lock;
	struct sn_runstate state;
	struct snrun_account account; /* of the job's time */
	bool shared; /* all nodes are known to see the same directory */
	uint32_t timeout[SN_TIMEOUTS]; /* s, that the records suggest; 0: nothing */
	bool srun_killed; /* the last srun did not see its ranks end */
	bool unsure; /* slurmctld may not know a step whose ranks still run */
	bool stopped; /* by a signal of the user's */
	int stop_signal;
};

/* To standard error, one line that begins with "snrun: ". */
void snrun_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* snrun's exit status where it starts no step for this error: 2 for bad input. */
int snrun_refused(int rc);

/* Load the job and the layout that is to run in it. */
int snrun_load(struct snrun *run, struct sn_err *err);
/* Take the directory, clean up after a killed snrun, make or continue the plan. */
int snrun_prepare(struct snrun *run, struct sn_err *err);
/* Remove the files of the user's jobs that ended long ago (JobDirKeep). */
void snrun_sweep(const struct snrun *run);
void snrun_done(struct snrun *run);

/* How many cards of a node that it holds can have ranks: without those to avoid. */
uint32_t snrun_cards_of(const struct snrun *run, const struct sn_plan_offer *offer);
/* The plan of the largest legal size, at most at_most, that the job's nodes as
 * known hold without those to avoid (may be NULL). -ENODEV: none. */
int snrun_fit(const struct snrun *run, const struct sn_names *avoid,
	      uint32_t at_most, struct sn_plan *ret, struct sn_err *err);
/* The same for what the job holds now, and it is the plan. */
int snrun_resize(struct snrun *run, const struct sn_names *avoid,
		 struct sn_err *err);

/* The part with the base's ranks is one of many: the plan cut into parts. */
int snrun_make_parts(struct snrun *run, struct sn_err *err);
/* The base or the member of that id; NULL: none of them. */
const struct sn_job *snrun_job_of(const struct snrun *run, uint32_t id);

/* steer.c. Do what `snctl elastic` asks; true: the step is to be ended for it, in
 * its own time. */
#define SN_STEER_MS 500 /* between two looks */
bool snrun_steer(struct snrun *run);
/* How it is, as JSON; yours to put. */
struct json_object;
struct json_object *snrun_status(const struct snrun *run);
/* While it is paused, wait; true: a signal has stopped it. */
bool snrun_wait_paused(struct snrun *run);
/* The base is in its GraceTime: wait for what Slurm does with it, which is a requeue
 * unless the script ends before. False: it is not. */
bool snrun_wait_preempted(struct snrun *run);
/* Write the request for a checkpoint before the ranks are told to end. */
void snrun_ask_checkpoint(struct snrun *run, const char *why);

/* members.c. Those of this run that are there already; of an earlier run of the
 * job they are cancelled. */
int snrun_members_adopt(struct snrun *run, struct sn_err *err);
/* See how they are; what has ended is forgotten. */
void snrun_members_refresh(struct snrun *run);
/* Submit what lacks to the size wanted, and beyond it with the lowest priority. */
void snrun_members_fill(struct snrun *run);
/* Wait for those that can start at once, at most ElasticWait. */
void snrun_members_wait(struct snrun *run);
/* Members that have waited long enough near the base may go anywhere. */
void snrun_members_let_go(struct snrun *run);
/* Cancel what is not needed for cap; 0: all of them. */
void snrun_members_cut(struct snrun *run, uint32_t cap);
/* Members without ranks that hold what is avoided give way to others; those that wait
 * are not to get it. */
void snrun_members_leave(struct snrun *run);
/* Those that wait are told what is avoided now. */
void snrun_members_exclude(struct snrun *run);
/* When (snrun_now_ms) the step is to be ended for another size; 0: not. */
int64_t snrun_resize_due(const struct snrun *run);
/* `snrun --member BASE RESTARTS`: hold this job's nodes while the base lives. */
int snrun_hold(const char *base, const char *restarts);

/* srun's words and environment for a part of the plan. */
int snrun_command(const struct snrun *run, const struct sn_part *part,
		  int task_stderr,
		  struct sn_words *argv, struct sn_words *env,
		  struct sn_err *err);
uint32_t snrun_max_restarts(const struct snrun *run);

/* The files on every node, where they do not share the directory, and the end of what
 * runs there of earlier generations, where that is not sure (-EINTR: a signal has
 * stopped the run); and the other end of it, `snrun --receive DIR TOKEN [RANKS SECONDS]`,
 * an exit code: ranks of another generation than RANKS names have SECONDS from SIGTERM
 * to SIGKILL. argv: from DIR on. */
int snrun_distribute(struct snrun *run, struct sn_err *err);
int snrun_receive(char *const *argv);
/* The generation's SUPERNODE_RANKS, SN_STEPENV_RANKS_MAX bytes. */
void snrun_ranks(const struct snrun *run, char *ret);

/* leave.c: before a generation starts, nodes of the job that run no ranks any more
 * give their pool regions back, where spares have taken those ranks. */
void snrun_leave_regions(struct snrun *run);

/* Learn timeouts from what the ranks recorded so far (timeouts.json), and add
 * those to a step's variables that neither the user nor the site has set. */
void snrun_learn(struct snrun *run);

/* preflighttell.c: tell snelasticd, within about a second. */
struct sn_pf_fault;
void snrun_tell_fault(const struct snrun *run, uint32_t node,
		      const struct sn_pf_fault *fault);
void snrun_add_timeouts(const struct snrun *run, struct sn_words *to);

/* All generations; the exit code. */
int snrun_generations(struct snrun *run);

/*
 * One step. *ret says how it ended; lost[i] is set for nodes of the plan that it
 * lost. -errno only where it could not be started at all. watched: end the other
 * ranks when one fails or a node is lost, as the step is to be started again.
 */
int snrun_step(struct snrun *run, bool watched, struct sn_outcome *ret,
	       bool *lost, struct sn_err *err);
/* Kill the step of an srun that has not come to its own end, and wait until it is
 * gone; false: it stays. */
bool snrun_end_step(uint32_t job, uint32_t srun_pid, const char *host);
/* The same without a word, and not waiting longer than ms. */
bool snrun_kill_step(uint32_t job, uint32_t srun_pid, const char *host, int64_t ms);
/* The same for all of a generation; and before, tell their ranks, who may be alive, and
 * give them time. */
void snrun_warn_steps(const struct sn_runstate *state, uint32_t seconds);
bool snrun_end_steps(const struct sn_runstate *state);
/* Are the steps of sruns that have ended out of Slurm's books, or are they in a
 * moment? */
bool snrun_steps_gone(const struct sn_runstate *state);
/* Does slurmctld know steps of sruns of this host that are no more? One that was
 * killed knows those of its saved state again, and they keep cards until the job's
 * end. */
bool snrun_has_stale_steps(const struct snrun *run);

int64_t snrun_now_ms(void); /* of a clock that only goes forward */

/* Watch the job and its members, in a thread: an RPC may take its time. *ret_fd
 * becomes readable when something has changed. Again for other members. */
int snrun_watch_start(const struct snrun *run, int *ret_fd, struct sn_err *err);
/* The latest; false: nothing is known yet. ret->names is yours. */
bool snrun_watch_view(uint32_t job, struct sn_jobview *ret);
/* The same of a node, which is watched from now on, as long as it is asked for. */
void snrun_watch_node(const char *name, struct sn_avoid_view *ret);

#endif
