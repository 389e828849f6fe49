/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trainer.h - sntrain, a training job without the mathematics: what its parts
 * share.
 *
 * Every rank keeps one integer. In each step it exchanges messages with the
 * members of its tp, cp, ep, pp and dp groups, over connections of their own,
 * and mixes every byte that it gets, with its sender, axis, round and step, into
 * that integer. A message's bytes follow from the sender's integer. So one
 * message that is lost, doubled, changed or sent to the wrong rank changes the
 * integers of all ranks within a few steps, and the hash over all of them at the
 * end is a judgement on the whole run: it depends on the layout, the seed, the
 * number of steps and the size of messages, and on nothing else, whichever nodes
 * ran it and however often it was interrupted. With --elastic it may go on with
 * another number of ranks; then it depends on the sequence of layouts and on the
 * steps between which they changed, too.
 *
 * One process a rank, no threads; it waits in epoll and nowhere else once ranks
 * have met. Functions return 0 or -errno with a sentence; -EPIPE is a peer that
 * is gone, -ECANCELED an end by SIGTERM.
 */
#ifndef SN_TESTS_TRAINER_H
#define SN_TESTS_TRAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/snmem.h"
#include "topology/err.h"

enum tr_axis { TR_TP, TR_CP, TR_EP, TR_PP, TR_DP, TR_AXES };
enum tr_fault { TR_FAULT_NONE, TR_FAULT_DROP, TR_FAULT_DUP, TR_FAULT_MISROUTE, TR_FAULT_DIE };

/* Members of larger groups, and of EP groups, talk to those at distance 1, 2,
 * 4, …: all have heard of all after log2(n) rounds. Others pass on around a ring. */
#define TR_RING_MAX 8
#define TR_HOPS 24 /* log2 of any group's size */

struct tr_options {
	uint32_t steps, checkpoint_every, step_ms, payload, grace_s, meet_s;
	uint32_t memory_every, memory_size;
	uint64_t seed;
	const char *state_dir;
	const char *parallel;
	const char *records; /* NULL: none */
	uint32_t slow_rank, slow_percent; /* percent more time; 0: none */
	enum tr_fault fault;
	uint32_t fault_step, fault_rank;
	bool elastic; /* go on from checkpoints of other layouts */
	bool verbose;
};

struct tr_group {
	uint32_t *rank; /* owned */
	uint32_t n, me; /* me: own index in it */
};

/* Who this process is, from its environment. */
struct tr_self {
	uint32_t rank, world, local_rank, generation;
	const char *master;
	uint32_t master_port;
	const char *job_dir; /* NULL: none */
	struct tr_group group[TR_AXES];
	uint64_t layout_sum; /* of all groups: the same in all ranks */
};

/* Everything that travels has this before it, in the machine's byte order. */
struct tr_frame {
	uint32_t magic;
	uint32_t type; /* enum tr_type */
	uint32_t length; /* of what follows */
	uint32_t src, dst;
	uint32_t step;
	uint32_t axis, round;
};
#define TR_MAGIC 0x534e5452u
#define TR_LENGTH_MAX (64u << 20)

enum tr_type {
	TR_HELLO, /* to rank 0: struct tr_hello and the ranks it wants to reach */
	TR_TABLE, /* from rank 0: struct tr_table and their addresses */
	TR_LINK, /* first on a connection between ranks: axis, round = hop */
	TR_DATA,
	TR_END, /* no more data */
	TR_WRITTEN, /* to rank 0: that step's checkpoint is on disk; round 1: and I stop */
	TR_TERM, /* to rank 0: got SIGTERM */
	TR_ASK, /* from rank 0: which step have you begun? start no other */
	TR_REPORT, /* to rank 0: that step */
	TR_STOP, /* from rank 0: the step after which all stop */
	TR_FINAL, /* to rank 0: struct tr_final */
	TR_BYE, /* from rank 0: exit */
};

struct tr_final {
	uint64_t state, messages, odd;
};

enum tr_kind { TR_LISTENER, TR_NEW, TR_CONTROL, TR_OUT, TR_IN };

struct tr_conn {
	int fd;
	enum tr_kind kind;
	uint32_t peer; /* rank; UINT32_MAX while unknown */
	uint32_t axis, hop;
	bool readable; /* as epoll said last, edge-triggered */
	unsigned char *in, *out; /* owned */
	size_t in_len, in_size, out_at, out_len, out_size;
	size_t taken; /* bytes of in that the last frame given out has */
	unsigned char *kept; /* owned: the body of its HELLO or TABLE */
	uint32_t kept_len;
	uint32_t ip; /* TR_CONTROL at rank 0: address and port of its listener */
	uint16_t port;
	struct tr_conn *next;
};

struct trainer;
/* A whole frame from a TR_NEW or TR_CONTROL connection. */
typedef int (*tr_handler)(struct trainer *t, struct tr_conn *conn,
			  const struct tr_frame *frame,
			  const unsigned char *body, struct sn_err *err);

struct trainer {
	struct tr_options opt;
	struct tr_self self;
	int epoll, signals;
	struct tr_conn *listener; /* for links, and rank 0: for all */
	struct tr_conn *conns; /* all of them */
	struct tr_conn *control; /* to rank 0; NULL in rank 0 */
	struct tr_conn **ranks; /* [world] in rank 0: control of each */
	struct tr_conn *out[TR_AXES][TR_HOPS], *in[TR_AXES][TR_HOPS];
	uint32_t links; /* entries of in[][] that are filled */
	tr_handler handler;
	unsigned char *body; /* room for one payload */
	uint64_t state, messages, odd; /* odd: not what was expected */
	uint32_t begun; /* step */
	uint32_t resume; /* the checkpoint that all began with, 0: none */
	uint32_t resume_world; /* how many ranks wrote it */
	uint32_t present; /* rank 0: ranks that have said hello */
	bool terminated; /* by SIGTERM */
	uint64_t grace_end; /* ms, monotonic; valid if terminated */
	bool asked, stopping, bye, finishing;
	uint32_t stop_at;
	/* rank 0's books */
	uint32_t *written; /* [world] */
	uint32_t durable; /* the last marker */
	uint32_t reports, report_max, finals, stopped;
	bool ask_sent;
	uint64_t *final_state; /* [world] */
	uint64_t final_messages, final_odd;
	int steps_fd, progress_fd;
	struct snmem *memory; /* NULL: none */
	uint32_t memory_step, memory_world; /* the last in memory; 0: none */
	uint32_t on_disk; /* rank 0: the last there */
	bool complained;
	struct snrecord *record; /* NULL: none, and then nothing is recorded */
	int comm[TR_AXES];
};

/* who.c */
int tr_self_read(struct tr_self *self, const struct tr_options *opt,
		 struct sn_err *err);
void tr_self_done(struct tr_self *self);
const char *tr_axis_name(enum tr_axis axis);
/* The peer that hop of the axis sends to (+1) or gets from (-1). */
uint32_t tr_peer(const struct tr_group *group, enum tr_axis axis, uint32_t hop,
		 int direction);
/* How many connections in each direction; how many rounds are passed on each. */
uint32_t tr_hops(const struct tr_group *group, enum tr_axis axis);
uint32_t tr_rounds(const struct tr_group *group, enum tr_axis axis);

/* net.c */
uint64_t tr_now_ms(void);
int tr_net_open(struct trainer *t, struct sn_err *err);
void tr_net_close(struct trainer *t);
int tr_net_add(struct trainer *t, int fd, enum tr_kind kind, uint32_t peer,
	       struct tr_conn **ret, struct sn_err *err);
int tr_net_listen(struct trainer *t, uint16_t port, uint64_t deadline,
		  struct sn_err *err);
int tr_net_connect(uint32_t ip, uint16_t port, int *ret_fd);
void tr_net_drop(struct trainer *t, struct tr_conn *conn);
/* Queue a frame and send what the socket takes. */
int tr_send(struct trainer *t, struct tr_conn *conn, struct tr_frame frame,
	    const void *body, struct sn_err *err);
/* Wait for events, at most until deadline (tr_now_ms), and handle them. */
int tr_turn(struct trainer *t, uint64_t deadline, struct sn_err *err);
/* The next frame of a link; its body is valid until the next call. */
int tr_receive(struct trainer *t, struct tr_conn *conn, struct tr_frame *ret,
	       const unsigned char **ret_body, struct sn_err *err);
int tr_flush(struct trainer *t, struct sn_err *err);

/* meet.c: rendezvous at rank 0, then a connection per neighbour. */
int tr_meet(struct trainer *t, struct sn_err *err);

/* control.c: what rank 0 and the others tell each other during the run. */
int tr_control(struct trainer *t, struct tr_conn *conn,
	       const struct tr_frame *frame, const unsigned char *body,
	       struct sn_err *err);
/* To rank 0, which may be this one. */
int tr_tell(struct trainer *t, enum tr_type type, uint32_t step,
	    uint32_t round, const void *body, uint32_t length,
	    struct sn_err *err);

/* step.c */
uint64_t tr_mix(uint64_t x);
int tr_step(struct trainer *t, uint32_t step, struct sn_err *err);
int tr_finish(struct trainer *t, struct sn_err *err); /* END on all links */

/* record.c: the records of snrecord.h, each begin with the number for its end */
int tr_record_open(struct trainer *t, struct sn_err *err);
uint64_t tr_record_begin(struct trainer *t, enum tr_axis axis);
void tr_record_end(struct trainer *t, enum tr_axis axis, uint64_t number);
uint64_t tr_record_pass(struct trainer *t, bool sends, uint32_t peer);
void tr_record_passed(struct trainer *t, bool sends, uint32_t peer,
		      uint64_t number);

/* checkpoint.c */
int tr_checkpoint_write(struct trainer *t, struct sn_err *err);
int tr_checkpoint_mark(struct trainer *t, uint32_t step, struct sn_err *err);
int tr_checkpoint_last(struct trainer *t, uint32_t *ret, struct sn_err *err);
int tr_checkpoint_read(struct trainer *t, uint32_t step, struct sn_err *err);
/* What is in a checkpoint's marker, and in a rank's part. */
void tr_marker_text(const struct trainer *t, uint32_t step, char *text, size_t size);
void tr_part_text(const struct trainer *t, char *text, size_t size);
int tr_write_whole(const char *path, const char *text, struct sn_err *err);

/* memory.c: all ranks open it before they meet. */
void tr_memory_open(struct trainer *t);
void tr_memory_save(struct trainer *t);
int tr_memory_load(struct trainer *t, uint32_t of, char marker[256], char part[256],
		   struct sn_err *err);

#endif
