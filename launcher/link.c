/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.c - snrun's link to snelasticd, in a thread of its own.
 *
 * What the main thread says lies here till the thread has sent it, and what the daemon
 * orders till the main thread takes it. Under the lock nothing waits for anybody.
 */
#include "config.h"

#include <errno.h>

#include "launcher/link.h"

#ifdef HAVE_MUNGE

#include <inttypes.h>
#include <json-c/json.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "elastic/client.h"
#include "launcher/linkstate.h"

#define OPEN_MS 5000 /* to connect, and be answered */
#define SAY_MS 3000
#define TRY_MS 500 /* between two tries, at first */
#define TRY_MOST_MS 60000
#define FIGURES_MS 5000 /* between two that only bring figures forward */
#define STILL_MS 300000 /* the daemon hears of the job so often at least */
#define STALE_MS 50000 /* an order that nobody took: its giver has given up */
#define TELL_MS 2000 /* figures are looked at so often */
#define END_MS 300
#define HINT_MS 10000 /* for which a lost node is worth more tries */
#define QUEUE 16
#define ONCE 32

struct order {
	struct sn_control ask;
	char once[SN_CONTROL_ID_MAX];
	uint64_t id;
	int64_t at;
};

struct answer {
	uint64_t id;
	int rc;
	char error[SN_ERR_SIZE];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool started, up, ending, done;
	int in, out; /* eventfds: for the main thread, for this one */
	uint32_t job;
	char *state; /* the latest, JSON */
	bool news; /* it is not sent yet */
	struct order order[QUEUE];
	uint32_t n_orders;
	struct answer answer[QUEUE];
	uint32_t n_answers;
	struct sn_names lost;
	int64_t lost_at; /* the last of them */
	/* of the main thread alone */
	struct order taken;
	char done_once[ONCE][SN_CONTROL_ID_MAX];
	uint32_t next_once;
	char *essence;
	int64_t told_at, figures_at;
	double safe; /* s since the last safe point, as sent */
	/* of the link's alone */
	struct sn_elastic_where where;
	struct sn_elastic_conn *conn;
	uint64_t link;
	int64_t said_at;
} lk = { .lock = PTHREAD_MUTEX_INITIALIZER, .in = -1, .out = -1 };

static void wake(int fd)
{
	uint64_t one = 1;

	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

static void drain(int fd)
{
	uint64_t count;

	if (fd >= 0 && read(fd, &count, sizeof(count)) < 0)
		return;
}

/* ---- the thread: requests ---------------------------------------------------------------- */

static json_object *request_of(const char *op)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "op", json_object_new_string(op));
	json_object_object_add(o, "job", json_object_new_int64(lk.job));
	return o;
}

/* Takes the request. */
static int ask(json_object *request)
{
	json_object *answer = NULL;
	int rc = sn_elastic_ask(&lk.where, request, SAY_MS, &answer, NULL);

	json_object_put(answer);
	json_object_put(request);
	return rc;
}

static json_object *state_request(const char *op)
{
	json_object *o = request_of(op), *state;

	pthread_mutex_lock(&lk.lock);
	state = lk.state ? json_tokener_parse(lk.state) : NULL;
	lk.news = false;
	pthread_mutex_unlock(&lk.lock);
	json_object_object_add(o, "state", state);
	return o;
}

static void hang_up(void)
{
	sn_elastic_close(lk.conn);
	lk.conn = NULL;
	pthread_mutex_lock(&lk.lock);
	lk.up = false;
	/* Their giver is told that the link has gone. */
	lk.n_answers = 0;
	pthread_mutex_unlock(&lk.lock);
}

static int attach(void)
{
	json_object *request, *first = NULL, *v;
	struct sn_policy policy;
	int rc = sn_elastic_find(NULL, &policy, &lk.where, NULL);

	if (rc)
		return rc;
	request = state_request("elastic.attach");
	rc = sn_elastic_open(&lk.where, request, OPEN_MS, &lk.conn, &first, NULL);
	json_object_put(request);
	if (rc)
		return rc;
	lk.link = json_object_object_get_ex(first, "link", &v) ? json_object_get_uint64(v) : 0;
	json_object_put(first);
	lk.said_at = snrun_now_ms();
	pthread_mutex_lock(&lk.lock);
	lk.up = true;
	pthread_mutex_unlock(&lk.lock);
	return 0;
}

static int say_lost(void)
{
	struct sn_names lost;
	json_object *o, *list;
	int rc;

	pthread_mutex_lock(&lk.lock);
	/* By now Slurm knows better. */
	if (lk.lost.n && snrun_now_ms() - lk.lost_at > HINT_MS * 6)
		sn_names_done(&lk.lost);
	lost = lk.lost;
	memset(&lk.lost, 0, sizeof(lk.lost));
	pthread_mutex_unlock(&lk.lock);
	if (!lost.n)
		return 0;
	o = request_of("elastic.hint");
	list = json_object_new_array();
	for (size_t i = 0; i < lost.n; i++)
		json_object_array_add(list, json_object_new_string(lost.name[i]));
	json_object_object_add(o, "lost", list);
	sn_names_done(&lost);
	rc = ask(o);
	/* A hint that is not understood is none the next time either. */
	return rc == -EINVAL || rc == -EPERM ? 0 : rc;
}

static bool next_answer(struct answer *ret)
{
	bool any;

	pthread_mutex_lock(&lk.lock);
	any = lk.n_answers > 0;
	if (any) {
		*ret = lk.answer[0];
		memmove(lk.answer, lk.answer + 1, --lk.n_answers * sizeof(*lk.answer));
	}
	pthread_mutex_unlock(&lk.lock);
	return any;
}

/* The state, and what has come of orders. */
static int say_state(void)
{
	struct answer a;
	bool news, more = next_answer(&a);
	int rc = 0;

	pthread_mutex_lock(&lk.lock);
	news = lk.news;
	pthread_mutex_unlock(&lk.lock);
	if (!more && !news && snrun_now_ms() - lk.said_at < STILL_MS)
		return 0;
	do {
		json_object *o = state_request("elastic.state");

		json_object_object_add(o, "link", json_object_new_int64((int64_t)lk.link));
		if (more) {
			json_object_object_add(o, "id", json_object_new_int64((int64_t)a.id));
			json_object_object_add(o, "ok", json_object_new_boolean(!a.rc));
			if (a.rc)
				json_object_object_add(o, "error", json_object_new_string(a.error));
		}
		rc = ask(o);
		lk.said_at = snrun_now_ms();
	} while (!rc && (more = next_answer(&a)));
	return rc;
}

/* ---- the thread: orders --------------------------------------------------------------------- */

static void answer_now(uint64_t id, int rc, const char *error)
{
	struct answer *a;

	if (lk.n_answers == QUEUE)
		return; /* the daemon's patience is its end */
	a = &lk.answer[lk.n_answers++];
	a->id = id;
	a->rc = rc;
	snprintf(a->error, sizeof(a->error), "%s", rc ? error : "");
}

static void take_order(json_object *message)
{
	json_object *o, *v;
	struct order order = { .at = snrun_now_ms() };
	struct sn_err err = { "the order cannot be read" };
	int rc;

	if (!json_object_object_get_ex(message, "do", &o) ||
	    !json_object_is_type(o, json_type_object))
		return;
	order.id = json_object_object_get_ex(o, "id", &v) ? json_object_get_uint64(v) : 0;
	if (json_object_object_get_ex(o, "once", &v))
		snprintf(order.once, sizeof(order.once), "%s", json_object_get_string(v));
	rc = sn_control_read(o, &order.ask, &err);
	pthread_mutex_lock(&lk.lock);
	if (!rc && lk.n_orders == QUEUE)
		rc = sn_err_set(&err, -EBUSY, "there are too many orders already");
	if (rc)
		answer_now(order.id, rc, err.text);
	else
		lk.order[lk.n_orders++] = order;
	pthread_mutex_unlock(&lk.lock);
	wake(lk.in);
}

/* ---- the thread: its loop ------------------------------------------------------------------- */

static bool is_ending(void)
{
	bool ending;

	pthread_mutex_lock(&lk.lock);
	ending = lk.ending;
	pthread_mutex_unlock(&lk.lock);
	return ending;
}

/* Nodes were lost: that is worth a try at once. */
static bool is_urgent(void)
{
	bool urgent;

	pthread_mutex_lock(&lk.lock);
	urgent = lk.lost.n && snrun_now_ms() - lk.lost_at < HINT_MS;
	pthread_mutex_unlock(&lk.lock);
	return urgent;
}

static void rest(int64_t ms)
{
	int64_t now = snrun_now_ms(), start = now, end = now + ms;

	for (; now < end && !is_ending(); now = snrun_now_ms()) {
		struct pollfd fd = { .fd = lk.out, .events = POLLIN };

		if (is_urgent() && now - start >= TRY_MS)
			break;
		if (poll(&fd, 1, (int)(is_urgent() ? TRY_MS : end - now)) > 0)
			drain(lk.out);
	}
}

/* While the link is there; not 0: it is there no longer. */
static int serve(void)
{
	struct pollfd fd[2] = {
		{ .fd = sn_elastic_fd(lk.conn), .events = POLLIN },
		{ .fd = lk.out, .events = POLLIN },
	};
	json_object *message = NULL;
	int rc;

	rc = say_lost();
	if (!rc)
		rc = say_state();
	if (rc || is_ending())
		return rc ? rc : -ECANCELED;
	if (poll(fd, 2, STILL_MS / 10) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fd[1].revents)
		drain(lk.out);
	if (!fd[0].revents)
		return 0;
	rc = sn_elastic_next(lk.conn, SAY_MS, &message, NULL);
	if (!rc)
		take_order(message);
	json_object_put(message);
	return rc;
}

/* Many jobs lose the same daemon at once, and shall not come back at once. */
static int64_t spread(int64_t ms, uint32_t *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return ms / 2 + (int64_t)(*seed >> 8) % (ms / 2 + 1);
}

static void *run_link(void *arg)
{
	int64_t wait = TRY_MS;
	uint32_t seed = lk.job * 2654435761u + (uint32_t)getpid();

	(void)arg;
	while (!is_ending()) {
		int rc = attach();

		if (!rc) {
			wait = TRY_MS;
			while (!(rc = serve()))
				;
			hang_up();
		}
		/* Only another user's job, or a daemon that is none, is refused. */
		if (rc == -EPERM || rc == -EACCES || rc == -EINVAL)
			wait = TRY_MOST_MS;
		if (!is_ending())
			rest(spread(wait, &seed));
		wait = wait * 2 < TRY_MOST_MS ? wait * 2 : TRY_MOST_MS;
	}
	pthread_mutex_lock(&lk.lock);
	lk.done = true;
	pthread_cond_broadcast(&lk.ended);
	pthread_mutex_unlock(&lk.lock);
	return NULL;
}

/* ---- the main thread ---------------------------------------------------------------------------- */

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
	wake(lk.out);
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
	lk.started = lk.state && !pthread_create(&thread, NULL, run_link, NULL);
	if (lk.started)
		pthread_detach(thread);
}

int snrun_link_fd(void)
{
	return lk.started ? lk.in : -1;
}

bool snrun_link_is_up(void)
{
	bool up;

	pthread_mutex_lock(&lk.lock);
	up = lk.up;
	pthread_mutex_unlock(&lk.lock);
	return up;
}

static double safe_of(json_object *state)
{
	json_object *v;

	return json_object_object_get_ex(state, "since_safe", &v) ? json_object_get_double(v) : -1;
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
	if (lk.lost.n < 1024)
		sn_names_add(&lk.lost, node);
	lk.lost_at = snrun_now_ms();
	pthread_mutex_unlock(&lk.lock);
	wake(lk.out);
}

static bool was_done(const char *once)
{
	for (int i = 0; *once && i < ONCE; i++)
		if (!strcmp(lk.done_once[i], once))
			return true;
	return false;
}

int snrun_link_next(const struct snrun *run, struct sn_control *ret)
{
	if (!lk.started)
		return -ENOENT;
	drain(lk.in);
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
		memcpy(lk.done_once[lk.next_once++ % ONCE], lk.taken.once, sizeof(lk.taken.once));
	snrun_link_tell(run);
	pthread_mutex_lock(&lk.lock);
	answer_now(lk.taken.id, rc, error);
	pthread_mutex_unlock(&lk.lock);
	wake(lk.out);
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
	wake(lk.out);
	while (lk.up && !lk.done &&
	       pthread_cond_timedwait(&lk.ended, &lk.lock, &end) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&lk.lock);
	lk.started = false;
}

#else

void snrun_link_start(const struct snrun *run) { (void)run; }
int snrun_link_fd(void) { return -1; }
bool snrun_link_is_up(void) { return false; }
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
