/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.c - snrun's link to snelasticd: the main thread's side.
 *
 * What the main thread says lies here till the link's own thread (linkwire.c) has sent it,
 * and what the daemon orders till the main thread takes it.
 */
#include "config.h"

#include <errno.h>

#include "launcher/link.h"

#ifdef HAVE_MUNGE

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "launcher/link_internal.h"
#include "launcher/linkstate.h"

#define FIGURES_MS 5000 /* between two that only bring figures forward */
#define STALE_MS 50000 /* an order that nobody took: its giver has given up */
#define TELL_MS 2000 /* figures are looked at so often */
#define END_MS 300

struct link lk = { .lock = PTHREAD_MUTEX_INITIALIZER, .in = -1, .out = -1 };

void link_wake(int fd)
{
	uint64_t one = 1;

	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

void link_drain(int fd)
{
	uint64_t count;

	if (fd >= 0 && read(fd, &count, sizeof(count)) < 0)
		return;
}

void link_answer_now(uint64_t id, int rc, const char *error)
{
	struct link_answer *a;

	if (lk.n_answers == LINK_QUEUE)
		return; /* the daemon's patience is its end */
	a = &lk.answer[lk.n_answers++];
	a->id = id;
	a->rc = rc;
	snprintf(a->error, sizeof(a->error), "%s", rc ? error : "");
}

static void publish(json_object *state)
{
	const char *text = json_object_to_json_string_ext(state, JSON_C_TO_STRING_PLAIN);
	char *copy = text ? strdup(text) : NULL;

	if (!copy)
		return;
	pthread_mutex_lock(&lk.lock);
	free(lk.state);
	lk.state = copy;
	lk.news = true;
	pthread_mutex_unlock(&lk.lock);
	link_wake(lk.out);
}

void snrun_link_start(const struct snrun *run)
{
	pthread_condattr_t attr;
	pthread_t thread;

	lk.job = run->job.id;
	lk.in = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	lk.out = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lk.in < 0 || lk.out < 0 || pthread_condattr_init(&attr))
		return;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&lk.ended, &attr);
	lk.started = true;
	snrun_link_tell(run);
	lk.started = lk.state && !pthread_create(&thread, NULL, link_run, NULL);
	if (lk.started)
		pthread_detach(thread);
}

int snrun_link_fd(void)
{
	return lk.started ? lk.in : -1;
}

bool snrun_link_is_there(const struct snrun *run)
{
	bool there;

	pthread_mutex_lock(&lk.lock);
	there = lk.up || (lk.went && snrun_now_ms() - lk.went < (int64_t)run->job.policy.help_wait * 1000);
	pthread_mutex_unlock(&lk.lock);
	return there;
}

/* Since the latest of either kind. */
static double safe_of(json_object *state)
{
	json_object *v;
	double safe = json_object_object_get_ex(state, "since_safe", &v) ? json_object_get_double(v) : -1;
	double memory = json_object_object_get_ex(state, "since_memory", &v) ?
		json_object_get_double(v) : safe;

	return memory < safe ? memory : safe;
}

void snrun_link_tell(const struct snrun *run)
{
	int64_t now = snrun_now_ms();
	json_object *state;
	char *essence;
	bool other;
	double safe;

	if (!lk.started)
		return;
	state = snrun_link_state(run);
	essence = snrun_link_essence(state);
	safe = safe_of(state);
	other = !essence || !lk.essence || strcmp(essence, lk.essence);
	/* The daemon thinks that more would be lost, as it does not know the last safe
	 * point. */
	if (other || (now - lk.figures_at >= FIGURES_MS &&
		      safe + 1 < lk.safe + (double)(now - lk.figures_at) / 1000)) {
		publish(state);
		lk.figures_at = now;
		lk.safe = safe;
	}
	lk.told_at = now;
	free(lk.essence);
	lk.essence = essence;
	json_object_put(state);
}

void snrun_link_look(const struct snrun *run)
{
	if (lk.started && snrun_now_ms() - lk.told_at >= TELL_MS)
		snrun_link_tell(run);
}

void snrun_link_lost(const struct snrun *run, const char *node)
{
	(void)run;
	if (!lk.started)
		return;
	pthread_mutex_lock(&lk.lock);
	/* Of a whole supernode the daemon knows by then, without the rest. */
	if (lk.lost.n < 128)
		sn_names_add(&lk.lost, node);
	lk.lost_at = snrun_now_ms();
	pthread_mutex_unlock(&lk.lock);
	link_wake(lk.out);
}

static bool was_done(const char *once)
{
	for (int i = 0; *once && i < LINK_ONCE; i++)
		if (!strcmp(lk.done_once[i], once))
			return true;
	return false;
}

int snrun_link_next(const struct snrun *run, struct sn_control *ret)
{
	if (!lk.started)
		return -ENOENT;
	link_drain(lk.in);
	for (;;) {
		bool any;

		pthread_mutex_lock(&lk.lock);
		any = lk.n_orders > 0;
		if (any) {
			lk.taken = lk.order[0];
			memmove(lk.order, lk.order + 1, --lk.n_orders * sizeof(*lk.order));
		}
		pthread_mutex_unlock(&lk.lock);
		if (!any)
			return -ENOENT;
		if (was_done(lk.taken.once)) {
			snrun_link_answer(run, 0, NULL);
		} else if (snrun_now_ms() - lk.taken.at < STALE_MS) {
			*ret = lk.taken.ask;
			return 0;
		}
	}
}

void snrun_link_answer(const struct snrun *run, int rc, const char *error)
{
	if (!rc && *lk.taken.once && !was_done(lk.taken.once))
		memcpy(lk.done_once[lk.next_once++ % LINK_ONCE], lk.taken.once, sizeof(lk.taken.once));
	snrun_link_tell(run);
	pthread_mutex_lock(&lk.lock);
	link_answer_now(lk.taken.id, rc, error);
	pthread_mutex_unlock(&lk.lock);
	link_wake(lk.out);
}

void snrun_link_end(const struct snrun *run, int exit_code)
{
	struct timespec end;
	json_object *state;

	if (!lk.started)
		return;
	state = snrun_link_state(run);
	json_object_object_add(state, "state", json_object_new_string("ended"));
	json_object_object_add(state, "exit", json_object_new_int(exit_code));
	publish(state);
	json_object_put(state);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += END_MS * 1000000L;
	end.tv_sec += end.tv_nsec / 1000000000L;
	end.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&lk.lock);
	lk.ending = true;
	link_wake(lk.out);
	while (lk.up && !lk.done &&
	       pthread_cond_timedwait(&lk.ended, &lk.lock, &end) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&lk.lock);
	lk.started = false;
}

#else

void snrun_link_start(const struct snrun *run) { (void)run; }
int snrun_link_fd(void) { return -1; }
bool snrun_link_is_there(const struct snrun *run) { (void)run; return false; }
void snrun_link_tell(const struct snrun *run) { (void)run; }
void snrun_link_look(const struct snrun *run) { (void)run; }
void snrun_link_lost(const struct snrun *run, const char *node) { (void)run; (void)node; }
int snrun_link_next(const struct snrun *run, struct sn_control *ret)
{
	(void)run;
	(void)ret;
	return -ENOENT;
}
void snrun_link_answer(const struct snrun *run, int rc, const char *error)
{
	(void)run;
	(void)rc;
	(void)error;
}
void snrun_link_end(const struct snrun *run, int exit_code) { (void)run; (void)exit_code; }

#endif
