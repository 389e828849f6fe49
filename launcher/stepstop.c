/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepstop.c - how a step's ranks are ended: asked to save, told to end, killed.
 *
 * None is killed that was not told, with time to save, unless its node is gone: the
 * time begins when slurmctld has taken the signal.
 */
#include "config.h"

#include <signal.h>

#include "launcher/link.h"
#include "launcher/step.h"

#define KILLED_MS 10000 /* for srun, after SIGKILL to its step */
#define YOUNG_MS 5000 /* that a step is starting at most */
#define AGAIN_MS 1000

/* ---- signals to the parts ---- */

void step_send_later(struct step_part *part, int sig)
{
	if (part->n_pending < SN_STEP_SIGNALS)
		part->pending[part->n_pending++] = sig;
}

void step_send_pending(struct step *s)
{
	bool sent = false;

	for (uint32_t p = 0; p < s->n_parts; p++) {
		struct step_part *part = &s->part[p];
		size_t n = part->n_pending, kept = 0;

		for (size_t i = 0; i < n; i++)
			if (part->ended || !step_part_send(part, part->pending[i]))
				part->pending[kept++] = part->pending[i];
		part->n_pending = part->ended ? 0 : kept;
		sent |= !part->ended && kept < n;
	}
	if (!sent || !s->ending || s->killed)
		return;
	/* Who is told late has his time from then on; and starts just now. */
	if (s->deadline < snrun_now_ms() + s->grace)
		s->deadline = snrun_now_ms() + s->grace;
	if (s->again) {
		s->young_until = snrun_now_ms() + YOUNG_MS;
		s->again_at = snrun_now_ms() + AGAIN_MS;
	}
}

bool step_any_pending(const struct step *s)
{
	for (uint32_t p = 0; p < s->n_parts; p++)
		if (s->part[p].n_pending)
			return true;
	return false;
}

bool step_all_ended(const struct step *s)
{
	for (uint32_t p = 0; p < s->n_parts; p++)
		if (!s->part[p].ended)
			return false;
	return true;
}

void step_send_all(struct step *s, int sig)
{
	for (uint32_t p = 0; p < s->n_parts; p++)
		if (!s->part[p].ended && !step_part_send(&s->part[p], sig))
			step_send_later(&s->part[p], sig);
}

/* ---- the end ---- */

void step_kill(struct step *s)
{
	if (step_all_ended(s) || s->killed)
		return;
	s->killed = true;
	s->deadline = snrun_now_ms() + KILLED_MS;
	/* Without a step srun ends by itself; with one that cannot be reached it
	 * kills what it can. */
	for (uint32_t p = 0; p < s->n_parts; p++)
		if (!s->part[p].ended && !step_part_send(&s->part[p], SIGKILL))
			kill(s->part[p].pid, SIGTERM);
}

static int64_t restart_wait(const struct step *s)
{
	return (int64_t)s->run->job.policy.restart_wait * 1000;
}

/*
 * Slurm's signal passes over a task that is about to start (proctrack/linuxproc, till the
 * task has become its program), and the others, which end, would wait for it in vain. In
 * its first seconds no rank has anything to save that a second signal could disturb.
 */
static void tell_all(struct step *s, int sig)
{
	int64_t now = snrun_now_ms(), held;

	if (!s->again)
		s->young_until = s->began + YOUNG_MS;
	step_send_all(s, sig);
	/* A slurmctld that is away holds us up for as long, and then takes it: their time
	 * begins now. */
	held = snrun_now_ms() - now;
	now += held;
	s->deadline += s->deadline ? held : 0;
	s->soft_at += s->soft_at ? held : 0;
	s->again = sig;
	s->again_at = now < s->young_until ? now + AGAIN_MS : 0;
}

void step_tell_again(struct step *s, int64_t now)
{
	if (!s->again_at || now < s->again_at)
		return;
	s->again_at = now < s->young_until ? now + AGAIN_MS : 0;
	/* Where it does not get through it is not kept: the next second is soon, and what is
	 * kept counts as told late. */
	for (uint32_t p = 0; p < s->n_parts && !s->killed; p++)
		if (!s->part[p].ended && !s->part[p].n_pending)
			(void)step_part_send(&s->part[p], s->again);
}

void step_tell(struct step *s)
{
	s->warned = true;
	s->wait_marker = false;
	tell_all(s, SIGTERM);
}

void step_end(struct step *s)
{
	const struct sn_policy *policy = &s->run->job.policy;
	bool gasp = s->run->ckpt.ckpt.gasp;
	int64_t now = snrun_now_ms(), soon = now + restart_wait(s);
	uint32_t soft, hard;

	/* What others fail by now cannot be waited for. */
	if (s->ending && s->out->node_lost && !s->killed && !gasp &&
	    s->deadline > soon) {
		s->grace = restart_wait(s);
		s->deadline = soon;
		if (!s->warned)
			step_tell(s);
	}
	if (s->ending || step_all_ended(s))
		return;
	s->ending = s->run->ending = true;
	s->out->cut = true;
	s->grace = restart_wait(s);
	s->deadline = soon;
	snrun_link_tell(s->run);
	if (!gasp) {
		step_tell(s);
		return;
	}
	/* Those that are left save by themselves what the others had copies of. */
	sn_ckpt_limits(&s->run->ckpt.ckpt, policy->checkpoint_soft,
		       policy->checkpoint_hard, &soft, &hard);
	snrun_ask_checkpoint(s->run, "failure");
	s->deadline = now + (int64_t)soft * 1000;
}

/* On purpose, and with time: the ranks save what they have, however long that
 * takes within the limits, and none is killed that was not told before. */
void step_end_on_purpose(struct step *s, const char *why)
{
	const struct sn_policy *policy = &s->run->job.policy;
	const struct sn_ckpt *ckpt = &s->run->ckpt.ckpt;
	int64_t now = snrun_now_ms();
	uint32_t soft, hard;

	if (s->ending || s->out->stopped || step_all_ended(s))
		return;
	sn_ckpt_limits(ckpt, policy->checkpoint_soft, policy->checkpoint_hard, &soft, &hard);
	snrun_ask_checkpoint(s->run, why);
	snrun_account_ask(s->run);
	s->out->resize = true;
	s->ending = s->run->ending = true;
	s->out->cut = true;
	s->soft_at = now + (int64_t)soft * 1000;
	s->grace = (int64_t)hard * 1000;
	s->deadline = now + s->grace;
	s->wait_marker = !ckpt->exits;
	s->warned = ckpt->signal == SIGTERM;
	snrun_link_tell(s->run);
	if (ckpt->signal)
		tell_all(s, ckpt->signal);
}

/* Who has another way to be asked than SIGTERM is asked first. */
void step_ask_before_stop(struct step *s)
{
	int sig = s->run->ckpt.ckpt.signal;

	snrun_ask_checkpoint(s->run, "stop");
	if (sig && sig != SIGTERM)
		step_send_all(s, sig);
}

void step_look_at_checkpoint(struct step *s, int64_t now)
{
	struct sn_ckptwatch *watch = &s->run->ckpt;

	sn_ckptwatch_look(watch, s->run->dir, now);
	if (!s->wait_marker || !sn_ckptwatch_is_new(watch))
		return;
	/* What they do from now on is lost. */
	step_tell(s);
	if (s->deadline < snrun_now_ms() + restart_wait(s))
		s->deadline = snrun_now_ms() + restart_wait(s);
}

/* None is killed that was not told: at the deadline those that were only asked are,
 * and while slurmctld does not take it, time stands still. */
bool step_wait_longer(struct step *s)
{
	if (s->killed)
		return false;
	if (s->ending && !s->warned) {
		s->grace = restart_wait(s);
		step_tell(s);
	} else {
		bool unheard = false;

		for (uint32_t p = 0; p < s->n_parts; p++)
			unheard |= s->part[p].n_pending && !s->part[p].ended &&
				!s->part[p].no_step;
		if (!unheard)
			return false;
	}
	s->deadline = snrun_now_ms() + s->grace;
	return true;
}

