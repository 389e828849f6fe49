/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replacing.c - jobs with --replaces: which nodes of which job they stand in for.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/uid.h"
#include "src/common/xmalloc.h"

#include "plugins/common/jobopts.h"
#include "plugins/topology_supernode/marks.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/replacing.h"
#include "topology/joblost.h"

/* Only slurmctld has them; the plugin is loaded elsewhere too. */
#pragma weak job_list
#pragma weak find_job_record

static bool read_spec(const job_record_t *job_ptr, struct sn_jobspec *ret)
{
	struct sn_jobspec_text text;

	return sn_jobopts_find(job_ptr->spank_job_env,
			       job_ptr->spank_job_env_size, &text) &&
		!sn_jobspec_parse(&text, 0, ret, NULL);
}

/* ---- the job that is replaced ---------------------------------------------------- */

static bool has_masked_card(const gres_job_state_t *js, uint32_t n, int i)
{
	uint64_t masked = marks_of(node_record_table_ptr[i])->cards.masked;
	bitstr_t *cards = js && n < js->node_cnt && js->gres_bit_alloc ?
		js->gres_bit_alloc[n] : NULL;
	int64_t c, size = cards ? bit_size(cards) : 0;

	for (c = 0; masked && c < size && c < SN_CARDS_MAX; c++)
		if (masked >> c & 1 && bit_test(cards, c))
			return true;
	return false;
}

struct nodes {
	struct sn_spares_node *node; /* [n] that the job has */
	uint32_t *ill; /* [n_ill] of them, with a masked card */
	uint32_t n, n_ill;
};

static int list_nodes(const job_record_t *job_ptr, struct nodes *ret)
{
	uint32_t card_id = model_card_id(), n = 0;
	size_t size = (size_t)bit_set_count(job_ptr->node_bitmap) + 1;
	gres_state_t *state = job_ptr->gres_list_alloc ?
		list_find_first(job_ptr->gres_list_alloc, gres_find_id,
				&card_id) : NULL;
	int i;

	*ret = (struct nodes){
		.node = calloc(size, sizeof(*ret->node)),
		.ill = calloc(size, sizeof(*ret->ill)),
	};
	if (!ret->node || !ret->ill)
		return -ENOMEM;
	for (i = 0; next_node_bitmap(job_ptr->node_bitmap, &i); i++, n++) {
		uint32_t t = model_topo_node((uint32_t)i);

		if (t == SN_NONE)
			continue;
		ret->node[ret->n++].node = t;
		if (has_masked_card(state ? state->gres_data : NULL, n, i))
			ret->ill[ret->n_ill++] = t;
	}
	return 0;
}

/* ---- jobs that replace already ------------------------------------------------------ */

struct takers {
	uint32_t job_id;
	const job_record_t *self;
	uint32_t *node; /* [n] */
	uint32_t n, size;
	bool failed;
};

static int add_taker(void *x, void *arg)
{
	const job_record_t *job_ptr = x;
	struct takers *t = arg;
	struct sn_jobspec spec;
	int i;

	if (job_ptr == t->self || !job_ptr->node_bitmap ||
	    !job_ptr->spank_job_env_size ||
	    !(IS_JOB_RUNNING(job_ptr) || IS_JOB_SUSPENDED(job_ptr)) ||
	    !read_spec(job_ptr, &spec) || spec.replaces != t->job_id)
		return 0;
	for (i = 0; next_node_bitmap(job_ptr->node_bitmap, &i); i++) {
		uint32_t node = model_topo_node((uint32_t)i);

		if (node == SN_NONE)
			continue;
		if (t->n == t->size) {
			uint32_t size = t->size ? 2 * t->size : 16;
			uint32_t *more = realloc(t->node, size * sizeof(*more));

			if (!more) {
				t->failed = true;
				return -1;
			}
			t->node = more;
			t->size = size;
		}
		t->node[t->n++] = node;
	}
	return 0;
}

static int count(const job_record_t *job_ptr, const job_record_t *self,
		 struct replacing *ret, uint64_t *ret_missing)
{
	const struct sn_topo *topo = model_topo();
	struct takers takers = { .job_id = job_ptr->job_id, .self = self };
	struct sn_joblost lost = { NULL, 0, NULL };
	struct nodes nodes;
	int rc = list_nodes(job_ptr, &nodes);

	ret->allow = calloc((size_t)topo->n_supernodes + 1, sizeof(*ret->allow));
	if (!ret->allow)
		rc = -ENOMEM;
	/* A job that began before there was such a note has lost none. */
	if (!rc && sn_joblost_find(topo, job_ptr->admin_comment, nodes.node,
				   nodes.n, &lost, NULL) == -ENOMEM)
		rc = -ENOMEM;
	if (!rc && list_for_each_ro(job_list, add_taker, &takers) < 0 &&
	    takers.failed)
		rc = -ENOMEM;
	if (!rc) {
		*ret_missing = lost.n + nodes.n_ill;
		ret->all = sn_replace_allow(topo, lost.count, nodes.ill,
					    nodes.n_ill, takers.node, takers.n,
					    ret->allow);
	}
	free(nodes.node);
	free(nodes.ill);
	free(takers.node);
	sn_joblost_done(&lost);
	return rc;
}

static job_record_t *find_running_job(uint32_t job_id)
{
	return &find_job_record && &job_list && job_list ?
		find_job_record(job_id) : NULL;
}

int replacing_find(uint32_t job_id, const job_record_t *self,
		   struct replacing *ret, struct sn_err *err)
{
	const job_record_t *job_ptr = find_running_job(job_id);
	struct sn_jobspec spec;
	uint64_t missing = 0;
	int rc;

	*ret = (struct replacing){ NULL, 0 };
	if (!job_ptr || IS_JOB_FINISHED(job_ptr))
		return sn_err_set(err, -ENOENT,
				  "--replaces=%u: there is no job %u, or it has ended",
				  job_id, job_id);
	if (!IS_JOB_RUNNING(job_ptr) || !job_ptr->node_bitmap)
		return sn_err_set(err, -ENOENT,
				  "--replaces=%u: job %u is not running, so it has lost no node",
				  job_id, job_id);
	if (!read_spec(job_ptr, &spec) || !spec.has_parallel)
		return sn_err_set(err, -EINVAL,
				  "--replaces=%u: job %u was submitted without --parallel; only nodes of a job with a layout are replaced",
				  job_id, job_id);
	rc = count(job_ptr, self, ret, &missing);
	if (!rc && !missing)
		rc = sn_err_set(err, -ENOSPC,
				"--replaces=%u: job %u has lost no node and holds no masked card",
				job_id, job_id);
	else if (!rc && !ret->all)
		rc = sn_err_set(err, -ENOSPC,
				"--replaces=%u: job %u has lost %llu node%s, or holds masked cards there, and other jobs replace as many already",
				job_id, job_id, (unsigned long long)missing,
				missing == 1 ? "" : "s");
	if (rc)
		replacing_done(ret);
	return rc;
}

void replacing_done(struct replacing *replacing)
{
	free(replacing->allow);
	*replacing = (struct replacing){ NULL, 0 };
}

/* ---- at the door ----------------------------------------------------------------------- */

/* "a: 2, b: 1" */
static void say_where(const struct replacing *r, char *buf, size_t size)
{
	const struct sn_topo *topo = model_topo();
	size_t len = 0;
	uint32_t s;

	*buf = '\0';
	for (s = 0; s < topo->n_supernodes && len < size; s++)
		if (r->allow[s])
			len += (size_t)snprintf(buf + len, size - len, "%s%s: %u",
						len ? ", " : "",
						topo->supernode[s].name,
						r->allow[s]);
}

int replacing_check(uint32_t job_id, uint32_t owner, bool privileged,
		    uint32_t min_nodes, struct sn_err *err)
{
	const job_record_t *job_ptr = find_running_job(job_id);
	struct replacing r;
	char where[160];
	int rc;

	if (job_ptr && job_ptr->user_id != owner && !privileged)
		return sn_err_set(err, -EPERM,
				  "--replaces=%u: job %u is another user's", job_id,
				  job_id);
	rc = replacing_find(job_id, NULL, &r, err);
	if (rc)
		return rc;
	if (min_nodes > r.all) {
		say_where(&r, where, sizeof(where));
		rc = sn_err_set(err, -ENOSPC,
				"--replaces=%u: %u nodes are wanted, and of job %u %llu %s to be replaced (%s)",
				job_id, min_nodes, job_id,
				(unsigned long long)r.all,
				r.all == 1 ? "is" : "are", where);
	}
	replacing_done(&r);
	return rc;
}

/* ---- jobs without --parallel ------------------------------------------------------------ */

int replacing_limit(struct need *need)
{
	const job_record_t *job_ptr = need->topo_eval->job_ptr;
	const struct sn_topo *topo = model_topo();
	struct sn_jobspec spec;
	struct replacing r;
	struct sn_err err;
	uint32_t t;

	if (!job_ptr->spank_job_env_size || !read_spec(job_ptr, &spec) ||
	    !spec.replaces)
		return 0;
	if (replacing_find(spec.replaces, job_ptr, &r, &err)) {
		log_flag(SELECT_TYPE, "topology/supernode: %pJ: %s", job_ptr,
			 err.text);
		return -ENOSPC;
	}
	need->allow = r.allow; /* need's now */
	for (t = 0; t < topo->n_nodes; t++)
		if (!r.allow[topo->node[t].supernode])
			need->node[t].flags |= SN_NODE_ABSENT;
	if (need->max > r.all)
		need->max = (uint32_t)r.all;
	if (need->want > need->max)
		need->want = need->max;
	return need->min > need->max ? -ENOSPC : 0;
}
