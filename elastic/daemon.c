/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.c - snelasticd as a whole: configuration, signals, start and end.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elastic/act.h"
#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/metricsweb.h"
#include "snctl/slurmconnect.h"

#define TALKERS 2 /* threads for munge and name servers */
#define END_MS 3000 /* for a thread that waits for somebody, at the end */

void sn_daemon_stop(struct sn_daemon *d, int exit_code)
{
	if (d->stopping)
		return;
	d->stopping = true;
	d->exit_code = exit_code;
	sn_loop_stop(d->loop);
}

/* ---- configuration ----------------------------------------------------------------------- */

static void find_limits(const struct sn_daemon *d, struct sn_server_limits *ret)
{
	ret->connections = d->conf.policy.elasticd_connections;
	/* Jobs of one user on one host, and many hosts behind one address. */
	ret->of_one = ret->connections / 4;
	/* A shell loop of one user's is no reason to keep others waiting. */
	ret->of_user = ret->connections / 16 + 1;
	ret->out_bytes = 64u << 20;
	ret->kept = d->conf.policy.elasticd_jobs;
	ret->request_ms = 10000;
	ret->answer_ms = 30000;
}

static void raise_files(const struct sn_server_limits *limits)
{
	struct rlimit limit;
	rlim_t want = (rlim_t)limits->connections + limits->kept + SN_WEB_MOST + 128;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= want)
		return;
	limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
	if (!setrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < want)
		sn_log_error("at most %llu files can be open here, and ElasticdConnections and ElasticdJobs want %llu: further clients will have to wait; raise LimitNOFILE",
			     (unsigned long long)limit.rlim_cur, (unsigned long long)want);
}

/* What only a new process can change. */
static void say_fixed(const struct sn_elastic_where *old, const struct sn_elastic_where *new)
{
	if (old->port != new->port)
		sn_log_error("ElasticdPort has changed: that takes a restart");
	if (strcmp(old->socket, new->socket))
		sn_log_error("ElasticdSocket has changed: that takes a restart");
	if (strcmp(old->state_dir, new->state_dir))
		sn_log_error("ElasticdStateDir has changed: that takes a restart");
}

struct reload {
	struct sn_work work;
	struct sn_daemon *d;
	const char *config;
	struct sn_daemon_conf fresh;
	int rc;
	struct sn_err err;
};

/* Name servers are asked, for users and hosts. */
static void reload_run(struct sn_work *work)
{
	struct reload *l = (struct reload *)work;

	l->rc = sn_daemon_conf_load(l->config, &l->fresh, &l->err);
}

static void reload_take(struct sn_daemon *d, struct reload *l)
{
	struct sn_daemon_conf old = d->conf, fresh;
	struct sn_server_limits limits;
	struct sn_err err = l->err;
	bool moved;
	int rc = l->rc;

	if (!rc) {
		d->conf = l->fresh;
		rc = d->duty == SN_DUTY_IN_CHARGE ? engine_make(d, NULL, 0, &err) : 0;
		if (rc) {
			fresh = d->conf;
			d->conf = old;
			sn_daemon_conf_done(&fresh);
		}
	}
	if (rc) {
		sn_log_error("the configuration is bad and the old one stays: %s", err.text);
		daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE,
			     "the configuration is bad and the old one stays: %s", err.text);
		return;
	}
	say_fixed(&old.where, &d->conf.where);
	moved = old.policy.metrics_port != d->conf.policy.metrics_port ||
		strcmp(old.policy.metrics_address, d->conf.policy.metrics_address);
	sn_daemon_conf_done(&old);
	if (moved)
		metrics_reload(d);
	find_limits(d, &limits);
	raise_files(&limits);
	sn_server_limit(d->server, &limits);
	/* A log file that was moved away. */
	if (!d->options.foreground &&
	    sn_log_open(d->conf.policy.elasticd_log_file, SN_LOG_INFO + (d->options.verbose > 0), &err))
		sn_log_error("%s; the old one is written on", err.text);
	sn_log_info("the configuration was read again");
	daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "the configuration was read again");
	engine_wake(d);
}

static void reload(struct sn_daemon *d);

static void reload_done(struct sn_work *work)
{
	struct reload *l = (struct reload *)work;
	struct sn_daemon *d = l->d;

	d->reloading = false;
	if (!d->stopping)
		reload_take(d, l);
	else if (!l->rc)
		sn_daemon_conf_done(&l->fresh);
	free(l);
	if (d->reload_again && !d->stopping) {
		d->reload_again = false;
		reload(d);
	}
}

static void reload(struct sn_daemon *d)
{
	struct reload *l;

	/* What was read may be from before the last change. */
	if (d->reloading) {
		d->reload_again = true;
		return;
	}
	l = calloc(1, sizeof(*l));
	if (!l) {
		sn_log_error("the configuration is not read again: no memory");
		return;
	}
	l->work = (struct sn_work){ reload_run, reload_done, NULL };
	l->d = d;
	l->config = d->options.config;
	l->rc = -ECANCELED;
	d->reloading = true;
	sn_pool_give(d->talk, &l->work);
}

static void on_signal(void *ctx, int signal)
{
	struct sn_daemon *d = ctx;

	if (signal == SIGHUP) {
		reload(d);
	} else {
		sn_log_info("ending on %s", strsignal(signal));
		sn_daemon_stop(d, 0);
	}
}

/* ---- files --------------------------------------------------------------------------------- */

/* The file stays locked while its daemon lives: another of the same host, which
 * stands by, does not write over it. */
static int write_pid(struct sn_daemon *d, struct sn_err *err)
{
	const char *path = d->conf.policy.elasticd_pid_file;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char text[24];
	int n;

	d->pid_fd = -1;
	if (!*path)
		return 0;
	d->pid_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (d->pid_fd >= 0 && fcntl(d->pid_fd, F_OFD_SETLK, &lock)) {
		close(d->pid_fd);
		d->pid_fd = -1;
		sn_log_info("ElasticdPidFile=%s is another daemon's", path);
		return 0;
	}
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (d->pid_fd >= 0 && !ftruncate(d->pid_fd, 0) && write(d->pid_fd, text, (size_t)n) == n)
		return 0;
	return sn_err_set(err, -errno, "ElasticdPidFile=%s: %s", path, strerror(errno));
}

static void remove_pid(struct sn_daemon *d)
{
	if (d->pid_fd < 0)
		return;
	unlink(d->conf.policy.elasticd_pid_file);
	close(d->pid_fd);
}

/* ---- start and end --------------------------------------------------------------------------- */

static void gone(void *ctx, uint64_t ticket, bool kept)
{
	request_gone(ctx, ticket);
	followers_gone(ctx, ticket);
	if (kept)
		attach_gone(ctx, ticket);
}

static int start(struct sn_daemon *d, struct sn_err *err)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	const struct sn_server_calls calls = { request_take, gone };
	struct sn_server_limits limits;
	int rc;

	find_limits(d, &limits);
	raise_files(&limits);
	rc = sn_loop_create(&d->loop, err);
	if (!rc)
		rc = sn_loop_signals(d->loop, signals, 3, on_signal, d, err);
	if (!rc)
		rc = sn_pool_create(d->loop, "talk", TALKERS, &d->talk, err);
	if (!rc)
		rc = sn_pool_create(d->loop, "slurm-read", 1, &d->slurm_read, err);
	if (!rc)
		rc = sn_pool_create(d->loop, "slurm-write", 1, &d->slurm_write, err);
	if (!rc)
		rc = sn_pool_create(d->loop, "disk", 1, &d->disk, err);
	if (!rc)
		rc = sn_pool_create(d->loop, "regions", 1, &d->region_pool, err);
	if (!rc)
		rc = probe_start(d, err);
	if (!rc)
		rc = sn_server_create(d->loop, &limits, &calls, d, &d->server, err);
	if (!rc)
		rc = keep_start(d, err);
	if (!rc)
		rc = write_start(d, err);
	if (!rc)
		rc = act_start(d, err);
	if (!rc)
		rc = follow_start(d, err);
	if (!rc)
		rc = metrics_start(d, err);
	if (!rc)
		rc = care_start(d, err);
	return rc ? rc : duty_start(d, err);
}

/* Those who ask are told nothing more; what is known is written. A thread that
 * still waits for slurmctld ends with the process. */
static void end(struct sn_daemon *d)
{
	bool all;

	/* Before the lock goes: a daemon of this host that takes over listens there. */
	sn_server_close(d->server);
	metrics_end(d);
	all = sn_pool_destroy(d->talk, END_MS);

	all &= sn_pool_destroy(d->disk, END_MS);
	all &= sn_pool_destroy(d->slurm_read, all ? 200 : 0);
	all &= sn_pool_destroy(d->slurm_write, all ? END_MS : 0);
	all &= sn_pool_destroy(d->region_pool, all ? 200 : 0);
	all &= sn_pool_destroy(d->probe_pool, all ? 200 : 0);
	care_end(d);
	keep_end(d);
	followers_end(d);
	attach_end(d);
	follow_end(d);
	write_end(d);
	act_end(d);
	regions_end(d);
	duty_end(d);
	engine_done(d);
	sn_server_destroy(d->server);
	remove_pid(d);
	sn_log_info("ended");
	if (!all)
		_exit(d->exit_code);
	sn_loop_destroy(d->loop);
	sn_daemon_conf_done(&d->conf);
}

static int go_to_background(struct sn_daemon *d, struct sn_err *err)
{
	int fd;

	if (d->options.foreground)
		return 0;
	if (sn_log_open(d->conf.policy.elasticd_log_file, SN_LOG_INFO + (d->options.verbose > 0), err))
		return -EINVAL;
	switch (fork()) {
	case -1:
		return sn_err_set(err, -errno, "fork: %s", strerror(errno));
	case 0:
		break;
	default:
		_exit(0);
	}
	setsid();
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
	return 0;
}

/* The daemon must be one of those that clients would ask. */
static int find_host(struct sn_daemon *d, struct sn_err *err)
{
	const struct sn_elastic_where *w = &d->conf.where;

	if (gethostname(d->host, sizeof(d->host) - 1))
		return sn_err_set(err, -errno, "gethostname: %s", strerror(errno));
	if (d->conf.is_host)
		return 0;
	return sn_err_set(err, -EINVAL,
			  "this host (%s) is not among the hosts for snelasticd (%s); name it in supernode.conf's ElasticdHosts",
			  d->host, w->host[0].name);
}

int sn_daemon_run(const struct sn_daemon_options *options, struct sn_err *err)
{
	struct sn_daemon *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return sn_err_set(err, -ENOMEM, "no memory");
	d->options = *options;
	d->started = sn_loop_now();
	rc = sn_daemon_conf_load(options->config, &d->conf, err);
	if (!rc)
		rc = find_host(d, err);
	if (!rc && geteuid() && geteuid() != d->conf.where.slurm_uid)
		rc = sn_err_set(err, -EPERM,
				"snelasticd writes node records and has to run as root or SlurmUser (%s), not as user %u",
				d->conf.where.slurm_user, geteuid());
	if (!rc)
		rc = slurmconnect(err);
	if (!rc)
		rc = go_to_background(d, err);
	if (!rc)
		rc = write_pid(d, err);
	if (!rc) {
		signal(SIGPIPE, SIG_IGN);
		rc = start(d, err);
	}
	if (!rc) {
		sn_log_info("snelasticd %s on %s, process %d", PACKAGE_VERSION, d->host, (int)getpid());
		rc = sn_loop_run(d->loop, err);
	}
	if (rc) {
		sn_daemon_conf_done(&d->conf);
		free(d);
		return rc;
	}
	end(d);
	rc = d->exit_code;
	free(d);
	return rc;
}
