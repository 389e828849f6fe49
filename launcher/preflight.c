/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflight.c - the checks of a job's nodes before its ranks start: snrun's side.
 *
 * One srun, one task a node, spares too, since one of them may be wanted soon.
 * Phase by phase all nodes get an order and a time in which to answer; who does
 * not is named, and the rest goes on without it.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/preflightrun.h"
#include "launcher/stepevent.h"
#include "snctl/progress.h"
#include "topology/hostlist.h"

#define START_SECONDS 40
#define CLOCK_SECONDS 15
#define CLOCKS 3 /* the best of them counts */
#define RING_SECONDS 30
#define GRACE 10 /* s beyond what the nodes themselves are given */
#define END_MS 3000 /* for srun, after all is said */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- what tasks say ---- */

static struct pf_node *node_named(struct pf *pf, const char *name)
{
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++) {
		/* They answer in about this order. */
		uint32_t k = (pf->last + i) % pf->plan->n_nodes;

		if (!strcmp(pf->plan->node[k].name, name)) {
			pf->last = k;
			return &pf->node[k];
		}
	}
	return NULL;
}

static void take_bad(struct pf_node *node, char *text)
{
	char *check = strsep(&text, "\t"), *expected = strsep(&text, "\t");

	/* The first says it; what follows may follow from it. */
	if (node->is.check || !text)
		return;
	node->is.check = strdup(check);
	node->is.expected = strdup(expected);
	node->is.found = strdup(text);
}

static void take_clock(struct pf *pf, struct pf_node *node, const char *text)
{
	uint64_t now = wall_ns(), took = now - pf->asked;
	int64_t middle = (int64_t)(pf->asked + took / 2);

	node->heard = true;
	if (node->is.has_clock && took / 2 >= node->is.clock_error)
		return;
	node->is.has_clock = true;
	node->is.clock = strtoll(text, NULL, 10) - middle;
	node->is.clock_error = took / 2;
}

static void take_version(struct pf *pf, struct pf_node *node, char *text)
{
	unsigned long v = strtoul(text, &text, 10);

	if (v >= pf->n_versions || *text != ' ')
		return;
	free(node->is.version[v]);
	node->is.version[v] = strdup(text + 1);
}

static void take_line(struct pf *pf, char *line)
{
	struct pf_node *node;
	char *word, *name;

	if (strncmp(line, "@pf ", 4))
		return;
	line += 4;
	name = strsep(&line, " ");
	word = line ? strsep(&line, " ") : NULL;
	node = word ? node_named(pf, name) : NULL;
	if (!node || node->dead)
		return;
	if (!strcmp(word, "hello") && line) {
		node->port = (uint32_t)strtoul(line, NULL, 10);
		node->heard = true;
	} else if (!strcmp(word, "clock") && line) {
		take_clock(pf, node, line);
	} else if (!strcmp(word, "version") && line) {
		take_version(pf, node, line);
	} else if (!strcmp(word, "memory") && line) {
		node->is.memory = strtoull(line, NULL, 10);
	} else if (!strcmp(word, "bad") && line) {
		take_bad(node, line);
	} else if (!strcmp(word, "link") && line) {
		node->is.latency = strtoull(line, &line, 10);
		node->is.bandwidth = strtoull(line, NULL, 10);
		node->is.has_link = true;
	} else if (!strcmp(word, "checked") || !strcmp(word, "rung")) {
		node->heard = true;
	}
}

/* What srun itself says: nodes on which it could start nothing. */
static void take_saying(struct pf *pf, char *line)
{
	struct sn_names names = { NULL, 0, 0 };
	struct sn_event event;

	if (*line)
		snprintf(pf->said, sizeof(pf->said), "%s", line);
	if (!sn_event_parse(line, &event) || event.kind != SN_EVENT_NODE ||
	    sn_hostlist_expand(event.nodes, &names, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		struct pf_node *node = node_named(pf, names.name[i]);

		if (node && !node->dead) {
			node->dead = true;
			node->is.silent = "srun cannot reach it";
		}
	}
	sn_names_done(&names);
}

static void read_from(struct pf *pf, struct pf_reader *r,
		      void (*take)(struct pf *pf, char *line))
{
	char buf[16384];
	ssize_t n = read(r->fd, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close(r->fd);
		r->fd = -1;
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] != '\n') {
			if (r->len < sizeof(r->line) - 1)
				r->line[r->len++] = buf[i];
			continue;
		}
		r->line[r->len] = '\0';
		r->len = 0;
		take(pf, r->line);
	}
}

/* ---- phases ---- */

static void take_signal(struct pf *pf)
{
	struct signalfd_siginfo info;

	if (read(pf->signals, &info, sizeof(info)) == sizeof(info))
		pf->stopped = (int)info.ssi_signo;
}

static void turn(struct pf *pf, int wait)
{
	struct pollfd fd[4] = {
		{ .fd = pf->out.fd, .events = POLLIN },
		{ .fd = pf->says.fd, .events = POLLIN },
		{ .fd = pf->signals, .events = POLLIN },
		{ .fd = pf->order.text ? pf->in : -1, .events = POLLOUT },
	};

	if (poll(fd, 4, wait) < 0)
		return;
	if (fd[0].revents)
		read_from(pf, &pf->out, take_line);
	if (fd[1].revents)
		read_from(pf, &pf->says, take_saying);
	if (fd[2].revents)
		take_signal(pf);
	if (fd[3].revents) {
		ssize_t n = write(pf->in, pf->order.text + pf->sent, pf->order.len - pf->sent);

		if (n > 0)
			pf->sent += (size_t)n;
		if (pf->sent == pf->order.len || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			sn_buf_done(&pf->order);
			pf->sent = 0;
		}
	}
}

static bool all_heard(const struct pf *pf)
{
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++)
		if (!pf->node[i].dead && !pf->node[i].heard)
			return false;
	return true;
}

static uint32_t count_heard(const struct pf *pf)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pf->plan->n_nodes; i++)
		n += pf->node[i].heard;
	return n;
}

/* The order is in pf->order. Who has not answered in time is dead to us. */
static void phase(struct pf *pf, const char *name, uint32_t seconds)
{
	int64_t until = now_ms() + (int64_t)seconds * 1000;

	pf->asked = wall_ns();
	while (!pf->stopped && pf->out.fd >= 0 && !all_heard(pf)) {
		int64_t left = until - now_ms();

		if (left <= 0)
			break;
		progress_at(count_heard(pf), pf->plan->n_nodes);
		turn(pf, (int)left);
	}
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++) {
		struct pf_node *node = &pf->node[i];

		if (!node->dead && !node->heard) {
			node->dead = true;
			node->is.silent = name;
			node->is.waited = seconds;
		}
		node->heard = false;
	}
}

static void order_cards(struct pf *pf)
{
	const struct sn_plan *plan = pf->plan;

	/* Mostly all have the same. */
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *a = &plan->node[i];
		const char **name;
		struct sn_buf cards = { 0 };
		uint32_t n = 0;
		char *list;

		if (pf->node[i].told)
			continue;
		name = calloc((size_t)plan->n_nodes + 1, sizeof(*name));
		for (uint32_t k = i; name && k < plan->n_nodes; k++) {
			const struct sn_plan_node *b = &plan->node[k];

			if (pf->node[k].told || a->n_cards != b->n_cards ||
			    memcmp(a->card, b->card, a->n_cards * sizeof(*a->card)))
				continue;
			pf->node[k].told = true;
			name[n++] = b->name;
		}
		list = name ? sn_hostlist_compress(name, n) : NULL;
		sn_ranks_format(a->card, a->n_cards, &cards);
		if (list && cards.text)
			sn_buf_add(&pf->order, "cards %s %s\n", cards.text, list);
		sn_buf_done(&cards);
		free(list);
		free(name);
	}
}

static void order_ring(struct pf *pf)
{
	uint32_t n = 0;

	sn_buf_add(&pf->order, "ring %u.%u.%u", pf->plan->job_id, pf->plan->generation,
		   (unsigned int)getpid());
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++) {
		const struct sn_plan_node *node = &pf->plan->node[i];

		if (pf->node[i].dead || !pf->node[i].port)
			continue;
		sn_buf_add(&pf->order, " %s=%s:%u", node->name, node->address, pf->node[i].port);
		n++;
	}
	sn_buf_add(&pf->order, "\n");
	/* Alone nobody has a network to measure. */
	if (n < 2)
		sn_buf_done(&pf->order);
}

static bool any_alive(const struct pf *pf)
{
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++)
		if (!pf->node[i].dead)
			return true;
	return false;
}

static void run_phases(struct pf *pf)
{
	const struct sn_plan *plan = pf->plan;
	uint32_t more = plan->n_nodes / 50; /* s that a large step may take longer */

	phase(pf, "the start of its task", START_SECONDS + more);
	for (int i = 0; i < CLOCKS && any_alive(pf) && !pf->stopped; i++) {
		sn_buf_add(&pf->order, "clock\n");
		phase(pf, "its clock", CLOCK_SECONDS + more);
	}
	if (!any_alive(pf) || pf->stopped)
		return;
	order_cards(pf);
	sn_buf_add(&pf->order, "port %u %s\ncheck\n", plan->master_port,
		   plan->node[plan->rank_node[0]].name);
	phase(pf, "its own checks", pf->ask->policy->preflight_timeout + GRACE);
	order_ring(pf);
	if (pf->order.text && !pf->stopped)
		phase(pf, "the network's ring", RING_SECONDS + more);
}

/* ---- the end ---- */

static bool srun_ends(struct pf *pf, int ms)
{
	int64_t until = now_ms() + ms;

	for (;;) {
		struct timespec pause = { 0, 20000000 };

		if (waitpid(pf->pid, NULL, WNOHANG) == pf->pid)
			return true;
		if (now_ms() >= until)
			return false;
		/* What it still has to say must not hold it up. */
		if (pf->out.fd >= 0 || pf->says.fd >= 0)
			turn(pf, 20);
		else
			nanosleep(&pause, NULL);
	}
}

static void end_srun(struct pf *pf)
{
	bool hurt = pf->stopped != 0;

	for (uint32_t i = 0; i < pf->plan->n_nodes; i++)
		hurt |= pf->node[i].dead;
	sn_buf_done(&pf->order);
	if (pf->in >= 0 && write(pf->in, "quit\n", 5) < 0)
		hurt = true;
	if (pf->in >= 0)
		close(pf->in);
	/* A hung task ends with its step only. */
	if (!srun_ends(pf, hurt ? 200 : END_MS)) {
		pf->ask->end_step(pf->ask->ctx, (uint32_t)pf->pid);
		if (!srun_ends(pf, END_MS)) {
			kill(pf->pid, SIGKILL);
			waitpid(pf->pid, NULL, 0);
		}
	}
	if (pf->out.fd >= 0)
		close(pf->out.fd);
	if (pf->says.fd >= 0)
		close(pf->says.fd);
}

static int no_nodes(struct pf *pf, struct sn_err *err)
{
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++)
		if (!pf->node[i].dead || pf->node[i].port)
			return 0;
	/* It is not the nodes, then. */
	return sn_err_set(err, -EIO, "the step of the preflight did not start on any node%s%s",
			  *pf->said ? ": " : "", pf->said);
}

int sn_preflight(const struct sn_preflight_ask *ask, const struct sn_plan *plan,
		 const char *dir, bool *ret_bad, struct sn_err *err)
{
	struct pf pf = { .ask = ask, .plan = plan, .in = -1, .out.fd = -1,
		.says.fd = -1, .signals = -1, .begin = now_ms() };
	sigset_t set;
	int rc;

	rc = sn_pf_init(&pf, err);
	sigemptyset(&set);
	for (const int *sig = (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0 }; *sig; sig++)
		sigaddset(&set, *sig);
	if (!rc) {
		pf.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
		rc = sn_pf_launch(&pf, err);
	}
	if (!rc) {
		progress_begin("preflight of the nodes");
		run_phases(&pf);
		end_srun(&pf);
		progress_end();
		if (pf.stopped)
			rc = sn_err_set(err, -EINTR, "stopped by signal %d (%s)", pf.stopped,
					strsignal(pf.stopped));
		else
			rc = no_nodes(&pf, err);
	}
	if (!rc)
		rc = sn_pf_conclude(&pf, dir, ret_bad, err);
	if (pf.signals >= 0)
		close(pf.signals);
	sn_pf_done(&pf);
	return rc;
}
