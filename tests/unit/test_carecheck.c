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
	assert_false(sn_node_answers("127.0.0.1", port, 1000));
	assert_int_equal(listen(fd, 1), 0);
	assert_true(sn_node_answers("127.0.0.1", port, 1000));
	close(fd);
	assert_false(sn_node_answers("127.0.0.1", port, 1000));
}

/* What cannot be asked is not lost. */
static void who_cannot_be_asked(void **state)
{
	(void)state;
	assert_true(sn_node_answers("127.0.0.1", 0, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_listens_answers),
		cmocka_unit_test(who_cannot_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
