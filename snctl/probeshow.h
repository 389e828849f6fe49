/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probeshow.h - print what a probe found.
 */
#ifndef SNCTL_PROBESHOW_H
#define SNCTL_PROBESHOW_H

#include <stdio.h>

#include "launcher/probe.h"

void probe_print(const struct sn_probe_node *node,
		 const struct sn_probe_verdict *verdict, FILE *f);
/* told: what came of reporting it, NULL: it was not to be reported. */
void probe_json(const struct sn_probe_node *node,
		const struct sn_probe_verdict *verdict, const int *told, FILE *f);

#endif
