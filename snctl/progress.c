/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.c - a line on the terminal for work that takes over a second.
 *
 * The line ends with a carriage return and is cleared with blanks: no terminal lacks
 * these, and what another writes to it meanwhile, such as a library's error or a
 * shell's prompt after Ctrl-C, begins in the first column.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "snctl/progress.h"
#include "snctl/term.h"

#define FIRST_MS 1000 /* until it is worth a line */
#define NEXT_MS 250

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	pthread_t drawer;
	bool on;
	const char *what;
	uint64_t done, total;
	struct timespec began;
	size_t shown; /* columns of it that are on the terminal */
} line = { .lock = PTHREAD_MUTEX_INITIALIZER };

void progress_format(char *buf, size_t size, const char *what, uint64_t done,
		     uint64_t total, uint64_t seconds, unsigned int width)
{
	char of[64] = "";

	if (total)
		snprintf(of, sizeof(of), " %llu of %llu,", (unsigned long long)done,
			 (unsigned long long)total);
	snprintf(buf, size < width + 1 ? size : width + 1, "%s:%s %llu s", what, of,
		 (unsigned long long)seconds);
}

/* The rest of these hold the lock. */
static void put(const char *text, size_t n)
{
	/* Nobody can be told that the terminal has gone. */
	if (write(STDERR_FILENO, text, n) != (ssize_t)n)
		line.shown = 0;
}

static void draw(void)
{
	unsigned int width = term_width_of(STDERR_FILENO) - 1;
	char text[256 + 1];
	struct timespec now;
	size_t n, was = line.shown;

	clock_gettime(CLOCK_MONOTONIC, &now);
	progress_format(text, sizeof(text) - 1, line.what, line.done, line.total,
			(uint64_t)(now.tv_sec - line.began.tv_sec) -
			(now.tv_nsec < line.began.tv_nsec), width);
	n = line.shown = strlen(text);
	for (; n < was && n < sizeof(text) - 1; n++)
		text[n] = ' ';
	text[n] = '\r';
	put(text, n + 1);
}

static void clear(void)
{
	char text[256 + 2];

	if (!line.shown)
		return;
	memset(text, ' ', line.shown);
	text[line.shown] = '\r';
	put(text, line.shown + 1);
	line.shown = 0;
}

static void *draw_on(void *arg)
{
	struct timespec next = line.began;
	long ms = FIRST_MS;

	(void)arg;
	pthread_mutex_lock(&line.lock);
	while (line.on) {
		next.tv_nsec += ms * 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (line.on && !pthread_cond_timedwait(&line.ended, &line.lock, &next))
			;
		if (line.on)
			draw();
		/* Not on and on what was missed while the process was stopped. */
		clock_gettime(CLOCK_MONOTONIC, &next);
		ms = NEXT_MS;
	}
	pthread_mutex_unlock(&line.lock);
	return NULL;
}

/* Signals are for the program's own thread. */
static bool start(void)
{
	pthread_condattr_t clock;
	sigset_t all, old;
	bool ok;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&line.ended, &clock);
	pthread_condattr_destroy(&clock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ok = !pthread_create(&line.drawer, NULL, draw_on, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!ok)
		pthread_cond_destroy(&line.ended);
	return ok;
}

void progress_begin(const char *what)
{
	progress_end();
	if (!isatty(STDERR_FILENO))
		return;
	line.what = what;
	line.done = line.total = 0;
	clock_gettime(CLOCK_MONOTONIC, &line.began);
	line.on = true;
	if (!start())
		line.on = false;
}

void progress_at(uint64_t done, uint64_t total)
{
	if (!line.on)
		return;
	pthread_mutex_lock(&line.lock);
	line.done = done;
	line.total = total;
	pthread_mutex_unlock(&line.lock);
}

void progress_end(void)
{
	if (!line.on)
		return;
	pthread_mutex_lock(&line.lock);
	line.on = false;
	pthread_cond_signal(&line.ended);
	pthread_mutex_unlock(&line.lock);
	pthread_join(line.drawer, NULL);
	pthread_cond_destroy(&line.ended);
	clear();
}
