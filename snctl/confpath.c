/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confpath.c - where topology.conf and its siblings are.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snctl/confpath.h"
#include "topology/text.h"

#define TOPOLOGY_CONF "topology.conf"

char *snctl_sibling(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	struct sn_buf buf = { 0 };

	if (slash)
		sn_buf_add(&buf, "%.*s/%s", (int)(slash - path), path, name);
	else
		sn_buf_add(&buf, "%s", name);
	return buf.text;
}

char *snctl_topology_path(const char *given, const char *slurm_conf)
{
	/* The second is where slurmd keeps the files of configless mode. */
	static const char *const usual[] = {
		"/etc/slurm/" TOPOLOGY_CONF, "/run/slurm/conf/" TOPOLOGY_CONF,
	};
	const char *env = getenv("SLURM_CONF");

	if (given)
		return strdup(given);
	if (env && *env)
		return snctl_sibling(env, TOPOLOGY_CONF);
	if (slurm_conf)
		return snctl_sibling(slurm_conf, TOPOLOGY_CONF);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (!access(usual[i], F_OK))
			return strdup(usual[i]);
	return strdup(usual[0]);
}
