/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gresidx.h - Slurm's strings of generic resources, "npu:8(S:0-1)" and
 * "npu:(null):3(IDX:0-1,5),nic:1(IDX:0)".
 */
#ifndef SNCTL_GRESIDX_H
#define SNCTL_GRESIDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRES_INDEX_MAX 1024 /* indices from there on are passed over */

/* How many of the resource `name` there are, all types together. */
uint64_t gres_count(const char *text, const char *name);
/* The indices of `name` as bits. *ret_known (may be NULL) is false where some
 * are counted but their indices are not told. Indices over 63 are left out. */
uint64_t gres_indices(const char *text, const char *name, bool *ret_known);
/* The same as a list, ascending, at most max of them; where indices are not told,
 * the lowest ones. Returns how many. */
size_t gres_list(const char *text, const char *name, uint32_t *ret, size_t max);

#endif
