/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * option.c - tables of options: the rows of conf.h.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/conf.h"

#define CLIP 64
#define NEAR_MAX 64 /* rows that a suggestion is looked for in */

int sn_options_init(const struct sn_option *option, size_t n, void *dest,
		    struct sn_err *err)
{
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		if (!option[i].dflt)
			continue;
		rc = sn_option_set(&option[i], option[i].dflt, dest, err);
		if (rc)
			return rc;
	}
	return 0;
}

size_t sn_option_find(const struct sn_option *option, size_t n, const char *key)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (strcasecmp(option[i].name, key) == 0)
			break;
	}
	return i;
}

static int set_word(const struct sn_option *option, const char *value,
		    uint64_t *ret, struct sn_err *err)
{
	const char *word = option->words;
	char clip[CLIP];
	uint64_t i;

	for (i = 0;; i++) {
		size_t len = strcspn(word, "|");

		if (strlen(value) == len && strncasecmp(value, word, len) == 0) {
			*ret = i;
			return 0;
		}
		word += len;
		if (!*word++)
			break;
	}
	return sn_err_set(err, -EINVAL, "\"%s\" is not one of %s",
			  sn_text_clip(value, clip, sizeof(clip)), option->words);
}

static int check_range(const struct sn_option *option, const char *value,
		       uint64_t v, struct sn_err *err)
{
	char clip[CLIP];

	if (v >= option->min && v <= option->max)
		return 0;
	if (v == 0)
		return sn_err_set(err, -EINVAL, "%s is nothing; write more than 0, or leave the key out",
				  sn_text_clip(value, clip, sizeof(clip)));
	return sn_err_set(err, -EINVAL, "%s is too %s",
			  sn_text_clip(value, clip, sizeof(clip)),
			  v < option->min ? "small" : "large");
}

int sn_option_set(const struct sn_option *option, const char *value, void *dest,
		  struct sn_err *err)
{
	void *at = (char *)dest + option->offset;
	uint64_t v = 0;
	char *copy;
	int rc = 0;

	switch (option->type) {
	case SN_OPT_TEXT:
		copy = strdup(value);
		if (!copy)
			return sn_err_set(err, -ENOMEM, "out of memory");
		free(*(char **)at);
		*(char **)at = copy;
		return 0;
	case SN_OPT_UINT:
		rc = sn_parse_uint(value, option->min, option->max, &v, err);
		break;
	case SN_OPT_SIZE:
		rc = sn_parse_size(value, &v, err);
		break;
	case SN_OPT_LATENCY:
		rc = sn_parse_latency(value, &v, err);
		break;
	case SN_OPT_POWER:
		rc = sn_parse_power(value, &v, err);
		break;
	case SN_OPT_WORD:
		rc = set_word(option, value, &v, err);
		break;
	}
	if (!rc && option->type != SN_OPT_WORD)
		rc = check_range(option, value, v, err);
	if (!rc)
		*(uint64_t *)at = v;
	return rc;
}

int sn_option_unknown(const struct sn_option *option, size_t n, uint32_t on,
		      const char *what, const char *key, struct sn_err *err)
{
	const char *name[NEAR_MAX], *near;
	size_t i, n_names = 0, known = sn_option_find(option, n, key);
	char clip[CLIP], list[512];
	int len = 0;

	list[0] = '\0';
	for (i = 0; i < n; i++) {
		if (!(option[i].on & on))
			continue;
		if (n_names < NEAR_MAX)
			name[n_names++] = option[i].name;
		if ((size_t)len < sizeof(list))
			len += snprintf(list + len, sizeof(list) - (size_t)len,
					"%s%s", len ? ", " : "", option[i].name);
	}
	sn_text_clip(key, clip, sizeof(clip));
	if (known < n)
		return sn_err_set(err, -EINVAL, "%s does not belong on a %s line, which takes %s",
				  option[known].name, what, list);
	near = sn_text_nearest(key, name, n_names);
	if (near)
		return sn_err_set(err, -EINVAL, "%s is not a key; did you mean %s?", clip, near);
	return sn_err_set(err, -EINVAL, "%s is not a key; a %s line takes %s", clip, what, list);
}
