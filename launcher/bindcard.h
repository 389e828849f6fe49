/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bindcard.h - the PCI address of a card, from what the kernel shows.
 */
#ifndef SN_LAUNCHER_BINDCARD_H
#define SN_LAUNCHER_BINDCARD_H

#include <stdint.h>

#include "topology/policy.h"

#define SN_PCI_MAX 24 /* "0000:81:00.0", with room for long domains */

/*
 * In this order: word number `card` of CardPci; for nvidia what its driver says
 * of the device's minor number; the PCI device that /sys says the device file
 * belongs to. root is put before every path ("" but for tests). -ENOENT: nobody
 * says, as on machines whose cards are not on PCI.
 */
int sn_bind_card_pci(const char *root, enum sn_vendor vendor,
		     const char *card_pci, uint32_t card, char ret[SN_PCI_MAX]);

/*
 * The numbers of the cards that this machine has device files of, ascending:
 * /dev/davinciN or /dev/nvidiaN. At most max; returns how many.
 */
uint32_t sn_bind_cards_here(const char *root, enum sn_vendor vendor,
			    uint32_t *ret, uint32_t max);

#endif
