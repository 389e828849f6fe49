/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step.c - one srun, and what happens while it runs.
 *
 * srun's standard error is a pipe of snrun's: what srun itself says of ranks and
 * nodes is read there (stepevent.h) and passed on. The tasks' goes through
 * another pipe, so that no task can speak as srun.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snrun.h"
#include "launcher/stepevent.h"
#include "topology/hostlist.h"

#define LINE_SIZE 4096
#define RETRY_MS 100 /* until a step exists that a signal can go to */
#define KILLED_MS 10000 /* for srun, after SIGKILL to its step */
#define SIGNALS_MAX 16

struct step {
	struct snrun *run;
	struct sn_outcome *out;
	bool *lost;
	bool watched;
	pid_t pid;
	int status;
	bool ended; /* srun has */
	int signals, says, tasks, nodes; /* descriptors, -1: none */
	char line[LINE_SIZE];
	size_t len;
	int pending[SIGNALS_MAX]; /* signals that no step could take yet */
	size_t n_pending;
	bool ending, killed; /* SIGTERM, SIGKILL went to the step */
	int64_t deadline; /* ms, of what was sent; 0: none */
};

int64_t snrun_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- signals to the step ---- */

/* False: there is no step yet. */
static bool send(struct step *s, int sig)
{
	uint32_t step;
	int rc = sn_job_find_step(s->run->job.id, (uint32_t)s->pid,
				  s->run->host, &step);

	if (rc == -ENOENT)
		return false;
	if (!rc)
		rc = sn_job_signal_step(s->run->job.id, step, sig);
	return rc == 0;
}

static void send_later(struct step *s, int sig)
{
	if (s->n_pending < SIGNALS_MAX)
		s->pending[s->n_pending++] = sig;
}

static void send_pending(struct step *s)
{
	size_t n = s->n_pending, kept = 0;

	for (size_t i = 0; i < n; i++)
		if (s->ended || !send(s, s->pending[i]))
			s->pending[kept++] = s->pending[i];
	s->n_pending = s->ended ? 0 : kept;
}

static void kill_step(struct step *s)
{
	if (s->ended || s->killed)
		return;
	s->killed = true;
	s->deadline = snrun_now_ms() + KILLED_MS;
	/* Without a step srun ends by itself; with one that cannot be reached it
	 * kills what it can. */
	if (!send(s, SIGKILL))
		kill(s->pid, SIGTERM);
}

/* The ranks may save what they have, and then go. */
static void end_step(struct step *s)
{
	if (s->ending || s->ended)
		return;
	s->ending = true;
	s->out->cut = true;
	s->deadline = snrun_now_ms() +
		(int64_t)s->run->job.policy.restart_wait * 1000;
	if (!send(s, SIGTERM))
		kill_step(s);
}

static bool stops(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP ||
		sig == SIGQUIT;
}

static void take_signal(struct step *s, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;
	bool again = s->out->stopped;

	if (sig == SIGCHLD) {
		if (waitpid(s->pid, &s->status, WNOHANG) == s->pid)
			s->ended = true;
		return;
	}
	if (stops(sig)) {
		s->out->stopped = s->run->stopped = true;
		s->run->stop_signal = sig;
	}
	/* The terminal's keys reach srun as well, which has its own way with
	 * them. */
	if (info->ssi_code == SI_KERNEL)
		return;
	if (stops(sig) && again) {
		kill_step(s);
		return;
	}
	if (sig == SIGTERM && !s->deadline)
		s->deadline = snrun_now_ms() +
			(int64_t)s->run->job.policy.stop_wait * 1000;
	if (send(s, sig))
		return;
	if (stops(sig))
		kill(s->pid, SIGTERM); /* it still waits for its step */
	else
		send_later(s, sig);
}

/* ---- what srun says ---- */

static void lose_node(struct step *s, const char *name)
{
	const struct sn_plan *plan = &s->run->plan;

	for (uint32_t i = 0; i < plan->n_nodes; i++)
		if (!strcmp(plan->node[i].name, name)) {
			s->lost[i] = true;
			s->out->node_lost |= plan->node[i].ranks > 0;
		}
}

static void lose_nodes(struct step *s, const char *list)
{
	struct sn_names names = { NULL, 0, 0 };

	if (!sn_hostlist_expand(list, &names, NULL))
		for (size_t i = 0; i < names.n; i++)
			lose_node(s, names.name[i]);
	sn_names_done(&names);
}

/* Nodes of a step are numbered in the order of Slurm's node table. */
static void lose_number(struct step *s, uint32_t number)
{
	const struct sn_plan *plan = &s->run->plan;
	const struct sn_job *job = &s->run->job;

	for (uint32_t i = 0; i < job->n_nodes; i++) {
		uint32_t k = 0;

		while (k < plan->n_nodes &&
		       strcmp(plan->node[k].name, job->offer[i].name))
			k++;
		if (k == plan->n_nodes || !plan->node[k].ranks || number--)
			continue;
		lose_node(s, plan->node[k].name);
		return;
	}
}

static void take_line(struct step *s, const char *line)
{
	struct sn_outcome *out = s->out;
	struct sn_event event;

	if (!sn_event_parse(line, &event))
		return;
	switch (event.kind) {
	case SN_EVENT_EXIT:
		out->no_requeue |= event.code == SN_EXIT_NO_REQUEUE;
		/* fall through */
	case SN_EVENT_SIGNAL:
		/* Those that follow are ended by us, or by what the first did. */
		if (!out->rank_failed && !out->node_lost && !s->ending) {
			out->rank_failed = true;
			out->rank = event.rank;
			out->code = event.code;
			out->out_of_memory = event.out_of_memory;
		}
		break;
	case SN_EVENT_NODE:
		lose_nodes(s, event.nodes);
		break;
	case SN_EVENT_NODE_NUMBER:
		/* What follows a kill says nothing of the node. */
		if (!s->killed)
			lose_number(s, event.number);
		break;
	}
	if (s->watched && !out->stopped && (out->rank_failed || out->node_lost))
		end_step(s);
}

static void pass_on(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(STDERR_FILENO, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

/* False: the end. */
static bool read_says(struct step *s)
{
	char buf[LINE_SIZE];
	ssize_t n = read(s->says, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] != '\n') {
			if (s->len < sizeof(s->line) - 1)
				s->line[s->len++] = buf[i];
			continue;
		}
		s->line[s->len] = '\0';
		s->len = 0;
		take_line(s, s->line);
	}
	pass_on(buf, (size_t)n);
	return n > 0;
}

static bool read_tasks(struct step *s)
{
	char buf[16384];
	ssize_t n = read(s->tasks, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	pass_on(buf, (size_t)n);
	return n > 0;
}

static void read_nodes(struct step *s)
{
	const struct sn_plan *plan = &s->run->plan;
	struct sn_names names;
	uint64_t count;
	bool ended;

	if (read(s->nodes, &count, sizeof(count)) < 0 ||
	    !snrun_watch_nodes(&names, &ended) || ended) {
		return;
	}
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		size_t k = 0;

		while (k < names.n && strcmp(names.name[k], plan->node[i].name))
			k++;
		if (k == names.n)
			lose_node(s, plan->node[i].name);
	}
	sn_names_done(&names);
	if (s->watched && s->out->node_lost && !s->out->stopped)
		end_step(s);
}

/* ---- the loop ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void pass_deadline(struct step *s)
{
	if (!s->deadline || snrun_now_ms() < s->deadline)
		return;
	s->deadline = 0;
	if (s->killed)
		/* Its shepherd process sees to the step. */
		kill(s->pid, SIGKILL);
	else
		kill_step(s);
}

static void wait_for(struct step *s)
{
	struct pollfd fd[4] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->says, .events = POLLIN },
		{ .fd = s->tasks, .events = POLLIN },
		{ .fd = s->nodes, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	int wait = s->n_pending ? RETRY_MS : -1;

	if (s->deadline) {
		int64_t left = s->deadline - snrun_now_ms();

		left = left < 0 ? 0 : left;
		wait = wait < 0 || left < wait ? (int)left : wait;
	}
	if (poll(fd, 4, wait) < 0)
		return;
	if (fd[1].revents && !read_says(s))
		close_fd(&s->says);
	if (fd[2].revents && !read_tasks(s))
		close_fd(&s->tasks);
	if (fd[3].revents)
		read_nodes(s);
	if (fd[0].revents && read(s->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(s, &info);
	send_pending(s);
	pass_deadline(s);
}

static void start_srun(const struct step *s, const struct sn_words *argv,
		       const struct sn_words *env, int says, int go)
{
	char byte;

	/* Not before the state says which process to look for. */
	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	/* A killed snrun must not leave its srun. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (byte != 'g' || getppid() == 1)
		_exit(1);
	dup2(says, STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->run->signals, NULL);
	execvpe(argv->word[0], argv->word, env->word);
	dprintf(STDERR_FILENO, "snrun: srun cannot be run: %s\n", strerror(errno));
	_exit(127);
}

static int make_pipe(int fd[2], int flags, struct sn_err *err)
{
	if (!pipe2(fd, flags))
		return 0;
	fd[0] = fd[1] = -1;
	return sn_err_set(err, -errno, "pipe: %s", strerror(errno));
}

static int launch(struct step *s, struct sn_err *err)
{
	int says[2], tasks[2], go[2], rc;
	struct sn_words argv = { 0 }, env = { 0 };

	rc = make_pipe(says, O_CLOEXEC, err);
	/* srun opens the tasks' by its name, /dev/fd/N. */
	if (!rc)
		rc = make_pipe(tasks, 0, err);
	if (!rc)
		rc = make_pipe(go, O_CLOEXEC, err);
	if (!rc)
		rc = snrun_command(s->run, tasks[1], &argv, &env, err);
	if (rc)
		return rc;
	fcntl(tasks[0], F_SETFD, FD_CLOEXEC);
	fflush(NULL);
	s->pid = fork();
	if (!s->pid) {
		close(go[1]);
		start_srun(s, &argv, &env, says[1], go[0]);
	}
	rc = s->pid < 0 ? sn_err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
	close(says[1]);
	close(tasks[1]);
	close(go[0]);
	s->says = says[0];
	s->tasks = tasks[0];
	sn_words_done(&argv);
	sn_words_done(&env);
	if (!rc) {
		s->run->state.srun_pid = (uint32_t)s->pid;
		rc = sn_runstate_write(s->run->dir, &s->run->state, err);
		if (!rc && write(go[1], "g", 1) != 1)
			rc = sn_err_set(err, -errno, "srun cannot be started: %s",
					strerror(errno));
		if (rc) {
			kill(s->pid, SIGKILL);
			waitpid(s->pid, NULL, 0);
		}
	}
	close(go[1]);
	return rc;
}

/* What is still in the pipes; srun's shepherd may hold them open. */
static void drain(struct step *s)
{
	for (int *fd = &s->says;; fd = &s->tasks) {
		while (*fd >= 0) {
			struct pollfd p = { .fd = *fd, .events = POLLIN };

			if (poll(&p, 1, 0) <= 0 ||
			    !(fd == &s->says ? read_says(s) : read_tasks(s)))
				break;
		}
		close_fd(fd);
		if (fd == &s->tasks)
			return;
	}
}

static int signals_fd(struct sn_err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (const int *sig = (const int[]){ SIGCHLD, SIGINT, SIGTERM, SIGHUP,
		     SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, 0 };
	     *sig; sig++)
		sigaddset(&set, *sig);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? sn_err_set(err, -errno, "signalfd: %s", strerror(errno)) :
		fd;
}

int snrun_step(struct snrun *run, bool watched, struct sn_outcome *ret,
	       bool *lost, struct sn_err *err)
{
	struct step s = {
		.run = run, .out = ret, .lost = lost, .watched = watched,
		.says = -1, .tasks = -1, .nodes = -1,
	};
	int rc;

	memset(ret, 0, sizeof(*ret));
	s.signals = signals_fd(err);
	if (s.signals < 0)
		return s.signals;
	if (watched)
		rc = snrun_watch_start(run->job.id, run->job.policy.node_poll,
				       &s.nodes, err);
	else
		rc = 0;
	if (!rc)
		rc = launch(&s, err);
	while (!rc && !s.ended) {
		wait_for(&s);
		/* The signal may have been one of several that were one. */
		if (!s.ended && waitpid(s.pid, &s.status, WNOHANG) == s.pid)
			s.ended = true;
	}
	drain(&s);
	close_fd(&s.says);
	close_fd(&s.tasks);
	close_fd(&s.signals);
	if (rc)
		return rc;
	run->srun_killed = !WIFEXITED(s.status);
	ret->exit_code = WIFEXITED(s.status) ? WEXITSTATUS(s.status) :
		128 + WTERMSIG(s.status);
	return 0;
}
