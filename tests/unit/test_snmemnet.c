/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_snmemnet.c - checkpoints in memory: who gets a shard from a node, whom a node
 * gives one to, and ends of either in the middle.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/snmem_internal.h"

#define TAG 9
#define SESSION 77
#define TOKEN "0123456789abcdef0123456789abcdef"
#define BIG (4u << 20) /* more than sockets hold */

static char top[64];
static const struct mem_id id = { 5, 0, 4, 2 };
static struct mem_head head;
static char name[MEM_NAME];
static char *data; /* [BIG] */
static int dir, file;

/* A shard in a region, to be sent and to be had. */
static int set_up(void **state)
{
	(void)state;
	alarm(100);
	strcpy(top, "/tmp/sn-memnet-XXXXXX");
	data = malloc(BIG);
	if (!mkdtemp(top) || !data)
		return -1;
	for (size_t i = 0; i < BIG; i++)
		data[i] = (char)(i * 2654435761u >> 13);
	dir = mem_dir(top, "own");
	mem_head_make(&head, TAG, &id, data, BIG);
	mem_name(&id, name);
	if (dir < 0 || mem_write(dir, name, &head, data, false))
		return -1;
	file = mem_open(dir, name, TAG, &head);
	return file < 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	close(file);
	close(dir);
	free(data);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static struct mem_serve *serve(int in, unsigned stranger_ms, struct mem_server *to)
{
	const struct mem_serve_options o = {
		.dir = in, .tag = TAG, .session = SESSION, .keep = 3, .token = TOKEN,
		.stranger_ms = stranger_ms,
	};
	struct mem_serve *is;

	memset(to, 0, sizeof(*to));
	strcpy(to->node, "x");
	strcpy(to->address, "127.0.0.1");
	strcpy(to->token, TOKEN);
	assert_int_equal(mem_serve_start(&o, &is, &to->port), 0);
	return is;
}

static int get(const struct mem_server *from)
{
	uint64_t len = 0;
	void *got = NULL;
	int rc = mem_get(from, SESSION, TAG, &id, &got, &len);

	if (!rc) {
		assert_int_equal(len, BIG);
		assert_memory_equal(got, data, BIG);
		free(got);
	}
	return rc;
}

/* How many shards the region has, whole or not. */
static size_t count(int in)
{
	struct mem_id *all = NULL;
	size_t n = 0;

	assert_int_equal(mem_names(in, &all, &n), 0);
	free(all);
	return n;
}

static int listen_to(uint16_t *ret_port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&sa, len) && !listen(fd, 16) &&
		    !getsockname(fd, (struct sockaddr *)&sa, &len));
	*ret_port = ntohs(sa.sin_port);
	return fd;
}

/* From 127.0.0.`host`; -1: it was refused, as it may be at such a time. */
static int call(uint16_t port, unsigned host)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000 | host) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&from, sizeof(from)));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

/* ---- peers ------------------------------------------------------------------------------ */

static void peers_have_what_they_ask_for(void **state)
{
	struct mem_server to;
	struct mem_serve *is = serve(dir, 0, &to);
	struct mem_head other = head;
	uint64_t len;
	void *got;

	(void)state;
	assert_int_equal(get(&to), 0);
	assert_int_equal(mem_put(&to, SESSION, &head, file), 0);
	/* Of another start, another job; not there. */
	assert_int_equal(mem_get(&to, SESSION + 1, TAG, &id, &got, &len), -ESTALE);
	assert_int_equal(mem_put(&to, SESSION + 1, &head, file), -ESTALE);
	assert_int_equal(mem_get(&to, SESSION, TAG, &(struct mem_id){ 6, 0, 4, 2 }, &got, &len), -ENOENT);
	other.head_sum++;
	assert_int_equal(mem_put(&to, SESSION, &other, file), -EBADMSG);
	/* Said before a byte of it is sent. */
	other = head;
	other.len = MEM_LEN_MAX;
	mem_head_make(&other, TAG, &id, "", 0);
	other.len = MEM_LEN_MAX;
	other.head_sum = mem_sum(7, &other, offsetof(struct mem_head, head_sum));
	assert_int_equal(mem_put(&to, SESSION, &other, file), -ENOSPC);
	mem_serve_stop(is);
	assert_int_equal(get(&to), -ECONNREFUSED);
}

/* ---- the wire ----------------------------------------------------------------------------- */

/* Between a peer and a node: what goes by is kept, and cut off after some of it. */
struct relay {
	pthread_t thread;
	int fd;
	uint16_t port;
	size_t cut[2]; /* bytes from the peer, from the node; 0: never */
	pid_t victim; /* killed then; 0: nobody */
	/* what went by */
	char *said[2]; /* [MOST] */
	size_t n[2];
};
#define MOST (BIG + (64u << 10))

static bool pass(struct relay *r, int way, int from, int to)
{
	char buf[32768];
	ssize_t n = recv(from, buf, sizeof(buf), 0);

	if (n <= 0 || r->n[way] + (size_t)n > MOST || (r->cut[way] && r->n[way] + (size_t)n > r->cut[way])) {
		if (n > 0 && r->victim)
			kill(r->victim, SIGKILL);
		return false;
	}
	memcpy(r->said[way] + r->n[way], buf, (size_t)n);
	r->n[way] += (size_t)n;
	return send(to, buf, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *run_relay(void *arg)
{
	struct relay *r = arg;
	int peer = accept(r->fd, NULL, NULL), node = call(r->port, 1);
	struct pollfd p[2] = { { .fd = peer, .events = POLLIN }, { .fd = node, .events = POLLIN } };
	bool on = true;

	while (on && poll(p, 2, -1) > 0)
		for (int way = 0; way < 2 && on; way++)
			if (p[way].revents)
				on = pass(r, way, p[way].fd, p[!way].fd);
	close(peer);
	close(node);
	return NULL;
}

/* *to leads through it then. */
static void begin_relay(struct relay *r, struct mem_server *to)
{
	r->port = to->port;
	for (int way = 0; way < 2; way++)
		assert_non_null(r->said[way] = malloc(MOST));
	r->fd = listen_to(&to->port);
	assert_int_equal(pthread_create(&r->thread, NULL, run_relay, r), 0);
}

static void end_relay(struct relay *r)
{
	pthread_join(r->thread, NULL);
	close(r->fd);
}

static void free_relay(struct relay *r)
{
	free(r->said[0]);
	free(r->said[1]);
}

static bool has(const struct relay *r, const void *what, size_t len)
{
	return memmem(r->said[0], r->n[0], what, len) || memmem(r->said[1], r->n[1], what, len);
}

static void no_secret_is_on_the_wire(void **state)
{
	static const unsigned char raw[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	struct mem_server to;
	struct mem_serve *is = serve(dir, 0, &to);
	int fd;

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct mem_server through = to;
		struct relay r = { 0 };
		ssize_t n = 0, more;
		char buf[4096];

		begin_relay(&r, &through);
		assert_int_equal(k ? mem_put(&through, SESSION, &head, file) : get(&through), 0);
		end_relay(&r);
		assert_true(r.n[0] >= sizeof(struct mem_hello) && r.n[1] >= sizeof(struct mem_welcome));
		assert_true(has(&r, data, 64)); /* it does see */
		assert_false(has(&r, TOKEN, 8));
		assert_false(has(&r, raw, sizeof(raw)));
		/* Nor does it help to say the same once more. */
		fd = call(to.port, 1);
		assert_true(fd >= 0);
		(void)!send(fd, r.said[0], r.n[0], MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		while ((more = recv(fd, buf, sizeof(buf), 0)) > 0)
			n += more;
		assert_true(n <= (ssize_t)sizeof(struct mem_greeting));
		close(fd);
		free_relay(&r);
	}
	mem_serve_stop(is);
}

/* Who has got the port of a node that is gone: says what he likes, and counts. */
struct impostor {
	pthread_t thread;
	int fd;
	bool again; /* what a node has said to another */
	struct mem_welcome welcome;
	size_t heard; /* bytes behind the hello */
};

static void *pretend(void *arg)
{
	struct impostor *i = arg;
	struct mem_greeting greeting = { .nonce = { 1 } };
	int fd = accept(i->fd, NULL, NULL);
	struct mem_hello hello;
	char buf[4096];
	ssize_t n;

	memcpy(greeting.magic, mem_magic, sizeof(greeting.magic));
	(void)!send(fd, &greeting, sizeof(greeting), MSG_NOSIGNAL);
	if (!mem_get_all(fd, &hello, sizeof(hello)))
		(void)!send(fd, &i->welcome, sizeof(i->welcome), MSG_NOSIGNAL);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		i->heard += (size_t)n;
	close(fd);
	return NULL;
}

static void an_impostor_gets_and_gives_nothing(void **state)
{
	struct mem_server to = { .node = "x", .address = "127.0.0.1", .token = TOKEN };
	struct mem_welcome real;
	struct mem_server node;
	struct mem_serve *is = serve(dir, 0, &node);
	struct relay r = { 0 };

	(void)state;
	/* A true node's welcome, to another. */
	begin_relay(&r, &node);
	assert_int_equal(get(&node), 0);
	end_relay(&r);
	memcpy(&real, r.said[1] + sizeof(struct mem_greeting), sizeof(real));
	free_relay(&r);
	mem_serve_stop(is);
	for (int k = 0; k < 4; k++) {
		struct impostor i = { .welcome = { .answer = 0, .head = head } };

		if (k & 2)
			i.welcome = real;
		i.fd = listen_to(&to.port);
		assert_int_equal(pthread_create(&i.thread, NULL, pretend, &i), 0);
		assert_int_equal(k & 1 ? mem_put(&to, SESSION, &head, file) : get(&to), -EKEYREJECTED);
		pthread_join(i.thread, NULL);
		assert_int_equal(i.heard, 0);
		close(i.fd);
	}
}

static void without_the_secret_one_gets_nothing(void **state)
{
	int in = mem_dir(top, "other");
	struct mem_server to;
	struct mem_serve *is = serve(in, 0, &to);

	(void)state;
	to.token[3] = 'f';
	assert_true(mem_put(&to, SESSION, &head, file) < 0);
	assert_true(get(&to) < 0);
	assert_int_equal(count(in), 0);
	to.token[3] = TOKEN[3];
	assert_int_equal(mem_put(&to, SESSION, &head, file), 0);
	assert_int_equal(count(in), 1);
	mem_serve_stop(is);
	close(in);
}

/* ---- strangers ------------------------------------------------------------------------------ */

struct crowd {
	pthread_t thread;
	uint16_t port;
	unsigned hosts; /* they come from so many addresses */
	atomic_bool end;
	atomic_int calls;
};

#define HELD 400

/* They hold what they can get, and come again. */
static void *crowd_in(void *arg)
{
	struct crowd *c = arg;
	int fd[HELD];
	unsigned n = 0;

	for (int i = 0; i < HELD; i++)
		fd[i] = -1;
	while (!atomic_load(&c->end)) {
		unsigned at = n++ % HELD;

		if (fd[at] >= 0)
			close(fd[at]);
		fd[at] = call(c->port, 1 + n % c->hosts);
		atomic_fetch_add(&c->calls, 1);
	}
	for (int i = 0; i < HELD; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return NULL;
}

/* A peer that has proved itself, and takes its time. */
static int begin_get(const struct mem_server *from)
{
	struct mem_hello hello = { .session = SESSION, .op = MEM_GET, .head = { .id = id } };
	struct mem_auth auth = { .client = { 7 } };
	struct mem_greeting greeting;
	struct mem_welcome w;
	int fd = call(from->port, 1);

	assert_true(fd >= 0);
	assert_int_equal(mem_get_all(fd, &greeting, sizeof(greeting)), 0);
	memcpy(auth.token, TOKEN, sizeof(auth.token));
	memcpy(auth.server, greeting.nonce, sizeof(auth.server));
	memcpy(hello.nonce, auth.client, sizeof(hello.nonce));
	assert_int_equal(mem_sign(&auth, MEM_HELLO, &hello, offsetof(struct mem_hello, mac), hello.mac), 0);
	assert_int_equal(mem_put_all(fd, &hello, sizeof(hello)), 0);
	assert_int_equal(mem_get_all(fd, &w, sizeof(w)), 0);
	assert_int_equal(w.answer, 0);
	return fd;
}

static void strangers_shut_nobody_out(void **state)
{
	struct mem_server to;
	struct mem_serve *is = serve(dir, 60000, &to);
	char *got = malloc(BIG);
	int slow = begin_get(&to);

	(void)state;
	/* From the peer's own address, and from ever others. */
	for (unsigned hosts = 1; hosts <= 200; hosts += 199) {
		struct crowd c = { .port = to.port, .hosts = hosts };

		assert_int_equal(pthread_create(&c.thread, NULL, crowd_in, &c), 0);
		while (atomic_load(&c.calls) < 2 * HELD)
			usleep(1000);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(get(&to), 0);
			assert_int_equal(mem_put(&to, SESSION, &head, file), 0);
		}
		atomic_store(&c.end, true);
		pthread_join(c.thread, NULL);
	}
	assert_int_equal(mem_get_all(slow, got, BIG), 0);
	assert_memory_equal(got, data, BIG);
	close(slow);
	free(got);
	mem_serve_stop(is);
}

/* Who says nothing, and who says a little again and again, are left after a while. */
static void a_stranger_has_so_much_time(void **state)
{
	struct mem_server to;
	struct mem_serve *is = serve(dir, 100, &to);
	struct mem_greeting greeting;
	int silent = call(to.port, 1), slow = call(to.port, 2);
	char c;

	(void)state;
	assert_int_equal(mem_get_all(silent, &greeting, sizeof(greeting)), 0);
	assert_int_equal(mem_get_all(slow, &greeting, sizeof(greeting)), 0);
	while (send(slow, "", 1, MSG_NOSIGNAL) == 1)
		usleep(2000);
	assert_true(recv(silent, &c, 1, 0) <= 0);
	close(silent);
	close(slow);
	assert_int_equal(get(&to), 0);
	mem_serve_stop(is);
}

/* ---- an end in the middle --------------------------------------------------------------------- */

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

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(peers_have_what_they_ask_for), T(no_secret_is_on_the_wire),
		T(an_impostor_gets_and_gives_nothing), T(without_the_secret_one_gets_nothing),
		T(strangers_shut_nobody_out), T(a_stranger_has_so_much_time),
		T(a_node_that_dies_while_it_gets_a_shard), T(a_node_that_dies_while_it_gives_a_shard),
		T(a_peer_that_dies_in_the_middle),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("snmemnet", tests, NULL, NULL);
}
