/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extratext.c - a node record's `extra`, a JSON object that several books share.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "launcher/extratext.h"
#include "snctl/jsonread.h"

int sn_extratext_parse(const char *extra, struct json_object **ret,
		       struct sn_err *err)
{
	int rc;

	*ret = NULL;
	if (!extra || !extra[strspn(extra, " \t\r\n")])
		return 0;
	rc = snctl_json_parse(extra, strlen(extra), SN_EXTRA_WHO, ret, err);
	if (rc)
		return rc;
	if (json_object_is_type(*ret, json_type_object))
		return 0;
	rc = sn_err_set(err, -EINVAL, SN_EXTRA_WHO ": want a JSON object, and it is %s",
			snctl_json_kind(*ret));
	json_object_put(*ret);
	*ret = NULL;
	return rc;
}

int sn_extratext_print(struct json_object *root, const char *remedy, char **ret,
		       struct sn_err *err)
{
	const char *text = json_object_to_json_string_ext(root,
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (text && strlen(text) >= SN_EXTRA_MAX)
		return sn_err_set(err, -E2BIG,
				  SN_EXTRA_WHO " would have %zu bytes, of %u allowed; %s",
				  strlen(text), SN_EXTRA_MAX, remedy);
	/* Not "{}": Slurm unsets the field for "", and JSON is what others expect. */
	if (text && !json_object_object_length(root))
		text = "";
	*ret = text ? strdup(text) : NULL;
	return *ret ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}
