/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sruncmd.c - the srun that starts a plan's step: its words and its environment.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launcher/sruncmd.h"
#include "topology/text.h"

/* What srun would take from the batch script's environment and what is not true
 * of the step: all of the job's nodes and tasks, an order, cards in other words. */
static const char *const stale[] = {
	"SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NODELIST",
	"SLURM_NODELIST", "SLURM_NTASKS", "SLURM_NPROCS",
	"SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE", "SLURM_DISTRIBUTION",
	"SLURM_HOSTFILE", "SLURM_TRES_PER_TASK", "SLURM_GRES",
	"SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_SOCKET",
	"SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_EXPORT_ENV",
};

void sn_words_add(struct sn_words *words, const char *fmt, ...)
{
	char *word = NULL;
	va_list ap;

	if (words->failed)
		return;
	if (words->n + 2 > words->size) {
		size_t size = words->size ? words->size * 2 : 64;
		char **grown = realloc(words->word, size * sizeof(*grown));

		if (!grown) {
			words->failed = true;
			return;
		}
		words->word = grown;
		words->size = size;
	}
	va_start(ap, fmt);
	if (vasprintf(&word, fmt, ap) < 0)
		word = NULL;
	va_end(ap);
	if (!word) {
		words->failed = true;
		return;
	}
	words->word[words->n++] = word;
	words->word[words->n] = NULL;
}

void sn_words_done(struct sn_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->word[i]);
	free(words->word);
	memset(words, 0, sizeof(*words));
}

char *sn_words_line(const struct sn_words *words)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=/.,:+@%[]";
	struct sn_buf buf = { 0 };

	for (size_t i = 0; i < words->n; i++) {
		const char *p = words->word[i];

		if (i)
			sn_buf_add(&buf, " ");
		if (*p && !p[strspn(p, plain)]) {
			sn_buf_add(&buf, "%s", p);
			continue;
		}
		sn_buf_add(&buf, "'");
		for (; *p; p++)
			sn_buf_add(&buf, *p == '\'' ? "'\\''" : "%c", *p);
		sn_buf_add(&buf, "'");
	}
	return buf.text;
}

/* Is "NAME=value" the variable `name`? */
static bool is_variable(const char *entry, const char *name, size_t len)
{
	return !strncmp(entry, name, len) && entry[len] == '=';
}

/* What another job must not take for its own; SLURM_CONF says where slurmctld
 * is. */
static bool is_of_the_job(const char *entry)
{
	return (!strncmp(entry, "SLURM_", 6) || !strncmp(entry, "SLURMD_", 7) ||
		!strncmp(entry, "_SLURM_", 7)) &&
		!is_variable(entry, "SLURM_CONF", strlen("SLURM_CONF")) &&
		!is_variable(entry, "SLURM_STDERRMODE", strlen("SLURM_STDERRMODE"));
}

static bool left_out(const char *entry, const struct sn_words *variables,
		     bool other_job)
{
	if (other_job && is_of_the_job(entry))
		return true;
	for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++)
		if (is_variable(entry, stale[i], strlen(stale[i])))
			return true;
	for (size_t i = 0; i < variables->n; i++)
		if (is_variable(entry, variables->word[i],
				strcspn(variables->word[i], "=")))
			return true;
	return false;
}

static const char *find(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; *environment; environment++)
		if (is_variable(*environment, name, len))
			return *environment + len + 1;
	return NULL;
}

/* SLURM_JOB_NUM_NODES must not reach srun, and be there for the tasks as with a
 * plain srun. */
static void add_export(const struct sn_srun *srun, struct sn_words *argv)
{
	const char *given = find(srun->environment, "SLURM_EXPORT_ENV");
	struct sn_buf buf = { 0 };
	bool none = given && (!strcasecmp(given, "NONE") ||
			      !strcasecmp(given, "NIL"));

	sn_buf_add(&buf, "--export=%s%sSLURM_JOB_NUM_NODES=%u",
		   none ? "" : given ? given : "ALL", none ? "" : ",",
		   srun->nodes);
	/* ALL, or all but some: they go with the rest. */
	if (none || (given && strncasecmp(given, "ALL", 3)))
		for (size_t i = 0; i < srun->variables->n; i++)
			sn_buf_add(&buf, ",%.*s",
				   (int)strcspn(srun->variables->word[i], "="),
				   srun->variables->word[i]);
	if (buf.text)
		sn_words_add(argv, "%s", buf.text);
	else
		argv->failed = true;
	sn_buf_done(&buf);
}

static void add_extra(const char *extra, struct sn_words *argv)
{
	while (extra && *extra) {
		size_t len = strcspn(extra, " \t\n");

		if (len)
			sn_words_add(argv, "%.*s", (int)len, extra);
		extra += len + (extra[len] != '\0');
	}
}

int sn_srun_make(const struct sn_srun *srun, struct sn_words *argv,
		 struct sn_words *env, struct sn_err *err)
{
	memset(argv, 0, sizeof(*argv));
	memset(env, 0, sizeof(*env));
	sn_words_add(argv, "srun");
	if (srun->job)
		sn_words_add(argv, "--jobid=%u", srun->job);
	sn_words_add(argv, "--ntasks=%u", srun->world);
	sn_words_add(argv, "--distribution=arbitrary");
	/* Not SLURM_HOSTFILE: an srun inside a task would find that, too. */
	sn_words_add(argv, "--nodelist=%s", srun->hostfile);
	sn_words_add(argv, "--tres-per-task=gres/%s:1", srun->card_gres);
	add_export(srun, argv);
	if (srun->label)
		sn_words_add(argv, "--label");
	if (srun->overlap) {
		/* Memory is not shared by it; all that the job has is. */
		sn_words_add(argv, "--overlap");
		sn_words_add(argv, "--mem=0");
	}
	if (srun->overcommit)
		sn_words_add(argv, "--overcommit");
	if (srun->task_stderr >= 0 &&
	    !find(srun->environment, "SLURM_STDERRMODE"))
		sn_words_add(argv, "--error=/dev/fd/%d", srun->task_stderr);
	if (srun->layout)
		sn_words_add(argv, "--parallel=%s", srun->layout);
	add_extra(srun->extra, argv);
	sn_words_add(argv, "--");
	for (char *const *word = srun->command; *word; word++)
		sn_words_add(argv, "%s", *word);
	for (char *const *entry = srun->environment; *entry; entry++)
		if (!left_out(*entry, srun->variables, srun->job != 0))
			sn_words_add(env, "%s", *entry);
	for (size_t i = 0; i < srun->variables->n; i++)
		sn_words_add(env, "%s", srun->variables->word[i]);
	if (!argv->failed && !env->failed)
		return 0;
	sn_words_done(argv);
	sn_words_done(env);
	return sn_err_set(err, -ENOMEM, "no memory for srun's command line");
}
