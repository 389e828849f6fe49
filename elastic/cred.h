/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cred.h - messages that say who made them, through munge.
 *
 * Both directions: a request's credential proves the user and host, an answer's
 * that it is the daemon's, and only the asking user can open it. munged refuses a
 * credential that was opened before, so none can be sent twice. A call talks to
 * munged and may take half a second where that is not there.
 */
#ifndef SN_ELASTIC_CRED_H
#define SN_ELASTIC_CRED_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_CRED_ANYONE UINT32_MAX

struct sn_cred {
	uint32_t uid, gid; /* who made it */
	uint32_t addr; /* where, an IPv4 address, network order; 0: not known */
};

/* munge_socket "": munge's own. *ret (free) can be opened by for_uid alone, for ttl
 * seconds (0: as munged is configured). */
int sn_cred_encode(const char *munge_socket, uint32_t for_uid, uint32_t ttl,
		   const void *data, size_t len, char **ret, struct sn_err *err);

/* *ret_text (free) has a NUL behind its *ret_len bytes. -EIO: munged is not to be
 * had; -EACCES: the credential is damaged, too old, of another realm or for
 * somebody else; -EALREADY: it was opened before. */
int sn_cred_decode(const char *munge_socket, const char *cred, char **ret_text,
		   size_t *ret_len, struct sn_cred *ret, struct sn_err *err);

#endif
