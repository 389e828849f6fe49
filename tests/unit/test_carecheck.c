/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "elastic/carecheck.h"

static int bound(uint16_t *ret_port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*ret_port = ntohs(sa.sin_port);
	return fd;
}

static void who_listens_answers(void **state)
{
	uint16_t port;
	int fd = bound(&port);

	(void)state;
	/* nobody listens there, and nobody else can */
	assert_int_equal(sn_node_ask("127.0.0.1", port, 1000), SN_NODE_REFUSES);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(sn_node_ask("127.0.0.1", port, 1000), SN_NODE_ANSWERS);
	close(fd);
	assert_int_equal(sn_node_ask("127.0.0.1", port, 1000), SN_NODE_REFUSES);
}

/* With its queue full the kernel drops what comes: as a host that is dead. */
static void who_is_dead_is_silent(void **state)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint16_t port;
	int fd = bound(&port), more[8];

	(void)state;
	sa.sin_port = htons(port);
	assert_int_equal(listen(fd, 0), 0);
	for (int i = 0; i < 8; i++) {
		more[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(more[i], (struct sockaddr *)&sa, sizeof(sa));
	}
	assert_int_equal(sn_node_ask("127.0.0.1", port, 50), SN_NODE_IS_SILENT);
	for (int i = 0; i < 8; i++)
		close(more[i]);
	close(fd);
}

/* What cannot be asked is not lost. */
static void who_cannot_be_asked(void **state)
{
	(void)state;
	assert_int_equal(sn_node_ask("127.0.0.1", 0, 1000), SN_NODE_UNKNOWN);
	assert_int_equal(sn_node_ask("no.such.host.invalid", 6818, 50), SN_NODE_UNKNOWN);
	/* nor what this host itself does not send */
	assert_int_equal(sn_node_ask("255.255.255.255", 6818, 50), SN_NODE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_listens_answers),
		cmocka_unit_test(who_is_dead_is_silent),
		cmocka_unit_test(who_cannot_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
