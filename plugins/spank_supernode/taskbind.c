/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskbind.c - CPUs and memory near each rank's card.
 *
 * Every task of a node decides for all of them and takes its part; what goes
 * into the decision is the same for all: the topology, the step's CPUs, the cards.
 */
#include "plugins/compat.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "slurm/spank.h"

#include "launcher/bind.h"
#include "launcher/bindcard.h"
#include "plugins/spank_supernode/taskbind.h"

struct taskbind {
	enum sn_bind_mode mode;
	hwloc_topology_t topology;
	struct sn_policy policy;
	/* All cards of this machine. */
	uint32_t card[SN_BIND_RANKS_MAX];
	uint32_t n_cards;
	/* Shared by the tasks: one sentence a node is enough. */
	atomic_flag *told;
	struct sn_err why; /* there is no topology */
};

struct ranks {
	uint32_t card[SN_BIND_RANKS_MAX];
	hwloc_obj_t near[SN_BIND_RANKS_MAX];
	uint32_t n, me;
};

#define tell(bind, ...) \
	do { \
		if (!(bind)->told || !atomic_flag_test_and_set((bind)->told)) \
			slurm_error("supernode: " __VA_ARGS__); \
	} while (0)

struct taskbind *taskbind_prepare(const char *mode,
				  const struct sn_policy *policy)
{
	static const char *const word[] = { "none", "locality", "slices" };
	struct taskbind *bind;
	uint32_t m = policy->bind, i;
	bool known = !mode || !*mode;

	for (i = 0; !known && i < 3; i++)
		if (!strcasecmp(mode, word[i])) {
			m = i;
			known = true;
		}
	if (known && m == SN_BIND_NONE)
		return NULL;
	bind = calloc(1, sizeof(*bind));
	if (!bind)
		return NULL;
	bind->mode = m;
	bind->policy = *policy;
	bind->told = mmap(NULL, sizeof(*bind->told), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bind->told == MAP_FAILED)
		bind->told = NULL;
	if (!known)
		sn_err_set(&bind->why, 0,
			   "SUPERNODE_BIND=%s: want none, locality or slices",
			   mode);
	else if (!sn_bind_load(NULL, &bind->topology, &bind->why))
		bind->n_cards = sn_bind_cards_here("", sn_policy_vendor(policy),
						   bind->card,
						   SN_BIND_RANKS_MAX);
	return bind;
}

static uint32_t parse_cards(const char *list, uint32_t *ret, uint32_t max)
{
	uint32_t n = 0;

	while (list && *list && n < max) {
		char *end;

		ret[n++] = (uint32_t)strtoul(list, &end, 10);
		if (end == list || (*end && *end != ','))
			return 0;
		list = *end ? end + 1 : end;
	}
	return n;
}

static bool find_me(struct ranks *ranks, uint32_t card)
{
	for (ranks->me = 0; ranks->me < ranks->n; ranks->me++)
		if (ranks->card[ranks->me] == card)
			return true;
	return false;
}

/*
 * Who shares the CPUs. Where Slurm keeps the job to CPUs of its own (by a cpuset,
 * or task/affinity's mask): the step's cards. Where it does not, all cards of the
 * node, so that the ranks of two jobs do not meet. Without a card of one's own:
 * the tasks.
 */
static void find_ranks(const struct taskbind *bind, bool confined,
		       uint32_t local, uint32_t local_world, const char *cards,
		       const char *node_cards, struct ranks *ret)
{
	uint32_t own[2];
	bool one = parse_cards(cards, own, 2) == 1;

	if (one && !confined && bind->n_cards) {
		memcpy(ret->card, bind->card, bind->n_cards * sizeof(*ret->card));
		ret->n = bind->n_cards;
		if (find_me(ret, own[0]))
			return;
	}
	if (one) {
		ret->n = parse_cards(node_cards, ret->card, SN_BIND_RANKS_MAX);
		if (ret->n >= local_world && find_me(ret, own[0]))
			return;
	}
	ret->n = local_world;
	ret->me = local;
	memset(ret->card, 0xff, sizeof(ret->card));
}

static void find_near(const struct taskbind *bind, struct ranks *ranks)
{
	enum sn_vendor vendor = sn_policy_vendor(&bind->policy);
	char pci[SN_PCI_MAX];
	uint32_t i;

	/* More tasks than that are refused by sn_bind_decide(). */
	for (i = 0; i < ranks->n && i < SN_BIND_RANKS_MAX; i++) {
		ranks->near[i] = NULL;
		if (ranks->card[i] == UINT32_MAX)
			continue;
		if (!sn_bind_card_pci("", vendor, bind->policy.card_pci,
				      ranks->card[i], pci))
			ranks->near[i] = sn_bind_near_pci(bind->topology, pci);
		if (!ranks->near[i])
			ranks->near[i] = sn_bind_near_name(bind->topology,
							   ranks->card[i]);
	}
}

/* What the cgroup allows: the kernel cuts a wish for everything down to it. */
static void find_allowed(const struct taskbind *bind, hwloc_const_cpuset_t mask,
			 hwloc_cpuset_t ret)
{
	hwloc_topology_t topology = bind->topology;

	hwloc_bitmap_copy(ret, mask);
	if (!hwloc_set_cpubind(topology,
			       hwloc_topology_get_complete_cpuset(topology),
			       HWLOC_CPUBIND_THREAD) &&
	    hwloc_get_cpubind(topology, ret, HWLOC_CPUBIND_THREAD))
		hwloc_bitmap_copy(ret, mask);
	hwloc_set_cpubind(topology, mask, HWLOC_CPUBIND_THREAD);
}

static char *list_text(hwloc_const_bitmap_t set)
{
	char *text = NULL;

	return hwloc_bitmap_list_asprintf(&text, set) < 0 ? NULL : text;
}

/* mask: what Slurm bound this task to. */
static bool take(const struct taskbind *bind, const struct sn_bind *decided,
		 const struct ranks *ranks, hwloc_const_cpuset_t mask,
		 char *ret, size_t size)
{
	hwloc_cpuset_t set = hwloc_bitmap_dup(decided->cpus[ranks->me]);
	hwloc_const_nodeset_t memory = decided->memory[ranks->me];
	char *want = list_text(decided->cpus[ranks->me]), *has = list_text(mask);
	bool done = false;

	if (set)
		hwloc_bitmap_and(set, set, mask);
	if (!set || !want || !has) {
		tell(bind, "the ranks are not bound: out of memory");
	} else if (hwloc_bitmap_iszero(set)) {
		tell(bind, "ranks are not bound, for Slurm has bound them to other CPUs than those near their cards (to %s, not %s); use --cpu-bind=none, or TaskPluginParam=none in slurm.conf",
		     has, want);
	} else if (hwloc_set_cpubind(bind->topology, set, HWLOC_CPUBIND_THREAD)) {
		hwloc_set_cpubind(bind->topology, mask, HWLOC_CPUBIND_THREAD);
		tell(bind, "ranks are not bound: CPUs %s: %m", want);
	} else {
		/* Preferred, not forced; a kernel that cannot is no harm. */
		if (memory)
			hwloc_set_membind(bind->topology, memory,
					  HWLOC_MEMBIND_BIND,
					  HWLOC_MEMBIND_THREAD |
					  HWLOC_MEMBIND_BYNODESET);
		done = hwloc_bitmap_list_snprintf(ret, size, set) < (int)size;
	}
	free(want);
	free(has);
	hwloc_bitmap_free(set);
	return done;
}

/*
 * Is the mask the step's, or this task's alone? Without a binding of its own
 * task/affinity leaves each task all CPUs that the step has on the node: "none", or
 * where these are not all, "mask_cpu:0xf,0xf" with a mask for each task.
 */
static bool mask_is_the_steps(const char *slurms)
{
	const char *mask = slurms ? strstr(slurms, "mask_cpu:") : NULL, *p;
	size_t len;

	if (!mask)
		return !slurms || !strchr(slurms, ':');
	mask += strlen("mask_cpu:");
	len = strcspn(mask, ",");
	for (p = mask + len; *p == ','; p += 1 + len)
		if (strncmp(p + 1, mask, len) || (p[1 + len] && p[1 + len] != ','))
			return false;
	return true;
}

static bool apply(const struct taskbind *bind, struct ranks *ranks,
		  uint32_t local, uint32_t local_world, const char *cards,
		  const char *node_cards, const char *slurms, char *ret,
		  size_t size)
{
	hwloc_cpuset_t mask = hwloc_bitmap_alloc();
	hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
	struct sn_bind decided = { .n = 0 };
	struct sn_bind_ask ask = { .topology = bind->topology };
	struct sn_err err;
	bool done = false;

	if (!mask || !allowed ||
	    hwloc_get_cpubind(bind->topology, mask, HWLOC_CPUBIND_THREAD)) {
		tell(bind, "the ranks are not bound: their CPUs cannot be read: %m");
		goto out;
	}
	if (mask_is_the_steps(slurms))
		hwloc_bitmap_copy(allowed, mask);
	else
		find_allowed(bind, mask, allowed);
	find_ranks(bind, !hwloc_bitmap_isincluded(hwloc_topology_get_topology_cpuset(bind->topology), allowed),
		   local, local_world, cards, node_cards, ranks);
	if (bind->mode == SN_BIND_LOCALITY)
		find_near(bind, ranks);
	ask.allowed = allowed;
	ask.near = bind->mode == SN_BIND_LOCALITY ? ranks->near : NULL;
	ask.n = ranks->n;
	if (sn_bind_decide(&ask, &decided, &err))
		tell(bind, "the ranks are not bound: %s", err.text);
	else
		done = take(bind, &decided, ranks, mask, ret, size);
	sn_bind_done(&decided);
out:
	hwloc_bitmap_free(mask);
	hwloc_bitmap_free(allowed);
	return done;
}

bool taskbind_apply(const struct taskbind *bind, uint32_t local,
		    uint32_t local_world, const char *cards,
		    const char *node_cards, const char *slurms, char *ret,
		    size_t size)
{
	struct ranks *ranks;
	bool done;

	if (!bind)
		return false;
	if (!bind->topology) {
		tell(bind, "the ranks are not bound: %s", bind->why.text);
		return false;
	}
	ranks = calloc(1, sizeof(*ranks));
	if (!ranks)
		return false;
	done = apply(bind, ranks, local, local_world, cards, node_cards,
		     slurms, ret, size);
	free(ranks);
	return done;
}
