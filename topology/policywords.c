/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policywords.c - values of supernode.conf that are lists of words.
 */
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "topology/policy.h"

/* The next word of value at *p; false at the end. */
static bool next_word(const char **p, const char *end, const char **ret_word,
		      size_t *ret_len)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	*ret_word = *p;
	while (*p < end && **p != ' ' && **p != '\t')
		(*p)++;
	*ret_len = (size_t)(*p - *ret_word);
	return *ret_len;
}

static bool is_variable(const char *word, size_t len)
{
	size_t n;

	for (n = 0; n < len && word[n] != '='; n++)
		if (!isalpha((unsigned char)word[n]) && word[n] != '_' &&
		    !(n && isdigit((unsigned char)word[n])))
			return false;
	return n && n < len;
}

/* "0000:81:00.0", the domain of up to 8 digits or left away. */
static bool is_pci(const char *word, size_t len)
{
	static const char *const form[] = { ":hh:hh.o", "hh:hh.o" };
	size_t digits, i, f;

	for (digits = 0; digits < len && isxdigit((unsigned char)word[digits]);)
		digits++;
	f = digits == 2 && len == 7;
	if (f)
		digits = 0;
	else if (digits < 4 || digits > 8 || len != digits + 8)
		return false;
	for (i = 0; form[f][i]; i++) {
		char c = word[digits + i];

		if (form[f][i] == 'h' ? !isxdigit((unsigned char)c) :
		    form[f][i] == 'o' ? c < '0' || c > '7' : c != form[f][i])
			return false;
	}
	return true;
}

const char *sn_policy_bad_word(enum sn_policy_type type, const char *value,
			       size_t len, size_t *ret_len)
{
	const char *p = value, *word;
	size_t n;

	while (next_word(&p, value + len, &word, &n)) {
		if ((type == SN_POLICY_ENV ? is_variable : is_pci)(word, n))
			continue;
		if (ret_len)
			*ret_len = n;
		return word;
	}
	return NULL;
}
