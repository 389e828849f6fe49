/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrunwatch.c - snrun-watch: advise the tasks of a step to swap out and in.
 *
 *	srun snrun-watch [OPTIONS] COMMAND…
 *
 * The process becomes COMMAND, so signals and the exit status are the task's own.
 * Only in the first task of a node it leaves a child behind that watches, and that
 * ends with its parent.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "launcher/memwatch.h"
#include "launcher/probenode.h"
#include "launcher/program.h"
#include "launcher/writefile.h"
#include "snctl/confpath.h"
#include "snctl/readfile.h"
#include "topology/policy.h"

#define ASK_S 20 /* for a tool */

struct options {
	uint32_t interval, hold, rest;
	int signal; /* 0: none */
	const char *dir;
	bool once;
};

static const char *node_name(void)
{
	const char *name = getenv("SLURMD_NODENAME");
	static char host[256];

	if (name && *name && !strchr(name, '/'))
		return name;
	return gethostname(host, sizeof(host) - 1) ? "localhost" : host;
}

static int fail(int code, const struct sn_err *err)
{
	fprintf(stderr, "snrun-watch: %s\n", err->text);
	return code;
}

static int read_policy(struct sn_policy *ret, struct sn_err *err)
{
	char *topology = snctl_topology_path(NULL, NULL), *text = NULL;
	char *path = topology ? snctl_sibling(topology, "supernode.conf") : NULL;
	size_t len;
	int rc = path ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	sn_policy_init(ret);
	if (!rc && !access(path, F_OK)) {
		rc = snctl_read_file(path, &text, &len, err);
		if (!rc)
			rc = sn_policy_parse(text, len, path, ret, err);
	}
	free(text);
	free(path);
	free(topology);
	return rc;
}

/* ---- what there is -------------------------------------------------------------- */

/* By npu-smi; without it, as without cards, the pool alone is watched. */
static int read_npus(const struct sn_policy *policy, struct sn_memwatch_card *ret,
		     uint32_t *ret_n, struct sn_err *err)
{
	static struct sn_probe_facts facts;
	char tool[SN_POLICY_TEXT_MAX], *text;
	const char *argv[] = { tool, "info", NULL };
	size_t len;
	int rc;

	sn_probe_tool_path(policy, tool, sizeof(tool));
	if (!tool[0])
		return 0;
	rc = sn_program_ask(argv, ASK_S, SN_PROGRAM_ANSWER, &text, &len, err);
	if (rc)
		return rc;
	rc = sn_probe_npu(text, len, &facts, err);
	free(text);
	for (uint32_t i = 0; !rc && i < facts.n_cards; i++) {
		const struct sn_probe_card *card = &facts.card[i];

		if (card->number < SN_MEMWATCH_CARDS &&
		    card->memory_used != SN_PROBE_UNKNOWN &&
		    card->memory_total != SN_PROBE_UNKNOWN)
			ret[(*ret_n)++] = (struct sn_memwatch_card){
				card->number, card->memory_used, card->memory_total,
			};
	}
	return rc;
}

static int read_cards(const struct sn_policy *policy, struct sn_memwatch_card *ret,
		      uint32_t *ret_n, struct sn_err *err)
{
	char tool[SN_POLICY_TEXT_MAX], *text;
	const char *own[] = { policy->card_memory_program, NULL };
	const char *vendor[] = {
		tool, "--query-gpu=index,memory.used,memory.total", "--format=csv,noheader,nounits", NULL,
	};
	bool site = policy->card_memory_program[0];
	size_t len;
	int rc;

	*ret_n = 0;
	if (!site && sn_policy_vendor(policy) == SN_VENDOR_ASCEND)
		return read_npus(policy, ret, ret_n, err);
	sn_probe_tool_path(policy, tool, sizeof(tool));
	if (!site && (sn_policy_vendor(policy) != SN_VENDOR_NVIDIA || !tool[0]))
		return 0; /* the pool alone is watched */
	rc = sn_program_ask(site ? own : vendor, ASK_S, SN_PROGRAM_ANSWER, &text, &len, err);
	if (!rc) {
		rc = sn_memwatch_parse(text, site ? 1 : 1 << 20,
				       site ? own[0] : tool, ret, ret_n, err);
		free(text);
	}
	return rc && site ? sn_err_prefix(err, rc, "CardMemoryProgram: ") : rc;
}

/* False: the task has no region. */
static bool read_pool(const struct sn_policy *policy,
		      struct sn_poolprog_usage *ret)
{
	const char *dir = getenv("SUPERNODE_POOL_DIR"), *slash;
	struct statvfs fs;

	if (!dir || !*dir)
		return false;
	slash = strrchr(dir, '/');
	if (policy->pool_provider == SN_POOL_PROVIDER_PROGRAM && slash &&
	    !sn_poolprog_usage(policy->pool_program, policy->pool_timeout,
			       slash + 1, ret, NULL))
		return true;
	if (statvfs(dir, &fs))
		return false;
	*ret = (struct sn_poolprog_usage){
		.size = (uint64_t)fs.f_blocks * fs.f_frsize,
		.used = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize,
		.hits = UINT64_MAX, .misses = UINT64_MAX,
		.swap_ins = UINT64_MAX, .swap_outs = UINT64_MAX, .bus_load = -1,
	};
	return true;
}

/* ---- telling ---------------------------------------------------------------------- */

/* The tasks of the step on this node have one parent, slurmstepd. */
static void signal_tasks(pid_t task, pid_t parent, int sig)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool any = false;

	while (proc && (entry = readdir(proc))) {
		char path[64], line[512];
		long pid = strtol(entry->d_name, NULL, 10), ppid = 0;
		FILE *f;
		char *end;

		if (pid <= 0 || parent <= 1)
			continue;
		snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
		f = fopen(path, "re");
		if (!f)
			continue;
		end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		if (end && strlen(end) > 4)
			ppid = strtol(end + 4, NULL, 10);
		fclose(f);
		if (ppid == parent) {
			any |= pid == task;
			(void)kill((pid_t)pid, sig);
		}
	}
	if (proc)
		closedir(proc);
	if (!any)
		(void)kill(task, sig);
}

/* 0 where the task is not slurmstepd's own child: then its siblings are others. */
static pid_t step_of_task(void)
{
	pid_t parent = getppid();
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)parent);
	f = fopen(path, "re");
	if (f && !fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	if (f)
		fclose(f);
	return strncmp(comm, "slurmstepd", 10) ? 0 : parent;
}

static int tell(const struct sn_memwatch *watch, const struct options *o,
		struct sn_err *err)
{
	struct sn_buf text = { 0 };
	char name[300];
	int rc;

	sn_memwatch_write(watch, node_name(), (uint64_t)time(NULL), &text);
	if (text.failed)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (o->dir) {
		snprintf(name, sizeof(name), "memory.%s.json", node_name());
		rc = sn_write_file(o->dir, name, text.text, text.len, err);
	} else {
		rc = fputs(text.text, stdout) < 0 || fflush(stdout) ?
			sn_err_set(err, -EIO, "standard output: %s", strerror(errno)) : 0;
	}
	sn_buf_done(&text);
	return rc;
}

/* ---- the watcher -------------------------------------------------------------------- */

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec;
}

/* task 0: nobody; task_fd is readable once it has ended, -1 never. */
static int watch_on(const struct options *o, const struct sn_policy *policy,
		    pid_t task, pid_t parent, int task_fd)
{
	static struct sn_memwatch watch;
	struct sn_memwatch_card card[SN_MEMWATCH_CARDS];
	bool told = false, first = true;
	struct sn_err err;
	int rc = sn_memwatch_init(&watch, policy, o->hold, o->rest, &err);
	int fd = -1;

	if (!rc && o->dir)
		rc = sn_dir_make(o->dir, &fd, &err);
	if (fd >= 0)
		close(fd);
	if (rc)
		return fail(2, &err);
	for (;;) {
		struct pollfd ended = { task_fd, POLLIN, 0 };
		struct sn_poolprog_usage pool;
		uint32_t n = 0;
		bool has_pool, changed;

		rc = read_cards(policy, card, &n, &err);
		/* Once is enough; the pool is watched all the same. */
		if (rc && !told)
			fail(0, &err);
		told |= rc != 0;
		has_pool = read_pool(policy, &pool);
		changed = sn_memwatch_sample(&watch, card, rc ? 0 : n,
					     has_pool ? &pool : NULL, now());
		rc = tell(&watch, o, &err);
		if (rc && first)
			return fail(2, &err);
		first = false;
		if (changed && o->signal && task)
			signal_tasks(task, parent, o->signal);
		if (o->once)
			return 0;
		if (poll(&ended, task_fd >= 0, (int)o->interval * 1000) > 0)
			return 0;
	}
}

static int start_watcher(const struct options *o, const struct sn_policy *policy)
{
	pid_t task = getpid(), parent = step_of_task(), pid;
	int fd = (int)syscall(SYS_pidfd_open, task, 0);

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid)
		return 0;
	/* Its own group: what is sent to the task's does not end it first. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != task)
		_exit(0);
	_exit(watch_on(o, policy, task, parent, fd));
}

/* ---- the command -------------------------------------------------------------------- */

static const char usage[] =
	"Usage: snrun-watch [OPTIONS] COMMAND [ARGUMENT…]\n"
	"       snrun-watch [OPTIONS] --once\n\n"
	"Runs COMMAND as a task of a step and, once on each node, watches the memory of its\n"
	"cards and its pool region: over CardMemoryHigh (supernode.conf) the tasks are advised\n"
	"to swap out to the pool, under CardMemoryLow to swap in again; PoolHigh and PoolLow\n"
	"the same for the region.\n\n"
	"  --interval=SECONDS  between two looks (5)\n"
	"  --hold=N            looks in a row that must agree (2)\n"
	"  --rest=SECONDS      for which an advice stands at least (30)\n"
	"  --signal=NUMBER     sent to the node's tasks when an advice changes\n"
	"  --dir=DIR           where memory.NODE.json is written; by default $SUPERNODE_JOB_DIR\n"
	"  --once              look once, print, and end\n"
	"  --help, --version\n\n"
	"COMMAND finds the file's name in SUPERNODE_MEMORY_ADVICE.\n";

static int parse_number(const char *option, const char *text, uint64_t min,
			uint64_t max, uint32_t *ret, struct sn_err *err)
{
	uint64_t v;
	int rc = sn_parse_uint(text, min, max, &v, err);

	if (rc)
		return sn_err_prefix(err, rc, "--%s: ", option);
	*ret = (uint32_t)v;
	return 0;
}

/* 1: nothing more to do. */
static int parse(int argc, char **argv, struct options *o, struct sn_err *err)
{
	static const struct option options[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "hold", required_argument, NULL, 'n' },
		{ "rest", required_argument, NULL, 'r' },
		{ "signal", required_argument, NULL, 's' },
		{ "dir", required_argument, NULL, 'd' },
		{ "once", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	uint32_t number = 0;
	int c, rc = 0;

	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, "+:hV", options, NULL)) >= 0) {
		switch (c) {
		case 'i':
			rc = parse_number("interval", optarg, 1, 3600, &o->interval, err);
			break;
		case 'n':
			rc = parse_number("hold", optarg, 1, 1000, &o->hold, err);
			break;
		case 'r':
			rc = parse_number("rest", optarg, 0, 86400, &o->rest, err);
			break;
		case 's':
			rc = parse_number("signal", optarg, 1, NSIG - 1, &number, err);
			o->signal = (int)number;
			break;
		case 'd':
			o->dir = optarg;
			break;
		case 'o':
			o->once = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		case 'V':
			printf("snrun-watch (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
			return 1;
		default:
			rc = sn_err_set(err, -EINVAL, "%.80s: %s; snrun-watch --help says more",
					argv[optind - 1], c == ':' ? "a value is missing" : "no such option");
		}
	}
	if (!rc && !o->once && optind == argc)
		rc = sn_err_set(err, -EINVAL, "which command? snrun-watch --help says more");
	if (!rc && o->once && optind < argc)
		rc = sn_err_set(err, -EINVAL, "--once takes no command");
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = { 5, 2, 30, 0, getenv("SUPERNODE_JOB_DIR"), false };
	const char *local = getenv("SLURM_LOCALID");
	struct sn_policy policy;
	struct sn_err err = { "" };
	char file[PATH_MAX];
	int rc = parse(argc, argv, &o, &err);

	if (rc > 0)
		return 0;
	if (!rc)
		rc = read_policy(&policy, &err);
	if (rc)
		return fail(2, &err);
	if (o.once) {
		o.dir = NULL;
		return watch_on(&o, &policy, 0, 0, -1);
	}
	if (!o.dir || !*o.dir) {
		sn_err_set(&err, 0, "where to? give --dir, as there is no SUPERNODE_JOB_DIR");
		return fail(2, &err);
	}
	snprintf(file, sizeof(file), "%s/memory.%s.json", o.dir, node_name());
	setenv("SUPERNODE_MEMORY_ADVICE", file, 1);
	/* Advice is a service: for want of it no task is kept from running. */
	if ((!local || !strcmp(local, "0")) && start_watcher(&o, &policy))
		fprintf(stderr, "snrun-watch: cannot fork: %s\n", strerror(errno));
	execvp(argv[optind], argv + optind);
	sn_err_set(&err, 0, "%.200s: %s", argv[optind], strerror(errno));
	return fail(errno == ENOENT ? 127 : 126, &err);
}
