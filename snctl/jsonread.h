/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jsonread.h - a JSON document read strictly, over json-c.
 *
 * json-c alone lets two things through that hide a user's slip: a key given
 * twice (the last silently wins) and a NUL byte (the rest is not read).
 */
#ifndef SNCTL_JSONREAD_H
#define SNCTL_JSONREAD_H

#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "topology/err.h"

/* Owned by the caller (json_object_put). -EINVAL: "file:line: …". */
int snctl_json_parse(const char *text, size_t len, const char *file,
		     struct json_object **ret, struct sn_err *err);

/* "an object", "a number", … for errors. */
const char *snctl_json_kind(const struct json_object *value);

#endif
