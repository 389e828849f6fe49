/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stage.h - the job directory on nodes that do not share it.
 *
 * A short step runs `snrun --receive DIR TOKEN` once on each node and gives it the
 * files on its standard input. Where the directory is the same one, the token is
 * already there, and nothing is done.
 */
#ifndef SN_LAUNCHER_STAGE_H
#define SN_LAUNCHER_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "topology/err.h"

#define SN_STAGE_TOKEN_FILE "token"
#define SN_STAGE_FILE_MAX (256u << 20)

/* All files of dir that belong to the plan, one after the other, the generation
 * last: "NAME LENGTH\n" and the bytes. free(). */
int sn_stage_pack(const char *dir, char **ret, size_t *ret_len,
		  struct sn_err *err);
/* Write them into dir, which is made. -EINVAL: not such a stream, or cut short. */
int sn_stage_unpack(const char *dir, const char *data, size_t len,
		    struct sn_err *err);
/* Is the token there? */
bool sn_stage_is_shared(const char *dir, const char *token);

#endif
