/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_attach.c - the daemon with thousands of snruns: 5,000 of distinct jobs attached
 * over TCP from addresses of their own, each saying every few seconds how it is, on a
 * cluster of 10,000 nodes; metrics scraped meanwhile; and all of them gone at once.
 *
 * Everything between the socket and the tables is the daemon's own, but munge: here a
 * credential is its text. What is measured is the loop: CPU in all, and of the longest
 * turn from one epoll_wait() to the next, in which nobody else is heard.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/metricsweb.h"
#include "elastic/ops.h"
#include "tests/unit/followstubs.h"
#include "tests/bench/snruns.h"

#define PER 50 /* nodes of a supernode */

static struct sn_daemon *d;
static double turn_from, longest;
static int turns;

static double cpu_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the loop's turns ------------------------------------------------------------------- */

int __real_epoll_wait(int fd, struct epoll_event *ev, int max, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *ev, int max, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *ev, int max, int ms)
{
	double took = cpu_of(CLOCK_THREAD_CPUTIME_ID) - turn_from;
	int n;

	if (turn_from > 0 && took > longest)
		longest = took;
	n = __real_epoll_wait(fd, ev, max, ms);
	turn_from = cpu_of(CLOCK_THREAD_CPUTIME_ID);
	turns++;
	return n;
}

/* ---- what is not the matter here ------------------------------------------------------------ */

int sn_cred_encode(const char *munge_socket, uint32_t for_uid, uint32_t ttl,
		   const void *data, size_t len, char **ret, struct sn_err *err)
{
	(void)munge_socket, (void)for_uid, (void)ttl, (void)err;
	*ret = strndup(data, len);
	return *ret ? 0 : -ENOMEM;
}

int sn_cred_decode(const char *munge_socket, const char *cred, char **ret_text,
		   size_t *ret_len, struct sn_cred *ret, struct sn_err *err)
{
	(void)munge_socket, (void)err;
	*ret = (struct sn_cred){ .uid = 1000 };
	*ret_text = strdup(cred);
	*ret_len = strlen(cred);
	return *ret_text ? 0 : -ENOMEM;
}

double sn_daemon_now(void)
{
	return cpu_of(CLOCK_REALTIME);
}

#define NONE(name) void name(struct sn_daemon *daemon, struct sn_request *r) \
	{ request_fail(daemon, r, SN_OP_CODE_INVALID, "not here"); }
NONE(op_card)
NONE(op_elastic_act)
NONE(op_elastic_show)
NONE(op_events)
NONE(op_health_probe)
NONE(op_health_release)
NONE(op_health_report)
NONE(op_health_show)
NONE(op_health_wanted)
NONE(op_pool)
NONE(op_status)
NONE(follow_hold)

static int phase_fd[2], go_fd[2]; /* what is done; go on */

/* ---- the daemon -------------------------------------------------------------------------------- */

static void must(int rc, const struct sn_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static void make_tables(void)
{
	char name[32];

	d->nodes = sn_view_nodes_new(NODES);
	for (uint32_t i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i + 1);
		if (sn_view_node_set(&d->nodes->node[i], name, "", "", "", NULL))
			exit(1);
		d->nodes->node[i].cards = CARDS;
	}
	if (sn_view_nodes_seal(d->nodes))
		exit(1);
	d->jobs = sn_view_jobs_new(JOBS);
	for (uint32_t i = 0; i < JOBS; i++) {
		struct sn_view_job *job = &d->jobs->job[i];

		job->id = 100 + i;
		job->uid = 1000;
		job->running = true;
		job->state = JOB_RUNNING;
		if (sn_view_job_hold(job, 2, i))
			exit(1);
		for (uint32_t k = 0; k < 2; k++)
			job->node[k] = sn_view_node(d->nodes, (snprintf(name, sizeof(name), "n%u", 2 * i + k + 1), name)) - d->nodes->node;
	}
	sn_view_jobs_seal(d->jobs);
}

static double rss_mib(void)
{
	unsigned long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
		exit(1);
	fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static double phase_cpu, phase_wall, phase_rss;

static void begin_phase(void)
{
	phase_cpu = cpu_of(CLOCK_THREAD_CPUTIME_ID);
	phase_wall = cpu_of(CLOCK_MONOTONIC);
	phase_rss = rss_mib();
	longest = 0;
	turns = 0;
}

static uint32_t here(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < JOBS; i++) {
		const struct sn_attach *a = attach_state(d, 100 + i);

		n += a && a->here;
	}
	return n;
}

static bool said_more(char phase)
{
	return phase == 'g' ? here() > 0 : false;
}

static char ending; /* a phase that is not all seen yet */

static void end_phase(void *ctx);
static struct sn_timer *phase_timer;

static void on_phase(void *ctx, uint32_t events)
{
	(void)events;
	if (read(phase_fd[0], &ending, 1) != 1) {
		sn_loop_stop(d->loop);
		return;
	}
	end_phase(ctx);
}

static void end_phase(void *ctx)
{
	static const struct { char phase; const char *text; uint32_t n; } texts[] = {
		{ 'a', "5,000 attach", JOBS }, { 's', "each says how it is", JOBS },
		{ 'm', "a scrape of metrics", 1 }, { 'g', "all go at once", JOBS },
	};
	double cpu = cpu_of(CLOCK_THREAD_CPUTIME_ID) - phase_cpu;

	(void)ctx;
	if (said_more(ending)) {
		sn_timer_set(phase_timer, 5);
		return;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].phase == ending)
			printf("%-40s %8.1f ms of the loop's CPU, %7.3f ms each; longest turn %6.2f ms; %+.1f MiB; %u attached, in %.1f s\n",
			       texts[i].text, cpu * 1000, cpu * 1000 / texts[i].n, longest * 1000,
			       rss_mib() - phase_rss, here(), cpu_of(CLOCK_MONOTONIC) - phase_wall);
	fflush(stdout);
	if ((ending == 'a' || ending == 's') && here() != JOBS) {
		fprintf(stderr, "%u of %u are attached\n", here(), JOBS);
		exit(1);
	}
	if (write(go_fd[1], "", 1) != 1)
		exit(1);
	begin_phase();
}

static void on_gone(void *ctx, uint64_t ticket, bool kept)
{
	request_gone(ctx, ticket);
	if (kept)
		attach_gone(ctx, ticket);
}

static void start(struct sn_err *err)
{
	const struct sn_server_calls calls = { request_take, on_gone };
	struct sn_server_limits limits = {
		.connections = 1024, .of_one = 256, .request_ms = 10000, .answer_ms = 10000,
		.of_user = 1024, .out_bytes = 64u << 20, .kept = 8192,
	};
	char text[200];

	d = calloc(1, sizeof(*d));
	d->duty = SN_DUTY_IN_CHARGE;
	d->since = cpu_of(CLOCK_REALTIME) - 100;
	snprintf(text, sizeof(text), "SupernodeName=sn[1-%u] Nodes=n[1-%u] NodesPerSupernode=%u\n",
		 NODES / PER, NODES, PER);
	must(sn_topo_parse(text, strlen(text), "t", NULL, NULL, &d->topo, err), err);
	must(sn_policy_parse("", 0, "supernode.conf", &d->conf.policy, err), err);
	must(sn_health_conf_init(&d->conf.policy, &d->conf.health, err), err);
	must(sn_health_create(d->topo, &d->conf.health, &d->conf.codes, &d->health, err), err);
	must(sn_events_init(&d->events, 1, err), err);
	must(sn_loop_create(&d->loop, err), err);
	must(sn_pool_create(d->loop, "talk", 4, &d->talk, err), err);
	must(sn_server_create(d->loop, &limits, &calls, d, &d->server, err), err);
	must(sn_server_listen_tcp(d->server, 0, err), err);
	make_tables();
	d->conf.policy.metrics_port = 0;
	must(metrics_start(d, err), err);
	must(sn_loop_timer(d->loop, end_phase, d, &phase_timer, err), err);
}

static char *make_text(void *ctx, size_t *ret_len)
{
	return metrics_text(ctx, ret_len);
}

int main(void)
{
	struct rlimit files = { JOBS + 3000, JOBS + 3000 }, had;
	struct sn_watch *watch;
	struct sn_err err;
	int status;
	pid_t pid;

	if (!getrlimit(RLIMIT_NOFILE, &had) && had.rlim_cur < files.rlim_cur) {
		files.rlim_max = had.rlim_max;
		if (files.rlim_cur > files.rlim_max || setrlimit(RLIMIT_NOFILE, &files)) {
			printf("bench_attach: needs %lu descriptors (ulimit -n), and may have %lu\n",
			       (unsigned long)(JOBS + 3000), (unsigned long)had.rlim_max);
			return 77;
		}
	}
	start(&err);
	if (pipe(phase_fd) || pipe(go_fd))
		exit(1);
	must(sn_web_create(d->loop, "127.0.0.1", 0, "text/plain", make_text, d, &d->metrics.web, &err), &err);
	pid = fork();
	if (pid < 0)
		exit(1);
	if (!pid) {
		close(phase_fd[0]);
		be_snruns(phase_fd[1], go_fd[0], sn_server_port(d->server), sn_web_port(d->metrics.web));
	}
	close(phase_fd[1]);
	must(sn_loop_watch(d->loop, phase_fd[0], EPOLLIN, on_phase, d, &watch, &err), &err);
	begin_phase();
	must(sn_loop_run(d->loop, &err), &err);
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	printf("%u nodes, %u jobs: %.0f MiB in all\n", NODES, JOBS, rss_mib());
	return 0;
}
