/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * info.h - what `scontrol show topology` gets.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_INFO_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_INFO_H

#include "plugins/compat.h"
#include "src/common/pack.h"

struct topoinfo;

struct topoinfo *topoinfo_create(void); /* of the model; topoinfo_free() */
void topoinfo_free(struct topoinfo *info); /* NULL is fine */
void topoinfo_pack(const struct topoinfo *info, buf_t *buffer);
int topoinfo_unpack(struct topoinfo **ret, buf_t *buffer);
/* All lines, or the one of the supernode, unit or fabric "name", or those of
 * "which", one of these or a node. NULL and "" are any. */
char *topoinfo_print(const struct topoinfo *info, const char *name,
		     const char *which);

#endif
