/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskvars.c - the table of variables, and how each follows from a task.
 *
 * HCCL's are as its manual has them (ranges, and that a super pod's name counts
 * only without a rank table). HCCL_OP_EXPANSION_MODE is left to the user: what
 * is right depends on the operators that he uses.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "launcher/taskvars.h"

/* The habit with Slurm; all of the range is above Linux's ephemeral ports. */
#define PORT_FIRST 61000
#define PORTS 4536
/* Prime to PORTS, so that the steps of a job have ports far apart and not
 * those of the next jobs. */
#define PORT_STEP 577
#define PORT_RESTART 1151
#define PORT_GENERATION 2003

#define HCCL_CONNECT_LEAST 120

static bool number(char *buf, size_t size, uint64_t n)
{
	return snprintf(buf, size, "%llu", (unsigned long long)n) < (int)size;
}

static bool text(char *buf, size_t size, const char *value)
{
	return value && *value && strlen(value) < size && strcpy(buf, value);
}

#define VALUE(name, how) \
	static bool name(const struct sn_task *t, char *buf, size_t size) \
	{ \
		return how; \
	}
#define NUMBER(name, n) VALUE(name, ((void)t, number(buf, size, n)))
#define TEXT(name, s) VALUE(name, ((void)t, text(buf, size, s)))
#define AXIS(axis) \
	static bool axis##_rank(const struct sn_task *t, char *buf, size_t size) \
	{ \
		struct sn_coords at; \
\
		if (!t->layout) \
			return false; \
		sn_layout_coords(t->layout, t->rank, &at); \
		return number(buf, size, at.axis); \
	} \
	VALUE(axis##_size, t->layout && number(buf, size, t->layout->axis))

NUMBER(rank, t->rank)
NUMBER(local_rank, t->local)
NUMBER(world, t->world)
NUMBER(local_world, t->local_world)
VALUE(group_rank, t->has_group && number(buf, size, t->group))
NUMBER(group_world, t->n_nodes)
TEXT(master_addr, t->master)
NUMBER(restart_count, (uint64_t)t->restarts + t->generation)
NUMBER(max_restarts, t->max_restarts)
NUMBER(run_id, t->job)
TEXT(no, "False")
NUMBER(one, 1)

static bool role_name(const struct sn_task *t, char *buf, size_t size)
{
	switch (t->role) {
	case SN_ROLE_TRAIN:
		return text(buf, size, "train");
	case SN_ROLE_PREFILL:
		return text(buf, size, "prefill");
	case SN_ROLE_DECODE:
		return text(buf, size, "decode");
	case SN_ROLE_INFER:
		return text(buf, size, "infer");
	default:
		return text(buf, size, "default");
	}
}

static bool master_port(const struct sn_task *t, char *buf, size_t size)
{
	uint64_t n = (uint64_t)t->job + (uint64_t)t->step * PORT_STEP +
		(uint64_t)t->restarts * PORT_RESTART +
		(uint64_t)t->generation * PORT_GENERATION;

	return number(buf, size, t->port ? t->port : PORT_FIRST + n % PORTS);
}

AXIS(tp)
AXIS(cp)
AXIS(dp)
AXIS(pp)
AXIS(ep)
AXIS(etp)
AXIS(edp)

TEXT(supernode, t->supernode)
VALUE(supernode_index, t->supernode && number(buf, size, t->supernode_index))
VALUE(supernode_count, t->supernode && number(buf, size, t->n_supernodes))
TEXT(unit, t->unit)
VALUE(atom, t->layout && number(buf, size, t->atom))
VALUE(atoms, t->layout && number(buf, size, t->layout->world / t->layout->atom))
NUMBER(generation, t->generation)
NUMBER(spares, t->spares)
TEXT(job_dir, t->job_dir)
TEXT(cards, t->cards)
TEXT(node_cards, t->node_cards)
TEXT(bound, t->bound)

static bool is_ascend(const struct sn_task *t)
{
	return t->vendor == SN_VENDOR_ASCEND;
}

static bool is_nvidia(const struct sn_task *t)
{
	return t->vendor == SN_VENDOR_NVIDIA;
}

VALUE(table, is_ascend(t) && text(buf, size, t->table))
VALUE(rank_id, is_ascend(t) && rank(t, buf, size))
VALUE(rank_size, is_ascend(t) && world(t, buf, size))
/* Is card number LOCAL_RANK of the node's the rank's own? */
static bool own_at_local(const struct sn_task *t)
{
	const char *p = t->node_cards;
	uint32_t i;

	for (i = 0; p && i < t->local; i++) {
		p = strchr(p, ',');
		if (p)
			p++;
	}
	return p && t->cards && strcspn(p, ",") == strlen(t->cards) &&
		!strncmp(p, t->cards, strlen(t->cards));
}

static const char *our_visible(const struct sn_task *t)
{
	return t->policy->visible_cards && own_at_local(t) ? t->node_cards : t->cards;
}

VALUE(visible, is_ascend(t) && text(buf, size, our_visible(t)))

const char *sn_task_visible(const struct sn_task *t)
{
	if (!is_ascend(t))
		return NULL;
	return t->visible ? t->visible : our_visible(t);
}

/* Programs name a device by its place among the visible ones, counted from 0
 * (CANN's manual on ASCEND_RT_VISIBLE_DEVICES), not by its own number. */
static bool device_id(const struct sn_task *t, char *buf, size_t size)
{
	const char *p = sn_task_visible(t);
	size_t len = t->cards ? strlen(t->cards) : 0;

	if (!len || strchr(t->cards, ','))
		return false;
	for (uint32_t i = 0; p && *p; i++) {
		size_t n = strcspn(p, ",");

		if (n == len && !strncmp(p, t->cards, n))
			return number(buf, size, i);
		p += n + (p[n] == ',');
	}
	return false;
}

/* A loose node says nothing about the super pod that it may be in. */
static bool superpod(const struct sn_task *t, char *buf, size_t size)
{
	return is_ascend(t) && !t->table && !t->loose && t->supernode &&
		strlen(t->supernode) < 128 && text(buf, size, t->supernode);
}

static bool connect_timeout(const struct sn_task *t, char *buf, size_t size)
{
	uint32_t n = t->policy->hccl_connect_timeout;

	return is_ascend(t) && n &&
		number(buf, size, n < HCCL_CONNECT_LEAST ? HCCL_CONNECT_LEAST : n);
}

VALUE(hccl_if_ip, is_ascend(t) && text(buf, size, t->if_ip))
VALUE(hccl_ifname, is_ascend(t) && text(buf, size, t->policy->socket_ifname))
VALUE(hccl_base_port, is_ascend(t) && t->policy->hccl_if_base_port >= 1024 &&
      number(buf, size, t->policy->hccl_if_base_port))
TEXT(gloo_ifname, t->policy->socket_ifname)
VALUE(nccl_ifname, is_nvidia(t) && text(buf, size, t->policy->socket_ifname))
VALUE(nccl_topo, is_nvidia(t) && text(buf, size, t->policy->nccl_topo_file))
VALUE(nccl_mnnvl, is_nvidia(t) && !t->imex && text(buf, size, "0"))

static bool hints(const struct sn_task *t)
{
	return t->policy->collective_hints && t->supernode && !t->loose;
}

/* A ring suits links to neighbours; where every step may go anywhere, few
 * steps do. Full connection is what the libraries choose best by themselves. */
static bool hccl_algo(const struct sn_task *t, char *buf, size_t size)
{
	if (!is_ascend(t) || !hints(t) || t->shape == SN_SHAPE_FULL)
		return false;
	return text(buf, size, t->shape == SN_SHAPE_FATTREE ?
		    "level0:NA;level1:NHR" : "level0:NA;level1:ring");
}

static bool nccl_algo(const struct sn_task *t, char *buf, size_t size)
{
	if (!is_nvidia(t) || !hints(t) || t->shape == SN_SHAPE_FULL)
		return false;
	return text(buf, size, t->shape == SN_SHAPE_FATTREE ?
		    "Tree,Ring" : "Ring");
}

#define ALWAYS "always"
#define WHOLE "the step is the whole layout"
#define ORDER "the order of ranks is known"
#define ASCEND "ascend"
#define NVIDIA "nvidia"

const struct sn_taskvar sn_taskvars[] = {
	{ "RANK", SN_VARY_RANK, rank, ALWAYS, "the rank, 0 to WORLD_SIZE - 1" },
	{ "WORLD_SIZE", SN_VARY_NOT, world, ALWAYS, "ranks of the step" },
	{ "LOCAL_RANK", SN_VARY_LOCAL, local_rank, ALWAYS, "its number among the node's ranks" },
	{ "LOCAL_WORLD_SIZE", SN_VARY_FREE, local_world, ALWAYS, "ranks on this node" },
	{ "GROUP_RANK", SN_VARY_NODE, group_rank, ORDER, "the node's number, in the order of ranks" },
	{ "GROUP_WORLD_SIZE", SN_VARY_FREE, group_world, ALWAYS, "nodes of the step" },
	{ "ROLE_RANK", SN_VARY_RANK, rank, ALWAYS, "as RANK" },
	{ "ROLE_WORLD_SIZE", SN_VARY_NOT, world, ALWAYS, "as WORLD_SIZE" },
	{ "ROLE_NAME", SN_VARY_FREE, role_name, ALWAYS, "--role, else default" },
	{ "MASTER_ADDR", SN_VARY_NOT, master_addr, ORDER, "the node of rank 0" },
	{ "MASTER_PORT", SN_VARY_FREE, master_port, ALWAYS, "a port of this step and generation, 61000 to 65535" },
	{ "TORCHELASTIC_RESTART_COUNT", SN_VARY_FREE, restart_count, ALWAYS, "requeues and relaunches so far" },
	{ "TORCHELASTIC_MAX_RESTARTS", SN_VARY_FREE, max_restarts, ALWAYS, "snrun's --max-restarts, else 0" },
	{ "TORCHELASTIC_RUN_ID", SN_VARY_FREE, run_id, ALWAYS, "the job's number" },
	{ "TORCHELASTIC_USE_AGENT_STORE", SN_VARY_FREE, no, ALWAYS, "False: rank 0 starts the store" },
	{ "TORCH_NCCL_ASYNC_ERROR_HANDLING", SN_VARY_FREE, one, ALWAYS, "1" },
	{ "TP_RANK", SN_VARY_AXIS, tp_rank, WHOLE, "coordinate: tensor parallel" },
	{ "CP_RANK", SN_VARY_AXIS, cp_rank, WHOLE, "coordinate: context parallel" },
	{ "DP_RANK", SN_VARY_AXIS, dp_rank, WHOLE, "coordinate: data parallel" },
	{ "PP_RANK", SN_VARY_AXIS, pp_rank, WHOLE, "coordinate: pipeline stage" },
	{ "EP_RANK", SN_VARY_AXIS, ep_rank, WHOLE, "coordinate: expert parallel" },
	{ "ETP_RANK", SN_VARY_AXIS, etp_rank, WHOLE, "coordinate: tensor parallel of the experts" },
	{ "EDP_RANK", SN_VARY_AXIS, edp_rank, WHOLE, "coordinate: data parallel of the experts" },
	{ "TP_SIZE", SN_VARY_NOT, tp_size, WHOLE, "size of that axis" },
	{ "CP_SIZE", SN_VARY_NOT, cp_size, WHOLE, "the same" },
	{ "DP_SIZE", SN_VARY_NOT, dp_size, WHOLE, "the same" },
	{ "PP_SIZE", SN_VARY_NOT, pp_size, WHOLE, "the same" },
	{ "EP_SIZE", SN_VARY_NOT, ep_size, WHOLE, "the same" },
	{ "ETP_SIZE", SN_VARY_NOT, etp_size, WHOLE, "the same" },
	{ "EDP_SIZE", SN_VARY_NOT, edp_size, WHOLE, "the same" },
	{ "SUPERNODE_NAME", SN_VARY_FREE, supernode, ALWAYS, "the supernode of this rank's node" },
	{ "SUPERNODE_INDEX", SN_VARY_FREE, supernode_index, ALWAYS, "its number among those of the step" },
	{ "SUPERNODE_COUNT", SN_VARY_FREE, supernode_count, ALWAYS, "how many the step uses" },
	{ "SUPERNODE_UNIT", SN_VARY_FREE, unit, "the node is in a unit", "the unit of this rank's node" },
	{ "SUPERNODE_ATOM", SN_VARY_FREE, atom, WHOLE, "the atom that the rank is in" },
	{ "SUPERNODE_ATOMS", SN_VARY_FREE, atoms, WHOLE, "how many there are" },
	{ "SUPERNODE_JOB_DIR", SN_VARY_FREE, job_dir, ALWAYS, "the directory of the job's files" },
	{ "SUPERNODE_GENERATION", SN_VARY_FREE, generation, ALWAYS, "relaunches so far" },
	{ "SUPERNODE_SPARES", SN_VARY_FREE, spares, ALWAYS, "--spares" },
	{ "SUPERNODE_CARDS", SN_VARY_FREE, cards, "Slurm gave cards", "the rank's own card, by the number of its device file" },
	{ "SUPERNODE_NODE_CARDS", SN_VARY_FREE, node_cards, "Slurm gave cards", "all cards of the step on this node" },
	{ "SUPERNODE_CPUS", SN_VARY_FREE, bound, "Bind is not none", "the CPUs that the rank was bound to" },
	{ "ASCEND_RT_VISIBLE_DEVICES", SN_VARY_FREE, visible, ASCEND, "the rank's own card; with VisibleCards=node all of the node's, its own at LOCAL_RANK" },
	{ "DEVICE_ID", SN_VARY_CARD, device_id, ASCEND, "the place of the rank's own card in ASCEND_RT_VISIBLE_DEVICES, from 0" },
	{ "RANK_ID", SN_VARY_RANK, rank_id, ASCEND, "as RANK" },
	{ "RANK_SIZE", SN_VARY_NOT, rank_size, ASCEND, "as WORLD_SIZE" },
	{ "RANK_TABLE_FILE", SN_VARY_FREE, table, ASCEND ", there is a table of this job", "ranktable.json in SUPERNODE_JOB_DIR" },
	{ "HCCL_LOGIC_SUPERPOD_ID", SN_VARY_FREE, superpod, ASCEND ", there is no table", "the supernode" },
	{ "HCCL_CONNECT_TIMEOUT", SN_VARY_FREE, connect_timeout, ASCEND, "HcclConnectTimeout" },
	{ "HCCL_IF_IP", SN_VARY_FREE, hccl_if_ip, ASCEND ", HcclIfIp is given", "the IPv4 address of that interface" },
	{ "HCCL_IF_BASE_PORT", SN_VARY_FREE, hccl_base_port, ASCEND ", HcclIfBasePort is given", "that port" },
	{ "HCCL_SOCKET_IFNAME", SN_VARY_FREE, hccl_ifname, ASCEND ", SocketIfName is given", "that interface" },
	{ "HCCL_ALGO", SN_VARY_FREE, hccl_algo, ASCEND ", CollectiveHints=yes", "by the supernode's Shape: mesh and torus level1:ring, fattree level1:NHR, full nothing" },
	{ "NCCL_MNNVL_ENABLE", SN_VARY_FREE, nccl_mnnvl, NVIDIA ", no IMEX channel device", "0" },
	{ "NCCL_SOCKET_IFNAME", SN_VARY_FREE, nccl_ifname, NVIDIA ", SocketIfName is given", "that interface" },
	{ "NCCL_TOPO_FILE", SN_VARY_FREE, nccl_topo, NVIDIA ", NcclTopoFile is given", "that file" },
	{ "NCCL_ALGO", SN_VARY_FREE, nccl_algo, NVIDIA ", CollectiveHints=yes", "by the supernode's Shape: mesh and torus Ring, fattree Tree,Ring, full nothing" },
	{ "GLOO_SOCKET_IFNAME", SN_VARY_FREE, gloo_ifname, "SocketIfName is given", "that interface" },
	{ NULL, SN_VARY_FREE, NULL, NULL, NULL },
};
