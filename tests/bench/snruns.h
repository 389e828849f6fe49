/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snruns.h - thousands of snruns, of distinct jobs 100 and up with two nodes each.
 */
#ifndef SN_TESTS_SNRUNS_H
#define SN_TESTS_SNRUNS_H

#include <stdint.h>

#define JOBS 5000
#define NODES 10000
#define CARDS 0xffu /* of a node */

/*
 * All attach; three times each says how it is; somebody scrapes metrics; all go. Each
 * phase ends with a letter, a, s, m, g, and goes on when a byte comes. Ends the process.
 */
_Noreturn void be_snruns(int phase_to, int go_from, uint32_t port, uint32_t web_port);

#endif
