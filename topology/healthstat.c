/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthstat.c - the arithmetic of the health engine.
 *
 * Without libm: plugins are linked with the core too.
 */
#include "config.h"

#include <string.h>

#include "topology/healthstat.h"

const uint32_t sn_stat_width[SN_WINS] = { 1, 3, 8 };
const double sn_stat_root[SN_WINS] = { 1, 1.7320508, 2.8284271 };

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* Hoare's selection: v[k] is then the k-th smallest, and none before it is
 * greater. Of three the middle one is the pivot, as rows come sorted often. */
static double select_kth(double *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2, i = lo, j = hi;
		double pivot;

		if (v[mid] < v[lo])
			swap(&v[mid], &v[lo]);
		if (v[hi] < v[lo])
			swap(&v[hi], &v[lo]);
		if (v[hi] < v[mid])
			swap(&v[hi], &v[mid]);
		pivot = v[mid];
		for (;;) {
			while (v[i] < pivot)
				i++;
			while (pivot < v[j])
				j--;
			if (i >= j)
				break;
			swap(&v[i++], &v[j--]);
		}
		/* All up to j are at most the pivot, all behind it at least. */
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

double sn_stat_median(double *v, size_t n)
{
	double high = select_kth(v, n, n / 2), low;

	if (n % 2)
		return high;
	low = v[0];
	for (size_t i = 1; i < n / 2; i++)
		if (v[i] > low)
			low = v[i];
	return low + (high - low) / 2;
}

double sn_stat_spread(double *v, size_t n, double median)
{
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] < median ? median - v[i] : v[i] - median;
	return 1.4826 * sn_stat_median(v, n);
}

void sn_ring_push(struct sn_ring *ring, double v)
{
	ring->v[ring->pos] = (float)v;
	ring->pos = (uint8_t)((ring->pos + 1) % SN_STAT_RING);
	if (ring->n < SN_STAT_RING)
		ring->n++;
}

double sn_ring_mean(const struct sn_ring *ring, uint32_t w, double clip)
{
	uint32_t at = ring->pos;
	double sum = 0;

	for (uint32_t i = 0; i < w; i++) {
		double v;

		at = (at + SN_STAT_RING - 1) % SN_STAT_RING;
		v = (double)ring->v[at] - (double)ring->usual;
		sum += v > clip ? clip : v;
	}
	return sum / w;
}

void sn_ring_learn(struct sn_ring *ring, double v, double sigma, double max)
{
	double off = v - (double)ring->usual, usual;

	/* The first samples count for more, but far less than if they were all. */
	if (ring->learnt < SN_STAT_LEARNT)
		ring->learnt++;
	off = off > sigma ? sigma : off < -sigma ? -sigma : off;
	usual = (double)ring->usual + off / (ring->learnt + 16);
	ring->usual = (float)(usual > max ? max : usual);
}

/* A float's bits are its logarithm, roughly: exponent, then mantissa. */
static uint32_t bin_of(double z)
{
	float f = (float)z;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	bits = (bits >> 20) - (127u << 3);
	return bits < SN_TAIL_BINS ? bits : SN_TAIL_BINS - 1;
}

static double edge_of(uint32_t bin)
{
	return (double)(1u << bin / 8) * (1 + bin % 8 / 8.0);
}

void sn_tail_add(struct sn_tail *tail, double z)
{
	/* Forget slowly: what the noise was a day ago matters little. */
	if (tail->n >= 1u << 22) {
		tail->n /= 2;
		for (uint32_t i = 0; i < SN_TAIL_BINS; i++)
			tail->bin[i] /= 2;
	}
	tail->n++;
	if (z >= 1)
		tail->bin[bin_of(z)]++;
}

/* The value that a fraction p of all is at or beyond. */
static double quantile(const struct sn_tail *tail, double p)
{
	double want = p * tail->n, have = 0;

	for (uint32_t i = SN_TAIL_BINS; i-- > 0;) {
		double width = edge_of(i + 1) - edge_of(i);

		if (have + tail->bin[i] >= want && tail->bin[i])
			return edge_of(i + 1) - width * (want - have) / tail->bin[i];
		have += tail->bin[i];
	}
	return 1;
}

/*
 * From 1 in 1000, where there are counts, to the 1 in some millions of the limit:
 * for Student's t with 3 to 10 degrees of freedom the limit grows with the cube
 * of what the quantile at 1 in 1000 grows, compared to a Gaussian, and with the
 * sixth power of that at 1 in 100. The divisors are what the estimate may be off
 * when it is made of the fewest values that are taken for it.
 */
double sn_tail_factor(const struct sn_tail *tail)
{
	double f;

	if (tail->n >= 16000) {
		f = quantile(tail, 1e-3) / 3.090 / 1.06;
		return f > 1 ? f * f * f : 1;
	}
	if (tail->n >= 800) {
		f = quantile(tail, 1e-2) / 2.326 / 1.15;
		return f > 1 ? f * f * f * f * f * f : 1;
	}
	return 1.1; /* nothing is known yet */
}

double sn_tail_seen(const struct sn_tail *tail)
{
	uint32_t have = 0;

	for (uint32_t i = SN_TAIL_BINS; i-- > 0;) {
		have += tail->bin[i];
		if (have > 2)
			return edge_of(i + 1);
	}
	return 0;
}
