/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reason.c - Slurm's reason for a pending job in plain words.
 */
#include "config.h"

#include <stddef.h>

#include "snctl/reason.h"

static const struct {
	uint32_t code;
	struct reason reason;
} table[] = {
	{ WAIT_NO_REASON, { "None", "the scheduler has not looked at it yet", true } },
	{ WAIT_PRIORITY, { "Priority", "jobs of higher priority come first", true } },
	{ WAIT_RESOURCES, { "Resources", "what it asks for is not free now", true } },
	{ WAIT_NODE_NOT_AVAIL, { "ReqNodeNotAvail", "nodes that it could use are down, drained or reserved", true } },
	{ WAIT_DEPENDENCY, { "Dependency", "it waits for the jobs that it depends on", false } },
	{ WAIT_DEP_INVALID, { "DependencyNeverSatisfied", "a job that it depends on ended the wrong way, so it will never start", false } },
	{ WAIT_HELD, { "JobHeldAdmin", "an administrator holds it; scontrol release lets it go", false } },
	{ WAIT_HELD_USER, { "JobHeldUser", "its user holds it; scontrol release lets it go", false } },
	{ WAIT_TIME, { "BeginTime", "its begin time has not come", false } },
	{ WAIT_LICENSES, { "Licenses", "the licenses that it asks for are in use", false } },
	{ WAIT_RESERVATION, { "Reservation", "its reservation has not begun or is full", false } },
	{ WAIT_PART_NODE_LIMIT, { "PartitionNodeLimit", "it asks for more nodes than its partition has or allows", false } },
	{ WAIT_PART_TIME_LIMIT, { "PartitionTimeLimit", "its time limit is over that of its partition", false } },
	{ WAIT_PART_DOWN, { "PartitionDown", "its partition is down", false } },
	{ WAIT_PART_INACTIVE, { "PartitionInactive", "its partition is inactive", false } },
	{ WAIT_ARRAY_TASK_LIMIT, { "JobArrayTaskLimit", "its array already runs as many tasks as its % limit allows", false } },
	{ WAIT_MAX_REQUEUE, { "JobHoldMaxRequeue", "it was requeued too often and is held; scontrol release lets it go", false } },
	{ WAIT_CLEANING, { "Cleaning", "its last run is still being cleaned up", false } },
	{ WAIT_PROLOG, { "Prolog", "its prolog is running", false } },
	{ FAIL_BAD_CONSTRAINTS, { "BadConstraints", "Slurm holds it because no set of its nodes can ever meet what it asks for", true } },
	{ FAIL_DOWN_PARTITION, { "PartitionDown", "its partition is down", false } },
	{ FAIL_LAUNCH, { "JobLaunchFailure", "its last launch failed (a prolog or a node), so it is held", false } },
	{ FAIL_ACCOUNT, { "InvalidAccount", "its account is not valid", false } },
	{ FAIL_QOS, { "InvalidQOS", "its QOS is not valid", false } },
	{ WAIT_ACCOUNT, { "AccountNotAllowed", "its partition does not allow its account", false } },
	{ WAIT_QOS, { "QOSNotAllowed", "its partition does not allow its QOS", false } },
	{ WAIT_ASSOC_JOB_LIMIT, { "AssociationJobLimit", "its user or account runs as many jobs as allowed", false } },
	{ WAIT_ASSOC_RESOURCE_LIMIT, { "AssociationResourceLimit", "its user or account uses as much as allowed", false } },
	{ WAIT_ASSOC_TIME_LIMIT, { "AssociationTimeLimit", "its user or account has used up its time", false } },
	{ WAIT_ASSOC_GRP_GRES, { "AssocGrpGRES", "its account uses as many cards as allowed", false } },
	{ WAIT_QOS_JOB_LIMIT, { "QOSJobLimit", "its QOS runs as many jobs as allowed", false } },
	{ WAIT_QOS_RESOURCE_LIMIT, { "QOSResourceLimit", "its QOS uses as much as allowed", false } },
	{ WAIT_QOS_TIME_LIMIT, { "QOSTimeLimit", "its QOS has used up its time", false } },
	{ WAIT_QOS_GRP_GRES, { "QOSGrpGRES", "its QOS uses as many cards as allowed", false } },
	{ WAIT_QOS_GRP_JOB, { "QOSGrpJobsLimit", "its QOS runs as many jobs as allowed", false } },
	{ WAIT_QOS_GRP_NODE, { "QOSGrpNodeLimit", "its QOS uses as many nodes as allowed", false } },
	{ WAIT_QOS_MAX_GRES_PER_JOB, { "QOSMaxGRESPerJob", "it wants more cards than its QOS allows a job", false } },
	{ WAIT_QOS_MAX_GRES_PER_NODE, { "QOSMaxGRESPerNode", "it wants more cards of a node than its QOS allows", false } },
	{ WAIT_QOS_MAX_GRES_PER_USER, { "QOSMaxGRESPerUser", "its user has as many cards as its QOS allows", false } },
	{ WAIT_QOS_MAX_JOB_PER_USER, { "QOSMaxJobsPerUserLimit", "its user runs as many jobs as its QOS allows", false } },
	{ WAIT_ASSOC_MAX_GRES_PER_JOB, { "AssocMaxGRESPerJob", "it wants more cards than its account allows a job", false } },
	{ WAIT_ASSOC_MAX_JOBS, { "AssocMaxJobsLimit", "its user or account runs as many jobs as allowed", false } },
};

struct reason reason_of(const slurm_job_info_t *info)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].code == info->state_reason)
			return table[i].reason;
	/* The rest, from WAIT_QOS_THRES on, are limits of accounts and QOS. */
	return (struct reason) {
		.words = info->state_reason >= WAIT_QOS_THRES ?
			"a limit of its account or QOS holds it back; squeue -j shows which" :
			"squeue -j shows Slurm's reason",
	};
}
