/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compat.h - what differs between the Slurms that the plugins are built for.
 *
 * Everything else includes this file and is written for all of them. To add a
 * version: build, fix what the compiler and tests/plugins say here, and add
 * the version's golden symbol lists.
 */
#ifndef SN_PLUGINS_COMPAT_H
#define SN_PLUGINS_COMPAT_H

#include "src/common/slurm_xlator.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#define SN_SLURM_AT_LEAST(major, minor) \
	(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

/* 24.11 loads every select_*.so that it finds and wants ids that differ, so
 * that of cons_tres (109) is taken; later Slurms load only the configured one
 * and recognise cons_tres by its id. The number is on the wire: keep it. */
#if SN_SLURM_AT_LEAST(25, 5)
#define SN_SELECT_PLUGIN_ID 109
#define SN_SELECT_PLUGIN_ID_CONS_TRES 109
#else
#define SN_SELECT_PLUGIN_ID 191
#define SN_SELECT_PLUGIN_ID_CONS_TRES 192
#endif

/* Slurm's own topologies are 100 to 103. The number is on the wire. */
#define SN_TOPOLOGY_PLUGIN_ID 191

/* What slurm_load_job() wants. */
#if SN_SLURM_AT_LEAST(26, 5)
#define SN_WHICH_JOB(id) \
	((slurm_step_id_t){ .job_id = (id), .step_id = NO_VAL, \
			    .step_het_comp = NO_VAL })
#else
#define SN_WHICH_JOB(id) (id)
#endif

/* Who puts a step's ranks in the layout's order: in 24.11 select/supernode, as
 * the step starts. Later Slurms ask no plugin then, so cli_filter/supernode has
 * srun itself name the node of each rank, where Slurm's order is another one. */
#define SN_SELECT_ORDERS_RANKS (!SN_SLURM_AT_LEAST(25, 5))

/* A job without -N is held to the partition's MaxNodes by its tasks. */
#define SN_LIMITS_IMPLICIT_NODES SN_SLURM_AT_LEAST(26, 5)
#if SN_SLURM_AT_LEAST(26, 5)
#define SN_IMPLICIT_NODES(job_ptr) ((job_ptr)->bit_flags & JOB_IMPLICIT_MAX_NODES)
#else
#define SN_IMPLICIT_NODES(job_ptr) false
#endif

/* Several topologies at once came with 25.05, and with them a context. Ours
 * is the only one, so it is not looked at. */
#if SN_SLURM_AT_LEAST(25, 5)
#define SN_TOPO_CTX_ONLY topology_ctx_t *tctx
#define SN_TOPO_CTX , void *tctx
#define SN_TOPO_UNUSED_CTX ((void)tctx)
#define SN_TOPO_PRINT_ARGS void *info, char *nodes, char *unit, char **out
#define SN_TOPO_UNIT unit
#define SN_TOPO_COMMON_CTX , tctx
#else
#define SN_TOPO_CTX_ONLY void
#define SN_TOPO_CTX
#define SN_TOPO_UNUSED_CTX ((void)0)
#define SN_TOPO_PRINT_ARGS void *info, char *nodes, char **out
#define SN_TOPO_UNIT NULL
#define SN_TOPO_COMMON_CTX
#endif

#if SN_SLURM_AT_LEAST(25, 11)
#define SN_TOPO_INFO(op) topology_p_topoinfo_##op
#else
#define SN_TOPO_INFO(op) topology_p_topology_##op
#endif

/* Of gres.h, which not everything includes: cards by their places on the node. In
 * 26.05 only cards with a UUID have that, so there ConstrainDevices=yes makes
 * every task's card the node's first one in its variables. */
#if SN_SLURM_AT_LEAST(26, 5)
#define SN_GRES_GLOBAL_INDEX 0
#else
#define SN_GRES_GLOBAL_INDEX GRES_CONF_GLOBAL_INDEX
#endif

/* The tasks that a node can have are bounded by those of the job. */
#define SN_BOUNDS_TASKS_PER_NODE SN_SLURM_AT_LEAST(25, 11)

/* In Slurm's lists of cards that are reserved a bit is a card; before, a line of
 * gres.conf. */
#define SN_GRES_EXC_BY_CARD SN_SLURM_AT_LEAST(25, 5)

/* The partition flag's brother in SelectTypeParameters, memory there, and the sum of a
 * node's resources by which Slurm sheds nodes. */
#if SN_SLURM_AT_LEAST(25, 11)
#define SN_SELECT_LLN SELECT_LLN
#define SN_SELECT_MEMORY SELECT_MEMORY
#define SN_AVAIL_RES(res) ((res)->avail_res_prod)
#else
#define SN_SELECT_LLN CR_LLN
#define SN_SELECT_MEMORY CR_MEMORY
#define SN_AVAIL_RES(res) ((res)->avail_res_cnt)
#endif

#endif
