/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardbook.h - the marks on a node's cards and domains, kept in its record.
 *
 * They are in the `extra` of the node's record, which slurmctld saves and shows
 * and only SlurmUser and root can set:
 *	{"cards": {"3": {"drain": {"by": "root", "at": 1732900000, "why": "ECC"},
 *			 "health": {"state": "suspect", "at": 1732900000, "why": "slow"}}},
 *	 "degraded": {"supernode": {"by": "root", "at": 1732900000, "why": "link"}}, …}
 * A card with either mark is masked: no job that starts gets it. `drain` is an
 * administrator's, `health` the health engine's. Other keys are other people's and
 * are kept.
 */
#ifndef SN_LAUNCHER_CARDBOOK_H
#define SN_LAUNCHER_CARDBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_CARDBOOK_CARDS 64 /* of a node: numbers 0 to 63 */
#define SN_CARDBOOK_BY_MAX 64 /* with the NUL */
#define SN_CARDBOOK_WHY_MAX 101 /* bytes, with the NUL; one line */

enum sn_cardhealth { /* "health"'s "state" */
	SN_CARDHEALTH_NONE, /* no such mark, or a state that is not known here */
	SN_CARDHEALTH_SUSPECT,
	SN_CARDHEALTH_PROBING,
	SN_CARDHEALTH_QUARANTINED,
	SN_CARDHEALTH_MANUAL,
};

struct sn_cardmark {
	enum sn_cardhealth state; /* of a health mark alone */
	uint64_t at; /* seconds since 1970; 0: not told */
	char by[SN_CARDBOOK_BY_MAX]; /* a user's name; "": not told; health has none */
	char why[SN_CARDBOOK_WHY_MAX]; /* UTF-8, no control characters */
};

struct sn_cardbook {
	/* bit c: card c. masked = drained | unhealthy */
	uint64_t masked, drained, unhealthy;
	bool degraded_supernode, degraded_unit;
	bool unreadable; /* it cannot be told which cards are marked: all count */
};

/*
 * extra may be NULL or ""; cheap where it has none of these marks. -EINVAL: no JSON,
 * or no book; *ret then has what could be told: a mark that makes no sense masks
 * its card all the same, and where "cards" is no object, or is in a text that is
 * none, all 64 are drained.
 */
int sn_cardbook_read(const char *extra, struct sn_cardbook *ret,
		     struct sn_err *err);

/* Which of the two marks of a card, or of the domains. */
enum sn_cardkind {
	SN_CARDKIND_DRAIN,
	SN_CARDKIND_HEALTH,
	SN_CARDKIND_SUPERNODE, /* degraded; no card */
	SN_CARDKIND_UNIT, /* the same */
};

/* -ENOENT: there is no such mark (card is not looked at for domains); -EINVAL as
 * above. A member that makes no sense is left empty; so is the drain mark of each
 * card where "cards" is no object. */
int sn_cardbook_find(const char *extra, enum sn_cardkind kind, uint32_t card,
		     struct sn_cardmark *ret, struct sn_err *err);

/*
 * The new text of extra (free): with this mark on each of the cards, or (mark NULL)
 * without; cards is not looked at for domains. All else in it stays, and a mark
 * that replaces one keeps members of it that are not known here. -EINVAL: extra is
 * not a JSON object, or the mark is none that may be written; -E2BIG.
 */
int sn_cardbook_set(const char *extra, enum sn_cardkind kind, uint64_t cards,
		    const struct sn_cardmark *mark, char **ret_extra,
		    struct sn_err *err);

/* text as a mark's why: cut at a whole character to what fits, control characters
 * and bytes that are no UTF-8 as '?'. */
void sn_cardbook_why(char ret[SN_CARDBOOK_WHY_MAX], const char *text);

/* "suspect", …; "" for SN_CARDHEALTH_NONE. */
const char *sn_cardhealth_word(enum sn_cardhealth state);

#endif
