/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elasticpolicy.c - which means the controller may use, by account.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "topology/elasticpolicy.h"

#define ALL ((1u << SN_MEANS_KINDS) - 1)
/* Of a word in a sentence. */
#define SHOWN(len) ((len) < 60 ? (int)(len) : 60)

struct piece { const char *at; size_t len; };

/* The next piece of *rest up to one of the separators, without blanks around it; false
 * at the end. */
static bool next(struct piece *rest, char separator, struct piece *ret)
{
	const char *end;

	if (!rest->at)
		return false;
	end = memchr(rest->at, separator, rest->len);
	*ret = (struct piece){ rest->at, end ? (size_t)(end - rest->at) : rest->len };
	rest->len -= end ? ret->len + 1 : ret->len;
	rest->at = end ? end + 1 : NULL;
	while (ret->len && isblank((unsigned char)*ret->at)) {
		ret->at++;
		ret->len--;
	}
	while (ret->len && isblank((unsigned char)ret->at[ret->len - 1]))
		ret->len--;
	return true;
}

static bool is_word(const struct piece *p, const char *word)
{
	return strlen(word) == p->len && !strncasecmp(p->at, word, p->len);
}

static int take_word(const struct piece *word, struct sn_elastic_rule *rule, struct sn_err *err)
{
	if (is_word(word, "off")) {
		rule->off = true;
		return 0;
	}
	if (is_word(word, "all"))
		return 0;
	for (int m = SN_MEANS_RESTART; m <= SN_MEANS_REQUEUE; m++) {
		char name[24] = "no-";

		strcat(name, sn_means_name((enum sn_means)m));
		if (is_word(word, name)) {
			rule->forbidden |= 1u << m;
			return 0;
		}
	}
	return sn_err_set(err, -EINVAL,
			  "ElasticPolicy: \"%.*s\": want off, all, or one or more of no-restart, no-swap, no-replace, no-move, no-shrink, no-requeue, with commas between",
			  SHOWN(word->len), word->at);
}

static bool is_account(const struct piece *p)
{
	for (size_t i = 0; i < p->len; i++)
		if (isspace((unsigned char)p->at[i]) || iscntrl((unsigned char)p->at[i]) ||
		    strchr("=\"'", p->at[i]))
			return false;
	return p->len && p->len < SN_ELASTIC_ACCOUNT_MAX;
}

static int add_account(struct sn_elastic_policy *policy, const struct piece *name,
		       const struct sn_elastic_rule *rule, struct sn_err *err)
{
	struct sn_elastic_rule *to = &policy->rule[policy->n];

	if (!is_account(name))
		return sn_err_set(err, -EINVAL,
				  "ElasticPolicy: account \"%.*s\": want a name of 1 to %d characters without blanks, quotes and \"=\"",
				  SHOWN(name->len), name->at, SN_ELASTIC_ACCOUNT_MAX - 1);
	for (uint32_t i = 0; i < policy->n; i++)
		if (is_word(name, policy->rule[i].account))
			return sn_err_set(err, -EINVAL,
					  "ElasticPolicy: account %.*s is named twice; name it once, with all of its words",
					  SHOWN(name->len), name->at);
	if (policy->n == SN_ELASTIC_RULES_MAX)
		return sn_err_set(err, -EINVAL, "ElasticPolicy: more than %d accounts are named",
				  SN_ELASTIC_RULES_MAX);
	*to = *rule;
	memcpy(to->account, name->at, name->len);
	to->account[name->len] = '\0';
	policy->n++;
	return 0;
}

static int take_rule(struct sn_elastic_policy *policy, const struct piece *text, bool *has_other,
		     struct sn_err *err)
{
	struct piece rest = *text, who, words, one;
	struct sn_elastic_rule rule = { .account = "" };
	int rc = 0;

	next(&rest, ':', &who);
	if (!rest.at || memchr(rest.at, ':', rest.len))
		return sn_err_set(err, -EINVAL,
				  "ElasticPolicy: \"%.*s\": want account=NAME[,NAME…]:WORDS or default:WORDS, such as \"account=prod:no-requeue,no-shrink\"",
				  SHOWN(text->len), text->at);
	words = rest;
	while (!rc && next(&words, ',', &one))
		rc = take_word(&one, &rule, err);
	if (rc)
		return rc;
	if (is_word(&who, "default")) {
		if (*has_other)
			return sn_err_set(err, -EINVAL, "ElasticPolicy: default is there twice");
		*has_other = true;
		policy->other = rule;
		return 0;
	}
	if (who.len < 8 || strncasecmp(who.at, "account=", 8))
		return sn_err_set(err, -EINVAL,
				  "ElasticPolicy: \"%.*s\": a rule is for account=NAME[,NAME…] or default",
				  SHOWN(who.len), who.at);
	who.at += 8;
	who.len -= 8;
	while (!rc && next(&who, ',', &one))
		rc = add_account(policy, &one, &rule, err);
	return rc;
}

int sn_elastic_policy_parse(const char *text, struct sn_elastic_policy *ret, struct sn_err *err)
{
	struct piece rest = { text, strlen(text) }, one;
	struct sn_elastic_policy policy = { .n = 0 };
	bool has_other = false;
	int rc = 0;

	/* An empty one, as after a last semicolon, is no rule. */
	while (!rc && next(&rest, ';', &one))
		if (one.len)
			rc = take_rule(&policy, &one, &has_other, err);
	if (!rc)
		*ret = policy;
	return rc;
}

const struct sn_elastic_rule *sn_elastic_policy_find(const struct sn_elastic_policy *policy,
						     const char *account)
{
	for (uint32_t i = 0; i < policy->n; i++)
		if (!strcasecmp(policy->rule[i].account, account ? account : ""))
			return &policy->rule[i];
	return &policy->other;
}

uint32_t sn_elastic_allowed(const struct sn_elastic_rule *rule)
{
	return ALL & ~rule->forbidden;
}
