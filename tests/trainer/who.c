/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * who.c - which rank this is, and its groups: from groups.json in the job's
 * directory where there is one, else worked out from the layout.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snctl/jsonread.h"
#include "snctl/readfile.h"
#include "tests/trainer/trainer.h"
#include "topology/groups.h"
#include "topology/layout.h"
#include "topology/text.h"

static const struct {
	const char *name;
	enum sn_group_kind kind;
} axes[TR_AXES] = {
	[TR_TP] = { "tp", SN_GROUP_TP },
	[TR_CP] = { "cp", SN_GROUP_CP },
	[TR_EP] = { "ep", SN_GROUP_EP },
	[TR_PP] = { "pp", SN_GROUP_PP },
	[TR_DP] = { "dp", SN_GROUP_DP },
};

const char *tr_axis_name(enum tr_axis axis)
{
	return axis < TR_AXES ? axes[axis].name : "?";
}

static bool is_ring(const struct tr_group *group, enum tr_axis axis)
{
	return axis != TR_EP && group->n <= TR_RING_MAX;
}

uint32_t tr_hops(const struct tr_group *group, enum tr_axis axis)
{
	uint32_t hops = 0;

	if (group->n < 2)
		return 0;
	if (axis == TR_PP)
		return 2; /* forward, backward */
	if (is_ring(group, axis))
		return 1;
	while ((1u << hops) < group->n)
		hops++;
	return hops;
}

uint32_t tr_rounds(const struct tr_group *group, enum tr_axis axis)
{
	return is_ring(group, axis) ? group->n - 1 : 1;
}

/* A pipeline has ends; UINT32_MAX is beyond them. */
static uint32_t pipeline_peer(const struct tr_group *group, uint32_t hop,
			      int direction)
{
	bool up = (hop == 0) == (direction > 0);

	if (up)
		return group->me + 1 < group->n ? group->rank[group->me + 1] :
						  UINT32_MAX;
	return group->me > 0 ? group->rank[group->me - 1] : UINT32_MAX;
}

uint32_t tr_peer(const struct tr_group *group, enum tr_axis axis, uint32_t hop,
		 int direction)
{
	uint32_t distance = 1u << hop;

	if (axis == TR_PP)
		return pipeline_peer(group, hop, direction);
	if (direction < 0)
		distance = group->n - distance;
	return group->rank[(group->me + distance) % group->n];
}

static int env_uint(const char *name, uint32_t max, const uint32_t *otherwise,
		    uint32_t *ret, struct sn_err *err)
{
	const char *text = getenv(name);
	uint64_t n;
	int rc;

	if (!text && otherwise) {
		*ret = *otherwise;
		return 0;
	}
	if (!text)
		return sn_err_set(err, -EINVAL, "%s is not set: start the ranks by snrun, or by srun with --parallel", name);
	rc = sn_parse_uint(text, 0, max, &n, err);
	if (rc)
		return sn_err_prefix(err, rc, "%s=", name);
	*ret = (uint32_t)n;
	return 0;
}

static uint64_t sum_group(uint64_t sum, const uint32_t *rank, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sum = tr_mix(sum ^ (rank[i] + 1));
	return tr_mix(sum ^ ((uint64_t)n << 32));
}

/* Remember the group if this rank is in it. */
static int take_group(struct tr_self *self, enum tr_axis axis,
		      const uint32_t *rank, uint32_t n, struct sn_err *err)
{
	struct tr_group *group = &self->group[axis];

	self->layout_sum = sum_group(self->layout_sum, rank, n);
	for (uint32_t i = 0; i < n; i++) {
		if (rank[i] >= self->world)
			return sn_err_set(err, -EINVAL, "%s group with rank %u, but WORLD_SIZE is %u",
					  axes[axis].name, rank[i], self->world);
		if (rank[i] != self->rank)
			continue;
		if (group->rank)
			return sn_err_set(err, -EINVAL, "rank %u is in two %s groups", self->rank, axes[axis].name);
		group->rank = malloc(n * sizeof(*rank));
		if (!group->rank)
			return sn_err_set(err, -ENOMEM, "out of memory");
		memcpy(group->rank, rank, n * sizeof(*rank));
		group->n = n;
		group->me = i;
	}
	return 0;
}

static int json_group(struct tr_self *self, enum tr_axis axis,
		      struct json_object *list, uint32_t *room,
		      struct sn_err *err)
{
	size_t n;

	if (!json_object_is_type(list, json_type_array))
		return sn_err_set(err, -EINVAL, "a %s group is %s, not an array", axes[axis].name, snctl_json_kind(list));
	n = json_object_array_length(list);
	if (n > self->world)
		return sn_err_set(err, -EINVAL, "a %s group has %zu members, but WORLD_SIZE is %u", axes[axis].name, n, self->world);
	for (size_t i = 0; i < n; i++) {
		int64_t rank = json_object_get_int64(json_object_array_get_idx(list, i));

		room[i] = rank < 0 || rank >= self->world ? UINT32_MAX : (uint32_t)rank;
	}
	return take_group(self, axis, room, (uint32_t)n, err);
}

static int json_groups(struct tr_self *self, struct json_object *top,
		       struct sn_err *err)
{
	struct json_object *world, *groups, *lists;
	uint32_t *room;
	int rc = 0;

	if (!json_object_object_get_ex(top, "world", &world) ||
	    json_object_get_int64(world) != self->world)
		return sn_err_set(err, -EINVAL, "its \"world\" is not WORLD_SIZE, %u", self->world);
	if (!json_object_object_get_ex(top, "groups", &groups))
		return sn_err_set(err, -EINVAL, "no \"groups\" in it");
	room = calloc(self->world, sizeof(*room));
	if (!room)
		return sn_err_set(err, -ENOMEM, "out of memory");
	for (uint32_t axis = 0; !rc && axis < TR_AXES; axis++) {
		if (!json_object_object_get_ex(groups, axes[axis].name, &lists) ||
		    !json_object_is_type(lists, json_type_array)) {
			rc = sn_err_set(err, -EINVAL, "no groups \"%s\" in it", axes[axis].name);
			break;
		}
		for (size_t i = 0; !rc && i < json_object_array_length(lists); i++)
			rc = json_group(self, axis, json_object_array_get_idx(lists, i), room, err);
	}
	free(room);
	return rc;
}

static int read_json(const struct tr_self *self, const char *name,
		     struct json_object **ret, char *path, size_t size,
		     struct sn_err *err)
{
	char *text = NULL;
	size_t len;
	int rc;

	*ret = NULL;
	snprintf(path, size, "%s/%s", self->job_dir, name);
	if (access(path, F_OK))
		return 0;
	rc = snctl_read_file(path, &text, &len, err);
	if (rc)
		return rc;
	rc = snctl_json_parse(text, len, path, ret, err);
	free(text);
	return rc;
}

/* *ret_found: false where there is no such file. */
static int from_job_dir(struct tr_self *self, bool *ret_found,
			struct sn_err *err)
{
	struct json_object *top = NULL;
	char path[4096];
	int rc;

	*ret_found = false;
	if (!self->job_dir)
		return 0;
	rc = read_json(self, "groups.json", &top, path, sizeof(path), err);
	if (rc || !top)
		return rc;
	*ret_found = true;
	rc = json_groups(self, top, err);
	json_object_put(top);
	return rc ? sn_err_prefix(err, rc, "%s: ", path) : 0;
}

/* What spank_supernode sets; it leaves the order out, so --parallel says it. */
static int layout_of_env(struct sn_layout *ret, struct sn_err *err)
{
	static const uint32_t one = 1;
	struct { const char *name; uint32_t *size; } size[] = {
		{ "TP_SIZE", &ret->tp }, { "CP_SIZE", &ret->cp },
		{ "EP_SIZE", &ret->ep }, { "ETP_SIZE", &ret->etp },
		{ "PP_SIZE", &ret->pp }, { "DP_SIZE", &ret->dp },
	};
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (!getenv("TP_SIZE"))
		return sn_err_set(err, -EINVAL, "neither $SUPERNODE_JOB_DIR/groups.json nor TP_SIZE nor --parallel says what the layout is");
	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		rc = env_uint(size[i].name, SN_WORLD_MAX, &one, size[i].size, err);
		if (rc)
			return rc;
	}
	ret->tp_within = ret->cp_within = ret->ep_within = ret->etp_within =
		SN_IN_SUPERNODE;
	return sn_layout_finish(ret, 0, err);
}

/* The coordinates in the environment must be those of the layout. */
static int check_coordinates(const struct tr_self *self,
			     const struct sn_layout *layout,
			     struct sn_err *err)
{
	struct sn_coords at;
	struct { const char *name; const uint32_t *want; } coordinate[] = {
		{ "TP_RANK", &at.tp }, { "CP_RANK", &at.cp },
		{ "DP_RANK", &at.dp }, { "PP_RANK", &at.pp },
		{ "EP_RANK", &at.ep },
	};
	uint32_t got;
	int rc;

	sn_layout_coords(layout, self->rank, &at);
	for (size_t i = 0; i < sizeof(coordinate) / sizeof(*coordinate); i++) {
		rc = env_uint(coordinate[i].name, SN_WORLD_MAX, coordinate[i].want, &got, err);
		if (rc)
			return rc;
		if (got != *coordinate[i].want)
			return sn_err_set(err, -EINVAL, "%s=%u, but rank %u of the layout has %u there; with another order than tp-cp-ep-dp-pp say it with --parallel",
					  coordinate[i].name, got, self->rank, *coordinate[i].want);
	}
	return 0;
}

static int from_layout(struct tr_self *self, const struct sn_layout *layout,
		       struct sn_err *err)
{
	int rc = 0;

	if (layout->world != self->world)
		return sn_err_set(err, -EINVAL, "the layout has %u ranks, but WORLD_SIZE is %u", layout->world, self->world);
	for (uint32_t axis = 0; !rc && axis < TR_AXES; axis++) {
		struct sn_groups groups = { 0 };

		rc = sn_groups_build(layout, axes[axis].kind, &groups, err);
		for (uint32_t i = 0; !rc && i < groups.n; i++)
			rc = take_group(self, axis, groups.rank + (size_t)i * groups.size, groups.size, err);
		sn_groups_done(&groups);
	}
	return rc;
}

static int read_groups(struct tr_self *self, const struct tr_options *opt,
		       struct sn_err *err)
{
	struct sn_layout layout;
	bool found = false;
	int rc;

	if (!opt->parallel) {
		rc = from_job_dir(self, &found, err);
		if (rc || found)
			return rc;
		rc = layout_of_env(&layout, err);
	} else {
		rc = sn_layout_parse(opt->parallel, 0, &layout, err);
		if (rc)
			rc = sn_err_prefix(err, rc, "--parallel: ");
	}
	if (!rc)
		rc = check_coordinates(self, &layout, err);
	return rc ? rc : from_layout(self, &layout, err);
}

/* Am I on the node and card where layout.json has my rank? Only if it is this
 * step's: its port is MASTER_PORT. */
static int check_place(const struct tr_self *self, struct json_object *top,
		       struct sn_err *err)
{
	const char *node = getenv("SLURMD_NODENAME"), *card = getenv("SUPERNODE_CARDS");
	struct json_object *port, *ranks, *pair;
	const char *want_node, *want_card;

	if (!json_object_object_get_ex(top, "master_port", &port) ||
	    json_object_get_int64(port) != self->master_port)
		return 0;
	if (!json_object_object_get_ex(top, "ranks", &ranks) ||
	    !json_object_is_type(ranks, json_type_array) ||
	    json_object_array_length(ranks) != self->world)
		return sn_err_set(err, -EINVAL, "its \"ranks\" are not %u", self->world);
	pair = json_object_array_get_idx(ranks, self->rank);
	if (!json_object_is_type(pair, json_type_array) || json_object_array_length(pair) != 2)
		return sn_err_set(err, -EINVAL, "rank %u has no node and card in it", self->rank);
	want_node = json_object_get_string(json_object_array_get_idx(pair, 0));
	want_card = json_object_get_string(json_object_array_get_idx(pair, 1));
	if ((node && strcmp(node, want_node)) || (card && strcmp(card, want_card)))
		return sn_err_set(err, -EINVAL, "rank %u belongs on card %s of %s, but runs on card %s of %s",
				  self->rank, want_card, want_node, card ? card : "?", node ? node : "?");
	return 0;
}

static int check_layout_json(const struct tr_self *self, struct sn_err *err)
{
	struct json_object *top;
	char path[4096];
	int rc;

	if (!self->job_dir)
		return 0;
	rc = read_json(self, "layout.json", &top, path, sizeof(path), err);
	if (rc || !top)
		return rc;
	rc = check_place(self, top, err);
	json_object_put(top);
	return rc ? sn_err_prefix(err, rc, "%s: ", path) : 0;
}

int tr_self_read(struct tr_self *self, const struct tr_options *opt,
		 struct sn_err *err)
{
	static const uint32_t none = 0;
	const struct {
		const char *name;
		uint32_t max;
		const uint32_t *otherwise;
		uint32_t *value;
	} number[] = {
		{ "RANK", SN_WORLD_MAX, NULL, &self->rank },
		{ "WORLD_SIZE", SN_WORLD_MAX, NULL, &self->world },
		{ "LOCAL_RANK", SN_WORLD_MAX, &none, &self->local_rank },
		{ "MASTER_PORT", 65535, NULL, &self->master_port },
		{ "TORCHELASTIC_RESTART_COUNT", UINT32_MAX, &none, &self->generation },
	};
	int rc = 0;

	self->job_dir = getenv("SUPERNODE_JOB_DIR");
	self->master = getenv("MASTER_ADDR");
	if (!self->master)
		return sn_err_set(err, -EINVAL, "MASTER_ADDR is not set: start the ranks by snrun, or by srun with --parallel");
	for (size_t i = 0; !rc && i < sizeof(number) / sizeof(*number); i++)
		rc = env_uint(number[i].name, number[i].max, number[i].otherwise, number[i].value, err);
	if (rc)
		return rc;
	if (self->rank >= self->world)
		return sn_err_set(err, -EINVAL, "RANK=%u, but WORLD_SIZE=%u", self->rank, self->world);
	rc = read_groups(self, opt, err);
	for (uint32_t axis = 0; !rc && axis < TR_AXES; axis++)
		if (!self->group[axis].rank)
			rc = sn_err_set(err, -EINVAL, "rank %u is in no %s group", self->rank, axes[axis].name);
	return rc ? rc : check_layout_json(self, err);
}

void tr_self_done(struct tr_self *self)
{
	for (uint32_t axis = 0; axis < TR_AXES; axis++)
		free(self->group[axis].rank);
}
