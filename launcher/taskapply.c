/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskapply.c - the table of variables meets an environment.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/taskvars.h"
#include "topology/text.h"

struct work {
	const struct sn_task *task;
	const struct sn_taskenv *env;
	char *before; /* what an outer step had set, NULL: nothing */
	struct sn_buf own; /* what we set */
	struct sn_buf wrong;
};

static bool in_list(const char *list, const char *name, size_t len)
{
	const char *p = list;

	while (p && *p) {
		size_t n = strcspn(p, ",");

		if (n == len && !strncmp(p, name, len))
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

/* The user's own value, or NULL. gres/npu keeps what the user says of visible
 * cards; what it says itself is the rank's own cards. */
static const char *users(const struct work *w, const char *name)
{
	const char *value, *cards = w->task->cards;

	if (in_list(w->before, name, strlen(name)) ||
	    in_list(w->own.text, name, strlen(name)))
		return NULL;
	value = w->env->get(w->env->ctx, name);
	if (value && cards && !strcmp(name, "ASCEND_RT_VISIBLE_DEVICES") &&
	    !strcmp(value, cards))
		return NULL;
	return value;
}

static void set(struct work *w, const char *name, const char *value)
{
	w->env->set(w->env->ctx, name, value);
	if (!in_list(w->own.text, name, strlen(name)))
		sn_buf_add(&w->own, "%s%s", w->own.len ? "," : "", name);
}

/* Do other ranks have another value of it than this one? */
static bool varies(const struct work *w, const struct sn_taskvar *var)
{
	char mine[SN_TASKVAR_MAX], other[SN_TASKVAR_MAX];
	struct sn_task task = *w->task;

	switch (var->vary) {
	case SN_VARY_RANK:
		return task.world > 1;
	case SN_VARY_LOCAL:
		return task.world > task.n_nodes;
	case SN_VARY_CARD:
		return task.world > task.n_nodes && sn_task_visible(&task) &&
			strchr(sn_task_visible(&task), ',');
	case SN_VARY_NODE:
		return task.n_nodes > 1;
	case SN_VARY_AXIS:
		if (!var->value(w->task, mine, sizeof(mine)))
			return false;
		for (task.rank = 0; task.rank < task.world; task.rank++)
			if (var->value(&task, other, sizeof(other)) &&
			    strcmp(mine, other))
				return true;
		return false;
	default:
		return false;
	}
}

static void complain(struct work *w, const char *name, const char *value,
		     const char *why, const char *what)
{
	char clipped[64];

	sn_buf_add(&w->wrong, "%s%s=%s (%s%s)", w->wrong.len ? ", " : "", name,
		   sn_text_clip(value, clipped, sizeof(clipped)), why, what);
}

static void check(struct work *w, const struct sn_taskvar *var,
		  const char *value, const char *ours)
{
	if (var->vary == SN_VARY_FREE)
		return;
	if (varies(w, var))
		complain(w, var->name, value, "it is not the same in all tasks", "");
	else if (strcmp(value, ours))
		complain(w, var->name, value, "this step's is ", ours);
}

static void take_own(struct work *w, const struct sn_taskvar *var)
{
	char ours[SN_TASKVAR_MAX];
	const char *value = users(w, var->name);
	bool has = var->value(w->task, ours, sizeof(ours));

	if (value) {
		if (has)
			check(w, var, value, ours);
	} else if (has) {
		set(w, var->name, ours);
	} else if (in_list(w->before, var->name, strlen(var->name))) {
		w->env->unset(w->env->ctx, var->name);
	}
}

/* "NAME=VALUE NAME=VALUE", as supernode.conf's parser has checked. */
static int take_sites(struct work *w)
{
	char *copy = strdup(w->task->policy->task_env), *save, *word;

	if (!copy)
		return -ENOMEM;
	for (word = strtok_r(copy, " \t", &save); word;
	     word = strtok_r(NULL, " \t", &save)) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		if (!users(w, word))
			set(w, word, value);
	}
	free(copy);
	return 0;
}

/* Pairs that break a run only together. */
static void check_pairs(struct work *w)
{
	const struct sn_task *task = w->task;
	const char *value;

	if (task->vendor != SN_VENDOR_ASCEND)
		return;
	value = users(w, "HCCL_LOGIC_SUPERPOD_ID");
	if (value && task->table)
		complain(w, "HCCL_LOGIC_SUPERPOD_ID", value,
			 "it must not stand beside the rank table ", task->table);
	value = users(w, "ASCEND_RT_VISIBLE_DEVICES");
	if (value && task->cards && !strchr(task->cards, ',') &&
	    !in_list(value, task->cards, strlen(task->cards)))
		complain(w, "ASCEND_RT_VISIBLE_DEVICES", value,
			 "the task's card is ", task->cards);
}

static int finish(struct work *w, struct sn_err *complaint)
{
	if (w->own.failed || w->wrong.failed)
		return -ENOMEM;
	if (w->own.text)
		w->env->set(w->env->ctx, SN_TASKVARS_OWN, w->own.text);
	else if (w->before)
		w->env->unset(w->env->ctx, SN_TASKVARS_OWN);
	if (complaint)
		complaint->text[0] = '\0';
	if (w->wrong.text)
		sn_err_set(complaint, 0,
			   "the environment that srun was given sets what each step sets for its tasks, and it is kept though the run may break: %s; unset it before srun",
			   w->wrong.text);
	return 0;
}

int sn_taskvars_apply(const struct sn_task *task, const struct sn_taskenv *env,
		      struct sn_err *complaint)
{
	struct sn_task known = *task;
	struct work w = { .task = &known, .env = env };
	const struct sn_taskvar *var;
	const char *before = env->get(env->ctx, SN_TASKVARS_OWN), *given;
	char *users_table = NULL, *users_visible = NULL;
	int rc = -ENOMEM;

	if (before && !(w.before = strdup(before)))
		return rc;
	/* The user's own table is a table, and his list of cards is the list. */
	given = users(&w, "RANK_TABLE_FILE");
	if (given && !(users_table = strdup(given)))
		goto out;
	if (users_table)
		known.table = *users_table ? users_table : NULL;
	given = users(&w, "ASCEND_RT_VISIBLE_DEVICES");
	if (given && !(users_visible = strdup(given)))
		goto out;
	known.visible = users_visible;
	for (var = sn_taskvars; var->name; var++)
		take_own(&w, var);
	check_pairs(&w);
	rc = take_sites(&w);
	if (!rc)
		rc = finish(&w, complaint);
out:
	sn_buf_done(&w.own);
	sn_buf_done(&w.wrong);
	free(users_table);
	free(users_visible);
	free(w.before);
	return rc;
}
