/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobdirempty.h - take the suite's own files out of a job's directory.
 *
 * Numbers of jobs come again: after the last one, and where slurmctld has lost its
 * state. Then the files of an earlier job are in the way of a new one.
 */
#ifndef SN_LAUNCHER_JOBDIREMPTY_H
#define SN_LAUNCHER_JOBDIREMPTY_H

#include <time.h>

/* Of an open directory what the suite writes there, by its names, but for the lock;
 * all else stays, and links are neither followed nor removed. before: what was last
 * written then or later stays, too; 0: nothing does. The file that says in which
 * generation the job is goes last. */
void sn_jobdir_empty(int dir_fd, time_t before);

#endif
