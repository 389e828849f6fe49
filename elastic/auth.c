/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auth.c - who is believed and who may do what: pure decisions.
 */
#include "config.h"

#include <errno.h>
#include <arpa/inet.h>

#include "elastic/auth.h"

static bool is_loopback(uint32_t addr)
{
	return ntohl(addr) >> 24 == 127;
}

void sn_auth_find_origin(uint32_t cred_addr, uint32_t peer, bool unix_socket,
			 struct sn_auth_origin *ret)
{
	ret->addr = 0;
	ret->local = false;
	if (cred_addr && !is_loopback(cred_addr))
		ret->addr = cred_addr;
	else if (unix_socket || is_loopback(peer))
		ret->local = true;
	else
		ret->addr = peer;
}

/* SlurmUser is believed wherever Slurm believes him; where he is root, root has to
 * be where he says, as elsewhere. */
static bool is_in_charge(const struct sn_auth_who *who)
{
	return (who->uid == who->slurm_uid && who->uid) || (!who->uid && who->at_controller);
}

enum sn_auth_worth sn_auth_probe(const struct sn_auth_who *who, const char *node,
				 bool at_node, struct sn_err *err)
{
	if (is_in_charge(who) || (!who->uid && at_node))
		return SN_AUTH_FULL;
	if (!who->uid)
		sn_err_set(err, -EPERM,
			   "root at %s speaks for node %s, which is elsewhere; only root on the node itself is believed, or SlurmUser",
			   who->from, node);
	else
		sn_err_set(err, -EPERM,
			   "user %u at %s speaks for node %s; only root on the node itself is believed, or SlurmUser",
			   who->uid, who->from, node);
	return SN_AUTH_REFUSED;
}

enum sn_auth_worth sn_auth_report(const struct sn_auth_who *who, const char *node,
				  bool at_node, const struct sn_auth_job *job,
				  struct sn_err *err)
{
	if (is_in_charge(who) || (!who->uid && at_node))
		return SN_AUTH_FULL;
	if (!who->uid || !job)
		return sn_auth_probe(who, node, at_node, err);
	if (!job->known)
		sn_err_set(err, -EPERM,
			   "user %u reports for a job that is not running", who->uid);
	else if (job->uid != who->uid)
		sn_err_set(err, -EPERM,
			   "user %u reports for a job of user %u's", who->uid, job->uid);
	else if (!job->has_cards)
		sn_err_set(err, -EPERM,
			   "user %u reports on cards of node %s that the job does not have",
			   who->uid, node);
	else
		return SN_AUTH_HINT;
	return SN_AUTH_REFUSED;
}

bool sn_auth_may_operate(const struct sn_auth_who *who, struct sn_err *err)
{
	/* root on any host may write node records by himself. */
	if (!who->uid || who->uid == who->slurm_uid || who->operator)
		return true;
	sn_err_set(err, -EPERM,
		   "user %u is neither root nor SlurmUser nor one of supernode.conf's Operators",
		   who->uid);
	return false;
}
