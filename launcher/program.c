/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.c - run a site's program and take what it prints.
 *
 * Each runs in a process group of its own, so that what it has started goes
 * with it. Its end is seen by a pidfd and not by the end of its output, which a
 * child left behind may hold open for ever. The caller may be a daemon with threads,
 * so there is no fork() with more than posix_spawn() does.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/program.h"

#define REAP_MS 2000 /* to die of SIGKILL */
#define AT_ONCE_MAX 256
#define COMPLAINT_MAX 200 /* of its standard error, for the sentence */

extern char **environ;

struct run {
	struct sn_program *program; /* NULL: free */
	pid_t pid;
	int pidfd, out, err; /* -1: closed */
	int64_t deadline; /* ms */
	size_t size;
	char complaint[COMPLAINT_MAX];
	size_t complaint_len;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What root runs, only root may change. */
static int check_bare(const char *path, struct sn_err *err)
{
	struct stat st;

	if (stat(path, &st))
		return sn_err_set(err, -errno, "%s: cannot be run: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return sn_err_set(err, -EINVAL, "%s: cannot be run: not a program", path);
	if (!geteuid() && (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH)))
		return sn_err_set(err, -EINVAL,
				  "%s: others than root may change it, so root does not run it; chown root and chmod go-w",
				  path);
	return 0;
}

static int spawn(const char *const *argv, bool bare, int out, int err, pid_t *ret)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *none_but_path[] = { path, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files))
		return -ENOMEM;
	if (posix_spawnattr_init(&attr)) {
		posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	/* The caller may block or ignore signals; the program must not. */
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
				 POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&files, out, 1);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&files, err, 2);
	if (!rc && bare)
		rc = posix_spawn_file_actions_addclosefrom_np(&files, 3);
	if (!rc)
		rc = posix_spawn(ret, argv[0], &files, &attr, (char *const *)argv,
				 bare ? none_but_path : environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -rc;
}

static int start(struct run *run, struct sn_program *program,
		 const struct sn_program_limits *limits)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, rc = 0;
	const char *path = program->argv[0];

	*run = (struct run){ .pidfd = -1, .out = -1, .err = -1 };
	if (path[0] != '/')
		return sn_err_set(&program->err, -EINVAL, "%s: want a path that begins with /", path);
	if (limits->bare && (rc = check_bare(path, &program->err)))
		return rc;
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		rc = -errno;
	if (!rc)
		rc = spawn(program->argv, limits->bare, out[1], err[1], &run->pid);
	shut(&out[1]);
	shut(&err[1]);
	if (!rc) {
		run->pidfd = (int)syscall(SYS_pidfd_open, run->pid, 0);
		if (run->pidfd < 0) {
			rc = -errno;
			kill(-run->pid, SIGKILL);
			waitpid(run->pid, NULL, 0);
		}
	}
	if (rc) {
		shut(&out[0]);
		shut(&err[0]);
		return sn_err_set(&program->err, rc, "%s: cannot be run: %s", path, strerror(-rc));
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	run->program = program;
	run->out = out[0];
	run->err = err[0];
	run->deadline = now_ms() + (int64_t)limits->seconds * 1000;
	return 0;
}

/* Its end, whoever brings it about. The pid is ours until waitpid() has it, so
 * the group that is killed cannot be another's. */
static int end(struct run *run, int *ret_status)
{
	struct pollfd gone = { run->pidfd, POLLIN, 0 };
	int64_t until = now_ms() + REAP_MS, left;
	int rc;

	kill(-run->pid, SIGKILL);
	kill(run->pid, SIGKILL);
	/* One that hangs in the kernel, at a dead file server or in a driver, does not die
	 * of a signal, and the caller must not hang with it. */
	while ((left = until - now_ms()) > 0 && poll(&gone, 1, (int)left) < 0 && errno == EINTR)
		;
	while ((rc = (int)waitpid(run->pid, ret_status, WNOHANG)) < 0 && errno == EINTR)
		;
	shut(&run->pidfd);
	shut(&run->out);
	shut(&run->err);
	run->program = NULL;
	return rc < 0 ? -errno : 0;
}

static int fail(struct run *run, int rc)
{
	struct sn_program *program = run->program;
	int status;

	end(run, &status);
	free(program->out);
	program->out = NULL;
	program->len = 0;
	program->rc = rc;
	return rc;
}

/* What there is to read now. -EFBIG over the limit. */
static int drain_out(struct run *run, size_t max)
{
	struct sn_program *program = run->program;

	while (run->out >= 0) {
		ssize_t n;

		if (run->size - program->len < 2) {
			size_t size = run->size ? 2 * run->size : 4096;
			char *more = realloc(program->out, size);

			if (!more)
				return -ENOMEM;
			program->out = more;
			run->size = size;
		}
		n = read(run->out, program->out + program->len, run->size - program->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			shut(&run->out);
		else
			program->len += (size_t)n;
		if (program->len > max)
			return -EFBIG;
	}
	return 0;
}

static void drain_err(struct run *run)
{
	char buf[512];

	while (run->err >= 0) {
		ssize_t n = read(run->err, buf, sizeof(buf));
		size_t room = COMPLAINT_MAX - 1 - run->complaint_len;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			shut(&run->err);
			break;
		}
		room = (size_t)n < room ? (size_t)n : room;
		memcpy(run->complaint + run->complaint_len, buf, room);
		run->complaint_len += room;
	}
}

__attribute__((format(printf, 3, 4)))
static int failed(struct sn_program *program, int rc, const char *fmt, ...)
{
	va_list ap;
	char text[COMPLAINT_MAX + 100];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return sn_err_set(&program->err, rc, "%s%s%s: %s", program->argv[0],
			  program->about ? " " : "", program->about ? program->about : "", text);
}

/* The program itself has ended: 1 well, else -errno. */
static int finish(struct run *run, size_t max)
{
	struct sn_program *program = run->program;
	siginfo_t info = { 0 };
	int status, rc = drain_out(run, max);

	drain_err(run);
	run->complaint[strcspn(run->complaint, "\n")] = '\0';
	if (rc)
		return rc;
	/* Its status, while it still holds its number. */
	if (waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOWAIT | WNOHANG))
		return -errno;
	if (info.si_code != CLD_EXITED)
		return failed(program, -ECHILD, "died of signal %d (%s)", info.si_status,
			      strsignal(info.si_status));
	if (info.si_status)
		return failed(program, -ECHILD, "exit status %d%s%s", info.si_status,
			      *run->complaint ? ": " : "", run->complaint);
	end(run, &status);
	if (program->out)
		program->out[program->len] = '\0';
	program->rc = 0;
	return 1;
}

/* 0: it runs on; 1: it is done; else it failed, with a sentence. */
static int step(struct run *run, const struct sn_program_limits *limits, bool ended)
{
	struct sn_program *program = run->program;
	int rc;

	drain_err(run);
	rc = drain_out(run, limits->bytes);
	if (!rc && ended) {
		rc = finish(run, limits->bytes);
		if (rc > 0)
			return rc;
	}
	if (rc == -EFBIG)
		failed(program, rc, "printed more than %zu bytes and was killed", limits->bytes);
	else if (rc == -ENOMEM)
		sn_err_set(&program->err, rc, "no memory");
	else if (rc && !*program->err.text)
		failed(program, rc, "%s", strerror(-rc));
	else if (!rc && now_ms() >= run->deadline)
		rc = failed(program, -ETIME, "had not ended after %u s and was killed",
			    limits->seconds);
	return rc ? fail(run, rc) : 0;
}

/* Wait until one of them has something to say; ended[i] is set for the dead. */
static void wait_any(const struct run *run, uint32_t n, bool *ended)
{
	struct pollfd fd[3 * n];
	int64_t first = INT64_MAX, left;

	for (uint32_t i = 0; i < n; i++) {
		bool used = run[i].program;

		fd[3 * i] = (struct pollfd){ used ? run[i].pidfd : -1, POLLIN, 0 };
		fd[3 * i + 1] = (struct pollfd){ used ? run[i].out : -1, POLLIN, 0 };
		fd[3 * i + 2] = (struct pollfd){ used ? run[i].err : -1, POLLIN, 0 };
		if (used && run[i].deadline < first)
			first = run[i].deadline;
	}
	left = first - now_ms();
	left = left < 0 ? 0 : left > 60000 ? 60000 : left;
	if (poll(fd, 3 * n, (int)left) < 0)
		for (uint32_t i = 0; i < 3 * n; i++)
			fd[i].revents = 0;
	for (uint32_t i = 0; i < n; i++)
		ended[i] = fd[3 * i].revents;
}

int sn_programs_run(struct sn_program *program, uint32_t n,
		    const struct sn_program_limits *limits, struct sn_err *err)
{
	uint32_t slots = limits->at_once < 1 ? 1 :
		limits->at_once > AT_ONCE_MAX ? AT_ONCE_MAX : limits->at_once;
	struct run *run = calloc(slots, sizeof(*run));
	uint32_t next = 0, running = 0;
	bool stop = !run;

	for (uint32_t i = 0; i < n; i++) {
		program[i].out = NULL;
		program[i].len = 0;
		program[i].err.text[0] = '\0';
		/* If it is never started, another one's failure is told. */
		program[i].rc = -ECANCELED;
	}
	while (running || (next < n && !stop)) {
		bool ended[AT_ONCE_MAX] = { false };

		for (uint32_t i = 0; i < slots && next < n && !stop; i++) {
			if (run[i].program)
				continue;
			program[next].rc = start(&run[i], &program[next], limits);
			stop = program[next].rc && !limits->each;
			running += !program[next].rc;
			next++;
		}
		if (!running)
			continue;
		wait_any(run, slots, ended);
		for (uint32_t i = 0; i < slots; i++) {
			int rc = run[i].program ? step(&run[i], limits, ended[i]) : 0;

			running -= rc != 0;
			stop |= rc < 0 && !limits->each;
		}
		/* One is enough to be told of; nobody waits for the others. */
		for (uint32_t i = 0; i < slots && stop; i++)
			if (run[i].program) {
				fail(&run[i], -ECANCELED);
				running--;
			}
	}
	if (!run)
		return sn_err_set(err, -ENOMEM, "no memory");
	free(run);
	for (uint32_t i = 0; i < n; i++)
		if (program[i].rc && program[i].rc != -ECANCELED)
			return sn_err_set(err, program[i].rc, "%s", program[i].err.text);
	return 0;
}

void sn_programs_done(struct sn_program *program, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free(program[i].out);
		program[i].out = NULL;
	}
}

int sn_program_ask(const char *const *argv, uint32_t seconds, size_t max,
		   char **ret_text, size_t *ret_len, struct sn_err *err)
{
	const struct sn_program_limits limits = {
		.at_once = 1, .seconds = seconds, .bytes = max, .bare = true,
	};
	struct sn_program program = { .argv = argv };
	int rc = sn_programs_run(&program, 1, &limits, err);

	if (rc)
		return rc;
	*ret_text = program.out;
	*ret_len = program.len;
	return 0;
}
