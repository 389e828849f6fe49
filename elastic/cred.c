/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cred.c - messages that say who made them, through munge.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <munge.h>

#include "elastic/cred.h"

static munge_ctx_t context(const char *socket)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (ctx && socket && *socket &&
	    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) {
		munge_ctx_destroy(ctx);
		ctx = NULL;
	}
	return ctx;
}

static int fail(munge_ctx_t ctx, munge_err_t code, const char *what,
		struct sn_err *err)
{
	const char *why = munge_ctx_strerror(ctx);
	int rc = -EACCES;

	if (!why)
		why = munge_strerror(code);
	if (code == EMUNGE_SOCKET || code == EMUNGE_TIMEOUT || code == EMUNGE_SNAFU)
		rc = -EIO;
	else if (code == EMUNGE_NO_MEMORY)
		rc = -ENOMEM;
	else if (code == EMUNGE_BAD_LENGTH || code == EMUNGE_OVERFLOW)
		rc = -EMSGSIZE;
	else if (code == EMUNGE_CRED_REPLAYED)
		rc = -EALREADY;
	return sn_err_set(err, rc, "munge did not %s: %s", what, why);
}

int sn_cred_encode(const char *munge_socket, uint32_t for_uid, uint32_t ttl,
		   const void *data, size_t len, char **ret, struct sn_err *err)
{
	munge_ctx_t ctx = context(munge_socket);
	munge_err_t code = EMUNGE_SUCCESS;
	int rc = 0;

	*ret = NULL;
	if (!ctx)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (ttl)
		code = munge_ctx_set(ctx, MUNGE_OPT_TTL, (int)ttl);
	if (code == EMUNGE_SUCCESS && for_uid != SN_CRED_ANYONE)
		code = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, (uid_t)for_uid);
	if (code == EMUNGE_SUCCESS)
		code = munge_encode(ret, ctx, data, (int)len);
	if (code != EMUNGE_SUCCESS) {
		rc = fail(ctx, code, "make a credential", err);
		free(*ret);
		*ret = NULL;
	}
	munge_ctx_destroy(ctx);
	return rc;
}

int sn_cred_decode(const char *munge_socket, const char *cred, char **ret_text,
		   size_t *ret_len, struct sn_cred *ret, struct sn_err *err)
{
	munge_ctx_t ctx = context(munge_socket);
	struct in_addr addr = { 0 };
	munge_err_t code;
	void *text = NULL;
	int len = 0, rc = 0;
	uid_t uid = 0;
	gid_t gid = 0;

	*ret_text = NULL;
	*ret_len = 0;
	memset(ret, 0, sizeof(*ret));
	if (!ctx)
		return sn_err_set(err, -ENOMEM, "no memory");
	code = munge_decode(cred, ctx, &text, &len, &uid, &gid);
	if (code != EMUNGE_SUCCESS) {
		rc = fail(ctx, code, "believe the credential", err);
	} else if (!text && !(text = strdup(""))) {
		rc = sn_err_set(err, -ENOMEM, "no memory");
	} else {
		ret->uid = uid;
		ret->gid = gid;
		if (munge_ctx_get(ctx, MUNGE_OPT_ADDR4, &addr) == EMUNGE_SUCCESS)
			ret->addr = addr.s_addr;
		*ret_text = text;
		*ret_len = (size_t)len;
		text = NULL;
	}
	free(text);
	munge_ctx_destroy(ctx);
	return rc;
}
