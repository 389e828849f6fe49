/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * where.c - where snelasticd is.
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "elastic/where.h"
#include "snctl/confpath.h"
#include "snctl/readfile.h"
#include "snctl/slurmconf.h"
#include "topology/text.h"

/* "name" or "name(address)" */
static int take_host(const char *word, size_t len, struct sn_elastic_where *ret,
		     struct sn_err *err)
{
	struct sn_elastic_host *host = &ret->host[ret->n_hosts];
	const char *open = memchr(word, '(', len);
	size_t n = open ? (size_t)(open - word) : len;

	if (ret->n_hosts == SN_ELASTIC_HOSTS_MAX)
		return sn_err_set(err, -EINVAL,
				  "more than %d hosts are named for snelasticd",
				  SN_ELASTIC_HOSTS_MAX);
	if (!n || n >= sizeof(host->name) || len >= sizeof(host->address) ||
	    (open && (word[len - 1] != ')' || len - n < 3)))
		return sn_err_set(err, -EINVAL,
				  "\"%.*s\" is no host; want NAME or NAME(ADDRESS)",
				  (int)(len < 64 ? len : 64), word);
	memset(host, 0, sizeof(*host));
	memcpy(host->name, word, n);
	if (open)
		memcpy(host->address, open + 1, len - n - 2);
	else
		memcpy(host->address, word, n);
	ret->n_hosts++;
	return 0;
}

int sn_elastic_hosts(const char *elasticd_hosts, const char *const *slurmctld_host,
		     uint32_t n, struct sn_elastic_where *ret, struct sn_err *err)
{
	const char *p = elasticd_hosts;
	int rc;

	ret->n_hosts = 0;
	while (*(p += strspn(p, " \t,"))) {
		size_t len = strcspn(p, " \t,");

		rc = take_host(p, len, ret, err);
		if (rc)
			return sn_err_prefix(err, rc, "ElasticdHosts: ");
		p += len;
	}
	if (ret->n_hosts)
		return 0;
	for (uint32_t i = 0; i < n && i < SN_ELASTIC_HOSTS_MAX; i++) {
		rc = take_host(slurmctld_host[i], strlen(slurmctld_host[i]), ret, err);
		if (rc)
			return sn_err_prefix(err, rc, "SlurmctldHost: ");
	}
	return 0;
}

/* AuthInfo=ttl=300,socket=/run/… */
static int munge_socket(const char *auth_info, struct sn_elastic_where *ret,
			struct sn_err *err)
{
	const char *p = auth_info;
	size_t n;

	while (p && *p) {
		n = strcspn(p, ",");
		if (!strncmp(p, "socket=", 7)) {
			if (n - 7 >= sizeof(ret->munge_socket))
				return sn_err_set(err, -EINVAL,
						  "AuthInfo: the socket's path is too long");
			memcpy(ret->munge_socket, p + 7, n - 7);
			ret->munge_socket[n - 7] = '\0';
		}
		p += n;
		p += *p == ',';
	}
	return 0;
}

static int slurm_user(const char *name, struct sn_elastic_where *ret,
		      struct sn_err *err)
{
	struct passwd pw, *is = NULL;
	char buf[4096];
	uint64_t uid;

	/* Slurm takes a number, too; by itself it is root. */
	if (!name || !strcmp(name, "root")) {
		ret->slurm_uid = 0;
		strcpy(ret->slurm_user, "root");
		return 0;
	}
	if (!sn_parse_uint(name, 0, UINT32_MAX - 1, &uid, NULL))
		ret->slurm_uid = (uint32_t)uid;
	else if (!getpwnam_r(name, &pw, buf, sizeof(buf), &is) && is) /* threads ask, too */
		ret->slurm_uid = pw.pw_uid;
	else
		return sn_err_set(err, -EINVAL, "SlurmUser=%.60s: no such user", name);
	snprintf(ret->slurm_user, sizeof(ret->slurm_user), "%.63s", name);
	return 0;
}

static int read_slurm_conf(const char *path, const struct sn_policy *policy,
			   struct sn_elastic_where *ret, struct sn_err *err)
{
	struct snctl_slurmconf conf;
	int rc = snctl_slurmconf_read(path, &conf, err);

	if (rc)
		return rc;
	rc = munge_socket(conf.auth_info, ret, err);
	if (!rc)
		rc = slurm_user(conf.slurm_user, ret, err);
	if (!rc)
		rc = sn_elastic_hosts(policy->elasticd_hosts,
				      (const char *const *)conf.ctld_hosts.name,
				      (uint32_t)conf.ctld_hosts.n, ret, err);
	if (!rc && !*ret->state_dir && conf.state_save &&
	    snprintf(ret->state_dir, sizeof(ret->state_dir), "%s/snelasticd",
		     conf.state_save) >= (int)sizeof(ret->state_dir))
		rc = sn_err_set(err, -EINVAL, "StateSaveLocation: the path is too long");
	snctl_slurmconf_done(&conf);
	return rc ? sn_err_prefix(err, rc, "%s: ", path) : 0;
}

static int read_policy(const char *path, struct sn_policy *ret, struct sn_err *err)
{
	char *text;
	size_t len;
	int rc;

	sn_policy_init(ret);
	if (access(path, F_OK))
		return 0;
	rc = snctl_read_file(path, &text, &len, err);
	if (rc)
		return rc;
	rc = sn_policy_parse(text, len, path, ret, err);
	free(text);
	return rc;
}

int sn_elastic_find(const char *config, struct sn_policy *ret_policy,
		    struct sn_elastic_where *ret, struct sn_err *err)
{
	char *topology = snctl_topology_path(config, NULL);
	char *slurm = NULL, *policy = NULL;
	const char *env = getenv("SLURM_CONF");
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	if (topology) {
		policy = snctl_sibling(topology, "supernode.conf");
		slurm = !config && env && *env ? strdup(env) :
			snctl_sibling(topology, "slurm.conf");
	}
	if (!policy || !slurm)
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		rc = read_policy(policy, ret_policy, err);
	if (!rc) {
		ret->port = ret_policy->elasticd_port;
		strcpy(ret->socket, ret_policy->elasticd_socket);
		strcpy(ret->state_dir, ret_policy->elasticd_state_dir);
		rc = read_slurm_conf(slurm, ret_policy, ret, err);
	}
	free(topology);
	free(policy);
	free(slurm);
	return rc;
}

static bool same_host(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t a_short = a_len, b_short = b_len;

	if (memchr(a, '.', a_len))
		a_short = (size_t)((const char *)memchr(a, '.', a_len) - a);
	if (memchr(b, '.', b_len))
		b_short = (size_t)((const char *)memchr(b, '.', b_len) - b);
	if (a_short < a_len && b_short < b_len)
		return a_len == b_len && !strncasecmp(a, b, a_len);
	return a_short == b_short && !strncasecmp(a, b, a_short);
}

bool sn_elastic_is_among(const char *names, const char *name)
{
	while (*names) {
		size_t len = strcspn(names, " ");

		if (len && same_host(names, len, name, strlen(name)))
			return true;
		names += len + (names[len] == ' ');
	}
	return false;
}
