/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_snmemends.c - checkpoints in memory: an end of a connection that dies in the middle
 * of a shard.
 */
#include "config.h"

#include "tests/unit/snmembed.h"

/* A node that can be killed. */
static pid_t serve_apart(const char *region, struct mem_server *ret)
{
	int port[2], in;
	pid_t pid;

	assert_int_equal(pipe(port), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		in = mem_dir(top, region);
		(void)serve(in, 0, ret);
		if (write(port[1], &ret->port, sizeof(ret->port)) != sizeof(ret->port))
			_exit(1);
		for (;;)
			pause();
	}
	*ret = (struct mem_server){ .node = "x", .address = "127.0.0.1", .token = TOKEN };
	assert_int_equal(read(port[0], &ret->port, sizeof(ret->port)), sizeof(ret->port));
	close(port[0]);
	close(port[1]);
	return pid;
}

/* In a program that has not thought of SIGPIPE, and must live. */
static int in_another(int (*fn)(const struct mem_server *to), const struct mem_server *to)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		sigset_t pending;
		int rc;

		signal(SIGPIPE, SIG_DFL);
		rc = fn(to);
		sigpending(&pending);
		_exit(sigismember(&pending, SIGPIPE) ? 255 : rc < 0 ? -rc : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
	return -WEXITSTATUS(status);
}

static int put(const struct mem_server *to)
{
	return mem_put(to, SESSION, &head, file);
}

static void a_node_that_dies_while_it_gets_a_shard(void **state)
{
	struct mem_server node, to;
	int in = mem_dir(top, "other");

	(void)state;
	for (size_t cut = sizeof(struct mem_hello) + 1; cut < BIG; cut = cut * 8) {
		pid_t pid = serve_apart("other", &node);
		struct relay r = { .cut = { cut + 4096, 0 }, .victim = pid };
		int status;

		to = node;
		begin_relay(&r, &to);
		assert_true(in_another(put, &to) < 0);
		end_relay(&r);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WTERMSIG(status), SIGKILL);
		assert_int_equal(count(in), 0); /* nothing in part */
		free_relay(&r);
	}
	/* Its next life. */
	pid_t pid = serve_apart("other", &node);

	assert_int_equal(put(&node), 0);
	assert_int_equal(count(in), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(in);
}

static void a_node_that_dies_while_it_gives_a_shard(void **state)
{
	struct mem_server node, to;
	pid_t pid = serve_apart("own", &node);
	struct relay r = { .cut = { 0, BIG / 2 }, .victim = pid };

	(void)state;
	to = node;
	begin_relay(&r, &to);
	assert_true(in_another(get, &to) < 0);
	end_relay(&r);
	waitpid(pid, NULL, 0);
	pid = serve_apart("own", &node);
	assert_int_equal(get(&node), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free_relay(&r);
}

static void a_peer_that_dies_in_the_middle(void **state)
{
	int in = mem_dir(top, "other");
	struct mem_server node, to;
	struct mem_serve *is = serve(in, 0, &node);

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct relay r = { .cut = { k ? 0 : BIG / 2, k ? BIG / 2 : 0 } };

		to = node;
		begin_relay(&r, &to);
		assert_true(in_another(k ? get : put, &to) < 0);
		end_relay(&r);
		assert_int_equal(count(in), k);
		free_relay(&r);
		/* The node has forgotten it, and serves the next. */
		assert_int_equal(put(&node), 0);
		assert_int_equal(get(&node), 0);
	}
	mem_serve_stop(is);
	close(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_node_that_dies_while_it_gets_a_shard), T(a_node_that_dies_while_it_gives_a_shard),
		T(a_peer_that_dies_in_the_middle),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("snmemends", tests, NULL, NULL);
}
