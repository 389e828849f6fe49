/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthfile.h - the health engine's state as text, for the state directory.
 */
#ifndef SN_ELASTIC_HEALTHFILE_H
#define SN_ELASTIC_HEALTHFILE_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/health.h"

#define SN_HEALTHFILE "health.json"
#define SN_HEALTHFILE_MAX (256u << 20)

/* Cards that are healthy again and whose marks the node's record may still, or once
 * more, have: they are to be taken away there, and not to be believed. */
struct sn_healthfile_freed {
	const char *node;
	uint64_t cards;
};

/* *ret (free) */
int sn_healthfile_write(const struct sn_health *health,
			const struct sn_healthfile_freed *freed, uint32_t n_freed,
			char **ret, size_t *ret_len, struct sn_err *err);
/* Tells fn of all that were freed. -EINVAL: damaged. */
int sn_healthfile_freed(const char *text, size_t len, const char *file,
			void (*fn)(void *arg, const struct sn_healthfile_freed *freed),
			void *arg, struct sn_err *err);
/* Nodes that it names and topo has not become loose ones. -EINVAL: damaged. */
int sn_healthfile_names(const char *text, size_t len, const char *file,
			struct sn_topo *topo, struct sn_err *err);
/* Into the engine. What names something that is no more, or makes no sense, is
 * passed over, *ret_over of them. -EINVAL: no such file at all; then nothing came in. */
int sn_healthfile_read(const char *text, size_t len, const char *file,
		       struct sn_health *health, double now, uint32_t *ret_over,
		       struct sn_err *err);

#endif
