/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobspec.c - what a user asks of the suite for a job.
 *
 * Each option has a function from its value to its part of the jobspec, whose
 * sentence does not name the option: sn_jobspec_parse() puts that before it.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "topology/jobspec.h"
#include "topology/text.h"

#define VALUE_MAX 256 /* of --pool and --elastic; legal ones are far shorter */
#define SHOWN 96 /* how much of a value its sentence repeats */
#define SPARES_MAX (1u << 20)
#define JOBID_MAX 0xfffffffd /* Slurm's own marks are beyond */

static int check_name(const char *what, const char *name, struct sn_err *err)
{
	if (!*name)
		return sn_err_set(err, -EINVAL, "the %s has no name", what);
	if (strlen(name) >= SN_NAME_MAX)
		return sn_err_set(err, -EINVAL,
				  "the name of the %s has %zu characters, more than %d",
				  what, strlen(name), SN_NAME_MAX - 1);
	for (const char *c = name; *c; c++) {
		bool plain = (*c >= 'a' && *c <= 'z') ||
			     (*c >= 'A' && *c <= 'Z') ||
			     (*c >= '0' && *c <= '9') || *c == '_';

		/* It becomes the name of a file, and an argument. */
		if (!plain && (c == name || (*c != '.' && *c != '-')))
			return sn_err_set(err, -EINVAL,
					  "the name of the %s may hold letters, digits, \".\", \"_\" and \"-\", and not begin with \".\" or \"-\"",
					  what);
	}
	return 0;
}

static int parse_pool_name(char *name, struct sn_pool *ret, struct sn_err *err)
{
	char *mode = strchr(name, ':');
	int rc;

	if (mode) {
		*mode++ = '\0';
		if (strcmp(mode, "ro"))
			return sn_err_set(err, -EINVAL,
					  "\":%s\" after the name of the pool region is not \":ro\"",
					  mode);
		ret->read_only = true;
	}
	rc = check_name("pool region", name, err);
	if (rc)
		return rc;
	ret->per = SN_POOL_NAMED;
	memcpy(ret->name, name, strlen(name) + 1);
	return 0;
}

static int parse_amount(const char *what, const char *text, uint64_t *ret,
			struct sn_err *err)
{
	int rc = sn_parse_size(text, ret, err);

	if (rc)
		return sn_err_prefix(err, rc, "%s: ", what);
	if (!*ret)
		return sn_err_set(err, -EINVAL,
				  "%s is 0: give at least one byte, or leave it out",
				  what);
	return 0;
}

static int parse_pool(const char *value, struct sn_pool *ret,
		      struct sn_err *err)
{
	static const struct { const char *name; enum sn_pool_per per; } scopes[] = {
		{ "supernode", SN_POOL_SUPERNODE }, { "node", SN_POOL_NODE },
		{ "card", SN_POOL_CARD },
	};
	char buf[VALUE_MAX];
	char *rest, *scope;
	int rc;

	snprintf(buf, sizeof(buf), "%s", value);
	if (!strncmp(buf, "name:", 5))
		return parse_pool_name(buf + 5, ret, err);
	rest = strchr(buf, ',');
	if (rest)
		*rest++ = '\0';
	scope = strchr(buf, '/');
	if (scope)
		*scope++ = '\0';
	ret->per = SN_POOL_TOTAL;
	if (scope) {
		ret->per = SN_POOL_NONE;
		for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
			if (!strcmp(scope, scopes[i].name))
				ret->per = scopes[i].per;
		if (ret->per == SN_POOL_NONE)
			return sn_err_set(err, -EINVAL,
					  "\"/%s\" is not /supernode, /node or /card",
					  scope);
	}
	rc = parse_amount("the size", buf, &ret->size, err);
	if (rc || !rest)
		return rc;
	if (strncmp(rest, "bw=", 3))
		return sn_err_set(err, -EINVAL,
				  "\"%s\" after the size is not bw=RATE, as in bw=100G",
				  rest);
	return parse_amount("bw", rest + 3, &ret->bandwidth, err);
}

static int parse_spares(const char *value, uint32_t *ret, struct sn_err *err)
{
	uint64_t n;
	int rc = sn_parse_uint(value, 0, SPARES_MAX, &n, err);

	if (!rc)
		*ret = (uint32_t)n;
	return rc;
}

static int parse_replaces(const char *value, uint32_t *ret, struct sn_err *err)
{
	uint64_t id;
	int rc = sn_parse_uint(value, 1, JOBID_MAX, &id, err);

	if (rc)
		return sn_err_prefix(err, rc, "a job's number is wanted: ");
	*ret = (uint32_t)id;
	return 0;
}

static int parse_role(const char *value, enum sn_role *ret, struct sn_err *err)
{
	static const char *const roles[] = {
		[SN_ROLE_TRAIN] = "train", [SN_ROLE_PREFILL] = "prefill",
		[SN_ROLE_DECODE] = "decode", [SN_ROLE_INFER] = "infer",
	};

	for (int r = SN_ROLE_TRAIN; r <= SN_ROLE_INFER; r++)
		if (!strcmp(value, roles[r])) {
			*ret = (enum sn_role)r;
			return 0;
		}
	return sn_err_set(err, -EINVAL,
			  "a role is train, prefill, decode or infer");
}

static int parse_elastic_items(char *value, struct sn_elastic *ret,
			       struct sn_err *err)
{
	const struct { const char *name; uint32_t *field; } keys[] = {
		{ "min_dp", &ret->min_dp }, { "max_dp", &ret->max_dp },
		{ "want", &ret->want },
		{ "gbs", &ret->gbs }, { "mbs", &ret->mbs },
	};
	const size_t n_keys = sizeof(keys) / sizeof(keys[0]);

	for (char *item = value, *next; item; item = next) {
		char *eq;
		size_t k;
		uint64_t n;
		int rc;

		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		eq = strchr(item, '=');
		if (eq)
			*eq++ = '\0';
		for (k = 0; k < n_keys; k++)
			if (!strcmp(item, keys[k].name))
				break;
		if (k == n_keys || !eq)
			return sn_err_set(err, -EINVAL,
					  "\"%s\" is not one of min_dp=N, max_dp=N, gbs=N, mbs=N",
					  item);
		if (*keys[k].field)
			return sn_err_set(err, -EINVAL, "%s is given twice",
					  item);
		rc = sn_parse_uint(eq, 1, k < 3 ? SN_WORLD_MAX : UINT32_MAX, &n,
				   err);
		if (rc)
			return sn_err_prefix(err, rc, "%s: ", item);
		*keys[k].field = (uint32_t)n;
	}
	return 0;
}

/* "8 or 16": the values beside a bad one, of which 0 is none. */
static void two_neighbours(uint64_t below, uint64_t above, char *buf,
			   size_t size)
{
	if (below && above)
		snprintf(buf, size, "%" PRIu64 " or %" PRIu64 " would do",
			 below, above);
	else if (below || above)
		snprintf(buf, size, "%" PRIu64 " would do",
			 below ? below : above);
	else
		snprintf(buf, size, "no dp would do");
}

/* Sizes at which every replica gets whole micro batches are the divisors of
 * gbs/mbs that are also on the grid. */
static int check_batches(const char *key, uint32_t dp, uint32_t grid,
			 const struct sn_elastic *e, struct sn_err *err)
{
	uint32_t q = e->gbs / e->mbs;
	uint64_t tied = (uint64_t)e->mbs * dp, below = 0, above = 0;
	char would[64];

	if (!(e->gbs % tied))
		return 0;
	for (uint64_t i = 1; i * i <= q; i++) {
		uint64_t pair[2] = { i, q / i };

		for (int k = 0; !(q % i) && k < 2; k++) {
			uint64_t d = pair[k];

			if (d % grid || d > SN_WORLD_MAX)
				continue;
			if (d < dp && d > below)
				below = d;
			if (d > dp && (!above || d < above))
				above = d;
		}
	}
	two_neighbours(below, above, would, sizeof(would));
	return sn_err_set(err, -EINVAL,
			  "%s=%u: gbs=%u is no multiple of mbs*dp = %u*%u = %" PRIu64 "; %s",
			  key, dp, e->gbs, e->mbs, dp, tied, would);
}

static int check_elastic_size(const char *key, uint32_t dp,
			      const struct sn_layout *layout,
			      const struct sn_elastic *e, struct sn_err *err)
{
	uint32_t grid = sn_layout_dp_grid(layout);
	struct sn_layout l = *layout;
	char would[64];
	int rc;

	if (dp % grid) {
		two_neighbours(dp / grid * grid, (dp / grid + 1) * grid, would,
			       sizeof(would));
		return sn_err_set(err, -EINVAL,
				  "%s=%u is off the dp step of %u (lcm(tp*cp, etp*ep)/(tp*cp) = lcm(%u, %u)/%u); %s",
				  key, dp, grid, l.tp * l.cp, l.etp * l.ep,
				  l.tp * l.cp, would);
	}
	rc = sn_layout_set_dp(&l, dp, err);
	if (rc)
		return sn_err_prefix(err, rc, "%s=%u: ", key, dp);
	return e->gbs ? check_batches(key, dp, grid, e, err) : 0;
}

static int parse_elastic(const char *value, const struct sn_layout *layout,
			 struct sn_elastic *ret, struct sn_err *err)
{
	char buf[VALUE_MAX];
	int rc;

	snprintf(buf, sizeof(buf), "%s", value);
	rc = parse_elastic_items(buf, ret, err);
	if (rc)
		return rc;
	if (!ret->min_dp)
		return sn_err_set(err, -EINVAL,
				  "min_dp=N is missing, the smallest dp that the job may shrink to");
	if (!ret->max_dp)
		ret->max_dp = layout->dp;
	if (ret->min_dp > layout->dp)
		return sn_err_set(err, -EINVAL,
				  "min_dp=%u is more than dp=%u, the size wanted now",
				  ret->min_dp, layout->dp);
	if (ret->max_dp < layout->dp)
		return sn_err_set(err, -EINVAL,
				  "max_dp=%u is less than dp=%u, the size wanted now",
				  ret->max_dp, layout->dp);
	if (!ret->gbs != !ret->mbs)
		return sn_err_set(err, -EINVAL,
				  "%s is given without %s: the sizes allowed follow from both",
				  ret->gbs ? "gbs" : "mbs",
				  ret->gbs ? "mbs" : "gbs");
	if (ret->gbs && ret->gbs % ret->mbs)
		return sn_err_set(err, -EINVAL,
				  "gbs=%u is no multiple of mbs=%u, so no dp would do",
				  ret->gbs, ret->mbs);
	if ((rc = check_elastic_size("min_dp", ret->min_dp, layout, ret, err)) ||
	    (rc = check_elastic_size("dp", layout->dp, layout, ret, err)) ||
	    (ret->want && (ret->want < ret->min_dp || ret->want > ret->max_dp) &&
	     (rc = sn_err_set(err, -EINVAL, "want=%u is not from min_dp=%u to max_dp=%u",
			      ret->want, ret->min_dp, ret->max_dp))) ||
	    (ret->want && (rc = check_elastic_size("want", ret->want, layout, ret, err))))
		return rc;
	return check_elastic_size("max_dp", ret->max_dp, layout, ret, err);
}

enum option {
	O_PARALLEL, O_POOL, O_SPARES, O_ELASTIC, O_ROLE, O_SERVICE, O_REPLACES,
	N_OPTIONS
};

static int parse_option(enum option o, const char *value, uint32_t cards,
			struct sn_jobspec *spec, struct sn_err *err)
{
	int rc;

	if ((o == O_SPARES || o == O_ELASTIC) && !spec->has_parallel)
		return sn_err_set(err, -EINVAL,
				  "it says nothing without --parallel, which gives the job its layout");
	/* The layout has limits, and sentences on spaces, of its own. */
	if (o != O_PARALLEL) {
		if (strlen(value) >= VALUE_MAX)
			return sn_err_set(err, -EINVAL,
					  "the value has %zu characters, more than %d",
					  strlen(value), VALUE_MAX - 1);
		for (const char *c = value; *c; c++)
			if (isspace((unsigned char)*c))
				return sn_err_set(err, -EINVAL,
						  "there is white space in the value; write it without");
	}
	switch (o) {
	case O_PARALLEL:
		spec->has_parallel = true;
		return sn_layout_parse(value, cards, &spec->layout, err);
	case O_POOL:
		return parse_pool(value, &spec->pool, err);
	case O_SPARES:
		return parse_spares(value, &spec->spares, err);
	case O_ELASTIC:
		spec->has_elastic = true;
		return parse_elastic(value, &spec->layout, &spec->elastic, err);
	case O_ROLE:
		return parse_role(value, &spec->role, err);
	case O_SERVICE:
		rc = check_name("service", value, err);
		if (!rc)
			memcpy(spec->service, value, strlen(value) + 1);
		return rc;
	case O_REPLACES:
		return parse_replaces(value, &spec->replaces, err);
	case N_OPTIONS:
		break;
	}
	return -EINVAL;
}

int sn_jobspec_parse(const struct sn_jobspec_text *text,
		     uint32_t cards_per_node, struct sn_jobspec *ret,
		     struct sn_err *err)
{
	/* --parallel comes first, as others are checked against it. */
	const struct { const char *name, *value; } option[N_OPTIONS] = {
		[O_PARALLEL] = { "parallel", text->parallel },
		[O_POOL] = { "pool", text->pool },
		[O_SPARES] = { "spares", text->spares },
		[O_ELASTIC] = { "elastic", text->elastic },
		[O_ROLE] = { "role", text->role },
		[O_SERVICE] = { "service", text->service },
		[O_REPLACES] = { "replaces", text->replaces },
	};
	struct sn_jobspec spec;

	memset(&spec, 0, sizeof(spec));
	for (int o = 0; o < N_OPTIONS; o++) {
		const char *value = option[o].value;
		char shown[SHOWN];
		int rc;

		if (!value || !*value)
			continue;
		rc = parse_option((enum option)o, value, cards_per_node, &spec,
				  err);
		if (rc)
			return sn_err_prefix(err, rc, "--%s=%s: ",
					     option[o].name,
					     sn_text_clip(value, shown,
							  sizeof(shown)));
	}
	*ret = spec;
	return 0;
}
