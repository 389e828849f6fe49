/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmem.c - fast checkpoints in memory: what programs call.
 *
 * In the job directory, memckpt/NODE is what a node has, written by its first rank when
 * it begins, and memckpt/decided what rank 0 has found in them. A session, which is made
 * of the generation and the rendezvous address of the ranks, tells those of this start
 * from older ones.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snmem.h"
#include "launcher/snmem_state.h"

#define EXPORT __attribute__((visibility("default")))
#define DECIDED "decided"
#define FILE_MAX (256u << 20)
#define LOOK_MS 20

void mem_failed(struct snmem *mem, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&mem->lock);
	va_start(ap, fmt);
	vsnprintf(mem->error, sizeof(mem->error), fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&mem->lock);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- small files in the job directory ------------------------------------------------ */

static int write_text(int dir, const char *name, const char *text)
{
	char temporary[NAME_MAX];
	size_t len = strlen(text), at = 0;
	int fd, rc = 0;

	snprintf(temporary, sizeof(temporary), ".%.200s.%ld", name, (long)getpid());
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	while (!rc && at < len) {
		ssize_t n = write(fd, text + at, len - at);

		if (n < 0 && errno != EINTR)
			rc = -errno;
		else if (n > 0)
			at += (size_t)n;
	}
	if (!rc && fsync(fd))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && renameat(dir, temporary, dir, name))
		rc = -errno;
	if (rc)
		unlinkat(dir, temporary, 0);
	return rc;
}

/* NULL: not there, too large, or another user's. */
static char *read_text(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	size_t at = 0;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size < FILE_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text && at < (size_t)st.st_size) {
		ssize_t n = read(fd, text + at, (size_t)st.st_size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (text)
		text[at] = '\0';
	close(fd);
	return text;
}

/* ---- layout.json ----------------------------------------------------------------------- */

static const char *text_of(json_object *from, const char *key)
{
	json_object *at;

	return json_object_is_type(from, json_type_object) &&
		json_object_object_get_ex(from, key, &at) &&
		json_object_is_type(at, json_type_string) ? json_object_get_string(at) : NULL;
}

static json_object *array_of(json_object *from, const char *key)
{
	json_object *at;

	return json_object_is_type(from, json_type_object) &&
		json_object_object_get_ex(from, key, &at) &&
		json_object_is_type(at, json_type_array) ? at : NULL;
}

/* Nodes with ranks, in order. */
static int take_nodes(struct snmem *mem, json_object *nodes)
{
	size_t n = json_object_array_length(nodes);

	mem->node = calloc(n + 1, sizeof(*mem->node));
	if (!mem->node)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		json_object *from = json_object_array_get_idx(nodes, i), *ranks;
		struct mem_node *node = &mem->node[mem->n_nodes];
		const char *name = text_of(from, "name"), *in = text_of(from, "supernode");
		const char *address = text_of(from, "address");

		if (!name || !in || strpbrk(name, " /\n") || *name == '.')
			return -EBADMSG;
		if (!json_object_object_get_ex(from, "ranks", &ranks) ||
		    json_object_get_int(ranks) < 1)
			continue;
		if (!address || !*address || strpbrk(address, " \n"))
			address = name;
		snprintf(node->name, sizeof(node->name), "%s", name);
		snprintf(node->address, sizeof(node->address), "%s", address);
		snprintf(node->supernode, sizeof(node->supernode), "%s", in);
		mem->n_nodes++;
	}
	return mem->n_nodes ? 0 : -EBADMSG;
}

static int take_ranks(struct snmem *mem, json_object *ranks)
{
	if (json_object_array_length(ranks) != mem->world)
		return -EBADMSG;
	mem->where = calloc(mem->world, sizeof(*mem->where));
	if (!mem->where)
		return -ENOMEM;
	for (uint32_t r = 0; r < mem->world; r++) {
		json_object *pair = json_object_array_get_idx(ranks, r);
		const char *name = json_object_is_type(pair, json_type_array) ?
			json_object_get_string(json_object_array_get_idx(pair, 0)) : NULL;

		for (size_t i = 0; name && i < mem->n_nodes; i++)
			if (!strcmp(mem->node[i].name, name))
				mem->where[r] = mem->node[i].name;
		if (!mem->where[r])
			return -EBADMSG;
	}
	return 0;
}

static int read_layout(struct snmem *mem, int job)
{
	char *text = read_text(job, "layout.json");
	json_object *root = text ? json_tokener_parse(text) : NULL;
	json_object *nodes = array_of(root, "nodes"), *ranks = array_of(root, "ranks");
	int rc = !text ? -ENOENT : nodes && ranks ? 0 : -EBADMSG;

	if (!rc)
		rc = take_nodes(mem, nodes);
	if (!rc)
		rc = take_ranks(mem, ranks);
	json_object_put(root);
	free(text);
	return rc;
}

static void find_neighbour(struct snmem *mem)
{
	const char **in = calloc(mem->n_nodes, sizeof(*in));
	size_t me = SIZE_MAX;

	mem->neighbour = SIZE_MAX;
	for (size_t i = 0; in && i < mem->n_nodes; i++) {
		in[i] = mem->node[i].supernode;
		if (!strcmp(mem->node[i].name, mem->own_node))
			me = i;
	}
	if (in && me != SIZE_MAX)
		mem->neighbour = mem_neighbour(in, mem->n_nodes, me);
	free(in);
}

/* ---- opening ----------------------------------------------------------------------------- */

static int number(int given, const char *first, const char *second, int otherwise)
{
	const char *text = getenv(first);
	char *end;
	long v;

	if (given >= 0)
		return given;
	if (!text && second)
		text = getenv(second);
	if (!text || !*text)
		return otherwise;
	v = strtol(text, &end, 10);
	return *end || v < 0 || v > INT_MAX ? otherwise : (int)v;
}

static const char *text_or(const char *given, const char *name)
{
	if (!given)
		given = getenv(name);
	return given && *given ? given : NULL;
}

static uint64_t sum_text(uint64_t seed, const char *text)
{
	return mem_sum(seed, text ? text : "", text ? strlen(text) : 0);
}

static int make_token(char token[MEM_TOKEN + 1])
{
	unsigned char raw[MEM_TOKEN / 2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	for (size_t i = 0; i < sizeof(raw); i++)
		sprintf(token + 2 * i, "%02x", raw[i]);
	return 0;
}

static int refuse(char *why, size_t size, int rc, const char *what, const char *path)
{
	const char *text = rc == -EPERM ? "it is another user's, or others may write to it" :
		rc == -ENOTDIR ? "it is no directory" : rc == -EBADMSG ? "it is not whole, or not of this run" :
		strerror(-rc);

	if (why)
		snprintf(why, size, "%s %s: %s", what, path, text);
	return rc;
}

static int set_up(struct snmem *mem, const struct snmem_options *o, char *why, size_t size)
{
	const char *region = text_or(o->region, "SUPERNODE_POOL_DIR");
	const char *job_dir = text_or(o->job_dir, "SUPERNODE_JOB_DIR");
	const char *node = text_or(o->node, "SLURMD_NODENAME");
	char name[MEM_NAME];
	int rank = number(o->rank, "RANK", NULL, -1), job;
	int world = number(o->world, "WORLD_SIZE", NULL, -1), rc;

	if (!region)
		return refuse(why, size, -ENOENT, "no region of the pool:",
			      "SUPERNODE_POOL_DIR is not set, submit with --pool=SIZE/node");
	if (!job_dir || !node || rank < 0 || world <= rank)
		return refuse(why, size, -EINVAL, "not started by snrun:",
			      "SUPERNODE_JOB_DIR, SLURMD_NODENAME, RANK or WORLD_SIZE is lacking");
	mem->rank = (uint32_t)rank;
	mem->world = (uint32_t)world;
	mem->local_rank = number(o->local_rank, "LOCAL_RANK", NULL, 0);
	mem->generation = (uint32_t)number(o->generation, "SUPERNODE_GENERATION",
					   "TORCHELASTIC_RESTART_COUNT", 0);
	mem->keep = o->keep > MEM_KEEP ? o->keep : MEM_KEEP;
	mem->wait_ms = o->wait_ms ? o->wait_ms : 60000;
	mem->flush_every = o->flush_every ? o->flush_every : 1;
	snprintf(mem->own_node, sizeof(mem->own_node), "%s", node);
	mem->tag = sum_text(1, o->tag);
	mem->session = sum_text(sum_text(mem->generation + 2, getenv("MASTER_ADDR")),
				getenv("MASTER_PORT"));
	mem_region_dir(job_dir, name);
	mem->dir = mem_dir(region, name);
	if (mem->dir < 0)
		return refuse(why, size, mem->dir, "the region", region);
	if (o->flush_dir) {
		mem->flush = mem_dir(o->flush_dir, MEM_DIR);
		if (mem->flush < 0)
			return refuse(why, size, mem->flush, "flush_dir", o->flush_dir);
	}
	mem->job = mem_dir(job_dir, MEM_DIR);
	if (mem->job < 0)
		return refuse(why, size, mem->job, "the job directory", job_dir);
	job = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = job < 0 ? -errno : read_layout(mem, job);
	if (job >= 0)
		close(job);
	if (rc)
		return refuse(why, size, rc, "layout.json in", job_dir);
	find_neighbour(mem);
	return 0;
}

EXPORT struct snmem *snmem_open(const struct snmem_options *options, char *why, size_t size)
{
	static const struct snmem_options none = {
		.rank = -1, .world = -1, .local_rank = -1, .generation = -1,
	};
	struct snmem *mem = calloc(1, sizeof(*mem));
	int rc;

	if (why && size)
		*why = '\0';
	if (!mem) {
		errno = ENOMEM;
		return NULL;
	}
	mem->dir = mem->flush = mem->job = -1;
	pthread_mutex_init(&mem->lock, NULL);
	pthread_cond_init(&mem->changed, NULL);
	rc = set_up(mem, options ? options : &none, why, size);
	if (!rc)
		return mem;
	snmem_close(mem);
	errno = -rc;
	return NULL;
}

EXPORT void snmem_close(struct snmem *mem)
{
	if (!mem)
		return;
	mem_copy_stop(mem);
	mem_serve_stop(mem->serve);
	mem_decision_done(&mem->decision);
	free(mem->node);
	free(mem->where);
	for (const int *fd = (const int[]){ mem->dir, mem->flush, mem->job, -2 }; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	pthread_cond_destroy(&mem->changed);
	pthread_mutex_destroy(&mem->lock);
	free(mem);
}

EXPORT const char *snmem_error(const struct snmem *mem)
{
	return mem ? mem->error : "";
}

/* ---- the last complete iteration --------------------------------------------------------- */

/* This node's list; its first rank is the one that serves. */
static int publish(struct snmem *mem)
{
	struct mem_list own = { .session = mem->session };
	char *text;
	int rc = make_token(own.server.token);

	/* What is torn, or an earlier job's, goes; nobody writes here yet. */
	if (!rc)
		rc = mem_scan(mem->dir, mem->tag, true, &own.shard, &own.n);
	if (!rc)
		rc = mem_serve_start(mem->dir, mem->tag, mem->session, mem->keep,
				     own.server.token, &mem->serve, &own.server.port);
	if (rc) {
		free(own.shard);
		return rc;
	}
	snprintf(own.server.node, sizeof(own.server.node), "%s", mem->own_node);
	snprintf(own.server.address, sizeof(own.server.address), "%s", mem->own_node);
	for (size_t i = 0; i < mem->n_nodes; i++)
		if (!strcmp(mem->node[i].name, mem->own_node))
			snprintf(own.server.address, sizeof(own.server.address), "%s",
				 mem->node[i].address);
	text = mem_list_format(&own);
	rc = text ? write_text(mem->job, mem->own_node, text) : -ENOMEM;
	free(text);
	free(own.shard);
	return rc;
}

int mem_list_of(struct snmem *mem, const char *node, struct mem_list *ret)
{
	char *text = read_text(mem->job, node);
	int rc = text ? mem_list_parse(text, ret) : -ENOENT;

	free(text);
	if (!rc && ret->session != mem->session) {
		mem_list_done(ret);
		rc = -ENOENT;
	}
	return rc;
}

/* Where all of memory is lost, or never had it. */
static void look_at_flushed(struct snmem *mem, struct mem_decision *d)
{
	struct mem_id *all = NULL, last = { 0 };
	size_t n = 0;

	if (!mem_names(mem->flush, &all, &n) && mem_complete(all, n, &last) &&
	    (!d->found || last.iteration > d->id.iteration)) {
		mem_decision_done(d);
		d->found = true;
		d->id = last;
		d->n_servers = 0;
	}
	free(all);
}

static int decide(struct snmem *mem, int64_t end)
{
	struct mem_list *list = calloc(mem->n_nodes, sizeof(*list));
	bool *have = calloc(mem->n_nodes, sizeof(*have));
	struct mem_decision d = { 0 };
	size_t n = 0, there = 0;
	char *text = NULL;
	int rc = list && have ? 0 : -ENOMEM;

	/* Half of the time is for the others to read it. */
	while (!rc && there < mem->n_nodes && now_ms() < end - mem->wait_ms / 2) {
		for (size_t i = 0; i < mem->n_nodes; i++)
			if (!have[i] && !mem_list_of(mem, mem->node[i].name, &list[n])) {
				have[i] = true;
				there++;
				n++;
			}
		if (there < mem->n_nodes)
			pause_ms(LOOK_MS);
	}
	if (!rc)
		rc = mem_decide(list, (uint32_t)n, mem->session, mem->where, mem->world, &d);
	if (!rc && mem->flush >= 0)
		look_at_flushed(mem, &d);
	if (!rc) {
		text = mem_decision_format(&d);
		rc = text ? write_text(mem->job, DECIDED, text) : -ENOMEM;
	}
	for (size_t i = 0; list && i < n; i++)
		mem_list_done(&list[i]);
	mem_decision_done(&d);
	free(list);
	free(have);
	free(text);
	return rc;
}

static int read_decision(struct snmem *mem, int64_t end)
{
	do {
		char *text = read_text(mem->job, DECIDED);
		int rc = text ? mem_decision_parse(text, &mem->decision) : -ENOENT;

		free(text);
		if (!rc && mem->decision.session == mem->session)
			return 0;
		if (!rc)
			mem_decision_done(&mem->decision);
		pause_ms(LOOK_MS);
	} while (now_ms() < end);
	return -ETIMEDOUT;
}

EXPORT int snmem_last(struct snmem *mem, uint64_t *ret_iteration, int *ret_world)
{
	int64_t end;
	int rc = 0;

	if (!mem || mem->begun)
		return -EINVAL;
	end = now_ms() + mem->wait_ms;
	if (!mem->local_rank)
		rc = publish(mem);
	if (!rc && !mem->rank)
		rc = decide(mem, end);
	if (!rc)
		rc = read_decision(mem, end);
	if (rc) {
		mem_failed(mem, "nodes do not find each other's shards: %s", strerror(-rc));
		return rc;
	}
	/* A time that is given up must not come back. Other ranks here may be at work
	 * already. */
	if (!mem->local_rank)
		mem_remove_after(mem->dir, mem->generation, mem->decision.found ?
				 mem->decision.id.iteration : 0);
	mem->begun = true;
	if (!mem->decision.found)
		return -ENOENT;
	*ret_iteration = mem->decision.id.iteration;
	*ret_world = (int)mem->decision.id.world;
	return 0;
}

EXPORT int snmem_load(struct snmem *mem, int shard, void **ret_data, size_t *ret_len)
{
	struct mem_head head;
	char name[MEM_NAME];
	struct mem_id id;
	uint64_t len = 0;
	int fd, rc;

	if (!mem || !mem->decision.found || shard < 0 || (uint32_t)shard >= mem->decision.id.world)
		return -EINVAL;
	id = mem->decision.id;
	id.rank = (uint32_t)shard;
	mem_name(&id, name);
	fd = mem_open(mem->dir, name, mem->tag, &head);
	if (fd < 0 && !mem->decision.n_servers) {
		fd = mem_open(mem->flush, name, mem->tag, &head);
		if (fd < 0) {
			mem_failed(mem, "shard %d of iteration %llu cannot be read from shared storage: %s",
				   shard, (unsigned long long)id.iteration, strerror(-fd));
			return fd;
		}
	}
	if (fd >= 0) {
		rc = mem_read(fd, &head, ret_data);
		close(fd);
		*ret_len = head.len;
	} else {
		const struct mem_server *from = &mem->decision.server[mem->decision.at[shard]];

		rc = mem_get(from, mem->session, mem->tag, &id, ret_data, &len);
		*ret_len = len;
		if (rc)
			mem_failed(mem, "shard %d of iteration %llu does not come from node %s: %s",
				   shard, (unsigned long long)id.iteration, from->node, strerror(-rc));
	}
	return rc;
}

/* ---- saving ------------------------------------------------------------------------------ */

static int no_room(struct snmem *mem, const struct mem_head *head)
{
	struct statvfs st;
	unsigned long long size = 0, left = 0;

	if (!fstatvfs(mem->dir, &st)) {
		size = (unsigned long long)st.f_blocks * st.f_frsize;
		left = (unsigned long long)st.f_bavail * st.f_frsize;
	}
	mem_failed(mem, "the region is too small for iteration %llu: a shard has %llu bytes, and %llu of %llu are left; each rank of a node takes %u of its shards and as many of a neighbour's, so submit with a larger --pool=SIZE/node",
		   (unsigned long long)head->id.iteration, (unsigned long long)head->len,
		   left, size, mem->keep);
	return -ENOSPC;
}

EXPORT int snmem_save(struct snmem *mem, uint64_t iteration, const void *data, size_t len)
{
	struct mem_head head;
	char name[MEM_NAME];
	struct mem_id id;
	int rc;

	if (!mem || !data || len > MEM_LEN_MAX || !iteration)
		return -EINVAL;
	if (!mem->begun || iteration <= mem->saved)
		return -EINVAL;
	mem_copy_wait(mem);
	id = (struct mem_id){ iteration, mem->generation, mem->world, mem->rank };
	mem_head_make(&head, mem->tag, &id, data, len);
	mem_name(&id, name);
	rc = mem_write(mem->dir, name, &head, data, false);
	if (rc == -ENOSPC) {
		/* Fewer than these would not do: another rank may be one behind. */
		mem_prune(mem->dir, mem->rank, MEM_KEEP - 1);
		rc = mem_write(mem->dir, name, &head, data, false);
	}
	if (rc == -ENOSPC)
		return no_room(mem, &head);
	if (rc) {
		mem_failed(mem, "iteration %llu is not saved: %s",
			   (unsigned long long)iteration, strerror(-rc));
		return rc;
	}
	mem->saved = iteration;
	mem_prune(mem->dir, mem->rank, mem->keep);
	/* Three of this generation are there, so that the first of them is on all ranks. */
	if (!mem->local_rank && mem_count(mem->dir, mem->rank, mem->generation) >= mem->keep)
		mem_remove_before(mem->dir, mem->generation);
	return mem_copy_begin(mem, &head);
}

EXPORT int snmem_wait(struct snmem *mem)
{
	if (!mem)
		return -EINVAL;
	return mem_copy_wait(mem);
}
