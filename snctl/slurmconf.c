/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconf.c - what of slurm.conf topology.conf must agree with.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "snctl/readfile.h"
#include "snctl/slurmconf.h"
#include "topology/conf.h"

static int take_line(void *arg, const struct sn_conf_line *line,
		     struct sn_err *err)
{
	struct snctl_slurmconf *conf = arg;
	const struct sn_conf_pair *pair = &line->pair[0];
	int rc = 0;

	if (!strcasecmp(pair->key, "NodeName")) {
		if (strcasecmp(pair->value, "DEFAULT"))
			rc = sn_hostlist_expand(pair->value, &conf->nodes, err);
		return rc ? sn_conf_at(err, rc, line, pair) : 0;
	}
	for (size_t i = 0; i < line->n; i++) {
		if (strcasecmp(line->pair[i].key, "TopologyPlugin"))
			continue;
		free(conf->topology_plugin);
		conf->topology_plugin = strdup(line->pair[i].value);
		if (!conf->topology_plugin)
			return sn_err_set(err, -ENOMEM, "no memory");
	}
	return 0;
}

int snctl_slurmconf_read(const char *path, struct snctl_slurmconf *ret,
			 struct sn_err *err)
{
	char *text;
	size_t len;
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = snctl_read_file(path, &text, &len, err);
	if (rc)
		return rc;
	rc = sn_conf_parse(text, len, path, snctl_read_include, (void *)path,
			   take_line, ret, err);
	free(text);
	if (rc)
		snctl_slurmconf_done(ret);
	return rc;
}

void snctl_slurmconf_done(struct snctl_slurmconf *conf)
{
	sn_names_done(&conf->nodes);
	free(conf->topology_plugin);
	memset(conf, 0, sizeof(*conf));
}
