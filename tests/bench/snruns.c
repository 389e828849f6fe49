/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snruns.c - what thousands of snruns say to snelasticd, by one process; for
 * bench_attach.c.
 */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "elastic/frame.h"
#include "launcher/accountjson.h"
#include "tests/bench/snruns.h"

#define ROUNDS 3 /* in which each says how it is */

static double cpu_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int phase_fd, go_fd;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void say_phase(char phase)
{
	if (write(phase_fd, &phase, 1) != 1 || read(go_fd, &phase, 1) != 1)
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

void be_snruns(int phase_to, int go_from, uint32_t port, uint32_t web_port)
{
	static int fd[JOBS];
	static uint64_t link[JOBS];

	alarm(300);
	phase_fd = phase_to;
	go_fd = go_from;
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
