/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmem_internal.h - how the parts of libsnmem fit: snmem.c is what programs call,
 * snmemfile.c the shards in a region, snmemplan.c what nodes tell each other in files
 * of the job directory, snmemserve.c and snmemnet.c the two ends of a connection, and
 * snmemauth.c how each knows the other.
 */
#ifndef SN_LAUNCHER_SNMEM_INTERNAL_H
#define SN_LAUNCHER_SNMEM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEM_DIR "memckpt" /* in flush_dir, and in the job directory (memsafe.h) */
#define MEM_KEEP 3 /* a rank may be one save behind another */
#define MEM_NAME 128 /* of a node, an address or a shard's file, with the NUL */
#define MEM_TOKEN 32 /* hexadecimal digits */
#define MEM_WORLD_MAX (1u << 24)
#define MEM_LEN_MAX ((uint64_t)1 << 50)

/* ---- shards (snmemfile.c) ------------------------------------------------------------ */

struct mem_id {
	uint64_t iteration;
	uint32_t generation, world, rank;
};

/* Before the data, in the machine's byte order. */
struct mem_head {
	char magic[8];
	uint64_t tag; /* of what is trained */
	struct mem_id id;
	uint32_t zero;
	uint64_t len, sum; /* of the data */
	uint64_t head_sum; /* of all before it */
};

uint64_t mem_sum(uint64_t seed, const void *data, size_t len);
void mem_head_make(struct mem_head *head, uint64_t tag, const struct mem_id *id,
		   const void *data, uint64_t len);
bool mem_head_is_right(const struct mem_head *head, uint64_t tag);

void mem_name(const struct mem_id *id, char name[MEM_NAME]);
bool mem_name_parse(const char *name, struct mem_id *ret);

/* A job's directory in a region, which several may share by its name. */
void mem_region_dir(const char *job_dir, char name[MEM_NAME]);
/* The user's own directory below another: made if need be. -EPERM: somebody else's,
 * or others may write to it; -ENOTDIR: a symbolic link or something else. */
int mem_dir(const char *parent, const char *name);
int mem_dir_is_own(int fd); /* 0 or -EPERM */
/* Write a shard whole, at most once. sync: to shared storage. */
int mem_write(int dir, const char *name, const struct mem_head *head, const void *data,
	      bool sync);
/* Open one that is whole, its checksum too; the head is read. -ENOENT, -EBADMSG: torn
 * or another's, -EPERM: another user's. */
int mem_open(int dir, const char *name, uint64_t tag, struct mem_head *ret);
/* Read it. */
int mem_read(int fd, const struct mem_head *head, void **ret_data);

/* Those that are whole; a share of them by rank % of == part. Yours to free. What is
 * torn or of another tag is removed, if remove. */
int mem_scan(int dir, uint64_t tag, bool remove, struct mem_id **ret, size_t *ret_n);
/* Keep the latest `keep` of a rank. */
void mem_prune(int dir, uint32_t rank, unsigned keep);
/* Of generations before that one, remove what is after that iteration, or all. */
void mem_remove_after(int dir, uint32_t generation, uint64_t iteration);
void mem_remove_before(int dir, uint32_t generation);
/* All that names speak of, whole or not; yours to free. */
int mem_names(int dir, struct mem_id **ret, size_t *ret_n);
unsigned mem_count(int dir, uint32_t rank, uint32_t generation);

/* ---- what nodes tell (snmemplan.c); pure ----------------------------------------------- */

struct mem_server {
	char node[MEM_NAME], address[MEM_NAME], token[MEM_TOKEN + 1];
	uint16_t port;
};

/* A node's shards, and who gives them out. */
struct mem_list {
	uint64_t session; /* of one start of the ranks */
	struct mem_server server;
	struct mem_id *shard; /* owned */
	size_t n;
};

/* What rank 0 has found. */
struct mem_decision {
	uint64_t session;
	bool found;
	struct mem_id id; /* without a rank */
	struct mem_server *server; /* owned, [n_servers] */
	uint32_t n_servers; /* 0: it is on shared storage */
	uint32_t *at; /* owned, [id.world]: an index of server */
};

char *mem_list_format(const struct mem_list *list); /* NULL: no memory */
/* -EBADMSG: it is not whole. */
int mem_list_parse(const char *text, struct mem_list *ret);
void mem_list_done(struct mem_list *list);

/* The last iteration that is complete in a set of shards. */
bool mem_complete(const struct mem_id *shard, size_t n, struct mem_id *ret);
/* The last complete iteration of all lists; where[rank] NULL or the node that a rank
 * runs on now is preferred. */
int mem_decide(const struct mem_list *list, uint32_t n, uint64_t session,
	       const char *const *where, uint32_t world, struct mem_decision *ret);
char *mem_decision_format(const struct mem_decision *d);
int mem_decision_parse(const char *text, struct mem_decision *ret);
void mem_decision_done(struct mem_decision *d);

/* The neighbour of a node: indexes; supernode[i] names that of node i. SIZE_MAX: there
 * is none. */
size_t mem_neighbour(const char *const *supernode, size_t n, size_t node);

/* ---- who is at the other end (snmemauth.c) ------------------------------------------------ */

/*
 * Both ends have the server's secret from the job directory, and neither says it. The
 * server begins with a number, the client answers with one of its own, what it wants and
 * an HMAC-SHA256 of all that under the secret; so does the server with its answer, before
 * a byte of a shard goes either way. What is recorded on the wire is no use afterwards, as
 * the numbers are others then; nor is what a client says to somebody who has got the
 * port of a server that is gone.
 *
 * The shard's checksum is so signed, but guards against damage, not malice: who can change
 * packets on their way between the nodes can change a shard.
 */
#define MEM_NONCE 16
#define MEM_MAC 32

struct mem_auth {
	char token[MEM_TOKEN];
	unsigned char server[MEM_NONCE], client[MEM_NONCE];
};

enum mem_says { MEM_HELLO = 'h', MEM_WELCOME = 'w', MEM_RECEIPT = 'r' };

int mem_nonce(unsigned char nonce[MEM_NONCE]);
/* -ENOSYS: built without libgcrypt. */
int mem_sign(const struct mem_auth *auth, enum mem_says says, const void *data, size_t len,
	     unsigned char ret[MEM_MAC]);
/* -EKEYREJECTED: it is not of who has the secret. */
int mem_check(const struct mem_auth *auth, enum mem_says says, const void *data, size_t len,
	      const unsigned char mac[MEM_MAC]);

/* ---- connections: snmemserve.c, snmemnet.c ------------------------------------------------ */

enum mem_op { MEM_PUT = 1, MEM_GET };

/* In this order: greeting, hello, welcome; a shard; after a PUT's a receipt. In the
 * machine's byte order, as shards are. */
struct mem_greeting {
	char magic[8];
	unsigned char nonce[MEM_NONCE];
};

struct mem_hello {
	unsigned char nonce[MEM_NONCE];
	uint64_t session;
	uint32_t op, zero;
	struct mem_head head; /* PUT: of what is to follow; GET: its id is asked for */
	unsigned char mac[MEM_MAC]; /* of all before it */
};

struct mem_welcome {
	int32_t answer; /* 0, or -errno: nothing follows */
	uint32_t zero;
	struct mem_head head; /* GET: of what follows */
	unsigned char mac[MEM_MAC];
};

struct mem_receipt {
	int32_t answer;
	uint32_t zero;
	unsigned char mac[MEM_MAC];
};

extern const char mem_magic[8];

/* -ETIMEDOUT, -EPIPE: the other end has gone. */
int mem_put_all(int fd, const void *data, size_t len);
int mem_get_all(int fd, void *data, size_t len);
/* A shard's data, from its file. */
int mem_put_file(int to, int fd, size_t len);
void mem_be_patient(int fd);

struct mem_serve;
struct mem_serve_options {
	int dir; /* the region */
	uint64_t tag, session;
	unsigned keep;
	const char *token;
	unsigned stranger_ms; /* who has not proved himself by then is left; 0: 5000 */
	/* A copy has come, and is whole; by any of the threads. NULL: nobody asks. */
	void (*took)(void *arg, const struct mem_id *id);
	void *arg;
};
/* Give out and take in shards, in threads. */
int mem_serve_start(const struct mem_serve_options *options, struct mem_serve **ret,
		    uint16_t *ret_port);
void mem_serve_stop(struct mem_serve *serve); /* NULL is fine; waits for what is under way */

int mem_put(const struct mem_server *to, uint64_t session, const struct mem_head *head,
	    int fd);
int mem_get(const struct mem_server *from, uint64_t session, uint64_t tag,
	    const struct mem_id *id, void **ret_data, uint64_t *ret_len);
/* What such an error means. */
const char *mem_why(int rc);

#endif
