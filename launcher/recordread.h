/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recordread.h - the records that snrecord.h's users write, read back.
 */
#ifndef SN_LAUNCHER_RECORDREAD_H
#define SN_LAUNCHER_RECORDREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/records.h"

struct sn_recordread {
	uint32_t files;
	uint32_t lines; /* read */
	uint32_t cut; /* lines that were cut short, by a process that was killed */
	bool tails; /* of long files only the end was read */
	/* Told of the files of a directory as they are read; or NULL. */
	void (*at)(uint64_t done, uint64_t total);
};

/*
 * The lines of one file. brief: of a long text, the operations before its last
 * part are passed over as long as each communicator has one in that part; for
 * the files that libsnrecord writes, one rank each. A line that ends too early
 * is counted and passed over. -EINVAL: "file:line: …".
 */
int sn_recordread_text(struct sn_records *rec, const char *text, size_t len,
		       const char *file, bool brief, struct sn_recordread *count,
		       struct sn_err *err);

/* A file, or every *.jsonl of a directory (at most max of them, spread over the
 * ranks; 0: all). */
int sn_recordread_path(struct sn_records *rec, const char *path, uint32_t max,
		       struct sn_recordread *count, struct sn_err *err);

#endif
