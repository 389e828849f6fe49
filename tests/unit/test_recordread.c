/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_recordread.c - the reader of records, and the library that writes them.
 */
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/recordread.h"
#include "launcher/snrecord.h"

static struct sn_records rec;
static struct sn_recordread count;
static struct sn_err err;
static char dir[64];

static int begin(void **state)
{
	(void)state;
	sn_records_init(&rec);
	memset(&count, 0, sizeof(count));
	strcpy(dir, "/tmp/snrec-XXXXXX");
	setenv("SLURMD_NODENAME", "n001", 1);
	unsetenv("SUPERNODE_GENERATION");
	unsetenv("TORCHELASTIC_RESTART_COUNT");
	unsetenv("SNRECORD_BYTES");
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	sn_records_done(&rec);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static int text(const char *lines)
{
	return sn_recordread_text(&rec, lines, strlen(lines), "f.jsonl", false, &count, &err);
}

static const struct sn_rec_comm *only_comm(uint32_t rank)
{
	assert_true(rank < rec.n_ranks && rec.rank[rank].present);
	assert_int_equal(rec.rank[rank].n_comms, 1);
	return &rec.rank[rank].comm[0];
}

static void test_lines(void **state)
{
	const struct sn_rec_comm *c;

	(void)state;
	assert_int_equal(text(
		"{\"v\":1,\"rank\":3,\"gen\":2,\"world\":8,\"host\":\"n7\",\"pid\":9,\"more\":[1]}\n"
		"\n"
		"{\"rank\":3,\"gen\":2,\"comm\":\"a\",\"kind\":\"tp\",\"members\":[3,1,2],\"index\":0,\"took\":5}\n"
		"{\"rank\":3,\"gen\":2,\"comm\":\"a\",\"seq\":4,\"op\":\"all_reduce\",\"bytes\":9,\"arrive\":11}\n"
		"{\"rank\":3,\"gen\":2,\"comm\":\"a\",\"seq\":4,\"end\":15}\n"
		"{\"rank\":3,\"gen\":1,\"comm\":\"old\",\"members\":\"0-3\",\"index\":0}\n"
		"{\"rank\":3,\"gen\":2,\"comm\":\"a\",\"se"), 0);
	assert_int_equal(count.cut, 1);
	assert_int_equal(rec.rank[3].world, 8);
	assert_string_equal(sn_records_text(&rec, rec.rank[3].host), "n7");
	c = only_comm(3);
	assert_string_equal(sn_records_text(&rec, c->kind), "tp");
	assert_int_equal(rec.set[c->set].n, 3);
	assert_int_equal(rec.set[c->set].rank[0], 3);
	assert_int_equal(c->took, 5);
	assert_int_equal(c->n_ops, 1);
	assert_int_equal(c->op[0].seq, 4);
	assert_int_equal(c->op[0].bytes, 9);
	assert_int_equal(c->op[0].arrive, 11);
	assert_int_equal(c->op[0].end, 15);
}

static void test_bad_lines(void **state)
{
	static const struct { const char *line, *why; } bad[] = {
		{ "x", "f.jsonl:1: is no line of JSON" },
		{ "[1]", "f.jsonl:1: is no JSON object" },
		{ "{} {}", "something follows" },
		{ "{}", "\"rank\" is missing" },
		{ "{\"rank\":-1}", "\"rank\" is -1" },
		{ "{\"rank\":\"1\"}", "\"rank\" is not a whole number" },
		{ "{\"rank\":99999999}", "\"rank\" is 99999999" },
		{ "\n{\"rank\":1,\"comm\":3}", "f.jsonl:2: \"comm\" is not a string" },
		{ "{\"rank\":1,\"comm\":\"a\"}", "without \"members\"" },
		{ "{\"rank\":1,\"comm\":\"a\",\"members\":3}", "neither a list" },
		{ "{\"rank\":1,\"comm\":\"a\",\"members\":[\"x\"]}", "no rank" },
		{ "{\"rank\":1,\"comm\":\"a\",\"members\":[]}", "has no members" },
		{ "{\"rank\":1,\"comm\":\"a\",\"members\":\"3-1\"}", "is no list of ranks" },
		{ "{\"rank\":1,\"comm\":\"a\",\"seq\":1}", "neither \"arrive\" nor \"end\"" },
		{ "{\"rank\":1,\"comm\":\"a\",\"seq\":1,\"arrive\":1}", "\"op\" is missing" },
		{ "{\"rank\":1,\"comm\":\"a\",\"seq\":1,\"arrive\":1,\"op\":\"x\",\"peer\":2}", "send or recv" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(text(bad[i].line), -EINVAL);
		if (!strstr(err.text, bad[i].why))
			print_error("%s\n", err.text);
		assert_non_null(strstr(err.text, bad[i].why));
	}
}

static void write_some(int rank, int ops)
{
	const int members[] = { 0, 1, 2, 3 };
	struct snrecord *r = snrecord_open(dir, rank, 4);
	int tp, dp;

	assert_non_null(r);
	tp = snrecord_comm(r, "tp \"0\"", "tp", members, 4, rank, 77);
	dp = snrecord_comm(r, "dp", NULL, members, 4, rank, 0);
	assert_true(tp >= 0 && dp >= 0 && dp != tp);
	snrecord_end(r, dp, snrecord_begin(r, dp, "barrier", 0));
	for (int i = 0; i < ops; i++)
		snrecord_end(r, tp, snrecord_begin(r, tp, "all_reduce", 4096));
	snrecord_p2p_end(r, tp, 1, 2, snrecord_p2p_begin(r, tp, 1, 2, 64));
	assert_int_equal(snrecord_error(r), 0);
	snrecord_close(r);
}

static const struct sn_rec_comm *comm_named(uint32_t rank, const char *name)
{
	for (uint32_t i = 0; i < rec.rank[rank].n_comms; i++)
		if (!strcmp(sn_records_text(&rec, rec.rank[rank].comm[i].name), name))
			return &rec.rank[rank].comm[i];
	return NULL;
}

static void test_library(void **state)
{
	const struct sn_rec_comm *c;

	(void)state;
	setenv("SUPERNODE_GENERATION", "3", 1);
	write_some(1, 20);
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	assert_int_equal(rec.gen, 3);
	assert_int_equal(rec.rank[1].world, 4);
	assert_string_equal(sn_records_text(&rec, rec.rank[1].host), "n001");
	c = comm_named(1, "tp \"0\"");
	assert_non_null(c);
	assert_int_equal(c->took, 77);
	assert_int_equal(c->index, 1);
	assert_int_equal(rec.set[c->set].n, 4);
	assert_int_equal(c->op[c->n_ops - 1].seq, 20);
	assert_true(c->op[0].end >= c->op[0].arrive && c->op[0].arrive > 1600000000000000000u);
	c = comm_named(1, "tp \"0\" 1>2");
	assert_non_null(c);
	assert_int_equal(c->op[0].bytes, 64);
	assert_true(c->op[0].end > 0);
}

/* However many lines, the files stay small, and the last one tells all. */
static void test_rotation(void **state)
{
	char path[128];
	struct stat st;

	(void)state;
	setenv("SNRECORD_BYTES", "8192", 1);
	write_some(2, 2000);
	snprintf(path, sizeof(path), "%s/rank-2.jsonl", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 8192 + 512);
	strcat(path, ".1");
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 8192 + 512);
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	assert_int_equal(count.files, 1);
	assert_int_equal(comm_named(2, "tp \"0\"")->op[SN_REC_OPS - 1].seq, 2000);
	/* Done once, at the very beginning. */
	assert_int_equal(comm_named(2, "dp")->n_ops, 1);
	assert_true(comm_named(2, "dp")->op[0].end > 0);
}

static uint64_t told_done, told_total;
static uint32_t told;

static void tell(uint64_t done, uint64_t total)
{
	assert_int_equal(done, told++);
	told_done = done;
	told_total = total;
}

static void test_told(void **state)
{
	(void)state;
	write_some(1, 5);
	write_some(3, 5);
	told = 0;
	count.at = tell;
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	count.at = NULL;
	assert_int_equal(told, 2);
	assert_int_equal(told_done, 1);
	assert_int_equal(told_total, 2);
}

/* Of a long file the reader takes the end, and what is only before it. */
static void test_tail(void **state)
{
	(void)state;
	write_some(0, 400);
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	assert_true(count.tails);
	assert_int_equal(comm_named(0, "dp")->n_ops, 1);
	assert_int_equal(comm_named(0, "tp \"0\"")->op[SN_REC_OPS - 1].seq, 400);
}

/* What an earlier process did is not read as the later one's. */
static void test_tail_restart(void **state)
{
	(void)state;
	write_some(0, 300); /* with dp, once */
	if (!fork()) { /* another process */
		const int members[] = { 0, 1, 2, 3 };
		struct snrecord *r = snrecord_open(dir, 0, 4);
		int dp = snrecord_comm(r, "dp", NULL, members, 4, 0, 0);
		int tp = snrecord_comm(r, "tp \"0\"", "tp", members, 4, 0, 0);

		for (int i = 0; i < 100; i++)
			snrecord_end(r, tp, snrecord_begin(r, tp, "all_reduce", 4096));
		_exit(dp < 0);
	}
	wait(NULL);
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	assert_true(count.tails);
	assert_int_equal(comm_named(0, "tp \"0\"")->op[SN_REC_OPS - 1].seq, 100);
	assert_int_equal(comm_named(0, "dp")->n_ops, 0);
}

/* A process that is killed leaves whole lines; its successor ends a half one. */
static void test_killed(void **state)
{
	char path[128];
	int status, fd;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		const int members[] = { 0 };
		struct snrecord *r = snrecord_open(dir, 0, 1);
		int c = snrecord_comm(r, "a", NULL, members, 1, 0, 0);

		snrecord_begin(r, c, "all_reduce", 1);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	assert_int_equal(count.cut, 0);
	assert_int_equal(only_comm(0)->n_ops, 1);
	snprintf(path, sizeof(path), "%s/rank-0.jsonl", dir);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"rank\":0,\"ge", 13), 13);
	close(fd);
	setenv("SUPERNODE_GENERATION", "1", 1);
	write_some(0, 1);
	memset(&count, 0, sizeof(count));
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	assert_int_equal(count.cut, 1);
	assert_int_equal(rec.gen, 1);
	assert_int_equal(rec.rank[0].n_comms, 3);
}

static void test_nothing_to_do(void **state)
{
	(void)state;
	unsetenv("SUPERNODE_JOB_DIR");
	assert_null(snrecord_open(NULL, 0, 1));
	assert_int_equal(errno, 0);
	assert_null(snrecord_open("/nonexistent/dir", 0, 1));
	assert_int_equal(errno, ENOENT);
	/* All of it takes what failed. */
	assert_true(snrecord_comm(NULL, "a", NULL, NULL, 0, 0, 0) < 0);
	assert_int_equal(snrecord_begin(NULL, -1, "x", 0), 0);
	snrecord_end(NULL, -1, 0);
	assert_int_equal(snrecord_p2p_begin(NULL, 0, 1, 0, 0), 0);
	snrecord_p2p_end(NULL, 0, 1, 0, 0);
	assert_int_equal(snrecord_error(NULL), 0);
	snrecord_close(NULL);
}

/* Under plain srun; snrun, later in the job, takes no directory that others may write
 * to. */
static void test_no_job_dir(void **state)
{
	mode_t mask = umask(002);
	struct snrecord *r;
	char path[128];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/a/7", dir);
	setenv("SUPERNODE_JOB_DIR", path, 1);
	r = snrecord_open(NULL, 0, 1);
	unsetenv("SUPERNODE_JOB_DIR");
	umask(mask);
	assert_non_null(r);
	snrecord_close(r);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	strcat(path, "/records/rank-0.jsonl");
	assert_int_equal(stat(path, &st), 0);
}

static void test_symlink(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/rank-0.jsonl", dir);
	assert_int_equal(symlink("/tmp/elsewhere", path), 0);
	assert_null(snrecord_open(dir, 0, 1));
	assert_int_equal(errno, ELOOP);
}

/* A file that may not grow stands for a full disk. */
static void test_full(void **state)
{
	struct rlimit was, small = { 2000, 2000 };
	const int members[] = { 0 };
	struct snrecord *r;
	int c;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	r = snrecord_open(dir, 0, 1);
	c = snrecord_comm(r, "a", NULL, members, 1, 0, 0);
	setrlimit(RLIMIT_FSIZE, &small);
	for (int i = 0; i < 100; i++)
		snrecord_begin(r, c, "all_reduce", 1);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_true(snrecord_error(r) == ENOSPC || snrecord_error(r) == EFBIG);
	snrecord_close(r);
	assert_int_equal(sn_recordread_path(&rec, dir, 0, &count, &err), 0);
	assert_true(only_comm(0)->n_ops > 0);
}

static void test_cost(void **state)
{
	const int members[] = { 0, 1 };
	struct timespec t0, t1;
	struct snrecord *r;
	double us;
	int c;

	(void)state;
	r = snrecord_open(dir, 0, 2);
	c = snrecord_comm(r, "a", NULL, members, 2, 0, 0);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (int i = 0; i < 20000; i++)
		snrecord_end(r, c, snrecord_begin(r, c, "all_reduce", 1));
	clock_gettime(CLOCK_MONOTONIC, &t1);
	us = ((double)(t1.tv_sec - t0.tv_sec) * 1e6 + (double)(t1.tv_nsec - t0.tv_nsec) / 1e3) / 20000;
	print_message("a collective costs %.2f us of recording\n", us);
	assert_true(us < 500);
	snrecord_close(r);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_lines), T(test_bad_lines), T(test_library),
		T(test_rotation), T(test_told), T(test_tail), T(test_tail_restart), T(test_killed),
		T(test_nothing_to_do), T(test_no_job_dir), T(test_symlink), T(test_full),
		T(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
