/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepenv.c - what snrun tells the SPANK plugin about the step that it starts.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "launcher/stepenv.h"

void sn_stepenv_format(const struct sn_stepenv *plan, char *buf, size_t size)
{
	int n = snprintf(buf, size, "generation=%u,port=%u,max_restarts=%u",
			 plan->generation, plan->port, plan->max_restarts);

	if (*plan->master && n > 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, ",master=%s", plan->master);
}

static bool is_key(const char *word, size_t len, const char *key)
{
	return strlen(key) == len && !strncmp(word, key, len);
}

static bool number(const char *value, size_t len, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len && isdigit((unsigned char)value[i]); i++) {
		n = n * 10 + (uint64_t)(value[i] - '0');
		if (n > max)
			return false;
	}
	*ret = n;
	return len && i == len;
}

/* What resolvers take; nothing that a shell or a log would stumble over. */
static bool host(const char *value, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)value[i]) &&
		    !strchr(".-_:%[]", value[i]))
			return false;
	return len && len < SN_STEPENV_HOST_MAX;
}

static bool take(struct sn_stepenv *plan, const char *word, size_t key,
		 const char *value, size_t len)
{
	uint64_t n;

	if (is_key(word, key, "master")) {
		if (!host(value, len))
			return false;
		memcpy(plan->master, value, len);
		plan->master[len] = '\0';
	} else if (is_key(word, key, "generation")) {
		if (!number(value, len, UINT32_MAX, &n))
			return false;
		plan->generation = (uint32_t)n;
	} else if (is_key(word, key, "max_restarts")) {
		if (!number(value, len, UINT32_MAX, &n))
			return false;
		plan->max_restarts = (uint32_t)n;
	} else if (is_key(word, key, "port")) {
		if (!number(value, len, UINT16_MAX, &n))
			return false;
		plan->port = (uint16_t)n;
	}
	return true;
}

int sn_stepenv_parse(const char *text, struct sn_stepenv *ret,
		     struct sn_err *err)
{
	struct sn_stepenv plan;
	const char *p = text;

	memset(&plan, 0, sizeof(plan));
	while (*p) {
		size_t len = strcspn(p, ","), key = strcspn(p, "=,");

		if (p[key] != '=' ||
		    !take(&plan, p, key, p + key + 1, len - key - 1))
			return sn_err_set(err, -EINVAL,
					  SN_STEPENV_PLAN ": \"%.*s\": want generation=N, port=N, max_restarts=N or master=HOST; snrun sets it, so leave it unset",
					  (int)(len < 64 ? len : 64), p);
		p += len + (p[len] == ',');
	}
	*ret = plan;
	return 0;
}

/* "16:0:8:8" and what is behind it; NULL: it is none. */
static const char *take_run(const char *p, uint32_t ret[4])
{
	for (int i = 0; i < 4; i++) {
		size_t len = strcspn(p, ":,");
		uint64_t n;

		if (!number(p, len, UINT32_MAX, &n) || (i < 3) != (p[len] == ':'))
			return NULL;
		ret[i] = (uint32_t)n;
		p += len + (i < 3);
	}
	return p;
}

int sn_stepenv_ranks_parse(const char *text, struct sn_stepenv_rank *ret,
			   uint32_t n_tasks, struct sn_err *err)
{
	const char *p = text;
	uint32_t task = 0;

	while (*p) {
		uint32_t run[4];
		const char *end = take_run(p, run);

		if (!end || run[3] > n_tasks - task || !run[3] ||
		    run[0] > UINT32_MAX - run[3] || run[1] > run[2] ||
		    run[3] > run[2] - run[1])
			return sn_err_set(err, -EINVAL,
					  SN_STEPENV_PLAN_RANKS ": \"%.40s\" is not RANK:LOCAL:OF:COUNT for the rest of %u tasks; snrun sets it, so leave it unset",
					  p, n_tasks);
		for (uint32_t i = 0; i < run[3]; i++)
			ret[task++] = (struct sn_stepenv_rank){
				run[0] + i, run[1] + i, run[2],
			};
		p = end + (*end == ',');
	}
	if (task != n_tasks)
		return sn_err_set(err, -EINVAL,
				  SN_STEPENV_PLAN_RANKS " is for %u tasks, not for %u; snrun sets it, so leave it unset",
				  task, n_tasks);
	return 0;
}
