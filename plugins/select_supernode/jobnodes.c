/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobnodes.c - write down on which nodes a job began.
 */
#include "plugins/compat.h"

#include <string.h>

#include "src/common/hostlist.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "plugins/select_supernode/jobnodes.h"
#include "topology/jobcomment.h"

/* Of the job_submit plugin, with nothing of others before or in it. */
static bool is_ours(const job_record_t *job_ptr)
{
	const char *mark = SN_JOBCOMMENT_MARK "parallel=";

	return !xstrncmp(job_ptr->admin_comment, mark, (int)strlen(mark)) &&
		!strpbrk(job_ptr->admin_comment, " \t\n");
}

/* Without the nodes, what was behind them kept. */
static void cut(char *comment)
{
	char *at = strstr(comment, SN_JOBCOMMENT_NODES), *end;

	if (!at)
		return;
	end = at + strlen(SN_JOBCOMMENT_NODES);
	end += strcspn(end, ";");
	memmove(at, end, strlen(end) + 1);
}

static void put(job_record_t *job_ptr, const char *nodes)
{
	cut(job_ptr->admin_comment);
	xstrfmtcat(job_ptr->admin_comment, SN_JOBCOMMENT_NODES "%s", nodes);
}

void jobnodes_begin(job_record_t *job_ptr)
{
	if (is_ours(job_ptr) && job_ptr->job_resrcs &&
	    job_ptr->job_resrcs->nodes)
		put(job_ptr, job_ptr->job_resrcs->nodes);
}

void jobnodes_resized(job_record_t *job_ptr, const node_record_t *node_ptr)
{
	const char *at;
	char *list, *left;
	hostlist_t *hosts;

	if (!is_ours(job_ptr) || IS_NODE_DOWN(node_ptr) ||
	    IS_NODE_DRAIN(node_ptr) || IS_NODE_FAIL(node_ptr))
		return;
	at = strstr(job_ptr->admin_comment, SN_JOBCOMMENT_NODES);
	if (!at)
		return;
	at += strlen(SN_JOBCOMMENT_NODES);
	list = xstrndup(at, strcspn(at, ";"));
	hosts = hostlist_create(list);
	xfree(list);
	if (!hosts)
		return;
	(void)hostlist_delete_host(hosts, node_ptr->name);
	left = hostlist_ranged_string_xmalloc(hosts);
	hostlist_destroy(hosts);
	put(job_ptr, left);
	xfree(left);
}
