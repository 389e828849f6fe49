/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.c - what this rank believes and does, for `snctl groups verify`.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/snrecord.h"
#include "tests/trainer/trainer.h"

static int add_group(struct trainer *t, enum tr_axis axis)
{
	const struct tr_group *group = &t->self.group[axis];
	int *members = malloc(group->n * sizeof(*members));
	char name[32];

	if (!members)
		return -ENOMEM;
	for (uint32_t i = 0; i < group->n; i++)
		members[i] = (int)group->rank[i];
	snprintf(name, sizeof(name), "%s_of_%u", tr_axis_name(axis), group->rank[0]);
	t->comm[axis] = snrecord_comm(t->record, name, tr_axis_name(axis), members, (int)group->n, (int)group->me, 0);
	free(members);
	return t->comm[axis] < 0 ? t->comm[axis] : 0;
}

int tr_record_open(struct trainer *t, struct sn_err *err)
{
	int rc = 0;

	t->record = snrecord_open(t->opt.records, (int)t->self.rank, (int)t->self.world);
	if (!t->record)
		return sn_err_set(err, -errno, "cannot record into %s: %s", t->opt.records, strerror(errno));
	for (uint32_t axis = 0; !rc && axis < TR_AXES; axis++)
		rc = add_group(t, axis);
	return rc ? sn_err_set(err, rc, "cannot record the groups: %s", strerror(-rc)) : 0;
}

uint64_t tr_record_begin(struct trainer *t, enum tr_axis axis)
{
	return snrecord_begin(t->record, t->comm[axis], axis == TR_EP ? "all_to_all" : "all_reduce", t->opt.payload);
}

void tr_record_end(struct trainer *t, enum tr_axis axis, uint64_t number)
{
	snrecord_end(t->record, t->comm[axis], number);
}

uint64_t tr_record_pass(struct trainer *t, bool sends, uint32_t peer)
{
	return snrecord_p2p_begin(t->record, t->comm[TR_PP], sends, (int)peer, t->opt.payload);
}

void tr_record_passed(struct trainer *t, bool sends, uint32_t peer,
		      uint64_t number)
{
	snrecord_p2p_end(t->record, t->comm[TR_PP], sends, (int)peer, number);
}
