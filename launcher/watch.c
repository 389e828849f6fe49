/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.c - which nodes the job still has, asked again and again.
 *
 * srun tells of a lost node at once; this is for the message that is lost with
 * it, and for spares, which no srun knows of. The thread lives as long as the
 * process.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snrun.h"

static struct {
	pthread_mutex_t lock;
	uint32_t job, interval_ms;
	int fd;
	bool known, ended;
	struct sn_names names;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool same(const struct sn_names *a, const struct sn_names *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->name[i], b->name[i]))
			return false;
	return true;
}

/* Takes names. */
static void publish(struct sn_names *names, bool ended)
{
	uint64_t one = 1;
	bool changed;

	pthread_mutex_lock(&watch.lock);
	changed = ended != watch.ended ||
		(!ended && !same(names, &watch.names));
	watch.known = true;
	watch.ended = ended;
	if (!ended) {
		sn_names_done(&watch.names);
		watch.names = *names;
	}
	pthread_mutex_unlock(&watch.lock);
	if (changed && write(watch.fd, &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

static void *run(void *arg)
{
	const struct timespec pause = {
		watch.interval_ms / 1000, watch.interval_ms % 1000 * 1000000,
	};

	(void)arg;
	for (;;) {
		struct sn_names names = { NULL, 0, 0 };
		int rc = sn_job_nodes(watch.job, &names, NULL);

		/* A slurmctld that does not answer says nothing. */
		if (!rc)
			publish(&names, false);
		else if (rc == -ESRCH)
			publish(&names, true);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int snrun_watch_start(uint32_t job, uint32_t interval_ms, int *ret_fd,
		      struct sn_err *err)
{
	pthread_t thread;
	int rc;

	if (watch.interval_ms) {
		*ret_fd = watch.fd;
		return 0;
	}
	watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch.fd < 0)
		return sn_err_set(err, -errno, "eventfd: %s", strerror(errno));
	watch.job = job;
	watch.interval_ms = interval_ms;
	rc = pthread_create(&thread, NULL, run, NULL);
	if (rc) {
		close(watch.fd);
		watch.interval_ms = 0;
		return sn_err_set(err, -rc, "no thread: %s", strerror(rc));
	}
	pthread_detach(thread);
	*ret_fd = watch.fd;
	return 0;
}

bool snrun_watch_nodes(struct sn_names *ret, bool *ended)
{
	bool known;

	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&watch.lock);
	known = watch.known;
	*ended = watch.ended;
	for (size_t i = 0; i < watch.names.n; i++)
		if (sn_names_add(ret, watch.names.name[i]))
			known = false;
	pthread_mutex_unlock(&watch.lock);
	return known;
}
