/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - job_submit/supernode: a --parallel job at the door of slurmctld.
 *
 * Slurm holds read locks on jobs, nodes and partitions around these calls, and
 * what is put into err_msg is the only sentence of ours that the user sees.
 */
#include "plugins/compat.h"

#include <errno.h>

#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/slurmctld.h"

#include "plugins/common/jobopts.h"
#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/elastic.h"
#include "plugins/job_submit_supernode/power.h"
#include "plugins/job_submit_supernode/segment.h"
#include "plugins/job_submit_supernode/spareroom.h"
#include "plugins/job_submit_supernode/update.h"
#include "topology/jobcomment.h"

const char plugin_name[] = "Supernode job submit plugin";
const char plugin_type[] = "job_submit/supernode";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int init(void);
extern int fini(void);

#define TOLD "supernode:parallel="

/*
 * Slurm's public API shows no SPANK option, so clients (snctl why, show jobs)
 * read what the job asked for in its admin_comment, which users cannot set.
 * One that somebody else has filled is left alone.
 */
static void tell_clients(job_desc_msg_t *job_desc,
			 const struct sn_jobspec_text *text,
			 const struct sn_layout *layout, uint64_t poolmem)
{
	const struct {
		const char *key, *value;
	} more[] = {
		{ "pool", text->pool }, { "spares", text->spares },
		{ "elastic", text->elastic }, { "role", text->role },
		{ "service", text->service },
		{ "replaces", text->replaces },
	};
	char canonical[SN_LAYOUT_TEXT_MAX];
	size_t i;

	if (job_desc->admin_comment && job_desc->admin_comment[0])
		return;
	sn_layout_format(layout, canonical, sizeof(canonical));
	xfree(job_desc->admin_comment);
	xstrfmtcat(job_desc->admin_comment, TOLD "%s", canonical);
	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i].value && more[i].value[0])
			xstrfmtcat(job_desc->admin_comment, ";%s=%s",
				   more[i].key, more[i].value);
	if (poolmem)
		xstrfmtcat(job_desc->admin_comment, SN_JOBCOMMENT_POOLMEM "%llu",
			   (unsigned long long)poolmem);
}

/* The same of a job without --parallel. */
static void tell_replaces(job_desc_msg_t *job_desc, uint32_t id)
{
	if (job_desc->admin_comment && job_desc->admin_comment[0])
		return;
	xfree(job_desc->admin_comment);
	xstrfmtcat(job_desc->admin_comment, "supernode:replaces=%u", id);
}

/* The same for --segment, which clients of 24.11 cannot see of a job. */
static void tell_segment(job_desc_msg_t *job_desc)
{
	uint32_t k = segment_size(job_desc);

	if (!k || (job_desc->admin_comment && job_desc->admin_comment[0]))
		return;
	xfree(job_desc->admin_comment);
	xstrfmtcat(job_desc->admin_comment, "supernode:segment=%u", k);
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid,
		      char **err_msg);
extern int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr,
		      uint32_t submit_uid, char **err_msg);

extern int init(void)
{
	verbose("%s loaded", plugin_type);
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	return SLURM_SUCCESS;
}

static int refuse(int rc, const struct sn_err *err, char **err_msg)
{
	if (err_msg) {
		xfree(*err_msg);
		*err_msg = xstrdup(err->text);
	}
	switch (rc) {
	case -ENOSPC:
		return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
	case -ENOSYS:
		return ESLURM_NOT_SUPPORTED;
	case -ENOMEM:
		return ENOMEM;
	case -EPERM:
		return ESLURM_ACCESS_DENIED;
	default:
		return EINVAL;
	}
}

/* Write the layout out with every default in its place: whoever reads it later
 * need not know how many cards a node had when the job was submitted. */
static void write_out(job_desc_msg_t *job_desc, const struct sn_layout *layout)
{
	const char *name = SN_JOBOPT_PREFIX "parallel=";
	char text[SN_LAYOUT_TEXT_MAX];
	uint32_t i;

	sn_layout_format(layout, text, sizeof(text));
	for (i = 0; i < job_desc->spank_job_env_size; i++) {
		if (xstrncmp(job_desc->spank_job_env[i], name, strlen(name)))
			continue;
		xfree(job_desc->spank_job_env[i]);
		job_desc->spank_job_env[i] = xstrdup_printf("%s%s", name, text);
	}
}

/* The steps of a base are of its layout, too. */
static void write_base(job_desc_msg_t *job_desc, const struct sn_layout *layout,
		       const char *elastic)
{
	char text[SN_LAYOUT_TEXT_MAX];

	sn_layout_format(layout, text, sizeof(text));
	elastic_write_option(job_desc, "parallel", text);
	elastic_write_option(job_desc, "elastic", elastic);
}

/* root may submit for another. */
static uint32_t owner(const job_desc_msg_t *job_desc, uint32_t submit_uid)
{
	return job_desc->user_id == NO_VAL ? submit_uid : job_desc->user_id;
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid,
		      char **err_msg)
{
	const struct sn_topoapi *api;
	struct sn_jobspec_text text;
	struct sn_jobspec spec;
	struct sn_err err = { "" };
	char elastic[ELASTIC_TEXT_MAX];
	uint64_t poolmem = 0;
	bool base = false;
	int rc;

	api = sn_topoapi_find();
	rc = segment_check(job_desc, api, &err);
	if (!rc)
		rc = power_check(job_desc, api, &err);
	if (rc)
		return refuse(rc, &err, err_msg);
	if (!sn_jobopts_find(job_desc->spank_job_env,
			     job_desc->spank_job_env_size, &text)) {
		rc = spareroom_check(job_desc, api, &err);
		if (rc)
			return refuse(rc, &err, err_msg);
		tell_segment(job_desc);
		return SLURM_SUCCESS;
	}
	if (!api || !api->topo())
		return refuse(sn_err_set(&err, -ENOSYS,
					 "--parallel and its like need TopologyPlugin=topology/supernode in slurm.conf"),
			      &err, err_msg);
	rc = sn_jobspec_parse(&text, api->cards_per_node(NULL), &spec, &err);
	if (!rc && !spec.has_parallel && spec.pool.per != SN_POOL_NONE)
		rc = sn_err_set(&err, -EINVAL,
				"--pool=%s needs --parallel in this version: without a layout nothing counts what the job holds",
				text.pool);
	if (!rc && spec.replaces)
		rc = api->replaces(spec.replaces, owner(job_desc, submit_uid),
				   submit_uid == 0 ||
				   submit_uid == slurm_conf.slurm_user_id,
				   job_desc->min_nodes == NO_VAL ? 1 :
				   job_desc->min_nodes, &err);
	if (!rc && spec.has_parallel && segment_size(job_desc))
		rc = sn_err_set(&err, -EINVAL,
				"--segment=%u does not go with --parallel: what must stay in one supernode follows from the layout; leave --segment out",
				segment_size(job_desc));
	if (!rc && spec.has_parallel)
		base = elastic_make_base(job_desc, api->policy(), &spec, elastic);
	if (!rc && spec.has_parallel)
		rc = derive_request(job_desc, api, &spec, owner(job_desc, submit_uid),
				    &poolmem, &err);
	if (rc)
		return refuse(rc, &err, err_msg);
	if (spec.has_parallel) {
		if (base)
			text.elastic = elastic;
		/* First, as write_out() frees what text points into. */
		tell_clients(job_desc, &text, &spec.layout, poolmem);
		write_out(job_desc, &spec.layout);
		if (base)
			write_base(job_desc, &spec.layout, elastic);
		return SLURM_SUCCESS;
	}
	if (spec.replaces) {
		tell_replaces(job_desc, spec.replaces);
		return SLURM_SUCCESS;
	}
	rc = spareroom_check(job_desc, api, &err);
	return rc ? refuse(rc, &err, err_msg) : SLURM_SUCCESS;
}

static int change_layout(job_desc_msg_t *job_desc, job_record_t *job_ptr,
			 char **err_msg)
{
	const struct sn_topoapi *api = sn_topoapi_find();
	struct sn_jobspec_text text;
	struct sn_jobspec spec;
	struct sn_err err = { "" };
	uint64_t poolmem;
	int rc;

	if (!api || !api->topo())
		return refuse(sn_err_set(&err, -ENOSYS,
					 "Comment=--parallel=… needs TopologyPlugin=topology/supernode in slurm.conf"),
			      &err, err_msg);
	rc = update_layout(job_desc, job_ptr, api, &spec, &text, &poolmem, &err);
	if (rc)
		return refuse(rc, &err, err_msg);
	if (!xstrncmp(job_ptr->admin_comment, TOLD, strlen(TOLD)))
		tell_clients(job_desc, &text, &spec.layout, poolmem);
	xfree(job_desc->comment);
	return SLURM_SUCCESS;
}

extern int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr,
		      uint32_t submit_uid, char **err_msg)
{
	const struct sn_topoapi *api;
	struct sn_jobspec_text text;
	struct sn_jobspec spec;
	struct sn_err err = { "" };
	int rc;

	(void)submit_uid;
	rc = segment_check_update(job_desc, job_ptr, &err);
	if (rc)
		return refuse(rc, &err, err_msg);
	if (job_ptr && update_is_order(job_desc))
		return change_layout(job_desc, job_ptr, err_msg);
	api = sn_topoapi_find();
	if (!job_ptr || !api || !api->topo())
		return SLURM_SUCCESS;
	if (!sn_jobopts_find(job_ptr->spank_job_env,
			     job_ptr->spank_job_env_size, &text) ||
	    sn_jobspec_parse(&text, 0, &spec, NULL) ||
	    (!spec.has_parallel && !spec.replaces))
		rc = spareroom_check_update(job_desc, job_ptr, api, &err);
	else if (spec.has_parallel)
		rc = update_request(job_desc, job_ptr, api, &spec, &err);
	/* Without accounting, slurmctld takes a change of partition for failed
	 * if errno, which it has not set, happens not to be 0. */
	errno = 0;
	return rc ? refuse(rc, &err, err_msg) : SLURM_SUCCESS;
}
