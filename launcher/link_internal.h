/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_internal.h - what link.c, the main thread's side, and linkwire.c, the link's own
 * thread, share. Under the lock nothing waits for anybody.
 */
#ifndef SN_LAUNCHER_LINK_INTERNAL_H
#define SN_LAUNCHER_LINK_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "elastic/client.h"
#include "launcher/control.h"
#include "launcher/snrun.h"

#define LINK_QUEUE 16
#define LINK_ONCE 32
#define LINK_HINT_MS 10000 /* for which a lost node is worth more tries */

struct link_order {
	struct sn_control ask;
	char once[SN_CONTROL_ID_MAX];
	uint64_t id;
	int64_t at;
};

struct link_answer {
	uint64_t id;
	int rc;
	char error[SN_ERR_SIZE];
};

struct link {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool started, up, ending, done;
	int64_t went; /* ms; when it was up last, and is no longer; 0: it never was */
	int in, out; /* eventfds: for the main thread, for this one */
	uint32_t job;
	char *state; /* the latest, JSON */
	bool news; /* it is not sent yet */
	struct link_order order[LINK_QUEUE];
	uint32_t n_orders;
	struct link_answer answer[LINK_QUEUE];
	uint32_t n_answers;
	struct sn_names lost;
	int64_t lost_at; /* the last of them */
	/* of the main thread alone */
	struct link_order taken;
	char done_once[LINK_ONCE][SN_CONTROL_ID_MAX];
	uint32_t next_once;
	char *essence;
	int64_t told_at, figures_at;
	double safe; /* s since the last safe point, as sent */
	/* of the link's alone */
	struct sn_elastic_where where;
	struct sn_elastic_conn *conn;
	uint64_t link;
	int64_t said_at;
};
extern struct link lk;


void link_wake(int fd); /* an eventfd */
void link_drain(int fd);
/* What has come of an order; with the lock. */
void link_answer_now(uint64_t id, int rc, const char *error);
void *link_run(void *arg); /* the thread */

#endif
