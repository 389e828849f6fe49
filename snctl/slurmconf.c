/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconf.c - what of slurm.conf topology.conf must agree with.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "snctl/readfile.h"
#include "snctl/slurmconf.h"

static int keep(char **dest, const char *value, struct sn_err *err)
{
	free(*dest);
	*dest = strdup(value);
	return *dest ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}

static int take_node(struct snctl_slurmconf *conf, const struct sn_conf_line *line,
		     struct sn_err *err)
{
	const struct sn_conf_pair *pair = &line->pair[0];
	bool is_default = !strcasecmp(pair->value, "DEFAULT");
	const char *gres = NULL;
	int rc = 0;

	/* All its lines together, as a line of many names is soon written. */
	if (!is_default)
		rc = sn_hostlist_expand_max(pair->value,
					    SN_HOSTLIST_MAX - conf->nodes.n,
					    &conf->nodes, err);
	if (rc)
		return sn_conf_at(err, rc, line, pair);
	for (size_t i = 1; !rc && i < line->n; i++)
		if (!strcasecmp(line->pair[i].key, "Gres"))
			gres = line->pair[i].value;
	if (gres && !conf->gres)
		rc = keep(&conf->gres, gres, err);
	if (!rc && gres && is_default)
		rc = keep(&conf->gres_default, gres, err);
	gres = gres ? gres : conf->gres_default;
	if (!rc && gres && !is_default &&
	    (sn_names_add(&conf->gres_nodes, pair->value) ||
	     sn_names_add(&conf->gres_values, gres)))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	return rc;
}

static int take_line(void *arg, const struct sn_conf_line *line,
		     struct sn_err *err)
{
	struct snctl_slurmconf *conf = arg;
	const struct {
		const char *key;
		char **dest;
	} keys[] = {
		{ "TopologyPlugin", &conf->topology_plugin },
		{ "SelectType", &conf->select_type },
		{ "JobSubmitPlugins", &conf->job_submit },
		{ "PlugStackConfig", &conf->plugstack },
		{ "GresTypes", &conf->gres_types },
		{ "SlurmUser", &conf->slurm_user },
		{ "StateSaveLocation", &conf->state_save },
		{ "AuthInfo", &conf->auth_info },
	};
	int rc = 0;

	if (!strcasecmp(line->pair[0].key, "NodeName"))
		return take_node(conf, line, err);
	for (size_t i = 0; !rc && i < line->n; i++)
		if (!strcasecmp(line->pair[i].key, "SlurmctldHost") &&
		    sn_names_add(&conf->ctld_hosts, line->pair[i].value))
			rc = sn_err_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; !rc && i < line->n; i++)
		for (size_t k = 0; !rc && k < sizeof(keys) / sizeof(*keys); k++)
			if (!strcasecmp(line->pair[i].key, keys[k].key))
				rc = keep(keys[k].dest, line->pair[i].value, err);
	return rc;
}

int snctl_slurmconf_parse(const char *text, size_t len, const char *path,
			  sn_conf_read_fn read, void *ctx,
			  struct snctl_slurmconf *ret, struct sn_err *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = sn_conf_parse(text, len, path, read, ctx, take_line, ret, err);
	if (rc)
		snctl_slurmconf_done(ret);
	return rc;
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
	rc = snctl_slurmconf_parse(text, len, path, snctl_read_include,
				   (void *)path, ret, err);
	free(text);
	return rc;
}

void snctl_slurmconf_done(struct snctl_slurmconf *conf)
{
	sn_names_done(&conf->nodes);
	free(conf->topology_plugin);
	free(conf->select_type);
	free(conf->job_submit);
	free(conf->plugstack);
	free(conf->gres_types);
	free(conf->gres);
	sn_names_done(&conf->gres_nodes);
	sn_names_done(&conf->gres_values);
	free(conf->gres_default);
	sn_names_done(&conf->ctld_hosts);
	free(conf->slurm_user);
	free(conf->state_save);
	free(conf->auth_info);
	memset(conf, 0, sizeof(*conf));
}
