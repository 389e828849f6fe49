/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jsonread.c - a JSON document read strictly, over json-c.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "snctl/jsonread.h"

#define DEPTH_MAX 32

static unsigned int line_of(const char *text, size_t at)
{
	unsigned int line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

/* The first place from i on that is no white space. The text need not end in a
 * NUL, so no function of strings will do. */
static size_t skip_space(const char *text, size_t len, size_t i)
{
	while (i < len && (text[i] == ' ' || text[i] == '\t' ||
			   text[i] == '\r' || text[i] == '\n'))
		i++;
	return i;
}

/* The end of the string that begins at text[i], which is a '"'. */
static size_t string_end(const char *text, size_t len, size_t i)
{
	for (i++; i < len && text[i] != '"'; i++)
		if (text[i] == '\\')
			i++;
	return i < len ? i : len;
}

/*
 * The text has been parsed, so it is well formed. In each open object the keys
 * seen are kept in a json-c object, used as a set.
 */
static int refuse_double_keys(const char *text, size_t len, const char *file,
			      struct sn_err *err)
{
	struct json_object *seen[DEPTH_MAX + 1] = { NULL };
	int depth = 0, rc = 0;

	for (size_t i = 0; i < len && !rc; i++) {
		char key[256];
		size_t end, after;

		if (text[i] == '{' || text[i] == '[') {
			if (depth == DEPTH_MAX)
				break;
			seen[++depth] = text[i] == '{' ? json_object_new_object() : NULL;
		} else if (text[i] == '}' || text[i] == ']') {
			json_object_put(seen[depth]);
			seen[depth] = NULL;
			if (depth)
				depth--;
		}
		if (text[i] != '"')
			continue;
		end = string_end(text, len, i);
		after = skip_space(text, len, end + 1);
		/* Longer keys are unknown ones, or hostlists of a size that
		 * the overlap check of their reader sees. */
		if (after < len && text[after] == ':' && seen[depth] &&
		    end - i - 1 < sizeof(key)) {
			memcpy(key, text + i + 1, end - i - 1);
			key[end - i - 1] = '\0';
			if (json_object_object_get_ex(seen[depth], key, NULL))
				rc = sn_err_set(err, -EINVAL,
						"%s:%u: the key \"%s\" is given twice in one object",
						file, line_of(text, i), key);
			else if (json_object_object_add(seen[depth], key, NULL))
				rc = sn_err_set(err, -ENOMEM, "%s: no memory", file);
		}
		i = end;
	}
	while (depth >= 0)
		json_object_put(seen[depth--]);
	return rc;
}

const char *snctl_json_kind(const struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_boolean:
		return "a boolean";
	case json_type_double:
		return "a number that is not whole";
	case json_type_int:
		return "a whole number";
	case json_type_object:
		return "an object";
	case json_type_array:
		return "an array";
	case json_type_string:
		return "a string";
	case json_type_null:
		break;
	}
	return "null";
}

int snctl_json_parse(const char *text, size_t len, const char *file,
		     struct json_object **ret, struct sn_err *err)
{
	struct json_tokener *tok;
	struct json_object *root;
	enum json_tokener_error code;
	const char *nul;
	size_t end;
	int rc;

	nul = memchr(text, '\0', len);
	if (nul)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: holds a NUL byte; this is a binary file, not JSON",
				  file, line_of(text, (size_t)(nul - text)));
	if (skip_space(text, len, 0) == len)
		return sn_err_set(err, -EINVAL,
				  "%s: is empty; at least {} is needed", file);
	if (len >= INT_MAX)
		return sn_err_set(err, -EFBIG, "%s: %zu bytes are too many", file, len);
	tok = json_tokener_new_ex(DEPTH_MAX);
	if (!tok)
		return sn_err_set(err, -ENOMEM, "%s: no memory", file);
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	root = json_tokener_parse_ex(tok, text, (int)len);
	code = json_tokener_get_error(tok);
	end = json_tokener_get_parse_end(tok);
	if (code == json_tokener_continue) {
		/* A number at the top ends only with the text. What is wrong
		 * here is in any case that the text ends. */
		root = json_tokener_parse_ex(tok, "", 1);
		if (json_tokener_get_error(tok) == json_tokener_success)
			code = json_tokener_success;
		end = len;
	}
	json_tokener_free(tok);
	/* The strict flag does not see what follows the document's end. */
	if (code == json_tokener_success) {
		end = skip_space(text, len, end);
		if (end < len) {
			json_object_put(root);
			return sn_err_set(err, -EINVAL,
					  "%s:%u: something follows the end of the JSON document",
					  file, line_of(text, end));
		}
		rc = refuse_double_keys(text, len, file, err);
		if (rc) {
			json_object_put(root);
			return rc;
		}
		*ret = root;
		return 0;
	}
	json_object_put(root);
	if (code == json_tokener_continue)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: the JSON document is cut short", file,
				  line_of(text, len));
	return sn_err_set(err, -EINVAL, "%s:%u: not JSON: %s", file,
			  line_of(text, end), json_tokener_error_desc(code));
}
