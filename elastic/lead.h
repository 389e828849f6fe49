/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lead.h - who is in charge: one daemon of all that share a state directory.
 *
 * The lock on DIR/lock decides (fcntl, so that it works over NFS and is gone with
 * its holder, however that ends). A lock can be lost unnoticed, as when an NFS
 * server was away for too long or somebody removed the file: so whoever takes it
 * also writes his name into DIR/primary.json, and looks, before he acts, whether it
 * still stands there. All calls block on the directory's disk.
 */
#ifndef SN_ELASTIC_LEAD_H
#define SN_ELASTIC_LEAD_H

#include <stdint.h>

#include "topology/err.h"

#define SN_LEAD_LOCK "lock"
#define SN_LEAD_FILE "primary.json"
#define SN_LEAD_ID_MAX 96

struct sn_lead {
	char dir[512];
	char host[256];
	char id[SN_LEAD_ID_MAX]; /* of this process, unlike all others */
	uint64_t term; /* counts those who were in charge */
	int fd; /* -1: not in charge */
};

void sn_lead_init(struct sn_lead *lead, const char *dir, const char *host);
/* Take charge. -EBUSY: another one has it, and err says who as far as is known;
 * others: the directory is no use (err says what is wrong). */
int sn_lead_take(struct sn_lead *lead, struct sn_err *err);
/* Still? -ESTALE: no, another has taken over or the lock's file is gone: stop
 * acting. Others: it cannot be told now. */
int sn_lead_check(const struct sn_lead *lead, struct sn_err *err);
void sn_lead_give(struct sn_lead *lead);

#endif
