/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runprog.c - run a site's program, for a limited time and a limited answer.
 *
 * The caller may be a daemon with threads, so between fork and exec only what
 * may be called in a signal handler is.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/runprog.h"

#define REAP_MS 2000 /* to die of SIGKILL */
#define SAID 160 /* of what it wrote on standard error */

struct running {
	pid_t pid;
	int out, err;
	char *text;
	size_t len, max;
	char said[SAID];
	size_t said_len;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* What root runs, only root may change. */
static int check_program(const char *path, struct sn_err *err)
{
	struct stat st;

	if (path[0] != '/')
		return sn_err_set(err, -EINVAL,
				  "program \"%s\": want an absolute path", path);
	if (stat(path, &st))
		return sn_err_set(err, -errno, "program %s: %s", path,
				  strerror(errno));
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return sn_err_set(err, -EINVAL,
				  "program %s: not a file that can be run", path);
	if (!geteuid() && (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH)))
		return sn_err_set(err, -EINVAL,
				  "program %s: others than root may change it, so root does not run it; chown root and chmod go-w",
				  path);
	return 0;
}

static void be_program(char *const argv[], int out, int err)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *env[] = { path, NULL };
	sigset_t none;
	int null, sig;

	(void)setpgid(0, 0);
	null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(127);
	if (close_range(3, ~0u, 0)) {
		long top = sysconf(_SC_OPEN_MAX);

		for (int fd = 3; fd < (top > 0 && top < 65536 ? top : 65536); fd++)
			close(fd);
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	execve(argv[0], argv, env);
	_exit(127);
}

static int start(char *const argv[], struct running *run, struct sn_err *err)
{
	int out[2], bad[2];

	if (pipe2(out, O_CLOEXEC))
		return sn_err_set(err, -errno, "program %s: %s", argv[0],
				  strerror(errno));
	if (pipe2(bad, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return sn_err_set(err, -EMFILE, "program %s: %s", argv[0],
				  strerror(EMFILE));
	}
	run->pid = fork();
	if (!run->pid)
		be_program(argv, out[1], bad[1]);
	close(out[1]);
	close(bad[1]);
	run->out = out[0];
	run->err = bad[0];
	if (run->pid < 0) {
		close(out[0]);
		close(bad[0]);
		return sn_err_set(err, -EAGAIN, "program %s: cannot fork",
				  argv[0]);
	}
	/* Also here: which of both comes first nobody knows. */
	(void)setpgid(run->pid, run->pid);
	return 0;
}

/* False at the end of it. */
static bool take(int fd, char *to, size_t *len, size_t max, bool *over)
{
	char waste[4096];
	ssize_t n = *len < max ? read(fd, to + *len, max - *len) :
		read(fd, waste, sizeof(waste));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!n)
		return false;
	if (*len < max)
		*len += (size_t)n;
	else
		*over = true;
	return true;
}

/* Until it has closed its output and ended; -ETIME, -EFBIG. */
static int follow(struct running *run, uint32_t seconds, int *ret_status)
{
	int64_t end = now_ms() + (int64_t)seconds * 1000;
	bool over = false, waste = false;
	struct pollfd fds[2] = { { run->out, POLLIN, 0 }, { run->err, POLLIN, 0 } };

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		int64_t left = end - now_ms();

		if (left <= 0)
			return -ETIME;
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].fd >= 0 && fds[0].revents &&
		    !take(run->out, run->text, &run->len, run->max, &over))
			fds[0].fd = -1;
		if (fds[1].fd >= 0 && fds[1].revents &&
		    !take(run->err, run->said, &run->said_len, SAID - 1, &waste))
			fds[1].fd = -1;
		if (over)
			return -EFBIG;
	}
	/* It may close its output and hang. */
	while (waitpid(run->pid, ret_status, WNOHANG) == 0) {
		struct timespec pause = { 0, 5000000 };

		if (now_ms() > end)
			return -ETIME;
		nanosleep(&pause, NULL);
	}
	run->pid = 0;
	return 0;
}

/* One that hangs in the kernel does not die of a signal, and the caller must not
 * hang with it. */
static void reap(pid_t pid)
{
	int64_t end = now_ms() + REAP_MS;
	pid_t rc;

	while (!(rc = waitpid(pid, NULL, WNOHANG)) || (rc < 0 && errno == EINTR)) {
		struct timespec pause = { 0, 5000000 };

		if (now_ms() > end)
			return;
		nanosleep(&pause, NULL);
	}
}

static void finish(struct running *run)
{
	if (run->pid > 0) {
		(void)kill(-run->pid, SIGKILL);
		(void)kill(run->pid, SIGKILL);
		reap(run->pid);
	}
	close(run->out);
	close(run->err);
}

static int judge(const char *name, const struct running *run, int status,
		 struct sn_err *err)
{
	char said[SAID];

	memcpy(said, run->said, run->said_len);
	said[run->said_len] = '\0';
	said[strcspn(said, "\n")] = '\0';
	if (WIFSIGNALED(status))
		return sn_err_set(err, -ECHILD, "program %s was killed by signal %d",
				  name, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return sn_err_set(err, -ECHILD, "program %s failed with status %d%s%s",
				  name, WEXITSTATUS(status), *said ? ": " : "",
				  said);
	return 0;
}

int sn_runprog_sized(char *const argv[], uint32_t seconds, size_t max,
		     char **ret_text, size_t *ret_len, struct sn_err *err)
{
	struct running run = { .text = malloc(max + 1), .max = max };
	int status = 0, rc;

	if (!run.text)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = check_program(argv[0], err);
	if (!rc)
		rc = start(argv, &run, err);
	if (rc) {
		free(run.text);
		return rc;
	}
	rc = follow(&run, seconds, &status);
	finish(&run);
	if (rc == -ETIME)
		sn_err_set(err, rc,
			   "program %s did not end in %u seconds and was killed",
			   argv[0], seconds);
	else if (rc == -EFBIG)
		sn_err_set(err, rc, "program %s wrote more than %zu bytes and was killed",
			   argv[0], max);
	else if (rc)
		sn_err_set(err, rc, "program %s: %s", argv[0], strerror(-rc));
	else
		rc = judge(argv[0], &run, status, err);
	if (rc) {
		free(run.text);
		return rc;
	}
	run.text[run.len] = '\0';
	*ret_text = run.text;
	*ret_len = run.len;
	return 0;
}

int sn_runprog(char *const argv[], uint32_t seconds, char **ret_text,
	       size_t *ret_len, struct sn_err *err)
{
	return sn_runprog_sized(argv, seconds, SN_RUNPROG_MAX, ret_text,
				ret_len, err);
}
