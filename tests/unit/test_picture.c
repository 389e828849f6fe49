/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/picture.h"

static char *draw(const struct picture_row *row, uint32_t n, uint32_t cards,
		  uint32_t max_rows, unsigned int width, bool colour, bool *by_card)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	*by_card = picture_print(f, row, n, cards, max_rows, width, colour);
	fclose(f);
	return text;
}

static void each_card_is_shown_where_there_is_room(void **state)
{
	const struct picture_row row[] = {
		{ "sn1", "AAAA..##", 2 }, { "sn10", "xxxx....", 2 },
	};
	bool by_card;
	char *text = draw(row, 2, 4, 0, 80, false, &by_card);

	(void)state;
	assert_true(by_card);
	assert_string_equal(text, "sn1   AAAA ..##\nsn10  xxxx ....\n");
	free(text);
}

static void a_node_is_one_character_where_there_is_not(void **state)
{
	/* free, all A, part A, A and B, down, part down, fewer cards, all A but
	 * for a bad card */
	const char cells[] = "........" "AAAAAAAA" "AA......" "AABB...." "xxxxxxxx"
		"x......." "AAAA    " "AAAAAAAx";
	const struct picture_row row = { "sn1", cells, 8 };
	bool by_card;
	/* 20 columns: not even a third of the row fits card by card. */
	char *text = draw(&row, 1, 8, 0, 20, false, &by_card);

	(void)state;
	assert_false(by_card);
	assert_string_equal(text, "sn1 .A+*x.A+\n");
	free(text);
}

static void rows_are_never_wider_than_the_terminal(void **state)
{
	char cells[49 * 8];
	const struct picture_row row = { "supernode-1", cells, 49 };

	(void)state;
	memset(cells, '.', sizeof(cells));
	for (unsigned int width = 20; width < 500; width += 7) {
		bool by_card;
		char *text = draw(&row, 1, 8, 0, width, false, &by_card);
		size_t shown = 0;

		for (char *line = text; *line; ) {
			size_t n = strcspn(line, "\n");

			if (n > width)
				fail_msg("%zu characters in %u columns: %.*s", n,
					 width, (int)n, line);
			for (size_t i = 0; i < n; i++)
				shown += line[i] == '.';
			line += n + (line[n] == '\n');
		}
		assert_int_equal(shown, by_card ? 49 * 8 : 49);
		free(text);
	}
}

static void colour_only_where_asked(void **state)
{
	const struct picture_row row = { "s", "A.x#", 1 };
	bool by_card;
	char *text = draw(&row, 1, 4, 0, 80, true, &by_card);

	(void)state;
	assert_non_null(strchr(text, '\033'));
	free(text);
	text = draw(&row, 1, 4, 0, 80, false, &by_card);
	assert_null(strchr(text, '\033'));
	free(text);
}

static void rows_beyond_the_limit_are_counted(void **state)
{
	const struct picture_row row[] = { { "a", ".", 1 }, { "b", ".", 1 }, { "c", ".", 1 } };
	bool by_card;
	char *text = draw(row, 3, 1, 1, 80, false, &by_card);

	(void)state;
	assert_non_null(strstr(text, "2 more"));
	assert_null(strstr(text, "b"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_card_is_shown_where_there_is_room),
		cmocka_unit_test(a_node_is_one_character_where_there_is_not),
		cmocka_unit_test(rows_are_never_wider_than_the_terminal),
		cmocka_unit_test(colour_only_where_asked),
		cmocka_unit_test(rows_beyond_the_limit_are_counted),
	};

	return cmocka_run_group_tests_name("picture", tests, NULL, NULL);
}
