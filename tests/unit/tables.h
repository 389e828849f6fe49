/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables.h - plans and files for the tests of inventories and rank tables.
 */
#ifndef SN_TESTS_TABLES_H
#define SN_TESTS_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/ranktable.h"

struct json_object;

/* A plan of the layout on all n nodes of topology text conf, `cards` cards each,
 * named in its order. */
void tables_plan(const char *conf, const char *const *name, uint32_t n,
		 uint32_t cards, const char *spec, struct sn_plan *ret);

/* The whole of tests/golden/ranktable/NAME, to be freed. */
char *tables_golden(const char *name);
/* Compare with that file, or write it where SN_UPDATE_GOLDEN is set. */
void tables_equal_golden(const char *name, const char *text);

/* The nodes and cards that the plan uses, from a text. */
int tables_load(const struct sn_plan *plan, const char *text,
		struct sn_inventory *ret, struct sn_err *err);

/* old once replaced by new in text, to be freed; fails where there is no old. */
char *tables_replace(const char *text, const char *old, const char *new_text);

/* A new directory, removed with all that is in it. */
char *tables_dir(void);
void tables_rmdir(char *dir);
void tables_put(const char *dir, const char *name, const char *text, bool program);

#endif
