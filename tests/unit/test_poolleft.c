/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_poolleft.c - what pools have, and what a job holds of them.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/place.h"
#include "topology/poolleft.h"
#include "topology/poolshare.h"

#define G (UINT64_C(1) << 30)
#define N(list) (sizeof(list) / sizeof((list)[0]))

static struct sn_topo *parse(const char *text)
{
	struct sn_topo *topo;
	struct sn_err err;

	if (sn_topo_parse(text, strlen(text), "t.conf", NULL, NULL, &topo, &err))
		fail_msg("%s", err.text);
	return topo;
}

static struct sn_jobspec job_of(const char *parallel, const char *pool,
				const char *spares)
{
	const struct sn_jobspec_text text = {
		.parallel = parallel, .pool = pool, .spares = spares,
	};
	struct sn_jobspec spec;
	struct sn_err err;

	if (sn_jobspec_parse(&text, 8, &spec, &err))
		fail_msg("%s", err.text);
	return spec;
}

static const char two[] = "SupernodeName=a Nodes=n[0-3] PoolMemory=1G\nSupernodeName=b Nodes=n[4-7] PoolMemory=1G\n";

static void share_of(const char *parallel, const char *pool, const char *spares,
		     const struct sn_spares_node *node, uint32_t n,
		     const uint32_t *lost, struct sn_poolleft_share *share)
{
	struct sn_jobspec spec = job_of(parallel, pool, spares);
	struct sn_topo *topo = parse(two);
	struct sn_err err;

	if (sn_poolleft_job(topo, &spec, node, n, lost, share, NULL, NULL, &err))
		fail_msg("%s", err.text);
	sn_topo_destroy(topo);
}

static void a_node_that_is_gone_takes_its_part(void **state)
{
	const struct sn_topo_supernode sn = {
		.n_nodes = 4, .has_pool = true, .pool_memory = 10 * G,
	}, none = { .n_nodes = 4 };
	const struct sn_topo_supernode great = {
		.n_nodes = 3, .has_pool = true, .pool_memory = UINT64_MAX,
	};

	(void)state;
	assert_int_equal(sn_poolleft_memory(&sn, 4), 10 * G);
	assert_int_equal(sn_poolleft_memory(&sn, 3), 10 * G * 3 / 4);
	assert_int_equal(sn_poolleft_memory(&sn, 0), 0);
	assert_int_equal(sn_poolleft_memory(&none, 4), 0);
	assert_true(sn_poolleft_memory(&great, 2) == UINT64_MAX / 3 * 2);
}

static void more_than_there_is_leaves_nothing(void **state)
{
	uint64_t left = G, endless = UINT64_MAX;

	(void)state;
	sn_poolleft_take(&left, G / 4);
	assert_int_equal(left, G / 4 * 3);
	sn_poolleft_take(&left, 2 * G);
	assert_int_equal(left, 0);
	sn_poolleft_take(&endless, G);
	assert_true(endless == UINT64_MAX);
}

/* As it is placed: 1G for 16 ranks on two nodes; the third stands by. */
static void a_spare_holds_nothing(void **state)
{
	/* In slurmctld's order, which need not be the topology's. */
	static const struct sn_spares_node node[] = { { 2, 8 }, { 0, 8 }, { 1, 8 } };
	struct sn_poolleft_share share[2];

	(void)state;
	share_of("tp=8,dp=2", "1G", "1", node, N(node), NULL, share);
	assert_int_equal(share[0].bytes, G);
	assert_int_equal(share[0].ranks, 16);
	assert_int_equal(share[0].nodes, 2);
	assert_int_equal(share[1].bytes, 0);
	share_of("tp=8,dp=2", "256M/node,bw=1G", "1", node, N(node), NULL, share);
	assert_int_equal(share[0].bytes, G / 2);
	assert_int_equal(share[0].bandwidth, 2 * G);
	share_of("tp=8,dp=2", "16M/card", "1", node, N(node), NULL, share);
	assert_int_equal(share[0].bytes, G / 4);
	share_of("tp=8,dp=2", "100M/supernode", "1", node, N(node), NULL, share);
	assert_int_equal(share[0].bytes, UINT64_C(100) << 20);
}

static void a_spare_that_takes_over_changes_nothing(void **state)
{
	static const struct sn_spares_node node[] = {
		{ 0, 8 }, { 1, 8 }, { 4, 8 }, { 5, 8 },
	}, uneven[] = { { 0, 4 }, { 2, 8 }, { 3, 8 } };
	/* a had three nodes, one of which stood by, and b two. */
	const uint32_t lost[] = { 1, 0 };
	struct sn_poolleft_share share[2];

	(void)state;
	share_of("tp=8,dp=3", "768M", "1", node, N(node), lost, share);
	assert_int_equal(share[0].bytes, G / 2);
	assert_int_equal(share[1].bytes, G / 4);
	assert_int_equal(share[0].nodes, 2);
	assert_int_equal(share[1].nodes, 1);
	/* Nobody says where: then each may run two nodes' ranks, and no more. */
	share_of("tp=8,dp=3", "768M", "1", node, N(node), NULL, share);
	assert_int_equal(share[0].bytes, G / 2);
	assert_int_equal(share[1].bytes, G / 2);
	/* 4 + 4 + 8 ranks and a spare of 8; one of the fours has gone, and the
	 * spare has its ranks. */
	share_of("dp=16", "256M", "1", uneven, N(uneven), lost, share);
	assert_int_equal(share[0].ranks, 16);
	assert_int_equal(share[0].bytes, G / 4);
}

static void what_has_shrunk_holds_less(void **state)
{
	static const struct sn_spares_node node[] = { { 0, 8 }, { 4, 8 } };
	struct sn_poolleft_share share[2];

	(void)state;
	/* Four nodes of 256M each, two of which were given back. */
	share_of("tp=8,dp=4", "1G", NULL, node, N(node), NULL, share);
	assert_int_equal(share[0].bytes, G / 4);
	assert_int_equal(share[1].bytes, G / 4);
	share_of("tp=8,dp=4", "1G", NULL, node, 1, NULL, share);
	assert_int_equal(share[0].bytes, G / 4);
	assert_int_equal(share[1].bytes, 0);
}

static void the_ranks_come_in_the_callers_order(void **state)
{
	static const struct sn_spares_node node[] = { { 2, 8 }, { 0, 8 }, { 1, 8 } };
	struct sn_jobspec spec = job_of("tp=8,dp=2", "1G", "1");
	struct sn_topo *topo = parse(two);
	struct sn_poolleft_share share[2];
	uint32_t ranks[3];
	bool lost = true;

	(void)state;
	assert_int_equal(sn_poolleft_job(topo, &spec, node, 3, NULL, share, ranks,
					 &lost, NULL), 0);
	assert_false(lost);
	assert_int_equal(ranks[0], 0);
	assert_int_equal(ranks[1], 8);
	assert_int_equal(ranks[2], 8);
	assert_int_equal(sn_poolleft_job(topo, &spec, node, 2, NULL, share, ranks,
					 &lost, NULL), 0);
	assert_true(lost);
	assert_int_equal(ranks[0] + ranks[1], 16);
	sn_topo_destroy(topo);
}

static void a_node_twice_is_refused(void **state)
{
	static const struct sn_spares_node node[] = { { 2, 8 }, { 2, 8 } };
	struct sn_jobspec spec = job_of("tp=8,dp=2", "1G", "1");
	struct sn_topo *topo = parse(two);
	struct sn_poolleft_share share[2];
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_poolleft_job(topo, &spec, node, 2, NULL, share, NULL,
					 NULL, &err), -EINVAL);
	sn_topo_destroy(topo);
}

/* ---- never promised twice ------------------------------------------------------- */

/*
 * Jobs start, end, shrink and lose nodes, and nodes go and come back, at random.
 * Each start is decided as slurmctld decides it: by what poolleft derives from
 * who holds which cards. The book beside it is kept from the start of each job.
 */
#define NODES 12
#define SUPERNODES 3
#define JOBS 24

struct running {
	bool on;
	struct sn_jobspec spec;
	struct sn_spares_node node[NODES];
	uint32_t n, lost[SUPERNODES];
	uint64_t has[SUPERNODES]; /* the book */
	bool certain; /* nothing was lost but where it shows */
};

struct world {
	struct sn_topo *topo;
	bool up[NODES];
	struct running job[JOBS];
	uint64_t starts, refusals, losses;
};

static uint32_t roll(uint32_t n)
{
	return (uint32_t)(rand() % (int)n);
}

static uint32_t count_up(const struct world *w, uint32_t s)
{
	const struct sn_topo_supernode *sn = &w->topo->supernode[s];
	uint32_t n = 0;

	for (uint32_t i = 0; i < sn->n_nodes; i++)
		n += w->up[sn->first_node + i];
	return n;
}

static void derive(const struct world *w, struct sn_place_node *node,
		   struct sn_place_supernode *sn)
{
	struct sn_poolleft_share share[SUPERNODES];

	for (uint32_t s = 0; s < SUPERNODES; s++)
		sn[s] = (struct sn_place_supernode){
			.pool_free = sn_poolleft_memory(&w->topo->supernode[s],
							count_up(w, s)),
			.bandwidth_free = UINT64_MAX,
		};
	for (uint32_t i = 0; i < NODES; i++)
		node[i] = (struct sn_place_node){
			.cards = 255, .free = 255, .weight = 1, .max_ranks = 8,
			.flags = w->up[i] ? 0 : SN_NODE_ABSENT,
		};
	for (uint32_t j = 0; j < JOBS; j++) {
		const struct running *job = &w->job[j];

		if (!job->on)
			continue;
		assert_int_equal(sn_poolleft_job(w->topo, &job->spec, job->node,
						 job->n, roll(2) ? job->lost : NULL,
						 share, NULL, NULL, NULL), 0);
		for (uint32_t s = 0; s < SUPERNODES; s++) {
			/* Too much at worst, where what is known leaves it open. */
			assert_true(share[s].bytes >= job->has[s]);
			assert_true(!job->certain || share[s].bytes == job->has[s]);
			sn_poolleft_take(&sn[s].pool_free, share[s].bytes);
		}
		for (uint32_t i = 0; i < job->n; i++)
			node[job->node[i].node].free &=
				~((UINT64_C(1) << job->node[i].cards) - 1) << (8 - __builtin_popcountll(node[job->node[i].node].free));
	}
}

static void start(struct world *w, struct running *job)
{
	static const char *const pools[] = { "100M", "300M", "64M/node", "8M/card", "120M/supernode", "1G" };
	static const char *const layouts[] = { "tp=8", "tp=8,dp=2", "tp=8,dp=4", "tp=8,ep=16,etp=1,dp=4", "tp=8,ep=16,etp=1,dp=2" };
	static const char *const spares[] = { NULL, "1", "2" };
	struct sn_place_node node[NODES];
	struct sn_place_supernode sn[SUPERNODES];
	const struct sn_place_state state = { .node = node, .supernode = sn };
	struct sn_place_request request;
	struct sn_placement placed = { 0 };

	memset(job, 0, sizeof(*job));
	job->spec = job_of(layouts[roll(N(layouts))], pools[roll(N(pools))],
			   spares[roll(N(spares))]);
	derive(w, node, sn);
	sn_place_request_init(&request, &job->spec);
	if (sn_place(w->topo, &state, &request, &placed, NULL)) {
		w->refusals++;
		return;
	}
	for (uint32_t i = 0; i < placed.n_supernodes; i++) {
		const struct sn_placed_supernode *s = &placed.supernode[i];

		job->has[s->supernode] = sn_poolshare_supernode(
			job->spec.pool.per, job->spec.pool.size,
			s->atoms * job->spec.layout.atom, s->n,
			job->spec.layout.world);
	}
	for (uint32_t i = 0; i < placed.n_nodes; i++)
		job->node[job->n++] = (struct sn_spares_node){
			placed.node[i].node, placed.node[i].ranks };
	for (uint32_t i = 0; i < placed.n_spares; i++)
		job->node[job->n++] = (struct sn_spares_node){
			placed.spare[i].node, placed.spare[i].cards };
	sn_placement_done(&placed);
	job->on = job->certain = true;
	w->starts++;
	/* What is promised by now is there by now. */
	for (uint32_t s = 0; s < SUPERNODES; s++) {
		uint64_t all = 0;

		for (uint32_t j = 0; j < JOBS; j++)
			all += w->job[j].on ? w->job[j].has[s] : 0;
		if (job->has[s])
			assert_true(all <= sn_poolleft_memory(&w->topo->supernode[s],
							      count_up(w, s)));
	}
}

static uint32_t nodes_in(const struct world *w, const struct running *job, uint32_t s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < job->n; i++)
		n += w->topo->node[job->node[i].node].supernode == s;
	return n;
}

/* A job with spares goes on, with one of them in the node's place, as long as
 * there is one; other jobs end. */
static void lose(struct world *w, uint32_t node)
{
	uint32_t s = w->topo->node[node].supernode;

	w->up[node] = false;
	for (uint32_t j = 0; j < JOBS; j++) {
		struct running *job = &w->job[j];
		uint32_t i = 0;

		while (i < job->n && job->node[i].node != node)
			i++;
		if (!job->on || i == job->n)
			continue;
		if (job->lost[s] == job->spec.spares) {
			job->on = false;
			continue;
		}
		w->losses++;
		job->lost[s]++;
		job->node[i] = job->node[--job->n];
		/* derive() may or may not tell where. */
		job->certain = nodes_in(w, job, s) == job->n;
	}
}

static void nothing_is_promised_twice(void **state)
{
	struct world w = {
		.topo = parse("SupernodeName=a,b,c Nodes=n[0-11] NodesPerSupernode=4 PoolMemory=400M\n"),
	};

	(void)state;
	srand(7);
	for (uint32_t i = 0; i < NODES; i++)
		w.up[i] = true;
	for (int n = 0; n < 20000; n++) {
		struct running *job = &w.job[roll(JOBS)];
		uint32_t node = roll(NODES);

		switch (roll(8)) {
		case 0:
			if (w.up[node])
				lose(&w, node);
			break;
		case 1:
		case 2:
			w.up[node] = true;
			break;
		case 3:
			job->on = false;
			break;
		default:
			if (!job->on)
				start(&w, job);
		}
	}
	print_message("%llu starts, %llu refused, %llu nodes lost under a job\n",
		      (unsigned long long)w.starts, (unsigned long long)w.refusals,
		      (unsigned long long)w.losses);
	assert_true(w.starts > 1000 && w.refusals > 1000 && w.losses > 100);
	sn_topo_destroy(w.topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_that_is_gone_takes_its_part),
		cmocka_unit_test(more_than_there_is_leaves_nothing),
		cmocka_unit_test(a_spare_holds_nothing),
		cmocka_unit_test(a_spare_that_takes_over_changes_nothing),
		cmocka_unit_test(what_has_shrunk_holds_less),
		cmocka_unit_test(the_ranks_come_in_the_callers_order),
		cmocka_unit_test(a_node_twice_is_refused),
		cmocka_unit_test(nothing_is_promised_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
