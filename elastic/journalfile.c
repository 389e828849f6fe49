/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journalfile.c - the journal on disk.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elastic/journal.h"
#include "launcher/writefile.h"

void sn_journal_init(struct sn_journal *journal, const char *dir)
{
	memset(journal, 0, sizeof(*journal));
	snprintf(journal->dir, sizeof(journal->dir), "%s", dir);
	journal->fd = -1;
}

void sn_journal_done(struct sn_journal *journal)
{
	if (journal->fd >= 0)
		close(journal->fd);
	journal->fd = -1;
}

int sn_journal_load(const struct sn_journal *journal, struct sn_journal_state *ret,
		    struct sn_err *ret_note, struct sn_err *err)
{
	char *text = NULL;
	size_t len = 0;
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret_note->text[0] = '\0';
	rc = sn_read_file(journal->dir, SN_JOURNAL_FILE, SN_JOURNAL_MAX, &text, &len, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = sn_journal_parse(text, len, ret, err);
	if (!rc && ret->damaged) {
		rc = sn_write_file(journal->dir, SN_JOURNAL_FILE ".bad", text, len, err);
		sn_err_set(ret_note, 0,
			   "%u line%s of %s/" SN_JOURNAL_FILE " %s damaged; it is kept as " SN_JOURNAL_FILE ".bad, and what can be read of it counts",
			   ret->damaged, ret->damaged == 1 ? "" : "s", journal->dir,
			   ret->damaged == 1 ? "is" : "are");
	}
	if (rc)
		sn_journal_state_done(ret);
	free(text);
	return rc;
}

int sn_journal_rewrite(struct sn_journal *journal, const char *text, size_t len,
		       uint32_t lines, struct sn_err *err)
{
	int dirfd, fd, rc;
	struct stat st;

	sn_journal_done(journal);
	rc = sn_write_file(journal->dir, SN_JOURNAL_FILE, text, len, err);
	if (!rc)
		rc = sn_dir_open(journal->dir, &dirfd, err);
	if (rc)
		return rc;
	fd = openat(dirfd, SN_JOURNAL_FILE, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? -errno : 0;
	/* Not what somebody else has put in its place since. */
	if (!rc && (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != len)) {
		close(fd);
		rc = -EAGAIN;
	}
	close(dirfd);
	if (rc)
		return sn_err_set(err, rc, "%s/" SN_JOURNAL_FILE ": cannot be opened: %s",
				  journal->dir, strerror(-rc));
	journal->fd = fd;
	journal->size = len;
	journal->lines = lines;
	return 0;
}

int sn_journal_append(struct sn_journal *journal, const char *text, uint32_t lines,
		      struct sn_err *err)
{
	size_t len = strlen(text), done = 0;
	int rc = 0;

	if (journal->fd < 0)
		return sn_err_set(err, -EAGAIN, "%s/" SN_JOURNAL_FILE " is to be written anew",
				  journal->dir);
	while (done < len && !rc) {
		ssize_t n = write(journal->fd, text + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			rc = -errno;
	}
	if (!rc && fsync(journal->fd)) {
		rc = -errno;
		/* What is on disk is not known, and a second fsync would not tell. */
		sn_journal_done(journal);
	}
	if (rc) {
		sn_err_set(err, rc, "%s/" SN_JOURNAL_FILE ": %s", journal->dir,
			   rc == -ENOSPC ? "the file system is full" : strerror(-rc));
		/* A piece of a line must not come before the next. */
		if (journal->fd >= 0 && ftruncate(journal->fd, (off_t)journal->size))
			sn_journal_done(journal);
		return rc;
	}
	journal->size += len;
	journal->lines += lines;
	return 0;
}
