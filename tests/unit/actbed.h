/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actbed.h - the daemon's actions (act*.c) over a Slurm that is a few numbers here, a
 * journal on a real file, and faults at any point.
 *
 * A point is every call of the action path that leaves the process: system calls of
 * the journal, questions and orders to Slurm, orders to an snrun. Points are counted;
 * at the one that is armed the process is killed before or after it, the machine is
 * lost (what was not fsynced with it), or the call fails, or is done and its answer is
 * lost. The world is in shared memory and so outlives the daemon, a child process.
 */
#ifndef SN_TESTS_ACTBED_H
#define SN_TESTS_ACTBED_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "elastic/act_internal.h"
#include "elastic/attach.h"
#include "tests/unit/actloop.h"

enum { ZOMBIE, KEPT, WAITS, MEMBER, PLAIN, HELD, CARED, FAILED, JOBS }; /* job numbers are 1 more */
enum { LOST, ODD, GOOD, NODES };
enum how { NOT, KILL_BEFORE, KILL_AFTER, CRASH, FAIL, FAIL_AFTER, HOWS };

#define REQUEUE_WAIT 121
#define TELL_JOB (HELD + 1)
#define KILLED 99
#define STUCK 98

struct bed_job {
	uint32_t state, restarts; /* state: JOB_* */
	bool requeue, held, completing;
	uint32_t launches; /* that failed, for which slurmctld holds it */
	uint32_t completes; /* questions until it has */
	char nodes[16], batch_host[8], required[8], comment[40];
	int64_t submit, begin; /* s */
	uint32_t requeued, started, cancelled, updated, released; /* how often */
};

struct bed_world {
	struct bed_job job[JOBS];
	struct {
		bool down, drained;
		int64_t down_at;
		char reason[64], extra[256];
		uint32_t lost;
	} node[NODES];
	uint64_t incarnation; /* of the last region that was to be made */
	uint32_t made; /* so many times its maker was told that it is */
	uint32_t dp, told, orders; /* of TELL_JOB's snrun; told: how often it did it */
	char done_order[SN_CONTROL_ID_MAX];
	int64_t ms;
	/* faults */
	uint32_t points, armed;
	enum how how;
	bool hit;
	char at[32]; /* the point that was hit */
	ino_t synced_ino;
	off_t synced; /* bytes of the journal */
	uint32_t kinds; /* bits of what points there were */
	/* what is wanted */
	bool dry_run, no_slurm, no_disk;
	uint32_t events, failures;
};
static struct bed_world *world;
static char bed_dir[] = "/tmp/sn-act-XXXXXX";
static struct sn_daemon *bed_d;
static struct { attach_done_fn fn; void *ctx; int rc; } bed_told;

/* ---- points --------------------------------------------------------------------------- */

enum { P_SYSTEM = 1, P_ASK = 2, P_ORDER = 4, P_TELL = 8 };

/* What becomes of this call. Only in the child. */
static enum how point(const char *name, int kind)
{
	if (!bed_d)
		return NOT;
	world->kinds |= 1u << kind;
	if (++world->points != world->armed)
		return NOT;
	world->hit = true;
	snprintf(world->at, sizeof(world->at), "%s", name);
	if (world->how == KILL_BEFORE || world->how == CRASH)
		_exit(KILLED);
	return world->how;
}

static void after(enum how how)
{
	if (how == KILL_AFTER)
		_exit(KILLED);
}

#define WRAP(type, name, args, call, fail) \
	type __real_##name args; \
	type __wrap_##name args; \
	type __wrap_##name args \
	{ \
		enum how how = point(#name, P_SYSTEM); \
		type rc; \
		if (how == FAIL || how == FAIL_AFTER || (bed_d && world->no_disk && fail)) { \
			errno = fail ? fail : EIO; \
			return (type)-1; \
		} \
		rc = call; \
		after(how); \
		return rc; \
	}

WRAP(int, open, (const char *path, int flags, ...), __real_open(path, flags), 0)
WRAP(int, fstat, (int fd, struct stat *st), __real_fstat(fd, st), 0)
WRAP(int, unlinkat, (int fd, const char *path, int flags), __real_unlinkat(fd, path, flags), 0)
WRAP(int, renameat, (int a, const char *from, int b, const char *to), __real_renameat(a, from, b, to), ENOSPC)
WRAP(int, ftruncate, (int fd, off_t len), __real_ftruncate(fd, len), 0)
WRAP(ssize_t, read, (int fd, void *buf, size_t n), __real_read(fd, buf, n), 0)

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	enum how how = point("openat", P_SYSTEM);
	int rc;

	if (how == FAIL || how == FAIL_AFTER || (bed_d && world->no_disk && (flags & O_CREAT))) {
		errno = how ? EIO : ENOSPC;
		return -1;
	}
	rc = __real_openat(dir, path, flags, 0600);
	after(how);
	return rc;
}

/* A write may fail in the middle. */
ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	enum how how;
	ssize_t rc;

	if (!bed_d || fd < 3)
		return __real_write(fd, buf, n);
	how = point("write", P_SYSTEM);
	if (how == FAIL || world->no_disk) {
		errno = ENOSPC;
		return -1;
	}
	if (how == FAIL_AFTER) { /* half, then no more */
		world->no_disk = true;
		return __real_write(fd, buf, n / 2);
	}
	if (how == KILL_AFTER && world->points % 2)
		n = n / 3; /* torn */
	rc = __real_write(fd, buf, n);
	after(how);
	return rc;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	enum how how = point("fsync", P_SYSTEM);
	struct stat st;

	if (how == FAIL || how == FAIL_AFTER) {
		errno = EIO;
		return -1;
	}
	if (bed_d && !__real_fstat(fd, &st) && S_ISREG(st.st_mode)) {
		world->synced_ino = st.st_ino;
		world->synced = st.st_size;
	}
	after(how);
	return 0;
}

/* What is done must be begun in the journal, on disk: to a job, a node, or a region. */
static void must_be_journalled(uint32_t job, const char *node)
{
	struct sn_daemon *d = bed_d;
	struct sn_journal_state s = { 0 };
	struct stat st;
	char path[64], *text;
	bool is = false;
	int fd;

	bed_d = NULL; /* this is none of its calls */
	snprintf(path, sizeof(path), "%s/" SN_JOURNAL_FILE, bed_dir);
	fd = __real_open(path, O_RDONLY);
	if (fd >= 0 && !__real_fstat(fd, &st) && st.st_ino == world->synced_ino &&
	    (text = malloc((size_t)world->synced + 1))) {
		if (__real_read(fd, text, (size_t)world->synced) == world->synced &&
		    !sn_journal_parse(text, (size_t)world->synced, &s, NULL))
			for (uint32_t i = 0; i < s.n; i++)
				is |= job ? s.open[i].job == job : node ? !strcmp(s.open[i].node, node) :
					s.open[i].kind == SN_ACT_REGION_OUT;
		free(text);
	}
	sn_journal_state_done(&s);
	if (fd >= 0)
		close(fd);
	world->failures += !is;
	bed_d = d;
}

#include "tests/unit/actslurm_fake.h"

/* ---- a job's snrun ------------------------------------------------------------------------ */

int attach_tell(struct sn_daemon *d, uint32_t job, const struct sn_control *order,
		const char *why, attach_done_fn done, void *ctx, struct sn_err *err)
{
	enum how how;

	must_be_journalled(job, NULL);
	how = point("attach_tell", P_TELL);
	(void)d, (void)why;
	if (how == FAIL)
		return sn_err_set(err, -ENOTCONN, "not attached");
	if (job != TELL_JOB || bed_told.fn)
		abort();
	world->orders++;
	if (strcmp(world->done_order, order->id)) {
		world->dp = order->dp;
		world->told++;
		strcpy(world->done_order, order->id);
	}
	after(how);
	bed_told.fn = done;
	bed_told.ctx = ctx;
	bed_told.rc = how == FAIL_AFTER ? -ETIMEDOUT : 0;
	return 0;
}

/* ---- what else the daemon has ---------------------------------------------------------------- */

int64_t sn_loop_now(void)
{
	return world->ms;
}

int sn_lead_check(const struct sn_lead *lead, struct sn_err *err)
{
	enum how how = point("sn_lead_check", P_ASK);

	(void)lead;
	after(how);
	return how ? sn_err_set(err, -EIO, "the state directory cannot be read") : 0;
}

double sn_daemon_now(void)
{
	return (double)world->ms / 1000;
}

const struct sn_event *daemon_event(struct sn_daemon *d, const char *kind, const char *node,
				    uint32_t card, uint32_t job, uint32_t uid,
				    const char *fmt, ...)
{
	(void)d, (void)kind, (void)node, (void)card, (void)job, (void)uid, (void)fmt;
	world->events++;
	return NULL;
}

#endif
