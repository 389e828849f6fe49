/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "elastic/resolve.h"

static void names_and_numbers(void **state)
{
	const uint32_t loopback = htonl(INADDR_LOOPBACK), other = htonl(0x0a000001);
	char longer[300];

	(void)state;
	assert_true(sn_resolves_to("10.0.0.1", other));
	assert_false(sn_resolves_to("10.0.0.1", loopback));
	/* The second time it is remembered, and a wrong one is no better for it. */
	for (int i = 0; i < 3; i++) {
		assert_true(sn_resolves_to("localhost", loopback));
		assert_false(sn_resolves_to("localhost", other));
	}
	/* An address that is not known is nobody's. */
	assert_false(sn_resolves_to("0.0.0.0", 0));
	assert_false(sn_resolves_to("localhost", 0));
	assert_false(sn_resolves_to("", loopback));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_false(sn_resolves_to(longer, loopback));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
