/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bind.h - which CPUs and which memory each rank of a node should use.
 *
 * A pure decision over a loaded topology: it binds nothing. Every process of a
 * node that asks the same gets the same answer, so each rank decides for all
 * and takes its own part.
 *
 * Ranks whose cards hang from the same place share its CPUs evenly: the smallest
 * share is as large as it can be, then the next, and so on. What is shared out
 * are whole cores, or, where these are too few, hardware threads. Promises:
 * - each set is part of "allowed" and not empty;
 * - no two sets meet, unless there are more ranks than hardware threads;
 * - where the place of a card is known and has allowed CPUs, enough for one a
 *   rank, the rank's set is there; else it is in the nearest place around it
 *   that has, or anywhere; "how" says which.
 * Memory is what to prefer, never what to insist on: hosts swap before they
 * use another node's memory otherwise.
 */
#ifndef SN_LAUNCHER_BIND_H
#define SN_LAUNCHER_BIND_H

#include <stdint.h>

#include <hwloc.h>

#include "topology/err.h"

/* As in supernode.conf's Bind, in its order. */
enum sn_bind_mode { SN_BIND_NONE, SN_BIND_LOCALITY, SN_BIND_SLICES };

/* More on one node is a slip. */
#define SN_BIND_RANKS_MAX 1024

enum sn_bind_how {
	SN_BIND_SLICE, /* an even part of all: nothing is known of the card */
	SN_BIND_LOCAL, /* where the card is */
	SN_BIND_NEAREST, /* no allowed CPU where the card is: next around it */
	SN_BIND_REMOTE, /* fewer threads there than ranks: anywhere */
	SN_BIND_SHARED, /* more ranks than threads: together with others */
};

struct sn_bind_ask {
	hwloc_topology_t topology;
	hwloc_const_cpuset_t allowed; /* what all ranks of the node may use */
	/* [n] where each rank's card is: any object, I/O ones too; NULL: not
	 * known. NULL instead of the array: slices. In the order of cards. */
	const hwloc_obj_t *near;
	uint32_t n;
};

struct sn_bind {
	hwloc_cpuset_t *cpus; /* [n] */
	hwloc_nodeset_t *memory; /* [n] NULL: no preference */
	enum sn_bind_how *how; /* [n] */
	uint32_t n;
};

/* -ENOSPC: none of the allowed CPUs is in the topology; -E2BIG; -ENOMEM. */
int sn_bind_decide(const struct sn_bind_ask *ask, struct sn_bind *ret,
		   struct sn_err *err);
void sn_bind_done(struct sn_bind *bind);

/*
 * This machine, or the XML of another one, with I/O devices and with the CPUs
 * outside this process's cgroup. The back ends that ask GPU libraries are left
 * out: they are slow, and may hang with a sick card.
 * -EIO with a sentence. hwloc_topology_destroy() ends it.
 */
int sn_bind_load(const char *xml, hwloc_topology_t *ret, struct sn_err *err);

/* Where the PCI device is, as "0000:81:00.0"; NULL: not in the topology. */
hwloc_obj_t sn_bind_near_pci(hwloc_topology_t topology, const char *bus_id);
/* Where hwloc itself knows accelerator number `card` (cuda0, rsmi0, …). */
hwloc_obj_t sn_bind_near_name(hwloc_topology_t topology, uint32_t card);

#endif
