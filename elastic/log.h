/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - what snelasticd says: to standard error, a file, or syslog.
 *
 * One line a call, in any thread. What others can cause at will is counted, not
 * written, beyond a few lines a second (sn_log_limited).
 */
#ifndef SN_ELASTIC_LOG_H
#define SN_ELASTIC_LOG_H

#include "topology/err.h"

enum sn_log_level { SN_LOG_ERROR, SN_LOG_INFO, SN_LOG_DEBUG };

/* file NULL: standard error; "": syslog. A file that cannot be opened is an error,
 * and what was in use stays. Also to open a file anew after it was moved. */
int sn_log_open(const char *file, enum sn_log_level level, struct sn_err *err);
void sn_log(enum sn_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sn_log_limited(enum sn_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define sn_log_error(...) sn_log(SN_LOG_ERROR, __VA_ARGS__)
#define sn_log_info(...) sn_log(SN_LOG_INFO, __VA_ARGS__)
#define sn_log_debug(...) sn_log(SN_LOG_DEBUG, __VA_ARGS__)

#endif
