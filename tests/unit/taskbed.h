/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskbed.h - a task, and an environment of its own.
 */
#ifndef SN_TESTS_TASKBED_H
#define SN_TESTS_TASKBED_H

#include "launcher/taskvars.h"

#define MOST 128

struct fake {
	char *name[MOST], *value[MOST];
	size_t n;
};

static inline size_t find(struct fake *env, const char *name)
{
	size_t i;

	for (i = 0; i < env->n && strcmp(env->name[i], name); i++)
		;
	return i;
}

static inline const char *get(void *ctx, const char *name)
{
	struct fake *env = ctx;
	size_t i = find(env, name);

	return i < env->n ? env->value[i] : NULL;
}

static inline void set(void *ctx, const char *name, const char *value)
{
	struct fake *env = ctx;
	size_t i = find(env, name);

	assert_true(i < MOST);
	if (i < env->n) {
		free(env->value[i]);
	} else {
		env->name[env->n++] = strdup(name);
	}
	env->value[i] = strdup(value);
}

static inline void unset(void *ctx, const char *name)
{
	struct fake *env = ctx;
	size_t i = find(env, name);

	if (i == env->n)
		return;
	free(env->name[i]);
	free(env->value[i]);
	env->n--;
	env->name[i] = env->name[env->n];
	env->value[i] = env->value[env->n];
}

static inline void clear(struct fake *env)
{
	while (env->n)
		unset(env, env->name[0]);
}

static inline void apply(const struct sn_task *task, struct fake *env,
		  struct sn_err *complaint)
{
	struct sn_taskenv io = { get, set, unset, env };

	assert_int_equal(sn_taskvars_apply(task, &io, complaint), 0);
}

static inline void is(struct fake *env, const char *name, const char *want)
{
	const char *value = get(env, name);

	if (!want && value)
		fail_msg("%s=%s, and it should not be set", name, value);
	if (want && (!value || strcmp(value, want)))
		fail_msg("%s is %s, want %s", name, value ? value : "not set", want);
}

static struct sn_layout layout;
static struct sn_policy policy;

/* Rank 13 of 32 on the second of four nodes. */
static inline struct sn_task some_task(void)
{
	struct sn_task task = {
		.rank = 13, .local = 5, .world = 32, .local_world = 8,
		.n_nodes = 4, .has_group = true, .group = 1, .job = 1000,
		.step = 2, .master = "n001", .layout = &layout, .atom = 1,
		.supernode = "sn1", .supernode_index = 0, .n_supernodes = 2,
		.job_dir = "/home/ann/.supernode/1000", .cards = "6",
		.node_cards = "0,1,2,3,4,6,7", .vendor = SN_VENDOR_ASCEND,
		.policy = &policy,
	};

	assert_int_equal(sn_layout_parse("tp=4,ep=8,etp=1,pp=2,dp=4", 8, &layout, NULL), 0);
	sn_policy_init(&policy);
	return task;
}

/* One user's variable; what is said of it. */
static inline void says(struct sn_task *task, const char *name, const char *value,
		 const char *what)
{
	struct fake env = { .n = 0 };
	struct sn_err complaint;

	set(&env, name, value);
	apply(task, &env, &complaint);
	is(&env, name, value);
	if (!what && *complaint.text)
		fail_msg("%s=%s: %s", name, value, complaint.text);
	if (what && (!strstr(complaint.text, name) ||
		     !strstr(complaint.text, what)))
		fail_msg("%s=%s: \"%s\" has no \"%s\"", name, value,
			 complaint.text, what);
	clear(&env);
}

#endif
