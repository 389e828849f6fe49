/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extratext.h - a node record's `extra`, a JSON object that several books share.
 */
#ifndef SN_LAUNCHER_EXTRATEXT_H
#define SN_LAUNCHER_EXTRATEXT_H

#include <stddef.h>

#include <json-c/json.h>

#include "topology/err.h"

#define SN_EXTRA_WHO "the node's extra" /* in sentences */
#define SN_EXTRA_MAX (16u << 10) /* bytes, with all books in it */

/* *ret (json_object_put) is NULL where extra is NULL or blank. -EINVAL: it is no
 * JSON object. */
int sn_extratext_parse(const char *extra, struct json_object **ret,
		       struct sn_err *err);

/* The text of root (free); "" for an empty object, for which Slurm unsets the
 * field. -E2BIG, with what to do about it. */
int sn_extratext_print(struct json_object *root, const char *remedy, char **ret,
		       struct sn_err *err);

#endif
