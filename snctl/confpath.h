/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confpath.h - where topology.conf and its siblings are.
 */
#ifndef SNCTL_CONFPATH_H
#define SNCTL_CONFPATH_H

/* path with its last component replaced; owned by the caller, NULL without
 * memory. */
char *snctl_sibling(const char *path, const char *name);

/*
 * The topology.conf to read: `given` (--config) if not NULL, else beside
 * SLURM_CONF, else beside `slurm_conf` if not NULL (what slurmctld says), else
 * the first of Slurm's usual places that has one. Owned by the caller; NULL
 * without memory. The file may not exist: reading it says so.
 */
char *snctl_topology_path(const char *given, const char *slurm_conf);

#endif
