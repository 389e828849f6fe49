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

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/frame.h"
#include "elastic/metricsweb.h"
#include "elastic/ops.h"
#include "launcher/accountjson.h"

#define JOBS 5000
#define NODES 10000
#define PER 50 /* nodes of a supernode */
#define ROUNDS 3 /* in which each says how it is */
#define CARDS 0xffu

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

bool follow_is_unknown(const struct sn_daemon *daemon, uint32_t job)
{
	(void)daemon, (void)job;
	return true;
}

void follow_unknown(struct sn_daemon *daemon, uint32_t job)
{
	(void)daemon, (void)job;
}

void follow_soon(struct sn_daemon *daemon)
{
	(void)daemon;
}

void keep_events(struct sn_daemon *daemon)
{
	(void)daemon;
}

void followers_tell(struct sn_daemon *daemon)
{
	(void)daemon;
}

/* ---- the snruns: another process ------------------------------------------------------------- */

static int phase_fd[2], go_fd[2]; /* what is done; go on */

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void say_phase(char phase)
{
	if (write(phase_fd[1], &phase, 1) != 1 || read(go_fd[0], &phase, 1) != 1)
		die("pipe");
}

static int call(uint32_t port, uint32_t i)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f010001 + i) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("connect");
	return fd;
}

/* As an snrun's with two nodes. */
static char *state_text(uint32_t i, uint32_t generation)
{
	struct sn_ettr account;
	struct json_object *o = json_object_new_object(), *on = json_object_new_array(), *run = json_object_new_array();
	double now = cpu_of(CLOCK_REALTIME);
	char nodes[32], *text;

	sn_ettr_init(&account, now - 10);
	for (int k = 0; k < 3; k++)
		sn_ettr_event(&account, &(struct sn_ettr_event){
			.kind = k ? k == 1 ? SN_ETTR_START : SN_ETTR_STEP : SN_ETTR_CARDS,
			.at = now - 9 + k, .held = 16, .ranks = 16, .want = 16 }, NULL);
	sn_ettr_pass(&account, now);
	json_object_object_add(o, "state", json_object_new_string("running"));
	json_object_object_add(o, "generation", json_object_new_int((int)generation));
	for (int k = 0; k < 5; k++)
		json_object_object_add(o, (const char *const[]){ "dp", "min_dp", "want_dp", "cap_dp", "max_dp" }[k],
				       json_object_new_int(2));
	json_object_object_add(o, "ranks", json_object_new_int(16));
	json_object_object_add(o, "elastic", json_object_new_boolean(1));
	json_object_object_add(o, "since_safe", json_object_new_double(12.5));
	json_object_object_add(o, "checkpoint_age", json_object_new_int(13));
	json_object_object_add(o, "checkpoint_preset", json_object_new_string("megatron"));
	snprintf(nodes, sizeof(nodes), "n[%u-%u]", 2 * i + 1, 2 * i + 2);
	json_object_object_add(o, "nodes", json_object_new_string(nodes));
	for (int k = 0; k < 3; k++)
		json_object_array_add(run, json_object_new_int((const int[]){ 2, 8, CARDS }[k]));
	json_object_array_add(on, run);
	json_object_object_add(o, "on", on);
	json_object_object_add(o, "account", sn_account_json(&account));
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}

static void send_frame(int fd, const char *text)
{
	size_t len = strlen(text);
	char *frame = malloc(SN_FRAME_HEAD + len);

	sn_frame_head((unsigned char *)frame, len);
	memcpy(frame + SN_FRAME_HEAD, text, len);
	if (send(fd, frame, SN_FRAME_HEAD + len, MSG_NOSIGNAL) != (ssize_t)(SN_FRAME_HEAD + len))
		die("send");
	free(frame);
}

/* Its one answer; yours to free. */
static char *read_frame(int fd)
{
	unsigned char head[SN_FRAME_HEAD];
	size_t len = 0, at = 0;
	char *text;

	if (recv(fd, head, sizeof(head), MSG_WAITALL) != sizeof(head))
		die("an answer");
	for (int i = 4; i < SN_FRAME_HEAD; i++)
		len = len << 8 | head[i];
	text = calloc(len + 1, 1);
	for (ssize_t n; at < len; at += (size_t)n)
		if ((n = recv(fd, text + at, len - at, 0)) <= 0)
			die("an answer");
	if (!strstr(text, "\"ok\":true")) {
		fprintf(stderr, "%s\n", text);
		_exit(1);
	}
	return text;
}

/* So many at a time, as name servers, munge and the network let them. */
#define AT_ONCE 64

static void attach_all(uint32_t port, int *fd, uint64_t *link)
{
	for (uint32_t from = 0; from < JOBS; from += AT_ONCE) {
		uint32_t to = from + AT_ONCE < JOBS ? from + AT_ONCE : JOBS;

		for (uint32_t i = from; i < to; i++) {
			char *state = state_text(i, 0), *text;

			if (asprintf(&text, "{\"op\":\"elastic.attach\",\"job\":%u,\"state\":%s}", 100 + i, state) < 0)
				die("memory");
			fd[i] = call(port, i);
			send_frame(fd[i], text);
			free(text);
			free(state);
		}
		for (uint32_t i = from; i < to; i++) {
			char *answer = read_frame(fd[i]), *at = strstr(answer, "\"link\":");

			if (!at)
				die("no link");
			link[i] = strtoull(at + 7, NULL, 10);
			free(answer);
		}
	}
}

static void say_all(uint32_t port, const uint64_t *link, uint32_t generation)
{
	int fd[AT_ONCE];

	for (uint32_t from = 0; from < JOBS; from += AT_ONCE) {
		uint32_t n = from + AT_ONCE < JOBS ? AT_ONCE : JOBS - from;

		for (uint32_t k = 0; k < n; k++) {
			char *state = state_text(from + k, generation), *text;

			if (asprintf(&text, "{\"op\":\"elastic.state\",\"job\":%u,\"link\":%llu,\"state\":%s}",
				     100 + from + k, (unsigned long long)link[from + k], state) < 0)
				die("memory");
			fd[k] = call(port, from + k);
			send_frame(fd[k], text);
			free(text);
			free(state);
		}
		for (uint32_t k = 0; k < n; k++) {
			free(read_frame(fd[k]));
			close(fd[k]);
		}
	}
}

static void scrape(uint32_t port)
{
	static const char ask[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	static char buf[1 << 16];
	double from = cpu_of(CLOCK_MONOTONIC);
	int fd = call(port, 1);
	size_t len = 0;
	ssize_t n;

	if (send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) < 0)
		die("scrape");
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		len += (size_t)n;
	close(fd);
	if (len < 10000)
		die("a scrape without metrics");
	printf("%-58s %8.1f ms %7.0f KiB\n", "a scrape, as its client sees it",
	       (cpu_of(CLOCK_MONOTONIC) - from) * 1000, (double)len / 1024);
	fflush(stdout);
}

static void be_snruns(uint32_t port, uint32_t web_port)
{
	static int fd[JOBS];
	static uint64_t link[JOBS];

	alarm(300);
	attach_all(port, fd, link);
	say_phase('a');
	for (uint32_t r = 0; r < ROUNDS; r++) {
		say_all(port, link, r + 1);
		say_phase('s');
	}
	scrape(web_port);
	say_phase('m');
	for (uint32_t i = 0; i < JOBS; i++)
		close(fd[i]);
	say_phase('g');
	_exit(0);
}

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
		die("pipe");
	must(sn_web_create(d->loop, "127.0.0.1", 0, "text/plain", make_text, d, &d->metrics.web, &err), &err);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(phase_fd[0]);
		be_snruns(sn_server_port(d->server), sn_web_port(d->metrics.web));
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
