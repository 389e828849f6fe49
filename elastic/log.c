/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.c - what snelasticd says.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "elastic/log.h"

#define LINES_A_SECOND 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = STDERR_FILENO; /* -1: syslog */
static enum sn_log_level most = SN_LOG_INFO;
static time_t second; /* of the limit */
static unsigned int lines, left_out;

int sn_log_open(const char *file, enum sn_log_level level, struct sn_err *err)
{
	int fd = STDERR_FILENO;

	if (file && !*file) {
		openlog("snelasticd", LOG_PID, LOG_DAEMON);
		fd = -1;
	} else if (file) {
		fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
		if (fd < 0)
			return sn_err_set(err, -errno, "log file %s: %s", file, strerror(errno));
	}
	pthread_mutex_lock(&lock);
	if (log_fd > STDERR_FILENO)
		close(log_fd);
	log_fd = fd;
	most = level;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void write_line(enum sn_log_level level, const char *text)
{
	static const char *const word[] = { "error: ", "", "debug: " };
	static const int syslog_level[] = { LOG_ERR, LOG_INFO, LOG_DEBUG };
	struct timespec t;
	struct tm tm;
	char line[2300], when[40];
	int n;

	if (log_fd < 0) {
		syslog(syslog_level[level], "%s%s", word[level], text);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	localtime_r(&t.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	n = snprintf(line, sizeof(line), "[%s.%03ld] %s%s\n", when, t.tv_nsec / 1000000,
		     word[level], text);
	if (n > (int)sizeof(line) - 1)
		n = (int)sizeof(line) - 1;
	/* A full disk must not stop the daemon, and there is nobody to tell. */
	if (write(log_fd, line, (size_t)n) < 0)
		return;
}

/* No control characters, whoever wrote the text. */
static void format(char *buf, size_t size, const char *fmt, va_list ap)
{
	vsnprintf(buf, size, fmt, ap);
	for (; *buf; buf++)
		if ((unsigned char)*buf < 0x20 || *buf == 0x7f)
			*buf = '?';
}

void sn_log(enum sn_log_level level, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (level > most)
		return;
	va_start(ap, fmt);
	format(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	write_line(level, text);
	pthread_mutex_unlock(&lock);
}

void sn_log_limited(enum sn_log_level level, const char *fmt, ...)
{
	time_t now = time(NULL);
	char text[2048];
	va_list ap;

	if (level > most)
		return;
	va_start(ap, fmt);
	format(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	if (now != second) {
		char note[80];

		if (left_out) {
			snprintf(note, sizeof(note), "%u more such lines were left out", left_out);
			write_line(SN_LOG_INFO, note);
		}
		second = now;
		lines = left_out = 0;
	}
	if (lines < LINES_A_SECOND) {
		lines++;
		write_line(level, text);
	} else {
		left_out++;
	}
	pthread_mutex_unlock(&lock);
}
