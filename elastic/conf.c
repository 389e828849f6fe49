/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.c - what snelasticd reads from files, as a whole.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elastic/daemon.h"
#include "snctl/confpath.h"
#include "snctl/readfile.h"
#include "topology/text.h"

static int add_operator(struct sn_daemon_conf *conf, const char *word, struct sn_err *err)
{
	const struct passwd *pw;
	uint64_t uid;

	if (conf->n_operators == SN_DAEMON_OPERATORS_MAX)
		return sn_err_set(err, -EINVAL, "Operators: more than %d users",
				  SN_DAEMON_OPERATORS_MAX);
	if (sn_parse_uint(word, 0, UINT32_MAX - 1, &uid, NULL)) {
		pw = getpwnam(word);
		if (!pw)
			return sn_err_set(err, -EINVAL, "Operators=%.60s: no such user", word);
		uid = pw->pw_uid;
	}
	conf->operator[conf->n_operators++] = (uint32_t)uid;
	return 0;
}

static int read_operators(struct sn_daemon_conf *conf, struct sn_err *err)
{
	char text[SN_POLICY_TEXT_MAX], *word, *save = NULL;
	int rc = 0;

	strcpy(text, conf->policy.operators);
	for (word = strtok_r(text, " \t,", &save); word && !rc;
	     word = strtok_r(NULL, " \t,", &save))
		rc = add_operator(conf, word, err);
	return rc;
}

static void add_address(struct sn_daemon_conf *conf, const struct sockaddr *sa)
{
	uint32_t addr;

	if (!sa || sa->sa_family != AF_INET ||
	    conf->n_controllers == sizeof(conf->controller) / sizeof(*conf->controller))
		return;
	addr = ((const struct sockaddr_in *)sa)->sin_addr.s_addr;
	/* Loopback is everybody's. */
	if (ntohl(addr) >> 24 != 127)
		conf->controller[conf->n_controllers++] = addr;
}

static void read_controllers(struct sn_daemon_conf *conf)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *all;
	struct ifaddrs *own;

	if (!getifaddrs(&own)) {
		for (struct ifaddrs *i = own; i; i = i->ifa_next)
			add_address(conf, i->ifa_addr);
		freeifaddrs(own);
	}
	for (uint32_t h = 0; h < conf->where.n_hosts; h++) {
		if (getaddrinfo(conf->where.host[h].address, NULL, &hints, &all))
			continue;
		for (struct addrinfo *ai = all; ai; ai = ai->ai_next)
			add_address(conf, ai->ai_addr);
		freeaddrinfo(all);
	}
}

/* A path that does not begin with "/" is beside supernode.conf. */
static int read_codes(const char *topology_path, struct sn_daemon_conf *conf,
		      struct sn_err *err)
{
	const char *file = conf->policy.health_codes;
	char *path, *text;
	size_t len;
	int rc;

	if (!*file)
		return 0;
	path = *file == '/' ? strdup(file) : snctl_sibling(topology_path, file);
	if (!path)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = snctl_read_file(path, &text, &len, err);
	if (!rc) {
		rc = sn_health_codes_parse(text, len, path, &conf->codes, err);
		free(text);
	}
	free(path);
	return rc;
}

static bool has_address(const char *address)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all, *ai;
	struct ifaddrs *own = NULL;
	bool is = false;

	if (getifaddrs(&own))
		return false;
	if (getaddrinfo(address, NULL, &hints, &all)) {
		freeifaddrs(own);
		return false;
	}
	for (ai = all; ai && !is; ai = ai->ai_next)
		for (struct ifaddrs *i = own; i && !is; i = i->ifa_next)
			is = i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
				ai->ai_family == AF_INET &&
				((struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr ==
				((struct sockaddr_in *)ai->ai_addr)->sin_addr.s_addr;
	freeaddrinfo(all);
	freeifaddrs(own);
	return is;
}

/* Its own name is the first, and "localhost" one of all. */
static void find_names(struct sn_daemon_conf *conf)
{
	char host[SN_ELASTIC_HOST_MAX] = "";
	size_t n;

	if (gethostname(host, sizeof(host) - 1))
		strcpy(host, "localhost");
	n = (size_t)snprintf(conf->names, sizeof(conf->names), "%s", host);
	conf->is_host = false;
	for (uint32_t h = 0; h < conf->where.n_hosts; h++) {
		const struct sn_elastic_host *is = &conf->where.host[h];

		if (!sn_elastic_is_among(host, is->name) && strcmp(is->name, "localhost") &&
		    !has_address(is->address))
			continue;
		conf->is_host = true;
		if (n < sizeof(conf->names))
			n += (size_t)snprintf(conf->names + n, sizeof(conf->names) - n, " %s", is->name);
	}
}

/* Names would be asked of a name server at each reload. */
static int check_metrics(const struct sn_policy *policy, struct sn_err *err)
{
	const char *address = policy->metrics_address;
	unsigned char buf[sizeof(struct in6_addr)];

	if (!*address || inet_pton(AF_INET, address, buf) == 1 ||
	    inet_pton(AF_INET6, address, buf) == 1)
		return 0;
	return sn_err_set(err, -EINVAL,
			  "MetricsAddress=%.80s: want a number of IPv4 or IPv6, such as 127.0.0.1, 0.0.0.0 or ::1, or nothing for all addresses",
			  address);
}

int sn_daemon_conf_load(const char *config, struct sn_daemon_conf *ret, struct sn_err *err)
{
	char *path = NULL;
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = sn_elastic_find(config, &ret->policy, &ret->where, err);
	if (!rc && !*ret->where.state_dir)
		rc = sn_err_set(err, -EINVAL,
				"neither ElasticdStateDir nor slurm.conf's StateSaveLocation says where to keep the state");
	if (!rc && !ret->where.n_hosts)
		rc = sn_err_set(err, -EINVAL,
				"neither ElasticdHosts nor slurm.conf's SlurmctldHost says where to run");
	if (!rc)
		rc = check_metrics(&ret->policy, err);
	if (!rc)
		rc = read_operators(ret, err);
	if (!rc)
		rc = sn_health_conf_init(&ret->policy, &ret->health, err);
	if (!rc)
		rc = sn_ladder_costs_parse(ret->policy.elastic_costs, &ret->care.costs, err);
	if (!rc)
		rc = sn_elastic_policy_parse(ret->policy.elastic_policy, &ret->care.policy, err);
	ret->care.members = ret->policy.elastic_members;
	/* What snrun gives its ranks to save and end, and then some to start again. */
	ret->care.order_wait = ret->policy.checkpoint_hard + 60.0;
	if (!rc) {
		path = snctl_topology_path(config, NULL);
		rc = path ? snctl_read_topology(path, &ret->topo, err) :
			sn_err_set(err, -ENOMEM, "no memory");
	}
	if (!rc)
		rc = read_codes(path, ret, err);
	free(path);
	if (rc)
		sn_daemon_conf_done(ret);
	else
		find_names(ret);
	if (!rc)
		read_controllers(ret);
	return rc;
}

void sn_daemon_conf_done(struct sn_daemon_conf *conf)
{
	sn_topo_destroy(conf->topo);
	sn_health_codes_done(&conf->codes);
	memset(conf, 0, sizeof(*conf));
}
