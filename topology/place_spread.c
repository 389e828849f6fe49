/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_spread.c - share parts and nodes out over places that take both.
 *
 * Places are supernodes and parts their atoms, or units and their unit blocks.
 * With b parts a place can use any number of nodes from lo[b] to hi[b]. What all
 * together can use is such an interval too for each way to share the parts out,
 * and as a part moves from one place to another that interval moves little: the
 * number wanted is found on a way between the fewest and the most, by bisection.
 * Intervals of ways next to each other meet where a part is one node block, so
 * that nothing is missed then; else a number between two may be.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/place_internal.h"

static bool goes_first(const struct pl_heap *h, uint32_t i, uint32_t j)
{
	uint32_t a = h->index[i], b = h->index[j];

	if (h->before(h->arg, a, b))
		return true;
	return !h->before(h->arg, b, a) && a < b;
}

static void sift_down(struct pl_heap *h, uint32_t i)
{
	for (;;) {
		uint32_t first = i, t;

		for (uint32_t j = 2 * i + 1; j <= 2 * i + 2 && j < h->n; j++)
			if (goes_first(h, j, first))
				first = j;
		if (first == i)
			return;
		t = h->index[i];
		h->index[i] = h->index[first];
		h->index[first] = t;
		i = first;
	}
}

void pl_heap_build(struct pl_heap *h)
{
	for (uint32_t i = h->n / 2; i--;)
		sift_down(h, i);
}

/* The first one's key has changed; out: it has left. */
void pl_heap_again(struct pl_heap *h, bool out)
{
	if (out)
		h->index[0] = h->index[--h->n];
	sift_down(h, 0);
}

/* Parts that a place takes at once, and the nodes they add. */
struct chunk {
	uint32_t n, nodes;
};

struct sweep {
	struct chunk *chunk;
	bool most;
};

static struct chunk next_chunk(const struct pl_place *c, bool most)
{
	const uint32_t *at = (most ? c->hi : c->lo) + c->got;
	struct chunk ret = { 1, at[1] - at[0] };
	uint32_t left = c->cap - c->got, step = most ? ret.nodes : 0;

	while (ret.n < left && at[ret.n + 1] - at[ret.n] == step)
		ret.n++;
	if (most)
		ret.nodes *= ret.n;
	return ret;
}

static bool is_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct sweep *w = arg;
	uint64_t x = (uint64_t)w->chunk[a].nodes * w->chunk[b].n;
	uint64_t y = (uint64_t)w->chunk[b].nodes * w->chunk[a].n;

	return w->most ? x > y : x < y;
}

/*
 * Share `total` parts out so that they use few nodes, or many (most). record,
 * if not NULL, gets the nodes for each number of parts from the least on.
 */
int pl_sweep(struct pl_place *place, uint32_t n, uint64_t total, bool most,
	     uint32_t *record)
{
	struct sweep w = { pl_alloc(n, sizeof(*w.chunk)), most };
	struct pl_heap h = {
		.index = pl_alloc(n, sizeof(*h.index)),
		.before = is_before, .arg = &w,
	};
	uint64_t parts = 0, nodes = 0;
	int rc = w.chunk && h.index ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct pl_place *c = &place[i];

		c->got = c->min;
		parts += c->min;
		nodes += (most ? c->hi : c->lo)[c->min];
		if (c->got == c->cap)
			continue;
		w.chunk[i] = next_chunk(c, most);
		h.index[h.n++] = i;
	}
	if (!rc && parts > total)
		rc = -ENOSPC;
	if (!rc && record)
		record[parts] = (uint32_t)nodes;
	pl_heap_build(&h);
	while (!rc && parts < total && h.n) {
		uint32_t i = h.index[0];
		struct pl_place *c = &place[i];
		const uint32_t *at = most ? c->hi : c->lo;

		for (uint32_t k = w.chunk[i].n; k && parts < total; k--) {
			nodes += at[c->got + 1] - at[c->got];
			c->got++;
			parts++;
			if (record)
				record[parts] = (uint32_t)nodes;
		}
		if (c->got < c->cap)
			w.chunk[i] = next_chunk(c, most);
		pl_heap_again(&h, c->got == c->cap);
	}
	free(w.chunk);
	free(h.index);
	return rc ? rc : parts < total ? -ENOSPC : 0;
}

struct way {
	struct pl_place *place;
	uint32_t n;
	const uint32_t *from, *to; /* parts of each place at both ends */
	bool back; /* move the last places' first */
	uint64_t nodes; /* wanted */
};

/* < 0: as the parts are shared out they use fewer nodes than wanted, > 0: more. */
static int compare(const struct way *w)
{
	uint64_t lo = 0, hi = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		lo += w->place[i].lo[w->place[i].got];
		hi += w->place[i].hi[w->place[i].got];
	}
	return hi < w->nodes ? -1 : lo > w->nodes;
}

/* Share out as after t moves of one part. */
static int go(const struct way *w, uint64_t t)
{
	uint64_t off = t, on = t;

	for (uint32_t k = 0; k < w->n; k++) {
		uint32_t i = w->back ? w->n - 1 - k : k;
		uint32_t from = w->from[i], to = w->to[i];
		uint64_t *left = from > to ? &off : &on;
		uint64_t d = from > to ? from - to : to - from;

		if (d > *left)
			d = *left;
		*left -= d;
		w->place[i].got = from > to ? from - (uint32_t)d :
					      from + (uint32_t)d;
	}
	return compare(w);
}

static bool find_on(const struct way *w)
{
	uint64_t low = 0, high = 0, mid;
	int start = go(w, 0), c;

	if (!start)
		return true;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->from[i] > w->to[i])
			high += w->from[i] - w->to[i];
	c = go(w, high);
	while (c && c != start && high - low > 1) {
		mid = low + (high - low) / 2;
		c = go(w, mid);
		if (c == start) {
			low = mid;
			c = -start;
		} else {
			high = mid;
		}
	}
	/* The end itself may do, though not the way there. */
	return !c;
}

static void keep(const struct pl_place *place, uint32_t n, uint32_t *to)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = place[i].got;
}

static void fill_front(struct pl_place *place, uint32_t n, uint64_t total)
{
	for (uint32_t i = 0; i < n; i++) {
		place[i].got = place[i].min;
		total -= place[i].min;
	}
	for (uint32_t i = 0; i < n && total; i++) {
		uint64_t x = place[i].cap - place[i].min;

		if (x > total)
			x = total;
		place[i].got += (uint32_t)x;
		total -= x;
	}
}

static void share_nodes(struct pl_place *place, uint32_t n, uint64_t nodes)
{
	for (uint32_t i = 0; i < n; i++) {
		place[i].nodes = place[i].lo[place[i].got];
		nodes -= place[i].nodes;
	}
	for (uint32_t i = 0; i < n && nodes; i++) {
		uint64_t x = place[i].hi[place[i].got] - place[i].nodes;

		if (x > nodes)
			x = nodes;
		place[i].nodes += (uint32_t)x;
		nodes -= x;
	}
}

/* Share out so many parts and nodes, if may be more of both to the earlier
 * places. -ENOSPC: no way was found. */
int pl_spread(struct pl_place *place, uint32_t n, uint64_t total,
	      uint64_t nodes)
{
	uint32_t *end = pl_alloc((size_t)n * 3, sizeof(*end));
	uint32_t *few = end, *many = end + n, *front = end + 2 * (size_t)n;
	struct way w = { .place = place, .n = n, .nodes = nodes };
	bool found;
	int rc;

	if (!end)
		return -ENOMEM;
	rc = pl_sweep(place, n, total, false, NULL);
	if (!rc && compare(&w) > 0)
		rc = -ENOSPC;
	keep(place, n, few);
	if (!rc)
		rc = pl_sweep(place, n, total, true, NULL);
	if (!rc && compare(&w) < 0)
		rc = -ENOSPC;
	if (rc)
		goto out;
	keep(place, n, many);
	fill_front(place, n, total);
	keep(place, n, front);
	w.from = front;
	w.to = compare(&w) < 0 ? many : few;
	found = find_on(&w);
	w.back = true;
	found = found || find_on(&w);
	w.from = few;
	w.to = many;
	found = found || find_on(&w);
	w.back = false;
	found = found || find_on(&w);
	if (found)
		share_nodes(place, n, nodes);
	else
		rc = -ENOSPC;
out:
	free(end);
	return rc;
}
