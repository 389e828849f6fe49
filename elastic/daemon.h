/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.h - the parts of snelasticd among themselves.
 *
 * All state is the loop's; threads get copies. Nothing is decided on what only
 * memory holds: marks follow from the health engine's state, which is on disk
 * before a report that changed it is answered, and from the nodes' records.
 *
 *	daemon.c	configuration, signals, start and end
 *	duty.c		who is in charge: standing by, taking over, stepping down
 *	request.c	a request's way: munge, who it is, the operation, the answer
 *	ophealth.c	health.*		opcard.c	card.*
 *	oppool.c	pool.*, regions of the pool with names
 *	opevents.c	events, status
 *	attach.c	the jobs' snruns, what they say and are told
 *	opelastic.c	elastic.attach, elastic.state, elastic.hint, elastic.tell
 *	engine.c	the health engine, and what becomes of its actions
 *	telling.c	events, and what is too much of one source's
 *	keep.c		its state and the history, on disk
 *	follow.c	nodes and jobs, polled; followmarks.c, what somebody else has changed
 *	write.c		marks into the nodes' records
 *	caredo.c	what is done for jobs that have lost something; carenodes.c, nodes
 *			that do not answer; opcare.c, elastic.show
 *	probe.c		have nodes probe their cards
 *	metrics.c	what is counted for others (metrics.h), metricstext.c its text
 *	act*.c		actions on jobs and nodes, journalled (act.h)
 */
#ifndef SN_ELASTIC_DAEMON_H
#define SN_ELASTIC_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "elastic/auth.h"
#include "elastic/care.h"
#include "elastic/cred.h"
#include "elastic/events.h"
#include "elastic/history.h"
#include "elastic/lead.h"
#include "elastic/log.h"
#include "elastic/loop.h"
#include "elastic/marks.h"
#include "elastic/metrics.h"
#include "elastic/rates.h"
#include "elastic/refusals.h"
#include "elastic/server.h"
#include "elastic/view.h"
#include "elastic/where.h"
#include "elastic/work.h"
#include "topology/health.h"
#include "topology/topo.h"

#define SN_DAEMON_OPERATORS_MAX 256

struct sn_daemon_options {
	const char *config; /* a topology.conf, NULL: the usual places' */
	bool foreground, dry_run;
	uint32_t verbose;
};

/* What is read from files, as a whole: a bad one leaves the old one in force. */
struct sn_daemon_conf {
	struct sn_policy policy;
	struct sn_elastic_where where;
	struct sn_topo *topo; /* without loose nodes */
	struct sn_health_conf health;
	struct sn_health_codes codes;
	struct sn_care_conf care;
	uint32_t operator[SN_DAEMON_OPERATORS_MAX];
	uint32_t n_operators;
	/* IPv4 addresses of this host and of ElasticdHosts. */
	uint32_t controller[64];
	uint32_t n_controllers;
	bool is_host; /* one of ElasticdHosts is this */
	char names[SN_ELASTIC_NAMES_MAX]; /* of this host: its own, and those of ElasticdHosts that are it */
};

enum sn_duty { SN_DUTY_STANDBY, SN_DUTY_TAKING, SN_DUTY_IN_CHARGE };

/* What a request waits for before it is answered. */
struct sn_request {
	uint64_t ticket;
	struct sn_peer peer;
	struct sn_cred cred;
	struct sn_auth_origin origin;
	struct sn_auth_who who;
	char from[64];
	char op[32];
	bool at_node; /* it comes from the node that it names */
	bool polled; /* it has waited for a poll already */
	struct json_object *json; /* the request */
	struct json_object *answer;
	bool gone; /* whoever asked; atomic, while a thread opens it */
	uint64_t saved; /* answered when the state of this number is on disk */
	struct sn_request *next;
};

struct sn_daemon_node { /* beside topo->node */
	bool dirty; /* its record is to be written */
	bool recheck; /* what stands in it is to be looked at again */
	int64_t written; /* ms; when it was last */
	bool unwritable; /* its extra cannot take the marks: the node was drained */
	uint64_t probe; /* cards that are to be probed */
	bool probe_due, probing; /* a probe is to be started there; one runs */
	/* An administrator has taken these marks away, and the record still says that
	 * there were some (elastic/marks.h). */
	uint64_t gone;
	bool gone_supernode, gone_unit;
	/* Cards that are healthy again: a mark of snelasticd's that the record has still
	 * is none. Nor is one that it has again, for a slurmctld that is killed comes back
	 * with records of some seconds before, or a dump. */
	uint64_t freed;
};

struct sn_follower;
struct sn_attachments;

struct sn_daemon {
	struct sn_daemon_options options;
	struct sn_daemon_conf conf;
	char host[256];
	struct sn_loop *loop;
	struct sn_server *server;
	struct sn_pool *talk, *slurm_read, *slurm_write, *disk;
	bool reloading, reload_again; /* the configuration */
	int exit_code;
	int pid_fd;
	bool stopping;
	int64_t started; /* ms */

	/* request.c */
	struct sn_request *opening; /* threads have them, or will */

	/* duty.c */
	enum sn_duty duty;
	struct sn_lead lead;
	struct sn_timer *duty_timer;
	bool listens_tcp, listens_unix, checking;
	char other[SN_ERR_SIZE]; /* who is in charge, as far as is known */
	double since; /* in charge */

	/* engine.c */
	struct sn_topo *topo; /* with loose nodes */
	struct sn_health *health;
	struct sn_daemon_node *node; /* [n_nodes] */
	uint32_t *unit_first; /* [topo->n_units] its first node, or SN_NONE */
	uint32_t n_nodes; /* as topo->n_nodes, but while loose ones are added */
	uint64_t numbering; /* changes when nodes of topo or of the table have other numbers */
	struct sn_timer *tick;
	double clock_offset; /* s, of the clock against the monotonic one */

	/* keep.c */
	struct sn_events events;
	struct sn_history *history; /* of the disk's thread while it works */
	bool history_busy, history_good;
	uint64_t history_next; /* id of the first event that is not in it */
	int64_t history_retry, history_purge; /* ms */
	uint64_t state_wanted, state_saved; /* numbers of states */
	bool saving;
	bool save_failed; /* the last one did */
	struct sn_request *waiting; /* for a save */
	struct sn_timer *keep_timer;

	/* follow.c */
	struct sn_view_nodes *nodes;
	struct sn_view_jobs *jobs;
	struct sn_view_since since_load; /* of the reading thread while it works */
	bool polling, poll_again;
	int64_t poll_began; /* ms */
	int64_t jobs_began; /* ms; the last poll that had jobs, too */
	int64_t poll_nodes_us, poll_jobs_us; /* of CPU that the last ones took */
	int64_t hinted; /* ms; when a node hinted last, 0: never */
	int64_t hints_paid; /* ms; till then looks at jobs have used their share */
	bool slurm_down;
	bool adopted; /* the marks in the nodes' records have been read in */
	struct sn_timer *poll_timer;
	struct sn_request *held; /* until the next poll has come back */
	struct { uint32_t id; int64_t at; } unknown_job[64]; /* looked up, and not running */
	struct { uint32_t id; int64_t at; } *report_job; /* jobs with reports */
	uint32_t n_report_jobs, max_report_jobs;

	/* write.c */
	uint32_t n_dirty, next_dirty, n_recheck;
	bool writing;
	uint32_t writing_node;
	uint32_t write_failures; /* in a row */
	struct sn_timer *write_timer;
	uint64_t writes;

	struct sn_acts *acts; /* act.c */

	/* oppool.c */
	struct sn_pool *region_pool;
	struct region_work *regions; /* requests, the first is under way */

	/* probe.c */
	struct sn_pool *probe_pool;
	struct sn_timer *probe_timer;
	uint32_t n_probe_due, n_probing;

	/* opevents.c */
	struct sn_follower *followers;
	struct sn_timer *follow_timer;

	struct sn_caring *caring; /* caredo.c */

	/* metrics.c */
	struct sn_metrics metrics;

	/* attach.c */
	struct sn_attachments *attached;

	struct sn_refusals refusals; /* told as events */
	struct sn_rates rates;
	uint64_t reports, hints, refused;
};

/* ---- daemon.c ---- */
int sn_daemon_run(const struct sn_daemon_options *options, struct sn_err *err);
void sn_daemon_stop(struct sn_daemon *d, int exit_code);
double sn_daemon_now(void); /* s since 1970 */
/* conf.c */
int sn_daemon_conf_load(const char *config, struct sn_daemon_conf *ret, struct sn_err *err);
void sn_daemon_conf_done(struct sn_daemon_conf *conf);

/* ---- duty.c ---- */
int duty_start(struct sn_daemon *d, struct sn_err *err);
void duty_end(struct sn_daemon *d);

/* ---- request.c ---- */
void request_take(void *ctx, uint64_t ticket, char *cred, const struct sn_peer *peer);
void request_gone(struct sn_daemon *d, uint64_t ticket); /* nobody waits for it */
void request_run(struct sn_daemon *d, struct sn_request *r); /* by its op */
/* These take the request and free it. */
void request_answer(struct sn_daemon *d, struct sn_request *r, struct json_object *answer);
void request_fail(struct sn_daemon *d, struct sn_request *r, const char *code,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void request_free(struct sn_request *r);
struct json_object *request_ok(void); /* {"ok": true} */
/* Send an object to a connection, in the user's credentials. done may be NULL. */
int request_send(struct sn_daemon *d, uint64_t ticket, uint32_t uid, struct json_object *o,
		 bool more, void (*done)(void *ctx, uint64_t ticket, bool sent), void *ctx);

/* ---- operations: each ends by request_answer or request_fail ---- */
void op_health_report(struct sn_daemon *d, struct sn_request *r);
void op_health_show(struct sn_daemon *d, struct sn_request *r);
void op_health_release(struct sn_daemon *d, struct sn_request *r);
void op_health_probe(struct sn_daemon *d, struct sn_request *r);
void op_health_wanted(struct sn_daemon *d, struct sn_request *r);
void op_card(struct sn_daemon *d, struct sn_request *r);
void op_pool(struct sn_daemon *d, struct sn_request *r);
void op_events(struct sn_daemon *d, struct sn_request *r);
void op_status(struct sn_daemon *d, struct sn_request *r);
void op_elastic_attach(struct sn_daemon *d, struct sn_request *r);
void op_elastic_state(struct sn_daemon *d, struct sn_request *r);
void op_elastic_hint(struct sn_daemon *d, struct sn_request *r);
void op_elastic_tell(struct sn_daemon *d, struct sn_request *r);
void op_elastic_act(struct sn_daemon *d, struct sn_request *r); /* opact.c */
void followers_tell(struct sn_daemon *d);
void followers_gone(struct sn_daemon *d, uint64_t ticket);
void followers_end(struct sn_daemon *d);

/* ---- engine.c ---- */
/* A new engine over conf.topo and the nodes that Slurm has, with the old one's state
 * and that in text (a health file, may be NULL). */
int engine_make(struct sn_daemon *d, const char *text, size_t len, struct sn_err *err);
void engine_done(struct sn_daemon *d);
/* Is it this node's record that says whether its supernode or unit is degraded? By
 * convention that of the first. */
bool engine_says_supernode(const struct sn_daemon *d, uint32_t node);
bool engine_says_unit(const struct sn_daemon *d, uint32_t node);
/* The text of a health file: *ret (free). */
int engine_state(const struct sn_daemon *d, char **ret, size_t *ret_len, struct sn_err *err);
/* Act on what the engine said, and empty the list. True: its state must be saved. */
bool engine_act(struct sn_daemon *d, struct sn_health_actions *actions, uint32_t uid,
		uint32_t job);
void engine_wake(struct sn_daemon *d); /* set the tick anew */
enum sn_cardhealth engine_mark_of(enum sn_health_state state); /* in a record */
void engine_mark_dirty(struct sn_daemon *d, uint32_t node);

/* ---- telling.c ---- */
const struct sn_event *daemon_event(struct sn_daemon *d, const char *kind, const char *node,
				    uint32_t card, uint32_t job, uint32_t uid,
				    const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

/* What was refused, and not too often from one source: a user, or (SN_NONE) whoever is
 * at `from`. */
void daemon_refused(struct sn_daemon *d, uint32_t uid, const char *from, const char *node,
		    uint32_t job, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
void daemon_refused_tell(struct sn_daemon *d); /* what has come together; once a second */
/* May what the job's owner has caused, or can at will, be told in events and the log? */
bool daemon_may_tell(struct sn_daemon *d, uint32_t job);
/* May its snrun say one thing more? */
bool daemon_may_ask(struct sn_daemon *d, uint32_t job);

/* ---- keep.c ---- */
int keep_start(struct sn_daemon *d, struct sn_err *err);
void keep_end(struct sn_daemon *d); /* write what is not yet written */
uint64_t keep_state(struct sn_daemon *d); /* want it saved; its number */
/* Answer r when that number is saved (or could not be, loudly). */
void keep_answer(struct sn_daemon *d, struct sn_request *r, struct json_object *answer,
		 uint64_t number);
void keep_events(struct sn_daemon *d);

/* ---- follow.c ---- */
int follow_start(struct sn_daemon *d, struct sn_err *err);
void follow_end(struct sn_daemon *d);
void follow_poll(struct sn_daemon *d); /* now */
void follow_soon(struct sn_daemon *d); /* as soon as it costs too much for nobody */
/* What a node says is about to change: look now, and again for two seconds. As often as
 * it costs too much for nobody, however many nodes say so. */
void follow_hint(struct sn_daemon *d);
void follow_watch(struct sn_daemon *d); /* does slurmctld answer? once a second */
void follow_hold(struct sn_daemon *d, struct sn_request *r); /* run r again after a poll */
/* A poll has just shown that it does not run: asking once more would not help. */
void follow_unknown(struct sn_daemon *d, uint32_t job);
bool follow_is_unknown(const struct sn_daemon *d, uint32_t job);
void follow_job(struct sn_daemon *d, uint32_t job); /* it has reports */
/* followmarks.c: see what others have changed. old: the table before d->nodes, or this
 * itself where nothing has changed; NULL: look at all. began: ms, when it was asked. */
void follow_compare(struct sn_daemon *d, const struct sn_view_nodes *old, int64_t began);
/* An administrator has taken these marks away. */
void follow_gone(struct sn_daemon *d, uint32_t node, const struct sn_marks_gone *gone);

/* ---- caredo.c: jobs that have lost something (care.h) ---- */
int care_start(struct sn_daemon *d, struct sn_err *err);
void care_end(struct sn_daemon *d);
void care_take_charge(struct sn_daemon *d); /* forget what was decided before */
void care_follow(struct sn_daemon *d); /* the views are new */
void care_soon(struct sn_daemon *d); /* something else is: a mark, an snrun's word */
void op_elastic_show(struct sn_daemon *d, struct sn_request *r); /* opcare.c */

/* ---- write.c ---- */
int write_start(struct sn_daemon *d, struct sn_err *err);
void write_end(struct sn_daemon *d);
void write_some(struct sn_daemon *d);

/* ---- oppool.c ---- */
void regions_end(struct sn_daemon *d);

/* ---- probe.c ---- */
#define SN_PROBES_AT_ONCE 4
int probe_start(struct sn_daemon *d, struct sn_err *err);
/* A card of the node is to be probed: now, if HealthProbeProgram says how. */
void probe_want(struct sn_daemon *d, uint32_t node);
/* Where srun is in a PATH. -ENOENT. */
int probe_find_srun(const char *path, char *ret, size_t size, struct sn_err *err);

#endif
