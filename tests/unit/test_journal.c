/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elastic/journal.h"
#include "launcher/writefile.h"

static char dir[] = "/tmp/sn-journal-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static struct sn_act some_act(uint64_t id, enum sn_act_kind kind)
{
	struct sn_act act = { .id = id, .kind = kind, .at = 1700000000.25, .restarts = 3 };

	snprintf(act.why, sizeof(act.why), "its batch host \"n%03u\" is lost,\n\tand so on", (unsigned)id);
	if (kind == SN_ACT_NODE_OUT) {
		strcpy(act.node, "n003");
		act.restarts = 0;
	} else if (kind == SN_ACT_REGION_OUT) {
		strcpy(act.region, "kv.cache");
		act.incarnation = UINT64_C(1700000000123);
		act.restarts = 0;
	} else {
		act.job = 100 + (uint32_t)id;
	}
	if (kind == SN_ACT_TELL) {
		act.op = SN_CONTROL_SWAP;
		strcpy(act.node, "n004");
		act.cards = UINT64_C(1) << 63 | 1;
	}
	return act;
}

static void add_line(char **text, char *line)
{
	size_t len = *text ? strlen(*text) : 0;

	*text = realloc(*text, len + strlen(line) + 1);
	assert_non_null(*text);
	strcpy(*text + len, line);
	free(line);
}

static char *begin(uint64_t id, enum sn_act_kind kind)
{
	struct sn_act act = some_act(id, kind);
	char *line;

	assert_int_equal(sn_journal_begin(&act, false, &line, NULL), 0);
	return line;
}

static char *end(uint64_t id)
{
	char *line;

	assert_int_equal(sn_journal_end(id, SN_ACT_VOID, "it is \"held\"", &line, NULL), 0);
	return line;
}

static void check_same(const struct sn_act *a, const struct sn_act *b)
{
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->job, b->job);
	assert_int_equal(a->restarts, b->restarts);
	assert_string_equal(a->node, b->node);
	assert_string_equal(a->region, b->region);
	assert_true(a->incarnation == b->incarnation);
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->dp, b->dp);
	assert_true(a->cards == b->cards);
	assert_true(a->at == b->at);
	assert_string_equal(a->why, b->why);
}

static void what_is_begun_and_not_ended_is_open(void **state)
{
	struct sn_journal_state s;
	char *text = NULL;

	(void)state;
	for (uint64_t k = 0; k < SN_ACT_KINDS; k++)
		add_line(&text, begin(10 + k, (enum sn_act_kind)k));
	add_line(&text, end(11));
	add_line(&text, end(99)); /* of an action of before */
	assert_int_equal(sn_journal_parse(text, strlen(text), &s, NULL), 0);
	assert_int_equal(s.n, SN_ACT_KINDS - 1);
	assert_int_equal(s.damaged, 0);
	assert_false(s.torn);
	assert_int_equal(s.next, 100);
	assert_int_equal(s.lines, SN_ACT_KINDS + 2);
	for (uint32_t i = 0; i < s.n; i++) {
		enum sn_act_kind kind = (enum sn_act_kind)(i + (i >= 1));
		struct sn_act act = some_act(10 + kind, kind);

		check_same(&s.open[i], &act);
	}
	sn_journal_state_done(&s);
	free(text);
}

static void dry_lines_open_nothing(void **state)
{
	struct sn_act act = some_act(7, SN_ACT_REQUEUE);
	struct sn_journal_state s;
	char *line;

	(void)state;
	assert_int_equal(sn_journal_begin(&act, true, &line, NULL), 0);
	assert_int_equal(sn_journal_parse(line, strlen(line), &s, NULL), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.next, 8);
	assert_int_equal(s.damaged, 0);
	sn_journal_state_done(&s);
	free(line);
}

/* A journal that was cut anywhere has its whole lines. */
static void cut_anywhere(void **state)
{
	struct sn_journal_state s;
	char *text = NULL;
	size_t first, second, all;

	(void)state;
	add_line(&text, begin(1, SN_ACT_REQUEUE));
	first = strlen(text);
	add_line(&text, begin(2, SN_ACT_NODE_OUT));
	second = strlen(text);
	add_line(&text, end(1));
	all = strlen(text);
	for (size_t len = 0; len <= all; len++) {
		assert_int_equal(sn_journal_parse(text, len, &s, NULL), 0);
		assert_int_equal(s.damaged, 0);
		assert_int_equal(s.n, len < first ? 0 : len < second ? 1 : len < all ? 2 : 1);
		assert_int_equal(s.torn, len && len != first && len != second && len != all);
		sn_journal_state_done(&s);
	}
	free(text);
}

/* Any byte changed costs its own line, or two where the line's end is hit, and is
 * noticed. */
static void damaged_anywhere(void **state)
{
	struct sn_journal_state s;
	char *text = NULL;
	size_t all;

	(void)state;
	for (uint64_t id = 1; id <= 4; id++)
		add_line(&text, begin(id, SN_ACT_CANCEL));
	all = strlen(text);
	for (size_t i = 0; i < all; i++) {
		char was = text[i];

		for (int bit = 0; bit < 8; bit++) {
			text[i] = (char)(was ^ (1 << bit));
			assert_int_equal(sn_journal_parse(text, all, &s, NULL), 0);
			assert_true(s.damaged || s.torn);
			assert_in_range(s.n, 2, 3);
			sn_journal_state_done(&s);
		}
		text[i] = was;
	}
	free(text);
}

static void nonsense_opens_nothing(void **state)
{
	static const char *const odd[] = {
		"\n", "{}\n", "null\n", "[1]\n", "{\"begin\":{\"id\":1,\"kind\":\"requeue\",\"job\":1}}\n",
		"{\"begin\":{\"id\":1,\"kind\":\"requeue\",\"job\":1},\"sum\":\"0000000000000000\"}\n",
		"{\"format\":2,\"next\":5,\"sum\":\"0000000000000000\"}\n",
	};
	struct sn_journal_state s;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		assert_int_equal(sn_journal_parse(odd[i], strlen(odd[i]), &s, NULL), 0);
		assert_int_equal(s.n, 0);
		assert_int_equal(s.damaged, 1);
		sn_journal_state_done(&s);
	}
	assert_int_equal(sn_journal_parse("", 0, &s, NULL), 0);
	assert_int_equal(s.next, 0);
	sn_journal_state_done(&s);
}

/* With the right sum, but no action of ours: from another version, or a hand. */
static void actions_that_make_no_sense(void **state)
{
	struct sn_act act[4];
	struct sn_journal_state s;
	char *line;

	(void)state;
	act[0] = some_act(1, SN_ACT_REQUEUE);
	act[0].job = 0;
	act[1] = some_act(1, SN_ACT_NODE_OUT);
	act[1].node[0] = '\0';
	act[2] = some_act(0, SN_ACT_START);
	act[3] = some_act(1, SN_ACT_START);
	act[3].at = 0.0 / 0.0;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(sn_journal_begin(&act[i], false, &line, NULL), 0);
		assert_int_equal(sn_journal_parse(line, strlen(line), &s, NULL), 0);
		assert_int_equal(s.n, 0);
		assert_int_equal(s.damaged, 1);
		sn_journal_state_done(&s);
		free(line);
	}
}

static void written_and_read(void **state)
{
	struct sn_act open[2] = { some_act(5, SN_ACT_TELL), some_act(6, SN_ACT_START) };
	struct sn_journal j;
	struct sn_journal_state s;
	struct sn_err err, note;
	char *text, *line;
	size_t len;

	(void)state;
	sn_journal_init(&j, dir);
	assert_int_equal(sn_journal_load(&j, &s, &note, &err), 0); /* there is none */
	assert_int_equal(s.n, 0);
	line = begin(7, SN_ACT_REQUEUE);
	assert_int_equal(sn_journal_append(&j, line, 1, &err), -EAGAIN);
	assert_int_equal(sn_journal_text(open, 2, 7, &text, &len, &err), 0);
	assert_int_equal(sn_journal_rewrite(&j, text, len, 3, &err), 0);
	assert_int_equal(sn_journal_append(&j, line, 1, &err), 0);
	assert_int_equal(j.lines, 4);
	assert_int_equal(j.size, len + strlen(line));
	free(line);
	line = end(5);
	assert_int_equal(sn_journal_append(&j, line, 1, &err), 0);
	free(line);
	sn_journal_done(&j);
	assert_int_equal(sn_journal_load(&j, &s, &note, &err), 0);
	assert_string_equal(note.text, "");
	assert_int_equal(s.n, 2);
	check_same(&s.open[0], &open[1]);
	assert_int_equal(s.open[1].id, 7);
	assert_int_equal(s.next, 8);
	sn_journal_state_done(&s);
	free(text);
}

/* No piece of a line is left that the next would be glued to. */
static void a_full_disk(void **state)
{
	struct rlimit was, limit;
	struct sn_journal j;
	struct sn_journal_state s;
	struct sn_err err, note;
	char *text, *line = begin(2, SN_ACT_REQUEUE);
	size_t len;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	sn_journal_init(&j, dir);
	assert_int_equal(sn_journal_text(NULL, 0, 2, &text, &len, &err), 0);
	assert_int_equal(sn_journal_rewrite(&j, text, len, 1, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = was;
	limit.rlim_cur = len + 20; /* in the middle of the line */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(sn_journal_append(&j, line, 1, &err), -EFBIG);
	assert_non_null(strstr(err.text, "/journal: "));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(sn_journal_append(&j, line, 1, &err), 0);
	assert_int_equal(sn_journal_load(&j, &s, &note, &err), 0);
	assert_int_equal(s.damaged, 0);
	assert_int_equal(s.n, 1);
	sn_journal_state_done(&s);
	sn_journal_done(&j);
	free(text);
	free(line);
}

static void a_damaged_file_is_kept(void **state)
{
	struct sn_journal j;
	struct sn_journal_state s;
	struct sn_err err, note;
	char *text = NULL, *kept, path[80];
	size_t len;

	(void)state;
	sn_journal_init(&j, dir);
	add_line(&text, begin(1, SN_ACT_REQUEUE));
	add_line(&text, begin(2, SN_ACT_CANCEL));
	text[5] = 'X';
	assert_int_equal(sn_write_file(dir, SN_JOURNAL_FILE, text, strlen(text), &err), 0);
	assert_int_equal(sn_journal_load(&j, &s, &note, &err), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.open[0].id, 2);
	assert_non_null(strstr(note.text, "1 line of "));
	sn_journal_state_done(&s);
	assert_int_equal(sn_read_file(dir, SN_JOURNAL_FILE ".bad", 100000, &kept, &len, &err), 0);
	assert_string_equal(kept, text);
	free(kept);
	free(text);
	/* What cannot be read is not taken for none. */
	snprintf(path, sizeof(path), "%s/" SN_JOURNAL_FILE, dir);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(sn_journal_load(&j, &s, &note, &err) < 0);
	assert_int_equal(rmdir(path), 0);
	/* And nothing behind a link is. */
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_true(sn_journal_load(&j, &s, &note, &err) < 0);
	unlink(path);
}

static void the_same_action(void **state)
{
	struct sn_act a = some_act(1, SN_ACT_TELL), b = a;
	char buf[160];

	(void)state;
	b.id = 2;
	b.at = 5;
	strcpy(b.why, "another");
	assert_true(sn_act_same(&a, &b));
	b.restarts++;
	assert_false(sn_act_same(&a, &b));
	b = a;
	b.cards = 0;
	assert_false(sn_act_same(&a, &b));
	b = a;
	b.kind = SN_ACT_REQUEUE;
	assert_false(sn_act_same(&a, &b));
	a = b;
	strcpy(b.node, "n009"); /* only what it is recognised by */
	assert_true(sn_act_same(&a, &b));
	a = b = some_act(1, SN_ACT_NODE_OUT);
	b.job = 5;
	assert_true(sn_act_same(&a, &b));
	strcpy(b.node, "n009");
	assert_false(sn_act_same(&a, &b));
	assert_string_equal(sn_act_text(&b, buf, sizeof(buf)), "take node n009 out");
	a = b = some_act(1, SN_ACT_REGION_OUT);
	assert_true(sn_act_same(&a, &b));
	b.incarnation++; /* deleted, and made again */
	assert_false(sn_act_same(&a, &b));
	assert_string_equal(sn_act_text(&a, buf, sizeof(buf)), "take the pool region kv.cache away");
	assert_true(sn_act_has_object(&a));
	*a.region = '\0';
	assert_false(sn_act_has_object(&a));
	a = some_act(1, SN_ACT_TELL);
	assert_string_equal(sn_act_text(&a, buf, sizeof(buf)), "have job 101 swap n004");
	a.op = SN_CONTROL_SHRINK;
	a.dp = 4;
	assert_string_equal(sn_act_text(&a, buf, sizeof(buf)), "have job 101 shrink to dp=4");
	a = some_act(2, SN_ACT_CANCEL);
	assert_string_equal(sn_act_text(&a, buf, sizeof(buf)), "cancel job 102");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_begun_and_not_ended_is_open),
		cmocka_unit_test(dry_lines_open_nothing),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(damaged_anywhere),
		cmocka_unit_test(nonsense_opens_nothing),
		cmocka_unit_test(actions_that_make_no_sense),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(a_full_disk),
		cmocka_unit_test(a_damaged_file_is_kept),
		cmocka_unit_test(the_same_action),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
