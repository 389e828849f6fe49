/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.c - the job options: registered, kept as typed, checked early.
 *
 * slurmctld checks everything again with the cluster's numbers; what is found
 * here is only found sooner, at the prompt.
 */
#include "plugins/compat.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/common/jobopts.h"
#include "plugins/spank_supernode/spank_supernode.h"

/* A client process has one job, slurmstepd one step. */
static char *typed[SN_JOBOPTS];
/* Typed since the last options_forget(). */
static bool fresh[SN_JOBOPTS];

static void typed_text(struct sn_jobspec_text *text)
{
	size_t i;

	memset(text, 0, sizeof(*text));
	for (i = 0; i < SN_JOBOPTS; i++)
		*sn_jobopt_text(text, &sn_jobopts[i]) = typed[i];
}

static int check(const struct sn_jobspec_text *text)
{
	struct sn_jobspec spec;
	struct sn_err err;

	if (!sn_jobspec_parse(text, 0, &spec, &err))
		return ESPANK_SUCCESS;
	slurm_error("%s", err.text);
	return ESPANK_BAD_ARG;
}

/* --spares and --elastic mean nothing without --parallel, which may stand
 * after them: they wait for options_check(). */
static bool stands_alone(const struct sn_jobopt *opt)
{
	return strcmp(opt->name, "spares") && strcmp(opt->name, "elastic");
}

/* cli_filter/supernode comes before SPANK puts the options there itself. */
static void tell_filter(const struct sn_jobopt *opt, const char *arg)
{
	char name[64];

	snprintf(name, sizeof(name), SN_JOBOPT_PREFIX "%s", opt->name);
	setenv(name, arg, 1);
}

static int take(int val, const char *arg, int remote)
{
	const struct sn_jobopt *opt = &sn_jobopts[val];

	if (!remote && (!arg || !*arg)) {
		slurm_error("--%s: a value is missing; want --%s=%s", opt->name,
			    opt->name, opt->arginfo);
		return ESPANK_BAD_ARG;
	}
	if (!remote && stands_alone(opt)) {
		struct sn_jobspec_text text;
		int rc;

		memset(&text, 0, sizeof(text));
		*sn_jobopt_text(&text, opt) = arg;
		rc = check(&text);
		if (rc != ESPANK_SUCCESS)
			return rc;
	}
	free(typed[val]);
	typed[val] = arg ? strdup(arg) : NULL;
	fresh[val] = true;
	if (!remote)
		tell_filter(opt, arg);
	return ESPANK_SUCCESS;
}

int options_register(spank_t sp)
{
	int i;

	for (i = 0; i < SN_JOBOPTS; i++) {
		struct spank_option option = {
			.name = (char *)sn_jobopts[i].name,
			.arginfo = (char *)sn_jobopts[i].arginfo,
			.usage = (char *)sn_jobopts[i].usage,
			.has_arg = 1,
			.val = i,
			.cb = take,
		};
		spank_err_t rc = spank_option_register(sp, &option);

		if (rc != ESPANK_SUCCESS) {
			slurm_error("supernode: --%s cannot be registered: %s",
				    sn_jobopts[i].name, spank_strerror(rc));
			return (int)rc;
		}
	}
	return ESPANK_SUCCESS;
}

int options_check(void)
{
	struct sn_jobspec_text text;

	typed_text(&text);
	return check(&text) == ESPANK_SUCCESS ? ESPANK_SUCCESS : -1;
}

void options_forget(spank_t sp)
{
	char name[64];
	int i;

	for (i = 0; i < SN_JOBOPTS; i++) {
		if (typed[i] && !fresh[i]) {
			snprintf(name, sizeof(name), SN_JOBOPT_PREFIX "%s",
				 sn_jobopts[i].name);
			unsetenv(name);
			(void)spank_job_control_unsetenv(sp, name);
			free(typed[i]);
			typed[i] = NULL;
		}
		fresh[i] = false;
	}
}

bool options_parallel(struct sn_jobspec *ret)
{
	struct sn_jobspec_text text;
	struct sn_err err;

	typed_text(&text);
	return text.parallel && !sn_jobspec_parse(&text, 0, ret, &err) &&
	       ret->has_parallel;
}

bool options_has_pool(void)
{
	struct sn_jobspec_text text;

	typed_text(&text);
	return text.pool && *text.pool;
}
