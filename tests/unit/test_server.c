/* SPDX-License-Identifier: GPL-2.0-or-later */
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

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "elastic/frame.h"
#include "elastic/server.h"

static struct sn_loop *loop;
static struct sn_server *server;
static struct sn_timer *stop;
static char dir[] = "/tmp/sn-server-XXXXXX", path[64];

static uint64_t ticket[64];
static char *cred[64];
static struct sn_peer peer[64];
static uint32_t n_requests, n_gone;
static bool gone_kept; /* the last that has gone was */

static void request(void *ctx, uint64_t t, char *text, const struct sn_peer *p)
{
	(void)ctx;
	ticket[n_requests] = t;
	peer[n_requests] = *p;
	cred[n_requests++] = text;
	sn_loop_stop(loop);
}

static void gone(void *ctx, uint64_t t, bool kept)
{
	(void)ctx;
	(void)t;
	n_gone++;
	gone_kept = kept;
	sn_loop_stop(loop);
}

static void on_stop(void *ctx)
{
	(void)ctx;
	sn_loop_stop(loop);
}

static int make(void **state)
{
	const struct sn_server_limits limits = { 8, 6, 300, 300, 0, 0, 2 };
	const struct sn_server_calls calls = { request, gone };

	(void)state;
	n_requests = n_gone = 0;
	snprintf(path, sizeof(path), "%s/socket", dir);
	if (sn_loop_create(&loop, NULL) || sn_server_create(loop, &limits, &calls, NULL, &server, NULL) ||
	    sn_loop_timer(loop, on_stop, NULL, &stop, NULL) ||
	    sn_server_listen_unix(server, path, NULL) || sn_server_listen_tcp(server, 0, NULL))
		return -1;
	return 0;
}

static int drop(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < n_requests; i++)
		free(cred[i]);
	sn_server_destroy(server);
	sn_loop_destroy(loop);
	return 0;
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

/* At most so long: what should happen ends it sooner. */
static void turn(int ms)
{
	sn_timer_set(stop, ms);
	assert_int_equal(sn_loop_run(loop, NULL), 0);
}

static int dial_unix(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static int dial_tcp(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons((uint16_t)sn_server_port(server)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void say(int fd, const char *body)
{
	unsigned char head[SN_FRAME_HEAD];

	sn_frame_head(head, strlen(body));
	assert_int_equal(write(fd, head, sizeof(head)), (ssize_t)sizeof(head));
	assert_int_equal(write(fd, body, strlen(body)), (ssize_t)strlen(body));
}

static bool hung_up(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

static void a_request_and_its_answer(void **state)
{
	char *answer[] = { (char *)"MUNGE:one:", (char *)"MUNGE:two:" };
	char buf[64];
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	for (int tcp = 0; tcp < 2; tcp++) {
		uint32_t i = n_requests;

		fd = tcp ? dial_tcp() : dial_unix();
		say(fd, "MUNGE:ask:");
		while (n_requests == i)
			turn(1000);
		assert_string_equal(cred[i], "MUNGE:ask:");
		assert_int_equal(peer[i].unix_socket, !tcp);
		assert_int_equal(peer[i].addr, tcp ? htonl(INADDR_LOOPBACK) : 0);
		if (!tcp)
			assert_int_equal(peer[i].uid, getuid());
		assert_true(sn_server_send(server, ticket[i], answer, 2, false));
		assert_int_equal(recv(fd, buf, sizeof(buf), MSG_WAITALL), 2 * (SN_FRAME_HEAD + 10));
		assert_memory_equal(buf + SN_FRAME_HEAD, "MUNGE:one:", 10);
		assert_memory_equal(buf + 2 * SN_FRAME_HEAD + 10, "MUNGE:two:", 10);
		assert_false(sn_server_send(server, ticket[i], answer, 1, false));
		close(fd);
	}
}

static void streams_stay(void **state)
{
	char *answer[] = { (char *)"MUNGE:one:" };
	char buf[64];
	int fd = dial_unix();

	(void)state;
	say(fd, "MUNGE:ask:");
	while (!n_requests)
		turn(1000);
	for (int i = 0; i < 3; i++) {
		assert_true(sn_server_send(server, ticket[0], answer, 1, true));
		assert_true(sn_server_idle(server, ticket[0]));
		assert_int_equal(recv(fd, buf, SN_FRAME_HEAD + 10, MSG_WAITALL), SN_FRAME_HEAD + 10);
	}
	/* Past the time that a request has. */
	turn(1000);
	turn(1000);
	assert_int_equal(n_gone, 0);
	close(fd);
	while (!n_gone)
		turn(1000);
	assert_false(sn_server_send(server, ticket[0], answer, 1, true));
}

static void garbage_and_the_slow(void **state)
{
	struct sn_server_stats stats;
	int bad = dial_tcp(), slow = dial_tcp(), more = dial_tcp();

	(void)state;
	assert_int_equal(write(bad, "GET / HTTP/1.0\r\n\r\n", 18), 18);
	assert_int_equal(write(slow, "SNE1", 4), 4);
	say(more, "MUNGE:ask:");
	while (!n_requests)
		turn(1000);
	/* Something behind its request. */
	assert_int_equal(write(more, "x", 1), 1);
	for (int i = 0; i < 100 && !(hung_up(bad) && hung_up(slow) && hung_up(more)); i++)
		turn(100);
	assert_true(hung_up(bad) && hung_up(slow) && hung_up(more));
	sn_server_stats(server, &stats);
	assert_int_equal(stats.garbage, 2);
	assert_int_equal(stats.late, 1);
	assert_int_equal(stats.open, 0);
	close(bad);
	close(slow);
	close(more);
}

/* Many that say nothing must not keep out one that does. */
static void a_flood(void **state)
{
	struct sn_server_stats stats;
	int idle[40], fd;

	(void)state;
	for (int i = 0; i < 40; i++) {
		idle[i] = i % 2 ? dial_tcp() : dial_unix();
		turn(2);
	}
	fd = dial_tcp();
	say(fd, "MUNGE:ask:");
	for (int i = 0; i < 100 && !n_requests; i++)
		turn(50);
	assert_int_equal(n_requests, 1);
	sn_server_stats(server, &stats);
	assert_true(stats.open <= 8);
	assert_true(stats.evicted >= 33);
	for (int i = 0; i < 40; i++)
		close(idle[i]);
	close(fd);
}

/* Those that have asked keep their place: a flood of requests waits outside. */
static void askers_are_not_evicted(void **state)
{
	int fd[12];

	(void)state;
	for (int i = 0; i < 12; i++) {
		fd[i] = dial_unix();
		say(fd[i], "MUNGE:ask:");
		turn(20);
	}
	turn(20);
	assert_int_equal(n_requests, 6); /* of one user */
	for (int i = 0; i < 6; i++)
		assert_false(hung_up(fd[i]));
	for (int i = 6; i < 12; i++)
		assert_true(hung_up(fd[i]) || errno == ECONNRESET);
	for (int i = 0; i < 12; i++)
		close(fd[i]);
}

/* One that takes in nothing ends, and costs no more than its answer. */
static void a_reader_that_sleeps(void **state)
{
	char *big[1];
	struct sn_server_stats stats;
	int fd = dial_unix();

	(void)state;
	big[0] = malloc(8 << 20);
	memset(big[0], 'x', (8 << 20) - 1);
	big[0][(8 << 20) - 1] = '\0';
	say(fd, "MUNGE:ask:");
	while (!n_requests)
		turn(1000);
	assert_true(sn_server_send(server, ticket[0], big, 1, true));
	assert_false(sn_server_idle(server, ticket[0]));
	for (int i = 0; i < 50 && !n_gone; i++)
		turn(100);
	assert_true(n_gone == 1 && !gone_kept);
	sn_server_stats(server, &stats);
	assert_int_equal(stats.late, 1);
	free(big[0]);
	close(fd);
}

static void a_second_daemon(void **state)
{
	const struct sn_server_limits limits = { 8, 6, 300, 300, 0, 0, 2 };
	const struct sn_server_calls calls = { request, gone };
	struct sn_server *second;
	struct sn_err err;
	char file[80];
	int fd;

	(void)state;
	assert_int_equal(sn_server_create(loop, &limits, &calls, NULL, &second, NULL), 0);
	assert_int_equal(sn_server_listen_unix(second, path, &err), -EADDRINUSE);
	assert_int_equal(sn_server_listen_tcp(second, sn_server_port(server), &err), -EADDRINUSE);
	sn_server_destroy(second);
	/* The first is whole, and its socket there. */
	fd = dial_unix();
	close(fd);
	/* What was left by one that was killed goes; what is no socket stays. */
	assert_int_equal(sn_server_create(loop, &limits, &calls, NULL, &second, NULL), 0);
	snprintf(file, sizeof(file), "%s/file", dir);
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(sn_server_listen_unix(second, file, &err), -EEXIST);
	assert_int_equal(unlink(file), 0);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	{
		struct sockaddr_un addr = { .sun_family = AF_UNIX };

		strcpy(addr.sun_path, file);
		assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	}
	close(fd);
	assert_int_equal(sn_server_listen_unix(second, file, &err), 0);
	memset(file, 'x', sizeof(file) - 1);
	sn_server_destroy(second);
}

/* One that ends lets go of the port and the socket while it still has connections,
 * and another can have them at once. */
static void closed_and_taken_over(void **state)
{
	const struct sn_server_limits limits = { 8, 6, 300, 300, 0, 0, 2 };
	const struct sn_server_calls calls = { request, gone };
	char *answer[] = { (char *)"MUNGE:one:" };
	uint32_t port = sn_server_port(server);
	struct sn_server *second;
	struct sn_err err;
	int fd = dial_tcp();
	char c;

	(void)state;
	say(fd, "MUNGE:ask:");
	while (!n_requests)
		turn(1000);
	assert_int_equal(sn_server_create(loop, &limits, &calls, NULL, &second, NULL), 0);
	assert_int_equal(sn_server_listen_tcp(second, port, &err), -EADDRINUSE);
	sn_server_close(server);
	sn_server_close(server);
	assert_int_equal(sn_server_listen_tcp(second, port, &err), 0);
	assert_int_equal(sn_server_listen_unix(second, path, &err), 0);
	assert_true(sn_server_send(server, ticket[0], answer, 1, false));
	assert_int_equal(recv(fd, &c, 1, 0), 1);
	close(fd);
	/* The first takes nothing of the second's with it. */
	sn_server_destroy(server);
	server = second;
	close(dial_unix());
}

/* However many requests users have, and answers they do not take: root gets in, from
 * the same host, too, and is answered. */
static void users_do_not_keep_root_out(void **state)
{
	const struct sn_server_limits limits = { 16, 8, 5000, 5000, 3, 1 << 20, 2 };
	struct sn_server_stats stats;
	char *big[1];
	int fd[40], root;
	uint32_t n = 0, in = 0;

	(void)state;
	sn_server_limit(server, &limits);
	big[0] = malloc(4 << 20);
	memset(big[0], 'x', (4 << 20) - 1);
	big[0][(4 << 20) - 1] = '\0';
	for (int i = 0; i < 40; i++) {
		fd[i] = dial_tcp();
		say(fd[i], "MUNGE:ask:");
		for (int k = 0; k < 20 && n_requests == n && !hung_up(fd[i]); k++)
			turn(20);
		if (n_requests == n)
			continue;
		n = n_requests;
		if (!sn_server_user(server, ticket[n - 1], 1000 + (uint32_t)i / 5, false)) {
			sn_server_drop(server, ticket[n - 1]);
			continue;
		}
		in++;
		(void)sn_server_send(server, ticket[n - 1], big, 1, true);
	}
	/* One of each address's places in four stays free: 6 of 8. */
	assert_in_range(in, 1, 40);
	sn_server_stats(server, &stats);
	assert_true(stats.open <= 6);
	root = dial_tcp();
	say(root, "MUNGE:ask:");
	for (int k = 0; k < 50 && n_requests == n; k++)
		turn(50);
	assert_int_equal(n_requests, n + 1);
	assert_true(sn_server_user(server, ticket[n], 0, true));
	assert_true(sn_server_send(server, ticket[n], big, 1, true));
	for (int i = 0; i < 40; i++)
		close(fd[i]);
	close(root);
	free(big[0]);
}

/* Connections that are kept take no places of the others, and have a limit. */
static void kept_ones_are_apart(void **state)
{
	char *answer[] = { (char *)"MUNGE:one:" };
	struct sn_server_stats stats;
	int fd[12];
	char buf[64];

	(void)state;
	for (int i = 0; i < 12; i++) {
		fd[i] = dial_unix();
		say(fd[i], "MUNGE:ask:");
		for (int k = 0; k < 50 && n_requests <= (uint32_t)i && !hung_up(fd[i]); k++)
			turn(20);
		if (i < 3)
			assert_true(sn_server_keep(server, ticket[i]) == (i < 2));
	}
	/* Two are kept, and six others of one user have room as ever. */
	assert_int_equal(n_requests, 8);
	sn_server_stats(server, &stats);
	assert_int_equal(stats.kept, 2);
	assert_int_equal(stats.open, 6);
	assert_true(sn_server_keep(server, ticket[0]));
	assert_true(sn_server_send(server, ticket[0], answer, 1, true));
	assert_int_equal(recv(fd[0], buf, SN_FRAME_HEAD + 10, MSG_WAITALL), SN_FRAME_HEAD + 10);
	assert_true(sn_server_has(server, ticket[1]));
	n_gone = 0;
	close(fd[1]);
	for (int k = 0; k < 50 && !n_gone; k++)
		turn(50);
	assert_true(n_gone == 1 && gone_kept);
	sn_server_stats(server, &stats);
	assert_int_equal(stats.kept, 1);
	assert_true(sn_server_keep(server, ticket[2]));
	sn_server_drop(server, ticket[0]);
	sn_server_stats(server, &stats);
	assert_int_equal(stats.kept, 1);
	assert_int_equal(stats.open, 5);
	for (int i = 0; i < 12; i++)
		if (i != 1)
			close(fd[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_and_its_answer, make, drop),
		cmocka_unit_test_setup_teardown(streams_stay, make, drop),
		cmocka_unit_test_setup_teardown(garbage_and_the_slow, make, drop),
		cmocka_unit_test_setup_teardown(a_flood, make, drop),
		cmocka_unit_test_setup_teardown(askers_are_not_evicted, make, drop),
		cmocka_unit_test_setup_teardown(a_reader_that_sleeps, make, drop),
		cmocka_unit_test_setup_teardown(a_second_daemon, make, drop),
		cmocka_unit_test_setup_teardown(users_do_not_keep_root_out, make, drop),
		cmocka_unit_test_setup_teardown(kept_ones_are_apart, make, drop),
		cmocka_unit_test_setup_teardown(closed_and_taken_over, make, drop),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
