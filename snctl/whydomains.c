/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whydomains.c - what degraded domains and PowerLimit have to do with a job.
 */
#include "config.h"

#include <stdio.h>

#include "snctl/livedomains.h"
#include "snctl/term.h"
#include "snctl/why.h"

#define LIMITS_SHOWN 4
#define TEXT_MAX 1024

/* It has a place now, and degraded domains are in it. */
static bool is_warned(const struct live *live, const struct why *why,
		      const struct live_domains *domains, char *text)
{
	return why->fits_now && why->found &&
		sn_degraded_warning(&domains->degraded, live->topo, &why->now,
				    text, TEXT_MAX);
}

/* Does the limit of s stand in the way of anything now? */
static bool is_at_limit(const struct live *live,
			const struct live_domains *domains, uint32_t s,
			uint32_t *ret_busy, uint32_t *ret_most)
{
	uint32_t up = 0;

	*ret_busy = live_domains_busy(domains, live, s, ret_most);
	if (*ret_most == UINT32_MAX)
		return false;
	for (uint32_t n = 0; n < live->topo->supernode[s].n_nodes; n++)
		up += live->node[live->topo->supernode[s].first_node + n].up;
	return up > *ret_most;
}

static void print_power(const struct live *live,
			const struct live_domains *domains)
{
	uint32_t left = LIMITS_SHOWN;

	for (uint32_t s = 0; s < live->topo->n_supernodes; s++) {
		char text[256];
		uint32_t busy, most;

		if (!is_at_limit(live, domains, s, &busy, &most))
			continue;
		if (!left--) {
			puts("Power: and other supernodes.");
			return;
		}
		sn_power_text(&domains->power, &live->topo->supernode[s], text,
			      sizeof(text));
		printf("Power: %s; %u do, so %u more may begin.\n", text, busy,
		       most > busy ? most - busy : 0);
	}
}

void why_print_domains(const struct live *live, const struct why *why)
{
	struct live_domains domains;
	char text[TEXT_MAX];

	if (!live_domains_make(live, NULL, NULL, &domains, NULL)) {
		if (is_warned(live, why, &domains, text))
			printf("Warning: %s.\n", text);
		if (!why->fits_now)
			print_power(live, &domains);
	}
	live_domains_done(&domains);
}

static void json_power(const struct live *live,
		       const struct live_domains *domains)
{
	bool any = false;

	for (uint32_t s = 0; s < live->topo->n_supernodes; s++) {
		uint32_t busy, most;

		if (!is_at_limit(live, domains, s, &busy, &most))
			continue;
		fputs(any ? ",{\"supernode\":" : ", \"power\": [{\"supernode\":", stdout);
		json_string(stdout, live->topo->supernode[s].name);
		printf(",\"most_busy_nodes\":%u,\"busy_nodes\":%u}", most, busy);
		any = true;
	}
	if (any)
		fputs("]", stdout);
}

void why_json_domains(const struct live *live, const struct why *why)
{
	struct live_domains domains;
	char text[TEXT_MAX];

	if (!live_domains_make(live, NULL, NULL, &domains, NULL)) {
		if (is_warned(live, why, &domains, text)) {
			fputs(", \"warnings\": [", stdout);
			json_string(stdout, text);
			fputs("]", stdout);
		}
		if (!why->fits_now)
			json_power(live, &domains);
	}
	live_domains_done(&domains);
}
