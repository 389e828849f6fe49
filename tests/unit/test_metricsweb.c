/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_metricsweb.c - whoever asks for the metrics gets them, whatever others do, and
 * the loop is not held up.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "elastic/metricsweb.h"

#ifdef HAVE_MICROHTTPD

#define BODY 200000 /* more than a socket takes at once */

static struct sn_loop *loop;
static struct sn_web *web;
static pthread_t runner;
static uint32_t made;
static bool stalled;

static char *make_text(void *ctx, size_t *ret_len)
{
	char *text = malloc(BODY + 1);

	(void)ctx;
	__atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&stalled, __ATOMIC_SEQ_CST))
		usleep(1000);
	memset(text, 'x', BODY);
	memcpy(text + BODY - 6, "# EOF\n", 7);
	*ret_len = BODY;
	return text;
}

static void *run(void *arg)
{
	(void)arg;
	sn_loop_run(loop, NULL);
	return NULL;
}

static void on_stop(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	sn_loop_stop(loop);
}

static int stop[2];

static int make(void **state)
{
	struct sn_watch *watch;

	(void)state;
	made = 0;
	if (pipe(stop) || sn_loop_create(&loop, NULL) ||
	    sn_loop_watch(loop, stop[0], POLLIN, on_stop, NULL, &watch, NULL) ||
	    sn_web_create(loop, "127.0.0.1", 0, "text/x-test", make_text, NULL, &web, NULL))
		return -1;
	return pthread_create(&runner, NULL, run, NULL);
}

static int drop(void **state)
{
	(void)state;
	if (write(stop[1], "x", 1) != 1)
		return -1;
	pthread_join(runner, NULL);
	sn_web_destroy(web);
	sn_loop_destroy(loop);
	close(stop[0]);
	close(stop[1]);
	return 0;
}

static int dial(void)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)sn_web_port(web)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&in, sizeof(in))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void give(int fd, const char *text)
{
	size_t len = strlen(text), at = 0;

	while (at < len) {
		ssize_t n = send(fd, text + at, len - at, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

/* All until its end; free(). */
static char *take(int fd, size_t *ret_len)
{
	char *text = malloc(BODY * 2);
	size_t at = 0;

	while (at < BODY * 2 - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, 20000) <= 0)
			break;
		n = recv(fd, text + at, BODY * 2 - 1 - at, 0);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	text[at] = '\0';
	*ret_len = at;
	close(fd);
	return text;
}

static void asks(const char *request, const char *status, bool whole)
{
	int fd = dial();
	size_t len;
	char *text;

	assert_true(fd >= 0);
	give(fd, request);
	text = take(fd, &len);
	if (strncmp(text, status, strlen(status)))
		fail_msg("%.40s… is answered by %.60s, not %s", request, text, status);
	assert_int_equal(len > 7 && !strcmp(text + len - 6, "# EOF\n"), whole);
	if (whole)
		assert_non_null(strstr(text, "text/x-test"));
	free(text);
}

#define GET "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"

static void test_answers(void **state)
{
	(void)state;
	asks(GET, "HTTP/1.1 200", true);
	asks("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.", true);
	asks("GET /metrics?x=y HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", true);
	asks("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", false);
	asks("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404", false);
	asks("GET /metrics/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404", false);
	asks("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405", false);
	asks("PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n",
	     "HTTP/1.1 405", false);
	/* The text is made when it is asked for, and not for each. */
	assert_true(made >= 1);
}

static void test_fresh(void **state)
{
	int64_t start;

	(void)state;
	asks(GET, "HTTP/1.1 200", true);
	start = sn_loop_now();
	for (int i = 0; i < 50; i++)
		asks(GET, "HTTP/1.1 200", true);
	/* Two a second at most. */
	assert_true(made <= 2 + (uint64_t)(sn_loop_now() - start) / SN_WEB_FRESH_MS);
}

static void test_garbage(void **state)
{
	char *large = malloc(SN_WEB_MEMORY * 4);
	uint32_t rng = 1;
	size_t len;
	int fd;

	(void)state;
	strcpy(large, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Large: ");
	len = strlen(large);
	memset(large + len, 'a', SN_WEB_MEMORY * 4 - len);
	strcpy(large + SN_WEB_MEMORY * 4 - 5, "\r\n\r\n");
	fd = dial();
	give(fd, large);
	free(take(fd, &len));
	assert_true(len < 2000); /* refused, or closed */
	for (int i = 0; i < 50; i++) {
		char text[600];

		for (size_t k = 0; k < sizeof(text) - 1; k++) {
			rng = rng * 1664525 + 1013904223;
			text[k] = (char)((rng >> 24) % 255 + 1);
		}
		text[sizeof(text) - 1] = '\0';
		fd = dial();
		give(fd, text);
		shutdown(fd, SHUT_WR);
		free(take(fd, &len));
	}
	free(large);
	asks(GET, "HTTP/1.1 200", true);
}

/* Hundreds that say nothing, or do not take what they asked for. */
static void test_flood(void **state)
{
	int fd[SN_WEB_MOST + 100], n = 0;
	uint64_t answers, ended;

	(void)state;
	for (int i = 0; i < SN_WEB_MOST + 100; i++) {
		fd[n] = dial();
		if (fd[n] >= 0)
			n++;
	}
	asks(GET, "HTTP/1.1 200", true);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	n = 0;
	for (int i = 0; i < 40; i++) {
		fd[n] = dial();
		give(fd[n++], GET);
	}
	asks(GET, "HTTP/1.1 200", true);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	sn_web_counts(web, &answers, &ended);
	assert_true(answers >= 2);
	assert_true(ended >= 1);
}

/* A request that comes a byte at a time is ended, however lively it is. */
static void test_slow(void **state)
{
	int64_t start = sn_loop_now();
	int fd = dial();
	char c;

	(void)state;
	give(fd, "GET /metrics HTTP/1.1\r\nX: ");
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (send(fd, "a", 1, MSG_NOSIGNAL) != 1)
			break;
		if (poll(&p, 1, 50) > 0 && recv(fd, &c, 1, 0) <= 0)
			break;
		/* Far from what it should be, and no test hangs. */
		assert_true(sn_loop_now() - start < 20000);
	}
	close(fd);
	assert_true(sn_loop_now() - start >= SN_WEB_LIFE_MS);
}

/* A loop that is held up: who asks gets the text before, and the loop's end does not
 * wait for anybody. */
static void test_stalled(void **state)
{
	(void)state;
	asks(GET, "HTTP/1.1 200", true);
	usleep(SN_WEB_FRESH_MS * 1000);
	__atomic_store_n(&stalled, true, __ATOMIC_SEQ_CST);
	asks(GET, "HTTP/1.1 200", true);
	__atomic_store_n(&stalled, false, __ATOMIC_SEQ_CST);
}

static void test_nothing_yet(void **state)
{
	(void)state;
	__atomic_store_n(&stalled, true, __ATOMIC_SEQ_CST);
	asks(GET, "HTTP/1.1 503", false);
	__atomic_store_n(&stalled, false, __ATOMIC_SEQ_CST);
}

static void test_addresses(void **state)
{
	struct sn_web *other = NULL;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_web_create(loop, "localhost", 0, "x", make_text, NULL, &other, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "MetricsAddress=localhost"));
	assert_null(other);
	assert_int_equal(sn_web_create(loop, "127.0.0.1", sn_web_port(web), "x", make_text, NULL,
				       &other, &err), -EADDRINUSE);
	assert_null(other);
	sn_web_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, make, drop),
		cmocka_unit_test_setup_teardown(test_fresh, make, drop),
		cmocka_unit_test_setup_teardown(test_garbage, make, drop),
		cmocka_unit_test_setup_teardown(test_flood, make, drop),
		cmocka_unit_test_setup_teardown(test_slow, make, drop),
		cmocka_unit_test_setup_teardown(test_stalled, make, drop),
		cmocka_unit_test_setup_teardown(test_nothing_yet, make, drop),
		cmocka_unit_test_setup_teardown(test_addresses, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_without(void **state)
{
	struct sn_web *web = NULL;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_web_create(NULL, "127.0.0.1", 9000, "x", NULL, NULL, &web, &err),
			 -ENOTSUP);
	assert_non_null(strstr(err.text, "libmicrohttpd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_without) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
