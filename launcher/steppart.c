/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steppart.c - one srun: its start, and what it says.
 *
 * srun's standard error is a pipe of snrun's: what srun itself says of ranks and
 * nodes is read there (stepevent.h) and passed on. The tasks' goes through
 * another pipe, so that no task can speak as srun.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/step.h"
#include "launcher/stepevent.h"
#include "topology/hostlist.h"

bool step_part_send(struct step_part *part, int sig)
{
	uint32_t step;
	int rc = sn_job_find_step(part->of->job, (uint32_t)part->pid,
				  part->step->run->host, &step);

	part->no_step = rc == -ENOENT;
	if (rc == -ENOENT)
		return false;
	if (!rc)
		rc = sn_job_signal_step(part->of->job, step, sig);
	return rc == 0;
}

/* ---- what srun says ---- */

static void lose_nodes(struct step *s, const char *list)
{
	struct sn_names names = { NULL, 0, 0 };

	if (!sn_hostlist_expand(list, &names, NULL))
		for (size_t i = 0; i < names.n; i++)
			step_lose_node(s, names.name[i]);
	sn_names_done(&names);
}

static bool runs_on(const struct step_part *part, const char *name)
{
	const struct sn_plan *plan = &part->step->run->plan;

	for (uint32_t t = 0; t < part->of->n_ranks; t++)
		if (!strcmp(plan->node[plan->rank_node[part->of->rank[t]]].name,
			    name))
			return true;
	return false;
}

/* Nodes of a step are numbered in the order of Slurm's node table. */
static void lose_number(struct step_part *part, uint32_t number)
{
	const struct sn_job *job = snrun_job_of(part->step->run, part->of->job);

	for (uint32_t i = 0; job && i < job->n_nodes; i++) {
		if (!runs_on(part, job->offer[i].name) || number--)
			continue;
		step_lose_node(part->step, job->offer[i].name);
		return;
	}
}

static void take_line(struct step_part *part, const char *line)
{
	struct step *s = part->step;
	struct sn_outcome *out = s->out;
	struct sn_event event;

	if (strstr(line, "Unable to create step for job"))
		out->refused = true;
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
			out->rank = event.rank < part->of->n_ranks ?
				part->of->rank[event.rank] : event.rank;
			out->job = part->of->job;
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
			lose_number(part, event.number);
		break;
	}
	if (s->watched && !out->stopped && (out->rank_failed || out->node_lost))
		step_end(s);
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

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void step_part_read_says(struct step_part *part)
{
	char buf[SN_STEP_LINE];
	ssize_t n = read(part->says, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] != '\n') {
			if (part->len < sizeof(part->line) - 1)
				part->line[part->len++] = buf[i];
			continue;
		}
		part->line[part->len] = '\0';
		part->len = 0;
		take_line(part, part->line);
	}
	if (n > 0)
		pass_on(buf, (size_t)n);
	else
		close_fd(&part->says);
}

void step_part_read_tasks(struct step_part *part)
{
	char buf[16384];
	ssize_t n = read(part->tasks, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		pass_on(buf, (size_t)n);
	else
		close_fd(&part->tasks);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

void step_part_drain(struct step_part *part)
{
	while (readable(part->says))
		step_part_read_says(part);
	while (readable(part->tasks))
		step_part_read_tasks(part);
	close_fd(&part->says);
	close_fd(&part->tasks);
}

/* ---- its start ---- */

static void start_srun(const struct step_part *part, const struct sn_words *argv,
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
	sigprocmask(SIG_SETMASK, &part->step->run->signals, NULL);
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

static int note_pid(const struct step_part *part, struct sn_err *err)
{
	struct snrun *run = part->step->run;
	struct sn_runstate *state = &run->state;

	if (part->of->job == run->job.id)
		state->srun_pid = (uint32_t)part->pid;
	else if (state->n_parts < SN_RUNSTATE_PARTS)
		state->part[state->n_parts++] = (struct sn_runstate_part){
			part->of->job, (uint32_t)part->pid,
		};
	return sn_runstate_write(run->dir, &run->state, err);
}

int step_part_launch(struct step_part *part, struct sn_err *err)
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
		rc = snrun_command(part->step->run, part->of, tasks[1], &argv,
				   &env, err);
	if (rc)
		return rc;
	fcntl(tasks[0], F_SETFD, FD_CLOEXEC);
	fflush(NULL);
	part->pid = fork();
	if (!part->pid) {
		close(go[1]);
		start_srun(part, &argv, &env, says[1], go[0]);
	}
	rc = part->pid < 0 ? sn_err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
	close(says[1]);
	close(tasks[1]);
	close(go[0]);
	part->says = says[0];
	part->tasks = tasks[0];
	sn_words_done(&argv);
	sn_words_done(&env);
	if (!rc) {
		rc = note_pid(part, err);
		if (!rc && write(go[1], "g", 1) != 1)
			rc = sn_err_set(err, -errno, "srun cannot be started: %s",
					strerror(errno));
		if (rc) {
			kill(part->pid, SIGKILL);
			waitpid(part->pid, NULL, 0);
			part->pid = 0;
		}
	}
	close(go[1]);
	return rc;
}
