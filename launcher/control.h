/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.h - how a running snrun is told something: requests and answers as
 * files in the job directory, which is the owner's alone.
 *
 *	control/ID.request	{"op":"shrink","dp":4}, written whole by who asks;
 *				{"op":"swap","node":"n003","cards":[5],"well":60,"why":"…"}
 *	control/ID.answer	{"ok":true,…} or {"ok":false,"error":"sentence"}
 *
 * snrun looks twice a second, takes a request by removing it, and answers; who
 * asked removes the answer. Files work where a socket would not: from any host that
 * sees the directory, also over a network file system.
 */
#ifndef SN_LAUNCHER_CONTROL_H
#define SN_LAUNCHER_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_CONTROL_DIR "control"
#define SN_CONTROL_ID_MAX 48 /* with the NUL */
#define SN_CONTROL_NODE_MAX 256
#define SN_CONTROL_TEXT_MAX 65536
#define SN_CONTROL_WHY_MAX 320

enum sn_control_op {
	SN_CONTROL_STATUS, SN_CONTROL_SHRINK, SN_CONTROL_GROW,
	SN_CONTROL_SWAP, SN_CONTROL_PAUSE, SN_CONTROL_RESUME,
	SN_CONTROL_REPLACE, /* fetch what stands in for lost nodes, by --replaces */
	SN_CONTROL_REQUEUE, /* a checkpoint, and then the job is requeued */
};

struct sn_control {
	char id[SN_CONTROL_ID_MAX];
	enum sn_control_op op;
	uint32_t dp; /* SHRINK, GROW; 0: the next size */
	char node[SN_CONTROL_NODE_MAX]; /* SWAP; REPLACE: leave it first, "": none */
	uint64_t cards; /* bits, of that node: these alone; 0: all of it */
	uint32_t well; /* s that these have to be well before ranks may come back
			* (avoid.h); 0: in this run they do not */
	char why[SN_CONTROL_WHY_MAX]; /* for the user; "" */
};

#define SN_CONTROL_NAMES "status, shrink, grow, swap, pause, resume, replace, requeue"
const char *sn_control_name(enum sn_control_op op);
/* -EINVAL: there is no such op. */
int sn_control_find(const char *name, enum sn_control_op *ret);

/* The text of a request; ret->id is left alone. -EINVAL with a sentence. */
int sn_control_parse(const char *text, struct sn_control *ret,
		     struct sn_err *err);
/* The same from an object, and back: *ret is yours to put; NULL without memory. */
struct json_object;
int sn_control_read(struct json_object *o, struct sn_control *ret, struct sn_err *err);
struct json_object *sn_control_json(const struct sn_control *request);

/* dir is the job directory. Ask, and wait for the answer: *ret_answer is yours to
 * free. -ENOENT there is no snrun that would answer; -ETIMEDOUT. */
int sn_control_ask(const char *dir, const struct sn_control *request,
		   uint32_t wait_ms, char **ret_answer, struct sn_err *err);

/* snrun's side: make the place for requests, and remove what is left of another
 * run's; the next request, -ENOENT: there is none; its answer. A request that
 * cannot be read is answered and passed over. */
int sn_control_open(const char *dir, struct sn_err *err);
int sn_control_next(const char *dir, struct sn_control *ret);
int sn_control_answer(const char *dir, const char *id, const char *text);
/* Nobody answers any more. */
void sn_control_close(const char *dir);

#endif
