/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hint.c - tell snelasticd to look, for a job has changed.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "elastic/client.h"
#include "plugins/common/jobopts.h"
#include "plugins/common/sitefiles.h"
#include "launcher/aside.h"
#include "plugins/spank_supernode/hint.h"
#include "plugins/spank_supernode/poolnode.h"
#include "topology/hostlist.h"

#define SPEAKERS 2
#define HINT_MS 100 /* for names, munge, the daemon and its answer together */

struct hint {
	char *policy; /* supernode.conf; the other files are beside it */
	uint32_t job;
	char node[64];
	const char *what;
	struct sn_err err; /* "": it was said */
};

/* Of this step, here. */
static bool failed;

static void free_hint(void *arg)
{
	struct hint *h = arg;

	free(h->policy);
	free(h);
}

static void say(void *arg)
{
	struct hint *h = arg;
	struct json_object *request, *answer = NULL;
	struct sn_elastic_where where;
	struct sn_policy policy;

	/* A site without it has no daemon. */
	if (access(h->policy, F_OK)) {
		sn_err_set(&h->err, -errno, "%s: %s", h->policy, strerror(errno));
		return;
	}
	/* slurmd tells its children where slurm.conf is, whatever it is called. */
	if (sn_elastic_find(getenv("SLURM_CONF") ? NULL : h->policy, &policy, &where, &h->err))
		return;
	request = json_object_new_object();
	json_object_object_add(request, "op", json_object_new_string("elastic.hint"));
	json_object_object_add(request, "job", json_object_new_int64(h->job));
	json_object_object_add(request, "node", json_object_new_string(h->node));
	json_object_object_add(request, "what", json_object_new_string(h->what));
	(void)sn_elastic_ask(&where, request, HINT_MS, &answer, &h->err);
	json_object_put(answer);
	json_object_put(request);
}

static void tell(uint32_t job, const char *what)
{
	const char *node = pool_node_name();
	struct hint *h = calloc(1, sizeof(*h));

	if (!h)
		return;
	h->policy = sn_site_path("supernode.conf");
	h->job = job;
	h->what = what;
	snprintf(h->node, sizeof(h->node), "%s", node ? node : "");
	if (!h->policy) {
		free_hint(h);
	} else if (!aside_run(say, free_hint, h, HINT_MS)) {
		slurm_debug("supernode: snelasticd was not told of job %u: it has not answered in %d ms",
			    job, HINT_MS);
	} else {
		if (*h->err.text)
			slurm_debug("supernode: snelasticd was not told of job %u: %s", job,
				    h->err.text);
		free_hint(h);
	}
}

/* With SlurmdParameters=contain_spank it is called in a process of its own that shares this
 * one's memory: no place for a thread. */
void hint_task_exit(spank_t sp)
{
	int status = 0;

	if (spank_get_item(sp, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS && status)
		failed = true;
}

void hint_step_ends(spank_t sp)
{
	uint32_t job, node;

	if (failed && spank_get_item(sp, S_JOB_ID, &job) == ESPANK_SUCCESS &&
	    spank_get_item(sp, S_JOB_NODEID, &node) == ESPANK_SUCCESS && node < SPEAKERS)
		tell(job, "failed");
}

static bool is_speaker(const char *nodes)
{
	struct sn_names names = { NULL, 0, 0 };
	const char *me = pool_node_name();
	bool is = false;

	if (!nodes || !me || sn_hostlist_expand(nodes, &names, NULL))
		return false;
	for (size_t i = 0; i < names.n && i < SPEAKERS && !is; i++)
		is = !strcmp(names.name[i], me);
	sn_names_done(&names);
	return is;
}

void hint_job_ends(spank_t sp)
{
	uint32_t job;

	/* Slurm's name for an option in an epilog's environment. */
	if (getenv("SPANK_" SN_JOBOPT_PREFIX "parallel") &&
	    is_speaker(getenv("SLURM_JOB_NODELIST")) &&
	    spank_get_item(sp, S_JOB_ID, &job) == ESPANK_SUCCESS)
		tell(job, "ended");
}
