/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe.c - have a suspected card's node look at its cards now.
 *
 * Without this they are probed when the node's HealthCheckProgram runs next. Slurm has
 * no call that would make it run, and a job would wait for a free CPU, in everybody's
 * queue. `srun --no-allocate` starts a program on a node without either, also on one
 * that is full or drained; SlurmUser and root alone may use it.
 *
 * The program asks what is wanted and reports as from HealthCheckProgram. One that
 * does not leaves the cards wanted, until the engine asks anew (HealthProbeRetry).
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elastic/daemon.h"
#include "launcher/program.h"

#define DELAY_MS 100 /* so that cards which come together are probed together */
#define SECONDS_MIN 20 /* a probe itself ends within ten */
#define OUTPUT_MAX (64u << 10)
#define PATH_SIZE 4096

struct probe {
	struct sn_work work;
	struct sn_daemon *d;
	char srun[PATH_SIZE];
	char program[SN_POLICY_TEXT_MAX];
	char node[SN_ELASTIC_HOST_MAX];
	uint32_t seconds;
	int rc;
	struct sn_err err;
};

int probe_find_srun(const char *path, char *ret, size_t size, struct sn_err *err)
{
	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (*path == '/' && (size_t)snprintf(ret, size, "%.*s/srun", (int)len, path) < size &&
		    !access(ret, X_OK))
			return 0;
		path += len + (path[len] == ':');
	}
	return sn_err_set(err, -ENOENT, "srun is not in snelasticd's PATH, and HealthProbeProgram is started by it");
}

static void probe_run(struct sn_work *work)
{
	struct probe *p = (struct probe *)work;
	const char *const argv[] = {
		p->srun, "--no-allocate", "--quiet", "--nodes=1", "--ntasks=1", "--nodelist", p->node,
		"--chdir=/", "--job-name=health-probe", p->program, NULL,
	};
	struct sn_program program = { .argv = argv, .about = p->node };
	const struct sn_program_limits limits = { .at_once = 1, .seconds = p->seconds, .bytes = OUTPUT_MAX };

	p->rc = probe_find_srun(getenv("PATH"), p->srun, sizeof(p->srun), &p->err);
	if (!p->rc)
		p->rc = sn_programs_run(&program, 1, &limits, &p->err);
	sn_programs_done(&program, 1);
}

static void probe_done(struct sn_work *work)
{
	struct probe *p = (struct probe *)work;
	struct sn_daemon *d = p->d;
	uint32_t n = d->topo ? sn_topo_find_node(d->topo, p->node) : SN_NONE;

	d->n_probing--;
	if (n != SN_NONE) {
		d->node[n].probing = false;
		/* Its status says that a card is sick as well; what counts is whether it asked. */
		if (p->rc && p->rc != -ECANCELED && d->node[n].probe)
			sn_log_limited(SN_LOG_INFO, "the probe of %s did not ask what is wanted: %s", p->node, p->err.text);
	}
	free(p);
	if (!d->stopping && d->n_probe_due)
		sn_timer_set(d->probe_timer, 0);
}

static bool begin(struct sn_daemon *d, uint32_t node)
{
	struct probe *p = calloc(1, sizeof(*p));

	if (!p)
		return false;
	p->work = (struct sn_work){ probe_run, probe_done, NULL };
	p->d = d;
	snprintf(p->program, sizeof(p->program), "%s", d->conf.policy.health_probe_program);
	snprintf(p->node, sizeof(p->node), "%s", d->topo->node[node].name);
	p->seconds = d->conf.policy.health_probe_timeout;
	if (p->seconds < SECONDS_MIN)
		p->seconds = SECONDS_MIN;
	p->rc = -ECANCELED;
	d->node[node].probing = true;
	d->n_probing++;
	sn_pool_give(d->probe_pool, &p->work);
	return true;
}

/* Nothing can be started there, and srun would wait for it. */
static bool is_away(const struct sn_daemon *d, uint32_t node)
{
	const struct sn_view_node *is = sn_view_node(d->nodes, d->topo->node[node].name);

	return !is || is->down || is->silent;
}

static void on_probe(void *ctx)
{
	struct sn_daemon *d = ctx;

	if (d->duty != SN_DUTY_IN_CHARGE || !*d->conf.policy.health_probe_program)
		return;
	for (uint32_t n = 0; n < d->n_nodes && d->n_probe_due && d->n_probing < SN_PROBES_AT_ONCE; n++) {
		if (!d->node[n].probe_due || d->node[n].probing)
			continue;
		if (d->node[n].probe && !is_away(d, n) && !begin(d, n))
			continue;
		d->node[n].probe_due = false;
		d->n_probe_due--;
	}
	/* One that is being probed may be due again. */
}

void probe_want(struct sn_daemon *d, uint32_t node)
{
	if (!*d->conf.policy.health_probe_program || d->options.dry_run || !d->probe_timer)
		return;
	d->n_probe_due += !d->node[node].probe_due;
	d->node[node].probe_due = true;
	sn_timer_set(d->probe_timer, DELAY_MS);
}

int probe_start(struct sn_daemon *d, struct sn_err *err)
{
	int rc = sn_pool_create(d->loop, "probe", SN_PROBES_AT_ONCE, &d->probe_pool, err);

	return rc ? rc : sn_loop_timer(d->loop, on_probe, d, &d->probe_timer, err);
}
