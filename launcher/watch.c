/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.c - how the job, its members and nodes that ranks have left are, asked again and again.
 *
 * srun tells of a lost node at once; this is for the message that is lost with
 * it, for spares, which no srun knows of, and for members that start. The thread
 * lives as long as the process.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "launcher/cardbook.h"
#include "launcher/slurmapi.h"
#include "launcher/snrun.h"

#define MEMBER_MS 500 /* the least between two looks at the same member */
#define NODE_MS 5000 /* between two looks at a node */
#define NODE_KEEP_MS 60000 /* it is asked for twice a second */
#define NODE_FRESH_MS 15000 /* slurmctld may not answer for minutes */

struct watched {
	uint32_t job;
	bool known;
	int64_t next; /* ms, when to look again */
	struct sn_jobview view;
};

struct watched_node {
	char *name;
	int64_t asked, next, seen; /* ms */
	struct sn_avoid_view view;
};

static struct {
	pthread_mutex_t lock;
	uint32_t interval_ms;
	int fd;
	struct watched *job; /* [n]; the first is the base */
	uint32_t n;
	struct watched_node *node; /* [n_nodes] */
	uint32_t n_nodes;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool same(const struct sn_jobview *a, const struct sn_jobview *b)
{
	if (a->phase != b->phase || a->preempted != b->preempted ||
	    a->names.n != b->names.n)
		return false;
	for (size_t i = 0; i < a->names.n; i++)
		if (strcmp(a->names.name[i], b->names.name[i]))
			return false;
	return true;
}

/* Takes what view owns. */
static void publish(uint32_t job, struct sn_jobview *view)
{
	uint64_t one = 1;
	bool changed = false, kept = false;

	pthread_mutex_lock(&watch.lock);
	for (uint32_t i = 0; i < watch.n; i++) {
		struct watched *w = &watch.job[i];

		if (w->job != job)
			continue;
		changed = !w->known || !same(view, &w->view);
		if (w->known)
			sn_names_done(&w->view.names);
		w->view = *view;
		w->known = kept = true;
	}
	pthread_mutex_unlock(&watch.lock);
	if (!kept)
		sn_names_done(&view->names);
	if (changed && write(watch.fd, &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

/* The next job that is due; 0: none is. */
static uint32_t due(int64_t now)
{
	uint32_t job = 0;

	pthread_mutex_lock(&watch.lock);
	for (uint32_t i = 0; !job && i < watch.n; i++) {
		struct watched *w = &watch.job[i];

		if (w->next > now || (w->known && w->view.phase == SN_JOB_ENDED))
			continue;
		job = w->job;
		w->next = now + (!i || watch.interval_ms > MEMBER_MS ?
				 watch.interval_ms : MEMBER_MS);
	}
	pthread_mutex_unlock(&watch.lock);
	return job;
}

/* ---- nodes ---- */

static struct watched_node *find_node(const char *name)
{
	for (uint32_t i = 0; i < watch.n_nodes; i++)
		if (!strcmp(watch.node[i].name, name))
			return &watch.node[i];
	return NULL;
}

/* The next one that is due, yours to free; NULL: none is. */
static char *due_node(int64_t now)
{
	char *name = NULL;

	pthread_mutex_lock(&watch.lock);
	for (uint32_t i = watch.n_nodes; !name && i-- > 0;) {
		struct watched_node *w = &watch.node[i];

		if (now - w->asked >= NODE_KEEP_MS) {
			free(w->name);
			*w = watch.node[--watch.n_nodes];
		} else if (w->next <= now) {
			w->next = now + NODE_MS;
			name = strdup(w->name);
		}
	}
	pthread_mutex_unlock(&watch.lock);
	return name;
}

static void look_at_node(const char *name)
{
	struct sn_avoid_view view = { .known = false };
	node_info_msg_t *nodes = NULL;
	struct watched_node *w;
	struct sn_cardbook book;

	if (!slurm_load_node_single(&nodes, (char *)name, SHOW_ALL)) {
		if (nodes->record_count == 1) {
			/* What is unreadable masks all. */
			(void)sn_cardbook_read(nodes->node_array[0].extra, &book, NULL);
			view = (struct sn_avoid_view){
				true, sn_api_in_service(&nodes->node_array[0]), book.masked,
			};
		}
		slurm_free_node_info_msg(nodes);
	}
	pthread_mutex_lock(&watch.lock);
	w = find_node(name);
	if (w) {
		w->view = view;
		w->seen = snrun_now_ms();
	}
	pthread_mutex_unlock(&watch.lock);
}

void snrun_watch_node(const char *name, struct sn_avoid_view *ret)
{
	struct watched_node *w, *more;

	*ret = (struct sn_avoid_view){ .known = false };
	pthread_mutex_lock(&watch.lock);
	w = find_node(name);
	if (!w && (more = realloc(watch.node, (watch.n_nodes + 1) * sizeof(*more)))) {
		watch.node = more;
		more[watch.n_nodes] = (struct watched_node){ .name = strdup(name) };
		if (more[watch.n_nodes].name)
			w = &more[watch.n_nodes++];
	}
	if (w) {
		w->asked = snrun_now_ms();
		if (w->asked - w->seen < NODE_FRESH_MS)
			*ret = w->view;
	}
	pthread_mutex_unlock(&watch.lock);
}

/* ---- the thread ---- */

static void *run(void *arg)
{
	uint32_t ms = watch.interval_ms < MEMBER_MS ? watch.interval_ms : MEMBER_MS;
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	uint32_t job;
	char *node;

	(void)arg;
	for (;;) {
		int64_t now = snrun_now_ms();

		while ((job = due(now))) {
			struct sn_jobview view;

			/* A slurmctld that does not answer says nothing. */
			if (!sn_job_look(job, &view, NULL))
				publish(job, &view);
		}
		while ((node = due_node(now))) {
			look_at_node(node);
			free(node);
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* What is known of jobs that were watched before stays known. */
static int set_jobs(const struct snrun *run)
{
	struct watched *fresh = calloc((size_t)run->n_members + 1, sizeof(*fresh));
	struct watched *old;
	uint32_t n_old;

	if (!fresh)
		return -ENOMEM;
	fresh[0].job = run->job.id;
	for (uint32_t i = 0; i < run->n_members; i++)
		fresh[i + 1].job = run->member[i].id;
	pthread_mutex_lock(&watch.lock);
	old = watch.job;
	n_old = watch.n;
	for (uint32_t i = 0; i < n_old; i++) {
		uint32_t k = 0;

		while (k <= run->n_members && fresh[k].job != old[i].job)
			k++;
		if (k <= run->n_members)
			fresh[k] = old[i];
		else if (old[i].known)
			sn_names_done(&old[i].view.names);
	}
	watch.job = fresh;
	watch.n = run->n_members + 1;
	pthread_mutex_unlock(&watch.lock);
	free(old);
	return 0;
}

int snrun_watch_start(const struct snrun *run_for, int *ret_fd, struct sn_err *err)
{
	pthread_t thread;
	uint64_t one = 1;
	int rc;

	if (!watch.interval_ms) {
		watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (watch.fd < 0)
			return sn_err_set(err, -errno, "eventfd: %s", strerror(errno));
	}
	if (set_jobs(run_for))
		return sn_err_set(err, -ENOMEM, "no memory");
	*ret_fd = watch.fd;
	if (watch.interval_ms)
		/* What has changed between two generations is looked at, too. */
		return write(watch.fd, &one, sizeof(one)) < 0 ? 0 : 0;
	watch.interval_ms = run_for->job.policy.node_poll;
	rc = pthread_create(&thread, NULL, run, NULL);
	if (rc) {
		close(watch.fd);
		watch.interval_ms = 0;
		return sn_err_set(err, -rc, "no thread: %s", strerror(rc));
	}
	pthread_detach(thread);
	return 0;
}

bool snrun_watch_view(uint32_t job, struct sn_jobview *ret)
{
	bool known = false;

	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&watch.lock);
	for (uint32_t i = 0; i < watch.n; i++) {
		const struct watched *w = &watch.job[i];

		if (w->job != job || !w->known)
			continue;
		*ret = w->view;
		memset(&ret->names, 0, sizeof(ret->names));
		known = true;
		for (size_t k = 0; k < w->view.names.n; k++)
			if (sn_names_add(&ret->names, w->view.names.name[k]))
				known = false;
	}
	pthread_mutex_unlock(&watch.lock);
	if (!known)
		sn_names_done(&ret->names);
	return known;
}
