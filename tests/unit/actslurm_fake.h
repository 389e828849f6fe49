/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actslurm_fake.h - the calls of libslurm that actions use, over the numbers of
 * actbed.h, which includes this.
 */
#ifndef SN_TESTS_ACTSLURM_FAKE_H
#define SN_TESTS_ACTSLURM_FAKE_H

static int no_answer(void)
{
	errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	return SLURM_ERROR;
}

/* true: the call is lost, *how is for after it. */
static bool lost(const char *name, int kind, enum how *how)
{
	*how = point(name, kind);
	return *how == FAIL || world->no_slurm;
}

static int answer(enum how how, int code)
{
	after(how);
	if (how == FAIL_AFTER)
		return no_answer();
	if (!code)
		return 0;
	errno = code;
	return SLURM_ERROR;
}

static int64_t now_s(void)
{
	return world->ms / 1000;
}

/* What time brings. */
static void live(void)
{
	for (int i = 0; i < JOBS; i++) {
		struct bed_job *j = &world->job[i];

		if (j->state == JOB_PENDING && !j->completing && !j->held && j->begin <= now_s() &&
		    !*j->required) {
			j->state = JOB_RUNNING;
			j->started++;
			strcpy(j->nodes, "n2");
			strcpy(j->batch_host, "n2");
		}
	}
	for (int i = 0; i < NODES; i++) {
		/* ReturnToService */
		if (world->node[i].down && i != LOST && world->ms > world->node[i].down_at + 700)
			world->node[i].down = false;
	}
}

static void complete(struct bed_job *j)
{
	if (!j->completing || --j->completes)
		return;
	j->completing = false;
	if (j->state == JOB_PENDING) {
		j->submit = now_s();
		/* One of them soon runs again, whoever does what. */
		j->begin = j == &world->job[CARED] ? 0 : now_s() + REQUEUE_WAIT;
	}
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
int slurm_load_job(job_info_msg_t **resp, slurm_step_id_t step, uint16_t flags)
{
	uint32_t id = step.job_id;
#else
int slurm_load_job(job_info_msg_t **resp, uint32_t id, uint16_t flags)
{
#endif
	struct bed_job *j = &world->job[id - 1];
	slurm_job_info_t *info;
	enum how how;

	(void)flags;
	if (lost("slurm_load_job", P_ASK, &how) || how == FAIL_AFTER)
		return no_answer();
	complete(j);
	*resp = calloc(1, sizeof(**resp));
	info = (*resp)->job_array = calloc(1, sizeof(*info));
	(*resp)->record_count = 1;
	(*resp)->last_update = now_s();
	info->job_id = id;
	info->array_task_id = NO_VAL;
	info->job_state = j->state | (j->completing ? JOB_COMPLETING : 0);
	info->restart_cnt = (uint16_t)j->restarts;
	info->batch_flag = (uint16_t)(1 + j->launches);
	if (j->held && j->launches) {
		info->state_reason = WAIT_HELD_USER;
		info->state_desc = (char *)"launch failed requeued held";
	}
	info->requeue = j->requeue;
	info->batch_host = j->batch_host;
	info->nodes = j->nodes;
	info->req_nodes = j->required;
	info->comment = j->comment;
	info->priority = j->held ? 0 : 10;
	info->submit_time = j->submit;
	info->eligible_time = j->begin;
	after(how);
	return 0;
}

void slurm_free_job_info_msg(job_info_msg_t *msg)
{
	free(msg->job_array);
	free(msg);
}

static void lets_go(struct bed_job *j, uint32_t state)
{
	j->completing = j->state != JOB_PENDING;
	j->completes = 5;
	j->state = state;
	j->nodes[0] = j->batch_host[0] = '\0';
}

int slurm_requeue2(char *id, uint32_t flags, job_array_resp_msg_t **resp)
{
	struct bed_job *j = &world->job[atoi(id) - 1];
	enum how how;

	(void)resp;
	must_be_journalled((uint32_t)atoi(id), NULL);
	if (lost("slurm_requeue2", P_ORDER, &how))
		return no_answer();
	if (!j->requeue)
		return answer(how, ESLURM_DISABLED);
	if (j->state == JOB_RUNNING) {
		lets_go(j, JOB_PENDING);
		j->restarts++;
		j->requeued++;
	} else if (flags != JOB_RUNNING) {
		world->failures++; /* one that has ended would run again */
	}
	return answer(how, 0);
}

void slurm_free_job_array_resp(job_array_resp_msg_t *resp)
{
	(void)resp;
}

int slurm_kill_job2(const char *id, uint16_t sig, uint16_t flags, const char *sibling)
{
	struct bed_job *j = &world->job[atoi(id) - 1];
	enum how how;

	(void)flags, (void)sibling;
	must_be_journalled((uint32_t)atoi(id), NULL);
	if (lost("slurm_kill_job2", P_ORDER, &how))
		return no_answer();
	if (sig != SIGKILL)
		world->failures++;
	if (j->state > JOB_SUSPENDED)
		return answer(how, ESLURM_ALREADY_DONE);
	lets_go(j, JOB_CANCELLED);
	j->cancelled++;
	return answer(how, 0);
}

void slurm_init_job_desc_msg(job_desc_msg_t *desc)
{
	memset(desc, 0, sizeof(*desc));
	desc->priority = NO_VAL;
}

int slurm_update_job(job_desc_msg_t *desc)
{
#if SN_API_STEP_ID_T
	struct bed_job *j = &world->job[desc->step_id.job_id - 1];
#else
	struct bed_job *j = &world->job[desc->job_id - 1];
#endif
	enum how how;

	must_be_journalled((uint32_t)(j - world->job) + 1, NULL);
	if (lost("slurm_update_job", P_ORDER, &how))
		return no_answer();
	if (j->state != JOB_PENDING)
		return answer(how, ESLURM_JOB_NOT_PENDING);
	if (desc->priority == INFINITE) {
		if (j->completing || !j->launches)
			world->failures++;
		j->held = false;
		j->released++;
		return answer(how, 0);
	}
	if (j->completing || j->held)
		world->failures++;
	if (desc->begin_time)
		j->begin = desc->begin_time;
	if (desc->req_nodes)
		snprintf(j->required, sizeof(j->required), "%s", desc->req_nodes);
	j->updated++;
	return answer(how, 0);
}

static void tell_node(node_info_t *info, uint32_t i)
{
	char name[8];

	snprintf(name, sizeof(name), "n%u", i);
	info->name = strdup(name);
	info->reason = world->node[i].reason;
	info->extra = world->node[i].extra;
	info->node_state = (world->node[i].down ? NODE_STATE_DOWN : NODE_STATE_IDLE) |
		(world->node[i].drained ? NODE_STATE_DRAIN : 0);
}

int slurm_load_node(time_t since, node_info_msg_t **resp, uint16_t flags)
{
	enum how how;

	(void)since, (void)flags;
	if (lost("slurm_load_nodes", P_ASK, &how) || how == FAIL_AFTER)
		return no_answer();
	*resp = calloc(1, sizeof(**resp));
	(*resp)->node_array = calloc(NODES, sizeof(*(*resp)->node_array));
	(*resp)->record_count = NODES;
	for (uint32_t i = 0; i < NODES; i++)
		tell_node(&(*resp)->node_array[i], i);
	after(how);
	return 0;
}

int slurm_load_node_single(node_info_msg_t **resp, char *name, uint16_t flags)
{
	uint32_t i = (uint32_t)(name[1] - '0');
	enum how how;

	(void)flags;
	if (lost("slurm_load_node", P_ASK, &how) || how == FAIL_AFTER)
		return no_answer();
	*resp = calloc(1, sizeof(**resp));
	(*resp)->node_array = calloc(1, sizeof(*(*resp)->node_array));
	(*resp)->record_count = 1;
	tell_node((*resp)->node_array, i);
	after(how);
	return 0;
}

void slurm_free_node_info_msg(node_info_msg_t *msg)
{
	for (uint32_t i = 0; i < msg->record_count; i++)
		free(msg->node_array[i].name);
	free(msg->node_array);
	free(msg);
}

void slurm_init_update_node_msg(update_node_msg_t *msg)
{
	memset(msg, 0, sizeof(*msg));
}

int slurm_update_node(update_node_msg_t *msg)
{
	uint32_t i = (uint32_t)(msg->node_names[1] - '0');
	enum how how;

	must_be_journalled(0, msg->extra ? NULL : msg->node_names);
	if (lost("slurm_update_node", P_ORDER, &how))
		return no_answer();
	if (msg->extra) {
		snprintf(world->node[i].extra, sizeof(world->node[i].extra), "%s", msg->extra);
	} else if (msg->node_state == NODE_STATE_DOWN) {
		world->node[i].down = true;
		world->node[i].down_at = world->ms;
		world->node[i].lost++;
	} else {
		world->node[i].drained = true;
	}
	if (msg->reason)
		snprintf(world->node[i].reason, sizeof(world->node[i].reason), "%s", msg->reason);
	return answer(how, 0);
}

char *slurm_strerror(int code)
{
	(void)code;
	return (char *)"an error";
}

#endif
