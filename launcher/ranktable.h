/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranktable.h - HCCL's rank tables: written from a plan and an inventory, and
 * judged by the rules of HCCL's documentation.
 *
 * The rules (HCCL user guide, "Configuring cluster information"):
 *	1.0	Atlas A2, and A3 without super pods. All values are strings.
 *		status "completed"; server_count = servers; server_id unique, 1 to
 *		64 characters; at most 16 devices a server, device_id 0 to 15 and
 *		unique there; rank_ids 0 to N-1, those of a server consecutive;
 *		device_ip unique, of one family, and given with more than one
 *		server; ports 1 to 65535, host_port unique on a server; a backup
 *		address is the other die's, at another port than that die's own.
 *	1.2	Atlas A3 super pods: as 1.0; super_device_id given, and unique in
 *		a super pod; each server in one super_pod_list entry, the servers
 *		of one listed together; device_ip is needed with more than one.
 *	2.0	Ascend 950. Numbers are integers. rank_count = ranks, to 65536;
 *		local_id, device_id 0 to 64; 1 to 8 levels, net_layer 0 first and
 *		ascending to 7; layer 0 is TOPO_FILE_DESC, others that or CLOS; to
 *		24 addresses a layer, EID, IPV4 or IPV6; to 16 ports an address, a
 *		port with one address only.
 * That net_layers are consecutive is what the documentation says and its own
 * example (0, 3) does not do, so ascending is enough here.
 */
#ifndef SN_LAUNCHER_RANKTABLE_H
#define SN_LAUNCHER_RANKTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/inventory.h"
#include "launcher/plan.h"
#include "topology/err.h"
#include "topology/policy.h"

struct json_object;

#define SN_RT_FILE "ranktable.json"
#define SN_RT_SERVER_ID_MAX 64
#define SN_RT_POD_ID_MAX 127
#define SN_RT_SERVER_DEVICES 16 /* 1.x: dies of a server */
#define SN_RT_DEVICE_MAX 64 /* 2.0: the largest local_id and device_id */
#define SN_RT_RANKS_MAX 65536

/* One rank as a table has it; texts are of the table. */
struct sn_rt_rank {
	uint32_t server; /* number in the table's order; 2.0: of layer 0's instance */
	const char *server_id; /* 2.0: layer 0's net_instance_id */
	uint32_t device_id;
	const char *device_ip; /* NULL: not given, as all below */
	bool has_super_device_id;
	uint32_t super_device_id;
	struct json_object *levels; /* 2.0 */
};

struct sn_ranktable {
	enum sn_rank_table version;
	struct sn_rt_rank *rank; /* [n_ranks], by rank_id */
	uint32_t n_ranks;
	uint32_t n_servers, n_super_pods; /* the latter 0 but in 1.2 */
	struct json_object *root;
};

/* Judge a table by the rules of the version it says it has. -EINVAL with one
 * sentence that begins with file; -EAGAIN where it is cut short or not yet
 * "completed". Owned by the caller (sn_ranktable_done). */
int sn_ranktable_parse(const char *text, size_t len, const char *file,
		       struct sn_ranktable *ret, struct sn_err *err);
void sn_ranktable_done(struct sn_ranktable *table);

/* 2.0's level_list of one card; where begins the sentence. */
int sn_rt_check_levels(struct json_object *list, const char *where,
		       struct sn_err *err);

/*
 * The text of a table for the plan, which every rule holds for. -EINVAL where
 * one does not: for an order of ranks that the version does not take, with the
 * order that it would take. Owned by the caller (free).
 */
int sn_ranktable_build(const struct sn_plan *plan,
		       const struct sn_inventory *inv,
		       enum sn_rank_table version, char **ret_text,
		       struct sn_err *err);

/*
 * Is the file at path a table for this plan? inv may be NULL, then addresses are
 * not compared, and the servers' ids only where some are names of nodes of the
 * plan. version NONE: any. -ENOENT missing, -EAGAIN half-written, -ESTALE of
 * another generation, world or nodes, -EINVAL no table or one that breaks a rule.
 */
int sn_ranktable_judge(const char *path, const struct sn_plan *plan,
		       const struct sn_inventory *inv,
		       enum sn_rank_table version, struct sn_err *err);

/*
 * Write dir/ranktable.json for the plan as policy says: the inventory is read,
 * the table is built, written whole (temporary file, fsync, rename; so it is
 * "completed" from the first moment it is there), and read back. Without
 * RankTable in policy a table of an earlier start is removed, and so it is where
 * this one's cannot be written. Returns 1 if there is one now, 0 if none is
 * wanted, -errno.
 */
int sn_ranktable_write(const struct sn_plan *plan,
		       const struct sn_policy *policy, const char *dir,
		       struct sn_err *err);

/* Could it be written? The inventory is read, and the table made, for nothing. */
int sn_ranktable_try(const struct sn_plan *plan, const struct sn_policy *policy,
		     struct sn_err *err);

/* The plan's nodes that run ranks, as the inventory wants them. Owned by the
 * caller (free); *ret_n of them. */
int sn_ranktable_wants(const struct sn_plan *plan, struct sn_inv_want **ret,
		       uint32_t *ret_n, struct sn_err *err);

/* ranktable1.c, ranktable2.c: the JSON of a version. NULL without memory. */
struct json_object *sn_rt_build_1(const struct sn_plan *plan,
				  const struct sn_inventory *inv,
				  const uint32_t *order, uint32_t n,
				  enum sn_rank_table version);
struct json_object *sn_rt_build_2(const struct sn_plan *plan,
				  const struct sn_inventory *inv);
/* ranktablecheck1.c, ranktablecheck2.c: table->root's rules; the rest of *table
 * is filled. */
int sn_rt_check_1(struct sn_ranktable *table, const char *file, struct sn_err *err);
int sn_rt_check_2(struct sn_ranktable *table, const char *file, struct sn_err *err);

#endif
