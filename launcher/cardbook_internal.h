/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardbook_internal.h - the keys of the card book.
 */
#ifndef SN_LAUNCHER_CARDBOOK_INTERNAL_H
#define SN_LAUNCHER_CARDBOOK_INTERNAL_H

#include "launcher/cardbook.h"

#define SN_CARDBOOK_CARDS_KEY "cards"
#define SN_CARDBOOK_DEGRADED_KEY "degraded"
#define SN_CARDBOOK_DRAIN "drain"
#define SN_CARDBOOK_HEALTH "health"
#define SN_CARDBOOK_SUPERNODE "supernode"
#define SN_CARDBOOK_UNIT "unit"

static inline const char *cardbook_kind_key(enum sn_cardkind kind)
{
	switch (kind) {
	case SN_CARDKIND_DRAIN:
		return SN_CARDBOOK_DRAIN;
	case SN_CARDKIND_HEALTH:
		return SN_CARDBOOK_HEALTH;
	case SN_CARDKIND_SUPERNODE:
		return SN_CARDBOOK_SUPERNODE;
	case SN_CARDKIND_UNIT:
		break;
	}
	return SN_CARDBOOK_UNIT;
}

#endif
