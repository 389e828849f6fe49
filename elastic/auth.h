/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auth.h - who is believed and who may do what: pure decisions.
 *
 * Who somebody is comes from munge alone. Where: the address in the credential,
 * which the sender's munged has put there; munged often only knows a loopback
 * address, and then it is the other end of the TCP connection, or this host.
 */
#ifndef SN_ELASTIC_AUTH_H
#define SN_ELASTIC_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

/* IPv4 addresses are in network order, 0: not known. */
struct sn_auth_origin {
	uint32_t addr;
	bool local; /* the daemon's own host */
};
/* peer: of the TCP connection; 0 with the Unix socket and for IPv6. */
void sn_auth_find_origin(uint32_t cred_addr, uint32_t peer, bool unix_socket,
			 struct sn_auth_origin *ret);

struct sn_auth_who {
	uint32_t uid;
	uint32_t slurm_uid;
	bool at_controller; /* the daemon's host or another of ElasticdHosts */
	bool operator; /* of supernode.conf */
	const char *from; /* an address, for sentences */
};

struct sn_auth_job { /* that a report names */
	bool known; /* Slurm has it running */
	uint32_t uid;
	bool has_cards; /* all cards of the report are the job's */
};

enum sn_auth_worth {
	SN_AUTH_REFUSED, /* err says why */
	SN_AUTH_HINT, /* masks nothing by itself */
	SN_AUTH_FULL
};

/* A health report on a node: root on the node itself or on a controller's host,
 * SlurmUser, and a job's owner as a hint. at_node: it comes from there. job: the
 * one that it names, NULL: none. */
enum sn_auth_worth sn_auth_report(const struct sn_auth_who *who, const char *node,
				  bool at_node, const struct sn_auth_job *job,
				  struct sn_err *err);

/* Probes are a node's own business: never a hint. */
enum sn_auth_worth sn_auth_probe(const struct sn_auth_who *who, const char *node,
				 bool at_node, struct sn_err *err);

/* Drain, resume, release: root, SlurmUser, operators. */
bool sn_auth_may_operate(const struct sn_auth_who *who, struct sn_err *err);

#endif
