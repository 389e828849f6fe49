/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probenode.h - look at the node that this runs on: device files, the vendor's
 * tool, memory, CPUs. Ends within the time that supernode.conf's ProbeTimeout
 * gives the tools and two seconds for those to die; a tool that hangs in the
 * driver is left behind, and its hanging is a finding.
 */
#ifndef SN_LAUNCHER_PROBENODE_H
#define SN_LAUNCHER_PROBENODE_H

#include "launcher/probe.h"

/* node->name and node->device are the caller's; fills in the rest. What cannot be
 * found out is no error. -ENOMEM. */
int sn_probe_look(const struct sn_policy *policy, struct sn_probe_node *node,
		  struct sn_err *err);

/* The vendor's tool, as ProbeTool says; "": there is none. */
void sn_probe_tool_path(const struct sn_policy *policy, char *buf, size_t size);

#endif
