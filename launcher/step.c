/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step.c - one generation's step, and what happens while it runs.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/link.h"
#include "launcher/step.h"

#define RETRY_MS 100 /* until a step exists that a signal can go to */

int64_t snrun_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- signals to the parts ---- */

static bool stops(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP ||
		sig == SIGQUIT;
}

/* A signal may stand for several. */
static void reap(struct step *s)
{
	for (uint32_t p = 0; p < s->n_parts; p++) {
		struct step_part *part = &s->part[p];

		if (part->pid > 0 && !part->ended &&
		    waitpid(part->pid, &part->status, WNOHANG) == part->pid) {
			part->ended = true;
			/* The others would wait for its ranks for ever. */
			if (part->status && s->watched && s->n_parts > 1 &&
			    !s->out->stopped)
				step_end(s);
		}
	}
}

static void take_signal(struct step *s, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;
	bool again = s->out->stopped;

	if (sig == SIGCHLD) {
		reap(s);
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
		step_kill(s);
		return;
	}
	if (sig == SIGTERM && !s->deadline) {
		s->grace = (int64_t)s->run->job.policy.stop_wait * 1000;
		s->deadline = snrun_now_ms() + s->grace;
		step_ask_before_stop(s);
	}
	s->warned |= stops(sig);
	for (uint32_t p = 0; p < s->n_parts; p++) {
		struct step_part *part = &s->part[p];

		if (part->ended || step_part_send(part, sig))
			continue;
		if (stops(sig) && part->no_step)
			kill(part->pid, SIGTERM); /* it still waits for its step */
		else
			step_send_later(part, sig);
	}
}

/* ---- what changes in Slurm's jobs ---- */

void step_lose_node(struct step *s, const char *name)
{
	const struct sn_plan *plan = &s->run->plan;

	for (uint32_t i = 0; i < plan->n_nodes; i++)
		if (!strcmp(plan->node[i].name, name)) {
			if (!s->lost[i] && plan->node[i].ranks)
				snrun_link_lost(s->run, name);
			s->lost[i] = true;
			s->out->node_lost |= plan->node[i].ranks > 0;
		}
}

static bool is_in(const struct sn_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name))
			return true;
	return false;
}

/* Nodes of a part that its job has no more. */
static void look_at_part(struct step *s, const struct step_part *part,
			 const struct sn_jobview *view)
{
	const struct sn_plan *plan = &s->run->plan;

	if (view->phase == SN_JOB_ENDED) {
		/* The base's end is Slurm's to tell; a member's is a loss. */
		s->out->node_lost |= part->of->job != s->run->job.id;
		return;
	}
	if (view->phase != SN_JOB_RUNS)
		return;
	for (uint32_t t = 0; t < part->of->n_ranks; t++) {
		uint32_t node = plan->rank_node[part->of->rank[t]];

		if (t && plan->rank_node[part->of->rank[t - 1]] == node)
			continue;
		if (!is_in(&view->names, plan->node[node].name))
			step_lose_node(s, plan->node[node].name);
	}
}

/* Spares run no ranks, and only the base can lose them. */
static void look_at_spares(struct step *s, const struct sn_jobview *base)
{
	const struct sn_plan *plan = &s->run->plan;

	if (s->run->n_members || base->phase != SN_JOB_RUNS)
		return;
	for (uint32_t i = 0; i < plan->n_nodes; i++)
		if (!plan->node[i].ranks &&
		    !is_in(&base->names, plan->node[i].name))
			s->lost[i] = true;
}

static void read_changes(struct step *s)
{
	struct sn_jobview view;
	bool preempted = false;
	int64_t at;
	uint64_t count;

	if (read(s->changes, &count, sizeof(count)) < 0)
		return;
	for (uint32_t p = 0; p < s->n_parts; p++) {
		if (!snrun_watch_view(s->part[p].of->job, &view))
			continue;
		look_at_part(s, &s->part[p], &view);
		if (s->part[p].of->job == s->run->job.id)
			look_at_spares(s, &view);
		preempted |= view.preempted;
		sn_names_done(&view.names);
	}
	/* Slurm has told the ranks of that job only, and kills them after its
	 * GraceTime. */
	if (s->watched && preempted)
		step_end_on_purpose(s, "preempted");
	if (s->watched && s->out->node_lost && !s->out->stopped)
		step_end(s);
	snrun_account_cards(s->run, s->lost);
	/* Others may start in a moment, and one change is for all. */
	at = snrun_resize_due(s->run);
	if (at && (!s->resize_at || at < s->resize_at))
		s->resize_at = at;
}

/* ---- the loop ---- */

static void pass_deadline(struct step *s)
{
	int64_t now = snrun_now_ms();

	snrun_members_let_go(s->run);
	if (now >= s->steer_at) {
		s->steer_at = now + SN_STEER_MS;
		step_look_at_checkpoint(s, now);
		snrun_account_look(s->run, false);
		if (snrun_steer(s->run))
			step_end_on_purpose(s, s->run->requeue ? "requeue" :
					    s->run->paused ? "pause" : "resize");
	}
	if (s->resize_at && now >= s->resize_at) {
		s->resize_at = 0;
		step_end_on_purpose(s, "resize");
	}
	if (s->soft_at && now >= s->soft_at && !s->killed) {
		s->soft_at = 0;
		if (step_any_pending(s))
			snrun_say("the ranks are to save and end, and cannot be asked as long as slurmctld does not answer; they go on");
		else
			snrun_say("the ranks were asked to save and end and have not yet; they are killed %lld s from now",
				  (long long)(s->deadline > now ? (s->deadline - now) / 1000 : 0));
	}
	step_tell_again(s, now);
	if (!s->deadline || now < s->deadline || step_wait_longer(s))
		return;
	s->deadline = 0;
	if (!s->killed) {
		step_kill(s);
		return;
	}
	/* Its shepherd process sees to the step. */
	for (uint32_t p = 0; p < s->n_parts; p++)
		if (!s->part[p].ended)
			kill(s->part[p].pid, SIGKILL);
}

/* As soon as it is known, for the account: until the ranks have ended time passes. */
static void note_failure(struct step *s)
{
	const struct sn_outcome *out = s->out;
	bool node = false;

	if (s->told || out->stopped || !(out->node_lost || (out->rank_failed && !out->resize)))
		return;
	s->told = true;
	for (uint32_t i = 0; i < s->run->plan.n_nodes; i++)
		node |= s->lost[i];
	snrun_account_fail(s->run, !out->node_lost ? SN_ETTR_FAIL_RANK :
			   node ? SN_ETTR_FAIL_NODE : SN_ETTR_FAIL_MEMBER, s->lost);
}

static int soonest(int wait, int64_t at)
{
	int64_t left = at - snrun_now_ms();

	if (!at)
		return wait;
	left = left < 0 ? 0 : left > 3600000 ? 3600000 : left;
	return wait < 0 || left < wait ? (int)left : wait;
}

static void wait_for(struct step *s, struct pollfd *fd)
{
	struct signalfd_siginfo info;
	int wait = step_any_pending(s) ? RETRY_MS : -1;
	nfds_t n = 3;

	wait = soonest(wait, s->deadline);
	wait = soonest(wait, s->soft_at);
	wait = soonest(wait, s->again_at);
	wait = soonest(wait, s->steer_at);
	wait = soonest(wait, s->run->near_until);
	if (!s->ending)
		wait = soonest(wait, s->resize_at);
	fd[0] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	fd[1] = (struct pollfd){ .fd = s->changes, .events = POLLIN };
	fd[2] = (struct pollfd){ .fd = snrun_link_fd(), .events = POLLIN };
	for (uint32_t p = 0; p < s->n_parts; p++) {
		fd[n++] = (struct pollfd){ .fd = s->part[p].says, .events = POLLIN };
		fd[n++] = (struct pollfd){ .fd = s->part[p].tasks, .events = POLLIN };
	}
	if (poll(fd, n, wait) < 0)
		return;
	for (uint32_t p = 0; p < s->n_parts; p++) {
		if (fd[3 + 2 * p].revents)
			step_part_read_says(&s->part[p]);
		if (fd[4 + 2 * p].revents)
			step_part_read_tasks(&s->part[p]);
	}
	if (fd[1].revents)
		read_changes(s);
	if (fd[2].revents)
		s->steer_at = 0; /* an order */
	if (fd[0].revents && read(s->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(s, &info);
	step_send_pending(s);
	pass_deadline(s);
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

/* A part that could not be started takes the others with it. */
static int launch(struct step *s, struct sn_err *err)
{
	int rc = 0;

	s->run->state.n_parts = s->run->state.srun_pid = 0;
	for (uint32_t p = 0; p < s->run->n_parts; p++) {
		s->part[p] = (struct step_part){
			.step = s, .of = &s->run->part[p], .says = -1, .tasks = -1,
		};
		rc = step_part_launch(&s->part[p], err);
		if (rc)
			break;
		s->n_parts++;
	}
	if (rc)
		step_end(s);
	return rc;
}

static void add_up(const struct step *s)
{
	s->run->srun_killed = false;
	s->out->exit_code = 0;
	for (uint32_t p = 0; p < s->n_parts; p++) {
		int status = s->part[p].status;
		int code = WIFEXITED(status) ? WEXITSTATUS(status) :
			128 + WTERMSIG(status);

		s->run->srun_killed |= !WIFEXITED(status);
		if (code > s->out->exit_code)
			s->out->exit_code = code;
	}
}

int snrun_step(struct snrun *run, bool watched, struct sn_outcome *ret,
	       bool *lost, struct sn_err *err)
{
	struct step s = {
		.run = run, .out = ret, .lost = lost, .watched = watched,
		.part = calloc((size_t)run->n_parts + 1, sizeof(*s.part)),
		.changes = -1,
		.began = snrun_now_ms(),
		.steer_at = 1, /* also where nothing else happens: 0 is never */
	};
	struct pollfd *fd = calloc((size_t)run->n_parts * 2 + 3, sizeof(*fd));
	bool ready = false;
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	s.signals = signals_fd(err);
	if (s.signals < 0)
		rc = s.signals;
	else if (!s.part || !fd)
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (!rc && watched)
		rc = snrun_watch_start(run, &s.changes, err);
	if (!rc) {
		ready = true;
		rc = launch(&s, err);
		run->runs = true;
		snrun_link_tell(run);
	}
	while (ready && !step_all_ended(&s)) {
		wait_for(&s, fd);
		note_failure(&s);
		/* The signal may have been one of several that were one. */
		reap(&s);
	}
	run->runs = run->ending = false;
	/* Whether a node has gone with its ranks the daemon finds out meanwhile. */
	if (ready)
		snrun_link_tell(run);
	for (uint32_t p = 0; p < s.n_parts; p++)
		step_part_drain(&s.part[p]);
	if (s.signals >= 0)
		close(s.signals);
	if (!rc)
		add_up(&s);
	free(s.part);
	free(fd);
	return rc;
}
