/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * distribute.c - see to it that each node has the job directory, and no ranks of an
 * earlier generation.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/leftover.h"
#include "launcher/snrun.h"
#include "launcher/stage.h"
#include "launcher/stepenv.h"
#include "launcher/writefile.h"
#include "topology/text.h"

#define WAIT_S 120 /* for all nodes to have the files */
#define TERM_MS 1000 /* for an srun to end by itself */
#define KILL_MS 2000 /* for its step to be gone, where no node hangs */
#define WRITTEN "snrun-written" /* a node that had no token says so */

/* File systems that nodes have in common by their nature. */
static bool on_network(const char *dir)
{
	static const unsigned long magic[] = {
		0x6969 /* NFS */, 0x0BD00BD0 /* Lustre */, 0x47504653 /* GPFS */,
		0x19830326 /* BeeGFS */, 0x00C36400 /* Ceph */,
		0xFF534D42 /* CIFS */, 0xFE534D42 /* SMB2 */,
		0x5346414F /* AFS */, 0x7461636f /* OCFS2 */,
		0x01161970 /* GFS2 */, 0xAAD7AAEA /* PanFS */,
	};
	struct statfs fs;

	if (statfs(dir, &fs))
		return false;
	for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if (((unsigned long)fs.f_type & 0xffffffffu) == magic[i])
			return true;
	return false;
}

static int make_token(const char *dir, char *token, size_t size,
		      struct sn_err *err)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return sn_err_set(err, -EIO, "no random numbers: %s",
				  strerror(errno));
	snprintf(token, size, "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	return sn_write_file(dir, SN_STAGE_TOKEN_FILE, token, strlen(token), err);
}

/* One task a node, in an order of its own, which no layout has a say in. */
static int make_words(const struct snrun *run, const struct sn_part *part,
		      const char *token, struct sn_words *argv,
		      struct sn_words *env, struct sn_err *err)
{
	struct sn_words variables = { 0 };
	struct sn_buf list = { 0 };
	char self[PATH_MAX], ranks[SN_STEPENV_RANKS_MAX];
	char *const none[] = { NULL };
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	/* For the environment, which is cleaned as the real step's is. */
	struct sn_srun srun = {
		.world = 1, .nodes = 1,
		.job = part->job != run->job.id ? part->job : 0, .hostfile = "", .card_gres = "",
		.task_stderr = -1, .command = none,
		.environment = run->environment, .variables = &variables,
	};
	bool *seen = calloc((size_t)run->plan.n_nodes + 1, sizeof(*seen));
	uint32_t n = 0;
	int rc;

	sn_words_add(&variables, SN_STEPENV_NO_RANKS "=1");
	rc = seen ? sn_srun_make(&srun, argv, env, err) :
		sn_err_set(err, -ENOMEM, "no memory");
	sn_words_done(&variables);
	if (rc) {
		free(seen);
		return rc;
	}
	sn_words_done(argv);
	self[len > 0 ? len : 0] = '\0';
	for (uint32_t t = 0; t < part->n_ranks; t++) {
		uint32_t node = run->plan.rank_node[part->rank[t]];

		if (seen[node])
			continue;
		seen[node] = true;
		sn_buf_add(&list, "%s%s", n++ ? "," : "",
			   run->plan.node[node].name);
	}
	free(seen);
	sn_words_add(argv, "srun");
	if (srun.job)
		sn_words_add(argv, "--jobid=%u", srun.job);
	sn_words_add(argv, "--quiet");
	sn_words_add(argv, "--overlap");
	sn_words_add(argv, "--gres=none");
	sn_words_add(argv, "--mem=0");
	sn_words_add(argv, "--cpus-per-task=1");
	sn_words_add(argv, "--ntasks=%u", n);
	sn_words_add(argv, "--distribution=arbitrary");
	sn_words_add(argv, "--nodelist=%s", list.text ? list.text : "");
	sn_words_add(argv, "--kill-on-bad-exit=1");
	sn_words_add(argv, "--export=ALL");
	sn_words_add(argv, "%s", len > 0 ? self : "snrun");
	sn_words_add(argv, "--receive");
	sn_words_add(argv, "%s", run->dir);
	sn_words_add(argv, "%s", token);
	if (run->unsure) {
		snrun_ranks(run, ranks);
		sn_words_add(argv, "%s", ranks);
		sn_words_add(argv, "%u", run->job.policy.restart_wait);
	}
	sn_buf_done(&list);
	return argv->failed ? sn_err_set(err, -ENOMEM, "no memory") : 0;
}

static int memory_file(const char *data, size_t len, struct sn_err *err)
{
	int fd = memfd_create("snrun", MFD_CLOEXEC);

	for (size_t at = 0; fd >= 0 && at < len;) {
		ssize_t n = write(fd, data + at, len - at);

		if (n < 0) {
			close(fd);
			fd = -1;
			break;
		}
		at += (size_t)n;
	}
	if (fd < 0)
		return sn_err_set(err, -ENOMEM, "no memory for the job's files");
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static bool has_ended(pid_t pid, int *ret_status)
{
	return waitpid(pid, ret_status, WNOHANG) == pid;
}

/* One that is told to end takes its step along; else the step is killed. */
static void end_srun(const struct snrun *run, uint32_t job, pid_t pid)
{
	const struct timespec pause = { 0, 10000000 };
	int status;

	kill(pid, SIGTERM);
	for (int i = 0; i < TERM_MS / 10; i++) {
		if (has_ended(pid, &status))
			break;
		nanosleep(&pause, NULL);
	}
	if (!kill(pid, SIGKILL))
		waitpid(pid, NULL, 0);
	snrun_kill_step(job, (uint32_t)pid, run->host, KILL_MS);
}

/* For it, a signal that is to stop the run, or too long; -EINTR: run->stopped. */
static int await(struct snrun *run, uint32_t job, pid_t pid, struct sn_err *err)
{
	const struct timespec pause = { 0, 100000000 };
	uint32_t wait = WAIT_S + (run->unsure ? run->job.policy.restart_wait : 0);
	int64_t until = snrun_now_ms() + (int64_t)wait * 1000;
	sigset_t set;
	int status, sig;

	sigemptyset(&set);
	for (const int *s = (const int[]){ SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD,
		     0 }; *s; s++)
		sigaddset(&set, *s);
	while (snrun_now_ms() < until) {
		if (has_ended(pid, &status))
			return status ? sn_err_set(err, -EIO,
						   "the job's files could not be put on every node, see above") : 0;
		sig = sigtimedwait(&set, NULL, &pause);
		if (sig <= 0 || sig == SIGCHLD)
			continue;
		run->stopped = true;
		run->stop_signal = sig;
		end_srun(run, job, pid);
		return sn_err_set(err, -EINTR,
				  "stopped by signal %d (%s) before all nodes had the job's files",
				  sig, strsignal(sig));
	}
	end_srun(run, job, pid);
	return sn_err_set(err, -ETIMEDOUT,
			  "the job's files were not on every node after %u s", wait);
}

static void start_srun(const struct snrun *run, const struct sn_words *argv,
		       const struct sn_words *env, int in, int out)
{
	/* A killed snrun must not leave its srun. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == 1)
		_exit(1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	sigprocmask(SIG_SETMASK, &run->signals, NULL);
	execvpe(argv->word[0], argv->word, env->word);
	_exit(127);
}

/* *ret_written: some node had to write them. */
static int run_step(struct snrun *run, const struct sn_part *part,
		    const char *token, bool *ret_written, struct sn_err *err)
{
	struct sn_words argv = { 0 }, env = { 0 };
	char *data = NULL, said[sizeof(WRITTEN)] = "";
	size_t len;
	int in = -1, out = -1, rc;
	pid_t pid;

	rc = make_words(run, part, token, &argv, &env, err);
	if (!rc)
		rc = sn_stage_pack(run->dir, &data, &len, err);
	if (!rc) {
		in = memory_file(data, len, err);
		out = in < 0 ? -1 : memory_file("", 0, err);
		rc = in < 0 ? in : out < 0 ? out : 0;
	}
	free(data);
	if (!rc) {
		fflush(NULL);
		pid = fork();
		if (!pid)
			start_srun(run, &argv, &env, in, out);
		rc = pid < 0 ? sn_err_set(err, -errno, "fork: %s",
					  strerror(errno)) :
			await(run, part->job, pid, err);
	}
	*ret_written |= !rc && pread(out, said, sizeof(said) - 1, 0) > 0;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	sn_words_done(&argv);
	sn_words_done(&env);
	return rc;
}

int snrun_distribute(struct snrun *run, struct sn_err *err)
{
	enum sn_job_dir_shared how = run->job.policy.job_dir_shared;
	char token[40];
	bool written = false;
	int rc;

	if (!run->unsure &&
	    (run->shared || how == SN_JOB_DIR_SHARED ||
	     (how == SN_JOB_DIR_AUTO && on_network(run->dir))))
		return 0;
	rc = make_token(run->dir, token, sizeof(token), err);
	for (uint32_t p = 0; !rc && p < run->n_parts; p++)
		rc = run_step(run, &run->part[p], token, &written, err);
	if (!rc)
		run->shared = how == SN_JOB_DIR_AUTO && !written;
	return rc;
}

static int read_stdin(char **ret, size_t *ret_len)
{
	size_t len = 0, size = 1u << 16;
	char *data = malloc(size);

	while (data) {
		ssize_t n = read(STDIN_FILENO, data + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		if (len == size) {
			char *grown = size < (1u << 30) ?
				realloc(data, size *= 2) : NULL;

			if (!grown)
				free(data);
			data = grown;
		}
	}
	*ret = data;
	*ret_len = len;
	return data ? 0 : -ENOMEM;
}

/* One that does not end has got SIGKILL, and runs no more of its program. */
static void end_leftover(const char *dir, const char *ranks, const char *seconds)
{
	const char *node = getenv("SLURMD_NODENAME");
	const struct sn_leftover what = {
		.dir = dir, .ranks = ranks,
		.wait_ms = (uint32_t)strtoul(seconds, NULL, 10) * 1000,
	};
	struct sn_leftover_end end;
	int rc = sn_leftover_end(&what, &end);

	if (rc)
		snrun_say("%s: it is not known whether ranks of an earlier generation run: the processes cannot be looked at: %s",
			  node, strerror(-rc));
	if (rc || !end.told)
		return;
	snrun_say("%s: %u process%s of an earlier generation, whose step slurmctld had lost, %s ended; %u had to be killed",
		  node, end.told, end.told == 1 ? "" : "es", end.told == 1 ? "was" : "were",
		  end.killed);
	if (end.left)
		snrun_say("%s: %u of them, as process %d, are still there seconds after SIGKILL: a driver hangs; going on beside them",
			  node, end.left, end.example);
}

int snrun_receive(char *const *argv)
{
	const char *dir = argv[0], *token = argv[1];
	struct sn_err err = { "no memory" };
	size_t len;
	char *data;
	int rc;

	/* To the end, as srun sends it to all. */
	rc = read_stdin(&data, &len);
	if (argv[2] && argv[3])
		end_leftover(dir, argv[2], argv[3]);
	if (!rc && !sn_stage_is_shared(dir, token)) {
		rc = sn_stage_unpack(dir, data, len, &err);
		if (!rc)
			puts(WRITTEN);
	}
	free(data);
	if (rc)
		snrun_say("%s", err.text);
	return rc ? 1 : fflush(stdout) ? 1 : 0;
}
