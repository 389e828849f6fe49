/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflightnode.c - one node's part of the preflight: `snrun --preflight-node`.
 *
 * It runs as the user. Whatever a check waits for has a time limit, and its own
 * end is bounded too, so that nothing of it outlives a broken step.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/preflight.h"
#include "launcher/program.h"
#include "topology/err.h"
#include "topology/hostlist.h"
#include "topology/records.h"
#include "topology/text.h"

#define LIFE 1800 /* s; whatever happens, it ends */

struct node {
	const char *name;
	int listening;
	char *cards; /* "0-7" */
	uint32_t port; /* the master's, where rank 0 is here; 0 */
	uint32_t timeout; /* s, of all checks together */
	time_t deadline; /* CLOCK_MONOTONIC */
};

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* One write a line, so that srun passes it on whole. Text of others may hold
 * anything; what is printed does not. */
static void __attribute__((format(printf, 2, 3)))
say(const struct node *node, const char *fmt, ...)
{
	char line[1024];
	size_t n = (size_t)snprintf(line, sizeof(line) / 2, "@pf %.200s ", node->name);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < 0x20 && *p != '\t')
			*p = ' ';
	n = strlen(line);
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, n) != (ssize_t)n)
		_exit(1); /* nobody listens any more */
}

static void bad(const struct node *node, const char *check, const char *expected,
		const char *found)
{
	say(node, "bad %s\t%.300s\t%.400s", check, expected, found);
}

static const char *text_of(const char *name)
{
	const char *text = getenv(name);

	return text ? text : "";
}

/* ---- the checks ---- */

unsigned int sn_preflight_commands(char *text, const char **ret)
{
	unsigned int n = 0;

	for (char *next = text; next && n < SN_PREFLIGHT_VERSIONS_MAX;) {
		char *word = strsep(&next, ";"), *end;

		while (*word == ' ' || *word == '\t')
			word++;
		end = word + strlen(word);
		while (end > word && (end[-1] == ' ' || end[-1] == '\t'))
			*--end = '\0';
		if (*word)
			ret[n++] = word;
	}
	return n;
}

/* What it printed goes to *ret (free), with its standard error where `both`. */
static int run_shell(const struct node *node, const char *command, bool both,
		     char **ret, struct sn_err *err)
{
	time_t left = node->deadline - now_s();
	const struct sn_program_limits limits = {
		.at_once = 1, .seconds = left > 1 ? (uint32_t)left : 1, .bytes = SN_PROGRAM_ANSWER,
	};
	char *script = NULL;
	const char *argv[] = { "/bin/sh", "-c", command, NULL };
	struct sn_program program = { .argv = argv, .about = node->name };
	int rc;

	if (both) {
		if (asprintf(&script, "exec 1>&2; %s", command) < 0)
			return sn_err_set(err, -ENOMEM, "no memory");
		argv[2] = script;
	}
	rc = sn_programs_run(&program, 1, &limits, err);
	if (!rc && ret) {
		*ret = program.out;
		program.out = NULL;
	}
	sn_programs_done(&program, 1);
	free(script);
	return rc;
}

/* The sentence of program.c, without what the reader knows: shell and node. */
static const char *why(const struct sn_err *err)
{
	const char *colon = strstr(err->text, ": ");

	return colon ? colon + 2 : err->text;
}

static void check_versions(const struct node *node)
{
	const char *command[SN_PREFLIGHT_VERSIONS_MAX];
	char *all = strdup(text_of(SN_PREFLIGHT_ENV_VERSIONS));
	unsigned int n = all ? sn_preflight_commands(all, command) : 0;

	for (unsigned int i = 0; i < n; i++) {
		char *out = NULL;
		struct sn_err err;
		int rc = run_shell(node, command[i], false, &out, &err);

		if (rc == -ETIME)
			bad(node, "version", "an answer of its command", why(&err));
		/* One that fails on all nodes alike is no difference. */
		else if (rc)
			say(node, "version %u (%.300s)", i, why(&err));
		else {
			out[strcspn(out, "\r\n")] = '\0';
			say(node, "version %u %.600s", i, out);
		}
		free(out);
	}
	free(all);
}

/* %c is a card, %n the node's name. */
static void device_path(char *buf, size_t size, const char *pattern,
			const struct node *node, uint32_t card)
{
	size_t n = 0;

	for (; *pattern && n + 1 < size; pattern++) {
		if (pattern[0] == '%' && pattern[1] == 'c')
			n += (size_t)snprintf(buf + n, size - n, "%u", card);
		else if (pattern[0] == '%' && pattern[1] == 'n')
			n += (size_t)snprintf(buf + n, size - n, "%s", node->name);
		else {
			buf[n++] = *pattern;
			continue;
		}
		pattern++;
		if (n >= size)
			n = size - 1;
	}
	buf[n] = '\0';
}

static void check_cards(const struct node *node)
{
	const char *pattern = text_of(SN_PREFLIGHT_ENV_DEVICES);
	const char *program = text_of(SN_PREFLIGHT_ENV_CARDS);
	uint32_t *card = NULL, n = 0;
	struct sn_err err;

	if (node->cards && *pattern &&
	    !sn_ranks_parse(node->cards, 4096, &card, &n, NULL))
		for (uint32_t i = 0; i < n; i++) {
			char path[512];
			int fd;

			device_path(path, sizeof(path), pattern, node, card[i]);
			fd = open(path, O_PATH | O_CLOEXEC);
			if (fd < 0) {
				char expected[600];

				snprintf(expected, sizeof(expected), "%.500s of card %u", path, card[i]);
				bad(node, "card", expected, strerror(errno));
				break;
			}
			close(fd);
		}
	free(card);
	if (*program && run_shell(node, program, true, NULL, &err))
		bad(node, "card", "cards that are well and idle", why(&err));
}

static void check_memory(const struct node *node)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
			break;
	if (f)
		fclose(f);
	say(node, "memory %llu", kb << 10);
}

/* Something still listens there, such as a rank of an earlier run. */
static void check_port(const struct node *node, uint32_t port, const char *what)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to))) {
		char expected[128];

		snprintf(expected, sizeof(expected), "port %u free for %s", port, what);
		bad(node, "port", expected, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
}

static void check_ports(const struct node *node)
{
	uint32_t first = (uint32_t)atoi(text_of(SN_PREFLIGHT_ENV_PORTS));
	uint32_t *card = NULL, n = 0;

	if (node->port)
		check_port(node, node->port, "rank 0");
	if (first && node->cards && !sn_ranks_parse(node->cards, 4096, &card, &n, NULL))
		for (uint32_t i = 0; i < n && first + card[i] < 65536; i++)
			check_port(node, first + card[i], "HCCL");
	free(card);
}

static void check_program(const struct node *node)
{
	const char *program = text_of(SN_PREFLIGHT_ENV_PROGRAM);
	struct sn_err err;

	if (*program && run_shell(node, program, true, NULL, &err))
		bad(node, "program", "success of the site's program", why(&err));
}

static void check(struct node *node)
{
	node->deadline = now_s() + node->timeout;
	check_versions(node);
	check_cards(node);
	check_memory(node);
	check_ports(node);
	check_program(node);
	say(node, "checked");
}

/* ---- the ring ---- */

/* "TOKEN n001=ADDRESS:PORT n002=…" */
static void ring(const struct node *node, char *words)
{
	char *token = strsep(&words, " "), *first = NULL, *next = NULL, *word;
	struct sn_preflight_link link;
	bool own = false;
	struct sn_err err;

	while ((word = strsep(&words, " ")) && !next) {
		size_t n = strcspn(word, "=");

		if (!word[n])
			continue;
		if (!first)
			first = word;
		if (own)
			next = word;
		else
			own = strlen(node->name) == n && !memcmp(word, node->name, n);
	}
	if (own && !next)
		next = first; /* the last one's is the first */
	if (next) {
		char *address = strchr(next, '='), *port = strrchr(next, ':');

		*address++ = '\0';
		if (port)
			*port++ = '\0';
		if (sn_preflight_ring(node->listening, token, next, address, port ? port : "0",
				      10, &link, &err))
			bad(node, "network", "a connection to the next node", err.text);
		else
			say(node, "link %llu %llu", link.latency, link.bandwidth);
	}
	say(node, "rung");
}

/* ---- orders ---- */

static bool is_among(const char *list, const char *name)
{
	struct sn_names names = { NULL, 0, 0 };
	bool found = false;

	if (!sn_hostlist_expand(list, &names, NULL))
		for (size_t i = 0; i < names.n && !found; i++)
			found = !strcmp(names.name[i], name);
	sn_names_done(&names);
	return found;
}

static bool obey(struct node *node, char *line)
{
	char *word = strsep(&line, " ");

	if (!strcmp(word, "quit"))
		return false;
	if (!strcmp(word, "clock")) {
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		say(node, "clock %lld", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	} else if (!strcmp(word, "cards") && line) {
		word = strsep(&line, " ");
		if (line && is_among(line, node->name)) {
			free(node->cards);
			node->cards = strdup(word);
		}
	} else if (!strcmp(word, "port") && line) {
		word = strsep(&line, " ");
		if (line && !strcmp(line, node->name))
			node->port = (uint32_t)atoi(word);
	} else if (!strcmp(word, "check")) {
		check(node);
	} else if (!strcmp(word, "ring") && line) {
		ring(node, line);
	}
	return true;
}

int sn_preflight_node(void)
{
	struct node node = { .name = getenv("SLURMD_NODENAME"), .timeout = 60 };
	unsigned int port = 0;
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	alarm(LIFE);
	if (!node.name) {
		fprintf(stderr, "snrun: " SN_PREFLIGHT_NODE " is snrun's own\n");
		return 2;
	}
	if (atoi(text_of(SN_PREFLIGHT_ENV_TIMEOUT)) > 0)
		node.timeout = (uint32_t)atoi(text_of(SN_PREFLIGHT_ENV_TIMEOUT));
	node.listening = sn_preflight_listen(&port);
	if (node.listening < 0)
		bad(&node, "network", "a socket", strerror(-node.listening));
	say(&node, "hello %u", port);
	while ((n = getline(&line, &size, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (!obey(&node, line))
			break;
	}
	free(line);
	free(node.cards);
	return 0;
}
