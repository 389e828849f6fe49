/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_snmemnet.c - checkpoints in memory: who gets a shard from a node, and whom a
 * node gives one to.
 */
#include "config.h"

#include <stdatomic.h>

#include "tests/unit/snmembed.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(peers_have_what_they_ask_for), T(no_secret_is_on_the_wire),
		T(an_impostor_gets_and_gives_nothing), T(without_the_secret_one_gets_nothing),
		T(strangers_shut_nobody_out), T(a_stranger_has_so_much_time),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("snmemnet", tests, NULL, NULL);
}
