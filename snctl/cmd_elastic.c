/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_elastic.c - snctl elastic: see and steer a running job through its snrun,
 * by files in the job's directory (launcher/control.h), or by snelasticd where that
 * cannot be seen, and for operators.
 */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <json-c/json.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/accountjson.h"
#include "launcher/aside.h"
#include "launcher/control.h"
#include "launcher/jobdir.h"
#include "launcher/slurmapi.h"
#include "snctl/cardlist.h"
#include "snctl/cli.h"
#include "snctl/confpath.h"
#include "snctl/elasticask.h"
#include "snctl/elasticlist.h"
#include "snctl/progress.h"
#include "snctl/readfile.h"
#include "snctl/slurmconnect.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/policy.h"
#include "topology/text.h"

#define MEMBER "supernode:member="
#define SLURM_MS 5000 /* slurmctld's, which libslurm would wait for much longer */

struct options {
	const char *dir, *reason;
	uint32_t dp, timeout;
	bool json;
};

/* ---- where its snrun is ---------------------------------------------------------------- */

struct target {
	uint32_t job, uid;
	bool guessed; /* slurmctld has not said whose job it is */
	char dir[PATH_MAX];
};

static int load(uint32_t id, job_info_msg_t **ret, struct sn_err *err)
{
	if (!sn_api_load_job(id, ret) && (*ret)->record_count)
		return 0;
	return sn_err_set(err, errno == ESLURM_INVALID_JOB_ID ? -ENOENT : -EIO,
			  errno == ESLURM_INVALID_JOB_ID ? "there is no job %u" :
			  "slurmctld did not tell of job %u: %s", id,
			  slurm_strerror(errno));
}

/* *ret_base 0: it is no member. */
static int look_at(uint32_t id, struct target *ret, unsigned int *ret_base, struct sn_err *err)
{
	job_info_msg_t *jobs;
	int rc = load(id, &jobs, err);

	if (rc)
		return rc;
	*ret_base = 0;
	ret->job = id;
	ret->uid = jobs->job_array[0].user_id;
	if (jobs->job_array[0].comment)
		sscanf(jobs->job_array[0].comment, MEMBER "%u:", ret_base);
	if ((jobs->job_array[0].job_state & JOB_STATE_BASE) != JOB_RUNNING)
		rc = sn_err_set(err, -ENOENT, "job %u does not run", id);
	slurm_free_job_info_msg(jobs);
	return rc;
}

/* A member stands for its base. A job's comment is its user's to write: it may name
 * another's job, or one that names this. */
static int find_job(uint32_t id, struct target *ret, struct sn_err *err)
{
	unsigned int base, more;
	uint32_t uid;
	int rc = look_at(id, ret, &base, err);

	if (rc || !base || base == id)
		return rc;
	uid = ret->uid;
	rc = look_at(base, ret, &more, err);
	if (!rc && (ret->uid != uid || more))
		rc = sn_err_set(err, -ENOENT, "job %u calls itself a member of job %u, and is none",
				id, base);
	return rc;
}

struct finding {
	uint32_t id;
	struct target target;
	int rc;
	struct sn_err err;
};

static void find_aside(void *ctx)
{
	struct finding *f = ctx;

	f->rc = find_job(f->id, &f->target, &f->err);
}

/* While slurmctld is away a user's job is taken to be his; if it is not, he finds no
 * snrun in its directory, and the daemon knows better. */
static int find_job_in_time(uint32_t id, struct target *ret, struct sn_err *err)
{
	struct finding *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return sn_err_set(err, -ENOMEM, "no memory");
	f->id = id;
	if (!aside_run(find_aside, free, f, SLURM_MS))
		f = NULL;
	rc = f ? f->rc : -EIO;
	if (rc == -EIO) {
		*ret = (struct target){ .job = id, .uid = geteuid(), .guessed = true };
		rc = 0;
	} else if (rc) {
		sn_err_set(err, rc, "%s", f->err.text);
	} else {
		*ret = f->target;
	}
	free(f);
	return rc;
}

static int find_dir(struct target *target, const char *given, struct sn_err *err)
{
	const struct passwd *pw = getpwuid(target->uid);
	slurm_conf_t *conf = NULL;
	struct sn_policy policy;
	char *path, *other, *text;
	size_t len;
	int rc = 0;

	if (given) {
		snprintf(target->dir, sizeof(target->dir), "%s", given);
		return 0;
	}
	if (!getenv("SLURM_CONF") && (target->guessed || slurm_load_ctl_conf(0, &conf)))
		conf = NULL;
	path = snctl_topology_path(NULL, conf ? conf->slurm_conf : NULL);
	if (conf)
		sn_api_free_conf(conf);
	other = path ? snctl_sibling(path, "supernode.conf") : NULL;
	sn_policy_init(&policy);
	if (other && !access(other, F_OK) &&
	    !(rc = snctl_read_file(other, &text, &len, err))) {
		rc = sn_policy_parse(text, len, other, &policy, err);
		free(text);
	}
	free(other);
	free(path);
	if (rc)
		return rc;
	return sn_jobdir_expand(policy.job_dir, target->job, pw ? pw->pw_name : NULL,
				pw ? pw->pw_dir : NULL, target->dir,
				sizeof(target->dir), err);
}

/* root acts as the owner: the directory is his, and may be on a file system where
 * root is nobody. */
static int become(uint32_t uid, struct sn_err *err)
{
	const struct passwd *pw = getpwuid(uid);

	if (geteuid() == uid)
		return 0;
	if (!pw || setgroups(0, NULL) || setegid(pw->pw_gid) || seteuid(uid))
		return sn_err_set(err, -EPERM, "cannot act as user %u: %s", uid,
				  strerror(errno));
	return 0;
}

/* Operators have only the daemon; others, too, where they cannot see the directory. */
static int ask_snrun(const struct target *target, const struct sn_control *order,
		     uint32_t wait_ms, char **ret, struct sn_err *err)
{
	/* Root goes into no directory of a user's but as that user. */
	bool is_his = geteuid() ? geteuid() == target->uid : !target->guessed;
	struct sn_err why;
	int by_daemon, rc = -ENOENT;

	if (is_his) {
		rc = become(target->uid, err);
		if (!rc)
			rc = sn_control_ask(target->dir, order, wait_ms, ret, err);
		if (rc != -ENOENT && rc != -EACCES)
			return rc;
	}
	by_daemon = elasticask(target->job, order, wait_ms, ret, &why);
	if (!by_daemon || (by_daemon != -EHOSTUNREACH && by_daemon != -ENOENT))
		return by_daemon ? sn_err_set(err, by_daemon, "%s", why.text) : 0;
	if (target->guessed)
		return sn_err_set(err, by_daemon,
				  "slurmctld does not tell of job %u, and its snrun is not reached without it: %s",
				  target->job, why.text);
	if (is_his)
		return rc; /* what is wrong with the directory says more */
	return sn_err_set(err, -EPERM,
			  "job %u is user %u's: only he and root can steer it, and operators through snelasticd; %s",
			  target->job, target->uid, why.text);
}

/* ---- what it says ------------------------------------------------------------------------ */

static int64_t number(json_object *root, const char *key)
{
	json_object *at;

	return json_object_object_get_ex(root, key, &at) ?
		json_object_get_int64(at) : -1;
}

static const char *word(json_object *root, const char *key)
{
	json_object *at;

	return json_object_object_get_ex(root, key, &at) ?
		json_object_get_string(at) : "";
}

/* An snrun of another version may have none that can be read. */
static void print_account(json_object *root)
{
	char line[SN_ETTR_LINE];
	struct sn_ettr account;
	json_object *at;

	if (!json_object_object_get_ex(root, "account", &at) ||
	    sn_account_read(at, &account, NULL))
		return;
	sn_ettr_say(&account, line, sizeof(line));
	printf("%s\n", line);
}

static void print(json_object *root)
{
	static const char *const head[] = { ">MEMBER", ">DP", "<STATE", NULL };
	json_object *members;
	struct table table;
	size_t n;

	printf("job %lld: %s, dp=%lld with %lld ranks, generation %lld, %lld restart%s\n",
	       (long long)number(root, "job"), word(root, "state"),
	       (long long)number(root, "dp"), (long long)number(root, "ranks"),
	       (long long)number(root, "generation"),
	       (long long)number(root, "restarts"),
	       number(root, "restarts") == 1 ? "" : "s");
	printf("sizes: min %lld, wanted %lld, max %lld; at present at most %lld\n",
	       (long long)number(root, "min_dp"), (long long)number(root, "want_dp"),
	       (long long)number(root, "max_dp"), (long long)number(root, "cap_dp"));
	if (number(root, "checkpoint_age") >= 0)
		printf("last checkpoint: %lld s ago\n",
		       (long long)number(root, "checkpoint_age"));
	print_account(root);
	if (json_object_object_get_ex(root, "attached", &members))
		printf("as its snrun told snelasticd %lld s ago%s\n",
		       (long long)number(root, "heard"),
		       json_object_get_boolean(members) ? "" : ", which it no longer reaches");
	if (!json_object_object_get_ex(root, "members", &members) ||
	    !(n = json_object_array_length(members)))
		return;
	table_init(&table, head);
	for (size_t i = 0; i < n; i++) {
		json_object *member = json_object_array_get_idx(members, i);

		table_add(&table, "%lld", (long long)number(member, "job"));
		table_add(&table, "%lld", (long long)number(member, "dp"));
		table_add(&table, "%s", word(member, "state"));
	}
	table_print(&table, stdout, 0);
	table_done(&table);
}

/* With what the daemon decided, where one answers. */
static void show_status(json_object *root, bool json)
{
	json_object *decisions = number(root, "job") > 0 ?
		elasticlist_decisions((uint32_t)number(root, "job")) : NULL;

	if (json) {
		if (decisions)
			json_object_object_add(root, "decisions", json_object_get(decisions));
		puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
	} else {
		print(root);
		elasticlist_print_decisions(decisions);
	}
	json_object_put(decisions);
}

static int show(const char *text, const struct options *o, struct sn_err *err)
{
	json_object *root = json_tokener_parse(text), *ok;
	int rc = 0;

	if (!root || !json_object_object_get_ex(root, "ok", &ok))
		rc = sn_err_set(err, -EIO, "snrun's answer cannot be read: %.80s", text);
	else if (!json_object_get_boolean(ok))
		rc = sn_err_set(err, -ENODEV, "%s", word(root, "error"));
	else
		show_status(root, o->json);
	json_object_put(root);
	return rc;
}

/* ---- the command -------------------------------------------------------------------------- */

static int take_node(const char *text, struct sn_control *ask, struct sn_err *err)
{
	size_t len = strlen(text);
	int rc = 0;

	if (strchr(text, ':'))
		rc = snctl_cards_split(text, &len, &ask->cards, err);
	if (!rc && (!len || len >= sizeof(ask->node)))
		rc = sn_err_set(err, -EINVAL, "%.80s is no node", text);
	if (!rc) {
		memcpy(ask->node, text, len);
		ask->node[len] = '\0';
	}
	return rc;
}

static int parse(int argc, char **argv, struct options *o,
		 struct sn_control *ask, uint32_t *ret_job, struct sn_err *err)
{
	const struct cli_opt opts[] = {
		{ "dp", "N", CLI_UINT, &o->dp, "shrink, grow: to this size, not the next", false, 1, UINT32_MAX },
		{ "dir", "DIR", CLI_STRING, &o->dir, "the job's directory, where the job has set SUPERNODE_JOB_DIR itself", false, 0, 0 },
		{ "timeout", "S", CLI_UINT, &o->timeout, "how long to wait for an answer (10)", false, 1, 3600 },
		{ "reason", "TEXT", CLI_STRING, &o->reason, "why, for the line that snrun prints", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o->json, "the answer as JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "elastic",
		.usage = "status | status|shrink|grow|pause|resume|requeue JOBID | swap JOBID NODE[:CARDS] | replace JOBID [NODE[:CARDS]] [OPTIONS]",
		.about = "See a running job and steer it, through its snrun. shrink and grow change its\n"
			 "data-parallel size, swap takes the ranks off a node or some of its cards, replace\n"
			 "fetches nodes for those that the job has lost (and for NODE, which the ranks then\n"
			 "leave), pause ends the ranks and keeps the nodes until resume, requeue has the job\n"
			 "start anew. Ranks are asked for a checkpoint first. For the job's owner, root and,\n"
			 "through snelasticd, operators. status without a job lists all elastic jobs, with\n"
			 "what snelasticd has decided for them.",
		.opts = opts,
		.max_args = 3,
	};
	const char *args[3];
	uint32_t n;
	uint64_t id;
	int rc = cli_parse(&cli, argc, argv, args, &n, err);

	if (rc)
		return rc;
	if (n == 1 && !strcmp(args[0], "status"))
		return 0;
	if (n < 2)
		return sn_err_set(err, -EINVAL,
				  "what to do and a job are needed: snctl elastic status JOBID");
	if (sn_control_find(args[0], &ask->op))
		return sn_err_set(err, -EINVAL,
				  "%.40s is none of " SN_CONTROL_NAMES, args[0]);
	if (sn_parse_uint(args[1], 1, UINT32_MAX, &id, err))
		return sn_err_prefix(err, -EINVAL, "the job: ");
	*ret_job = (uint32_t)id;
	if (n == 3 ? ask->op != SN_CONTROL_SWAP && ask->op != SN_CONTROL_REPLACE :
	    ask->op == SN_CONTROL_SWAP)
		return sn_err_set(err, -EINVAL, n == 3 ? "%s takes a job only" :
				  "%s needs a node: snctl elastic swap JOBID NODE", args[0]);
	if (n == 3)
		rc = take_node(args[2], ask, err);
	if (rc)
		return rc;
	if (o->reason && (size_t)snprintf(ask->why, sizeof(ask->why), "%s", o->reason) >=
	    sizeof(ask->why))
		return sn_err_set(err, -EINVAL, "--reason is longer than %zu bytes",
				  sizeof(ask->why) - 1);
	if (o->dp && ask->op != SN_CONTROL_SHRINK && ask->op != SN_CONTROL_GROW)
		return sn_err_set(err, -EINVAL, "--dp goes with shrink and grow");
	ask->dp = o->dp;
	return 0;
}

int cmd_elastic(int argc, char **argv)
{
	struct options o = { .timeout = 10 };
	struct sn_control ask = { .id = "" };
	struct target target = { 0 };
	struct sn_err err = { "" };
	char *answer = NULL;
	uint32_t id = 0;
	int rc = parse(argc, argv, &o, &ask, &id, &err);

	if (rc > 0)
		return SNCTL_DONE;
	if (rc)
		return snctl_fail("elastic", SNCTL_USAGE, &err);
	if (!id) {
		rc = elasticlist_print(o.json, &err);
		return rc ? snctl_fail("elastic", SNCTL_NO, &err) : SNCTL_DONE;
	}
	progress_begin("asking slurmctld");
	rc = slurmconnect(&err);
	if (!rc)
		rc = find_job_in_time(id, &target, &err);
	if (!rc)
		rc = find_dir(&target, o.dir, &err);
	progress_begin("waiting for the job's snrun");
	if (!rc)
		rc = ask_snrun(&target, &ask, o.timeout * 1000, &answer, &err);
	progress_end();
	if (!rc)
		rc = show(answer, &o, &err);
	free(answer);
	return rc ? snctl_fail("elastic", SNCTL_NO, &err) : SNCTL_DONE;
}
