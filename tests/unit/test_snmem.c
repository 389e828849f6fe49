/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_snmem.c - checkpoints in memory: ranks as processes over nodes that are
 * directories.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/memsafe.h"
#include "launcher/snmem.h"
#include "launcher/snmem_internal.h"

#define RANKS 4 /* two on a node */
#define SIZE 5000

static char top[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(top, "/tmp/sn-mem-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

__attribute__((format(printf, 1, 2)))
static int shell(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command);
}

static int tear_down(void **state)
{
	(void)state;
	return shell("rm -rf %s", top);
}

/* ---- nodes with ranks ----------------------------------------------------------------- */

struct job {
	const char *node[4]; /* those with ranks, two each */
	int n_nodes, generation;
	const char *tag, *other; /* job directory */
	bool flush;
	unsigned saves; /* iterations after what is found */
	uint64_t want; /* iteration to begin with; 0: none */
	int want_world;
};

/* What ranks wait for each other at, as collectives make them. */
static pthread_barrier_t *step;

static void fill(char *data, uint64_t iteration, int rank)
{
	for (int i = 0; i < SIZE; i++)
		data[i] = (char)(iteration * 31 + (uint64_t)rank * 7 + (uint64_t)i);
}

static void lay_out(const struct job *job, int per_node)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/job/layout.json", top);
	assert_int_equal(shell("mkdir -p -m 700 %s/job %s/flush", top, top), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "{\"nodes\":[");
	for (int i = 0; i < job->n_nodes; i++) {
		assert_int_equal(shell("mkdir -p -m 700 %s/%s", top, job->node[i]), 0);
		fprintf(f, "{\"name\":\"%s\",\"address\":\"127.0.0.1\",\"supernode\":\"a\",\"ranks\":%d},",
			job->node[i], per_node);
	}
	fprintf(f, "{\"name\":\"spare\",\"supernode\":\"a\",\"ranks\":0}],\"ranks\":[");
	for (int r = 0; r < per_node * job->n_nodes; r++)
		fprintf(f, "%s[\"%s\",%d]", r ? "," : "", job->node[r / per_node], r % per_node);
	fprintf(f, "]}");
	fclose(f);
}

#define MUST(what) do { \
	if (!(what)) { \
		fprintf(stderr, "rank %d: %s: %s\n", rank, #what, snmem_error(mem)); \
		_exit(1); \
	} \
} while (0)

static void be_rank(const struct job *job, int rank)
{
	struct snmem_options o = {
		.rank = rank, .world = 2 * job->n_nodes, .local_rank = rank % 2,
		.generation = job->generation, .node = job->node[rank / 2],
		.tag = job->tag, .wait_ms = 20000,
	};
	char region[128], dir[128], flush[128], why[256] = "", data[SIZE], *got;
	struct snmem *mem;
	uint64_t iteration = 0;
	size_t len;
	int world = 0, rc;

	alarm(60); /* another rank may have failed */
	snprintf(region, sizeof(region), "%s/%s", top, job->node[rank / 2]);
	snprintf(dir, sizeof(dir), "%s/job%s", top, job->other ? job->other : "");
	snprintf(flush, sizeof(flush), "%s/flush", top);
	o.region = region;
	o.job_dir = dir;
	o.flush_dir = job->flush ? flush : NULL;
	o.flush_every = 2;
	mem = snmem_open(&o, why, sizeof(why));
	if (!mem)
		fprintf(stderr, "%s\n", why);
	MUST(mem);
	rc = snmem_last(mem, &iteration, &world);
	MUST(rc == (job->want ? 0 : -ENOENT));
	MUST(iteration == job->want && world == job->want_world);
	for (int i = 0; i < world; i++) {
		MUST(!snmem_load(mem, i, (void **)&got, &len));
		fill(data, iteration, i);
		MUST(len == SIZE && !memcmp(got, data, SIZE));
		free(got);
	}
	for (unsigned i = 1; i <= job->saves; i++) {
		pthread_barrier_wait(step);
		fill(data, iteration + i, rank);
		MUST(!snmem_save(mem, iteration + i, data, SIZE));
		MUST(!snmem_wait(mem));
	}
	/* The node's server is needed until all have what they want. */
	pthread_barrier_wait(step);
	snmem_close(mem);
	_exit(0);
}

static void run(const struct job *job)
{
	pid_t pid[8];
	int status;

	pthread_barrierattr_t shared;

	lay_out(job, 2);
	step = mmap(NULL, sizeof(*step), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(step != MAP_FAILED);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(step, &shared, 2 * (unsigned)job->n_nodes);
	for (int r = 0; r < 2 * job->n_nodes; r++) {
		pid[r] = fork();
		assert_true(pid[r] >= 0);
		if (!pid[r])
			be_rank(job, r);
	}
	for (int r = 0; r < 2 * job->n_nodes; r++) {
		assert_int_equal(waitpid(pid[r], &status, 0), pid[r]);
		assert_int_equal(status, 0);
	}
}

/* ---- it comes back ----------------------------------------------------------------------- */

static const struct job first = { .node = { "n1", "n2" }, .n_nodes = 2, .saves = 5 };

static void a_lost_node_is_read_from_its_neighbour(void **state)
{
	struct job job = first;

	(void)state;
	run(&job);
	assert_int_equal(shell("rm -r %s/n2", top), 0);
	job = (struct job){ .node = { "n1", "n3" }, .n_nodes = 2, .generation = 1,
			    .want = 5, .want_world = 4, .saves = 4 };
	run(&job);
	/* And again, the other one. */
	assert_int_equal(shell("rm -r %s/n1", top), 0);
	job = (struct job){ .node = { "n4", "n3" }, .n_nodes = 2, .generation = 2,
			    .want = 9, .want_world = 4 };
	run(&job);
}

static void another_size_reads_all_shards(void **state)
{
	struct job job = first;

	(void)state;
	run(&job);
	job = (struct job){ .node = { "n2" }, .n_nodes = 1, .generation = 1,
			    .want = 5, .want_world = 4, .saves = 4 };
	run(&job);
	/* One node has no neighbour, and its own shards. */
	job = (struct job){ .node = { "n2", "n1" }, .n_nodes = 2, .generation = 2,
			    .want = 9, .want_world = 2 };
	run(&job);
}

static void what_is_torn_does_not_count(void **state)
{
	struct job job = first;

	(void)state;
	run(&job);
	/* Both copies of rank 3's last one: cut off, and one byte wrong. */
	assert_int_equal(shell("truncate -s -1 %s/n2/memckpt-*/i5.g0.w4.r3", top), 0);
	assert_int_equal(shell("printf x | dd of=$(ls %s/n1/memckpt-*/i5.g0.w4.r3) bs=1 seek=1000 conv=notrunc 2>/dev/null", top), 0);
	job = (struct job){ .node = { "n1", "n2" }, .n_nodes = 2, .generation = 1,
			    .want = 4, .want_world = 4, .saves = 1 };
	run(&job);
	/* The fifth of that time is forgotten, that of this one is there. */
	assert_int_equal(shell("test -z \"$(ls %s/n*/memckpt-* | grep i5.g0)\"", top), 0);
	job.generation = 2;
	job.want = 5;
	run(&job);
}

static void what_survives_a_node_is_said(void **state)
{
	struct job job = first;
	uint64_t iteration = 0;
	char dir[80];
	size_t n;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/job", top);
	run(&job);
	assert_true(sn_memsafe_look(dir, 0, &iteration, &n));
	assert_int_equal(n, 2);
	assert_int_equal(iteration, 5);
	/* of that start */
	assert_false(sn_memsafe_look(dir, 1, &iteration, &n));
	/* half of the ranks have no copy */
	assert_int_equal(shell("rm %s/memckpt/n2@has", dir), 0);
	assert_false(sn_memsafe_look(dir, 0, &iteration, &n));
	/* three in a ring, and then one that has no neighbour */
	sn_memsafe_forget(dir);
	job = (struct job){ .node = { "n5", "n6", "n7" }, .n_nodes = 3, .saves = 2 };
	job.generation = 1;
	run(&job);
	assert_true(sn_memsafe_look(dir, 1, &iteration, &n));
	assert_int_equal(n, 3);
	assert_int_equal(iteration, 2);
	sn_memsafe_forget(dir);
	job = (struct job){ .node = { "n8" }, .n_nodes = 1, .saves = 2, .generation = 2 };
	run(&job);
	assert_false(sn_memsafe_look(dir, 2, &iteration, &n));
	assert_int_equal(n, 0);
}

static void both_nodes_lost_is_none(void **state)
{
	struct job job = first;

	(void)state;
	run(&job);
	assert_int_equal(shell("rm -r %s/n1/memckpt-* %s/n2/memckpt-*/i*r[23]", top, top), 0);
	job.generation = 1;
	run(&job);
}

static void anothers_shards_do_not_count(void **state)
{
	struct job job = first;

	(void)state;
	run(&job);
	job.generation = 1;
	job.tag = "another training";
	job.saves = 2;
	run(&job);
	assert_int_equal(shell("test -z \"$(find %s/n* -name 'i*' ! -name '*.g1.*')\"", top), 0);
}

static void an_earlier_jobs_do_not_count(void **state)
{
	struct job job = first;

	(void)state;
	run(&job);
	assert_int_equal(shell("cp -r %s/job %s/job2 && rm -r %s/job2/memckpt", top, top, top), 0);
	job.other = "2";
	run(&job);
	/* It may share the region, and live. */
	assert_int_equal(shell("test 2 = $(ls -d %s/n1/memckpt-* | wc -l)", top), 0);
}

static void flushed_ones_are_found(void **state)
{
	struct job job = first;
	char path[128], text[32] = "";
	FILE *f;

	(void)state;
	job.flush = true;
	run(&job);
	snprintf(path, sizeof(path), "%s/flush/memckpt/latest", top);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	/* Saves 1, 3 and 5 were. */
	assert_string_equal(text, "5\n");
	assert_int_equal(shell("rm -r %s/n1 %s/n2", top, top), 0);
	assert_int_equal(shell("rm %s/flush/memckpt/i5.g0.w4.r2", top), 0);
	job = (struct job){ .node = { "n3", "n4" }, .n_nodes = 2, .generation = 1, .flush = true,
			    .want = 3, .want_world = 4 };
	run(&job);
}

/* One rank a node, and no barriers: the program of one ends in the middle. */
static struct snmem *begin(const char *node, int rank, int generation, uint64_t want)
{
	char region[128], dir[128], why[256] = "";
	const struct snmem_options o = {
		.rank = rank, .world = 2, .local_rank = 0, .generation = generation,
		.node = node, .region = region, .job_dir = dir, .wait_ms = 20000,
	};
	struct snmem *mem;
	uint64_t iteration = 0;
	int world, rc;

	snprintf(region, sizeof(region), "%s/%s", top, node);
	snprintf(dir, sizeof(dir), "%s/job", top);
	mem = snmem_open(&o, why, sizeof(why));
	MUST(mem);
	rc = snmem_last(mem, &iteration, &world);
	MUST(rc == (want ? 0 : -ENOENT) && iteration == want);
	return mem;
}

static void save(struct snmem *mem, int rank, uint64_t iteration)
{
	char data[SIZE];

	fill(data, iteration, rank);
	MUST(!snmem_save(mem, iteration, data, SIZE));
}

static pid_t begin_other(int generation, uint64_t want, uint64_t iteration, int ready)
{
	pid_t pid = fork();
	int rank = 1;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	alarm(60);
	struct snmem *mem = begin("n2", rank, generation, want);

	save(mem, rank, iteration);
	MUST(!snmem_wait(mem));
	MUST(write(ready, "", 1) == 1);
	for (;;)
		pause();
}

static void a_partner_that_goes_and_comes_back(void **state)
{
	int ready[2], rank = 0, status;
	char word;
	struct snmem *mem;
	pid_t other;

	(void)state;
	lay_out(&first, 1);
	assert_int_equal(pipe(ready), 0);
	alarm(120);
	other = begin_other(0, 0, 1, ready[1]);
	mem = begin("n1", rank, 0, 0);
	save(mem, rank, 1);
	assert_int_equal(snmem_wait(mem), 0);
	assert_int_equal(read(ready[0], &word, 1), 1);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, &status, 0), other);
	/* Its own saves go on; that they have no copy is said. */
	save(mem, rank, 2);
	assert_true(snmem_wait(mem) < 0);
	assert_non_null(strstr(snmem_error(mem), "iteration 2 has no copy on node n2: "));
	save(mem, rank, 3);
	assert_true(snmem_wait(mem) < 0);
	snmem_close(mem);
	/* The last that both have is 1; all goes on from there, with copies. */
	other = begin_other(1, 1, 2, ready[1]);
	mem = begin("n1", rank, 1, 1);
	save(mem, rank, 2);
	assert_int_equal(snmem_wait(mem), 0);
	assert_int_equal(read(ready[0], &word, 1), 1);
	assert_int_equal(shell("test -f %s/n2/memckpt-*/i2.g1.w2.r0", top), 0);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, &status, 0), other);
	snmem_close(mem);
	alarm(0);
	close(ready[0]);
	close(ready[1]);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static struct snmem *open_as(const char *region, char *why, size_t size)
{
	char dir[128];
	const struct snmem_options o = {
		.rank = 0, .world = 4, .local_rank = 0, .generation = 0,
		.node = "n1", .region = region, .job_dir = dir,
	};

	snprintf(dir, sizeof(dir), "%s/job", top);
	return snmem_open(&o, why, size);
}

static void what_is_not_ours_is_refused(void **state)
{
	char path[128], why[256], name[MEM_NAME];

	(void)state;
	lay_out(&first, 2);
	unsetenv("SUPERNODE_POOL_DIR");
	assert_null(open_as(NULL, why, sizeof(why)));
	assert_non_null(strstr(why, "--pool=SIZE"));
	snprintf(path, sizeof(path), "%s/job", top);
	mem_region_dir(path, name);
	snprintf(path, sizeof(path), "%s/n1", top);
	assert_int_equal(shell("mkdir %s/%s && chmod 770 %s/%s", path, name, path, name), 0);
	assert_null(open_as(path, why, sizeof(why)));
	assert_non_null(strstr(why, "others may write"));
	assert_int_equal(shell("rmdir %s/%s && ln -s /tmp %s/%s", path, name, path, name), 0);
	assert_null(open_as(path, why, sizeof(why)));
	assert_non_null(strstr(why, "no directory"));
	if (!geteuid()) {
		assert_int_equal(shell("rm %s/%s && mkdir -m 700 %s/%s && chown 65534 %s/%s", path, name, path, name, path, name), 0);
		assert_null(open_as(path, why, sizeof(why)));
		assert_non_null(strstr(why, "another user's"));
	}
	assert_int_equal(shell("rm -rf %s/memckpt-*; echo '{' >%s/job/layout.json", path, top), 0);
	assert_null(open_as(path, why, sizeof(why)));
	assert_non_null(strstr(why, "layout.json"));
	assert_int_equal(snmem_last(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(snmem_save(NULL, 1, "", 0), -EINVAL);
	assert_string_equal(snmem_error(NULL), "");
	snmem_close(NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_lost_node_is_read_from_its_neighbour), T(another_size_reads_all_shards),
		T(what_is_torn_does_not_count), T(what_survives_a_node_is_said), T(both_nodes_lost_is_none),
		T(anothers_shards_do_not_count), T(an_earlier_jobs_do_not_count), T(flushed_ones_are_found),
		T(what_is_not_ours_is_refused), T(a_partner_that_goes_and_comes_back),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("snmem", tests, NULL, NULL);
}
