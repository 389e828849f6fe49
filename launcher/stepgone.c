/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepgone.c - wait until a step is out of Slurm's books.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "launcher/slurmapi.h"
#include "launcher/snrun.h"

#define GONE_MS 30000 /* the longest wait for a killed step */
#define KILL_AGAIN_MS 5000
#define MOMENT_MS 300 /* that a step without trouble takes to be gone */

static void pause_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static bool wait_gone(uint32_t job, uint32_t srun_pid, const char *host,
		      int64_t longest, bool kill)
{
	int64_t start = snrun_now_ms(), killed = -KILL_AGAIN_MS;
	long pause = 10;
	uint32_t step;

	for (;;) {
		int64_t now = snrun_now_ms() - start;

		if (sn_job_find_step(job, srun_pid, host, &step) == -ENOENT)
			return true;
		if (now >= longest)
			return false;
		if (kill && now - killed >= KILL_AGAIN_MS) {
			sn_job_signal_step(job, step, SIGKILL);
			killed = now;
		}
		pause_ms(pause);
		pause = pause < 200 ? pause * 2 : pause;
	}
}

bool snrun_kill_step(uint32_t job, uint32_t srun_pid, const char *host, int64_t ms)
{
	return wait_gone(job, srun_pid, host, ms, true);
}

bool snrun_end_step(uint32_t job, uint32_t srun_pid, const char *host)
{
	if (snrun_kill_step(job, srun_pid, host, GONE_MS))
		return true;
	snrun_say("an earlier step is still there %d s after SIGKILL; going on beside it",
		  GONE_MS / 1000);
	return false;
}

static void warn(uint32_t job, uint32_t srun_pid, const char *host)
{
	uint32_t step;

	if (!sn_job_find_step(job, srun_pid, host, &step))
		sn_job_signal_step(job, step, SIGTERM);
}

void snrun_warn_steps(const struct sn_runstate *state, uint32_t seconds)
{
	int64_t end = snrun_now_ms() + (int64_t)seconds * 1000, left;

	if (state->srun_pid)
		warn(state->job, state->srun_pid, state->host);
	for (uint32_t i = 0; i < state->n_parts; i++)
		warn(state->part[i].job, state->part[i].srun_pid, state->host);
	left = end - snrun_now_ms();
	if (state->srun_pid && left > 0)
		wait_gone(state->job, state->srun_pid, state->host, left, false);
	for (uint32_t i = 0; i < state->n_parts; i++) {
		left = end - snrun_now_ms();
		if (left > 0)
			wait_gone(state->part[i].job, state->part[i].srun_pid,
				  state->host, left, false);
	}
}

bool snrun_end_steps(const struct sn_runstate *state)
{
	bool gone = !state->srun_pid ||
		snrun_end_step(state->job, state->srun_pid, state->host);

	for (uint32_t i = 0; i < state->n_parts; i++)
		gone &= snrun_end_step(state->part[i].job,
				       state->part[i].srun_pid, state->host);
	return gone;
}

bool snrun_steps_gone(const struct sn_runstate *state)
{
	bool gone = !state->srun_pid ||
		wait_gone(state->job, state->srun_pid, state->host, MOMENT_MS, false);

	for (uint32_t i = 0; i < state->n_parts; i++)
		gone &= wait_gone(state->part[i].job, state->part[i].srun_pid,
				  state->host, MOMENT_MS, false);
	return gone;
}

static bool is_stale(const job_step_info_t *step, const char *host)
{
	return step->step_id.step_id <= SLURM_MAX_NORMAL_STEP_ID &&
		step->srun_pid && step->srun_host &&
		!strcmp(step->srun_host, host) &&
		kill((pid_t)step->srun_pid, 0) && errno == ESRCH;
}

static bool has_stale_step(uint32_t job, const char *host)
{
	job_step_info_response_msg_t *steps = NULL;
	bool stale = false;

	if (sn_api_steps(job, &steps))
		return false;
	for (uint32_t i = 0; !stale && i < steps->job_step_count; i++)
		stale = is_stale(&steps->job_steps[i], host);
	slurm_free_job_step_info_response_msg(steps);
	return stale;
}

bool snrun_has_stale_steps(const struct snrun *run)
{
	bool stale = has_stale_step(run->job.id, run->host);

	for (uint32_t i = 0; !stale && i < run->n_members; i++)
		stale = run->member[i].phase == SN_JOB_RUNS &&
			has_stale_step(run->member[i].id, run->host);
	return stale;
}
