/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_verify.c - snctl groups verify: do the ranks agree on their groups?
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "launcher/recordread.h"
#include "snctl/cli.h"
#include "snctl/jsonread.h"
#include "snctl/progress.h"
#include "snctl/readfile.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/verify.h"

#define ARGS_MAX 16384
#define SHOWN 10

/* What the job should look like. */
struct truth {
	bool known;
	struct sn_layout layout;
	const char **node; /* [world], into the document; or NULL */
	struct json_object *doc;
};

static void truth_done(struct truth *t)
{
	free(t->node);
	json_object_put(t->doc);
}

/* "ranks": [["n001", 0], …], as snctl place and snrun write it. */
static int read_nodes(struct truth *t, const char *file, struct sn_err *err)
{
	struct json_object *ranks;

	if (!json_object_object_get_ex(t->doc, "ranks", &ranks))
		return 0;
	if (json_object_get_type(ranks) != json_type_array ||
	    json_object_array_length(ranks) != t->layout.world)
		return sn_err_set(err, -EINVAL, "%s: \"ranks\" is no list of the %u ranks",
				  file, t->layout.world);
	t->node = calloc(t->layout.world, sizeof(*t->node));
	if (!t->node)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < t->layout.world; i++) {
		struct json_object *r = json_object_array_get_idx(ranks, i), *n = NULL;

		if (json_object_get_type(r) == json_type_array)
			n = json_object_array_get_idx(r, 0);
		else if (json_object_get_type(r) == json_type_object)
			json_object_object_get_ex(r, "node", &n);
		if (json_object_get_type(n) != json_type_string)
			return sn_err_set(err, -EINVAL,
					  "%s: \"ranks\" has no node for rank %u", file, i);
		t->node[i] = json_object_get_string(n);
	}
	return 0;
}

static int read_layout(const char *file, struct truth *t, struct sn_err *err)
{
	static const char *const sizes[] = { "tp", "cp", "ep", "etp", "pp", "dp" };
	struct json_object *l, *v;
	struct sn_buf spec = { 0 };
	size_t len;
	char *text;
	bool whole;
	int rc;

	rc = snctl_read_file(file, &text, &len, err);
	if (rc)
		return rc;
	rc = snctl_json_parse(text, len, file, &t->doc, err);
	free(text);
	if (rc)
		return rc;
	l = t->doc;
	if (json_object_get_type(l) == json_type_object)
		json_object_object_get_ex(t->doc, "layout", &l);
	if (json_object_get_type(l) != json_type_object)
		return sn_err_set(err, -EINVAL, "%s: has no object \"layout\"", file);
	/* snrun's has it all in one word, with the preset, whose rule the groups
	 * follow; snctl place's has the sizes. */
	whole = json_object_object_get_ex(l, "spec", &v) &&
		json_object_is_type(v, json_type_string);
	if (whole)
		sn_buf_add(&spec, "%s", json_object_get_string(v));
	for (size_t i = 0; !whole && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (json_object_object_get_ex(l, sizes[i], &v)) {
			if (json_object_get_type(v) != json_type_int) {
				rc = sn_err_set(err, -EINVAL, "%s: \"%s\" is no whole number",
						file, sizes[i]);
				break;
			}
			sn_buf_add(&spec, "%s%s=%lld", spec.len ? "," : "", sizes[i],
				   (long long)json_object_get_int64(v));
		}
	if (!whole && json_object_object_get_ex(l, "order", &v))
		sn_buf_add(&spec, "%sorder=%s", spec.len ? "," : "", json_object_get_string(v));
	if (!rc && (spec.failed || !spec.len))
		rc = sn_err_set(err, spec.failed ? -ENOMEM : -EINVAL,
				"%s: \"layout\" has no sizes (tp, dp, ...)", file);
	if (!rc) {
		rc = sn_layout_parse(spec.text, 0, &t->layout, err);
		if (rc)
			sn_err_prefix(err, rc, "%s: ", file);
	}
	sn_buf_done(&spec);
	if (!rc)
		rc = read_nodes(t, file, err);
	t->known = !rc;
	return rc;
}

static int is_there(const char *dir, const char *name, struct sn_buf *ret)
{
	struct stat st;

	sn_buf_add(ret, "%s/%s", dir, name);
	return !ret->failed && !stat(ret->text, &st);
}

/*
 * A job directory stands for the records in it. The layout that lies in it is
 * taken where the user names none.
 */
static int read_path(const char *path, struct truth *truth, bool want_layout,
		     struct sn_records *rec, struct sn_recordread *count,
		     struct sn_err *err)
{
	struct sn_buf inner = { 0 }, above = { 0 }, here = { 0 };
	bool is_job = is_there(path, "records", &inner);
	int rc;

	rc = sn_recordread_path(rec, is_job ? inner.text : path, 0, count, err);
	if (!rc && want_layout && !truth->known) {
		if (is_there(path, "layout.json", &here))
			rc = read_layout(here.text, truth, err);
		else if (is_there(path, "../layout.json", &above))
			rc = read_layout(above.text, truth, err);
	}
	sn_buf_done(&inner);
	sn_buf_done(&above);
	sn_buf_done(&here);
	return rc;
}

static void print_json(const struct sn_findings *f, const struct sn_records *rec,
		       const struct sn_recordread *count)
{
	uint32_t all = 0;

	for (int k = 0; k < SN_FIND_KINDS; k++)
		all += f->count[k];
	printf("{\"agree\":%s,\"generation\":%u,\"world\":%u,\"ranks\":%u,\"communicators\":%u,\"waiting\":%u,\"cut_lines\":%u,\"disagreements\":%u,\"findings\":[",
	       all ? "false" : "true", rec->gen, f->world, f->ranks, f->comms,
	       f->waiting, count->cut, all);
	for (uint32_t i = 0; i < f->n; i++) {
		const struct sn_finding *x = &f->find[i];

		printf("%s{\"kind\":\"%s\",\"communicator\":", i ? "," : "",
		       sn_find_name(x->kind));
		if (x->comm)
			json_string(stdout, x->comm);
		else
			printf("null");
		printf(",\"ranks\":[");
		for (uint32_t k = 0; k < x->n_ranks; k++)
			printf(k ? ",%u" : "%u", x->rank[k]);
		printf("],\"text\":");
		json_string(stdout, x->text);
		putchar('}');
	}
	puts("]}");
}

static void print_text(const struct sn_findings *f, const struct sn_records *rec,
		       const struct sn_recordread *count, bool all)
{
	uint32_t n = 0;

	for (int k = 0; k < SN_FIND_KINDS; k++)
		n += f->count[k];
	printf("generation %u: %u", rec->gen, f->ranks);
	if (f->world)
		printf(" of %u", f->world);
	printf(" ranks, %u communicator%s: ", f->comms, f->comms == 1 ? "" : "s");
	if (!n)
		puts("all agree");
	else
		printf("%u disagreement%s\n", n, n == 1 ? "" : "s");
	for (uint32_t i = 0; i < f->n && (all || i < SHOWN); i++)
		printf("%3u. %s\n", i + 1, f->find[i].text);
	if (!all && f->n > SHOWN)
		printf("     and %u more; --all shows %s\n", n - SHOWN,
		       n > f->n ? "the first of each kind" : "them");
	if (f->waiting)
		printf("%u rank%s in operations that others have not reached yet, not for long\n",
		       f->waiting, f->waiting == 1 ? " is" : "s are");
	if (count->cut)
		printf("%u line%s cut short and passed over\n", count->cut,
		       count->cut == 1 ? " was" : "s were");
}

static int verify(const char *const *path, uint32_t n_paths, const char *layout,
		  const char *spec, uint32_t stall, bool json, bool all,
		  bool *ret_agree, struct sn_err *err)
{
	struct sn_verify_opts opts = { .stall = (uint64_t)stall * 1000000000u };
	struct sn_recordread count = { .at = progress_at };
	struct truth truth = { 0 };
	struct sn_findings found;
	struct sn_records rec;
	struct timespec now;
	int rc = 0;

	sn_records_init(&rec);
	if (spec) {
		rc = sn_layout_parse(spec, 0, &truth.layout, err);
		if (rc)
			sn_err_prefix(err, rc, "--parallel: ");
		truth.known = !rc;
	} else if (layout) {
		rc = read_layout(layout, &truth, err);
	}
	progress_begin("reading the records");
	for (uint32_t i = 0; i < n_paths && !rc; i++)
		rc = read_path(path[i], &truth, !layout && !spec, &rec, &count, err);
	if (!rc && !count.files)
		rc = sn_err_set(err, -ENOENT,
				"%s: has no records (rank-N.jsonl); does the job write any?",
				path[0]);
	clock_gettime(CLOCK_REALTIME, &now);
	opts.now = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (truth.known) {
		opts.layout = &truth.layout;
		opts.rank_node = truth.node;
	}
	if (!rc) {
		progress_begin("comparing what the ranks say");
		rc = sn_verify(&rec, &opts, &found, err);
	}
	progress_end();
	if (!rc) {
		*ret_agree = !found.n;
		if (json)
			print_json(&found, &rec, &count);
		else
			print_text(&found, &rec, &count, all);
		sn_findings_done(&found);
	}
	sn_records_done(&rec);
	truth_done(&truth);
	return rc;
}

int cmd_groups_verify(int argc, char **argv)
{
	const char *layout = NULL, *spec = NULL;
	uint32_t stall = 10, n_args;
	bool json = false, all = false, agree = false;
	const struct cli_opt opts[] = {
		{ "layout", "FILE", CLI_STRING, &layout, "the job's layout.json; default: the one in the job directory", false, 0, 0 },
		{ "parallel", "SPEC", CLI_STRING, &spec, "the layout, e.g. tp=8,ep=64,etp=1,pp=6,dp=128", false, 0, 0 },
		{ "stall", "SECONDS", CLI_UINT, &stall, "how long a rank may wait for others (default 10)", false, 0, 1000000 },
		{ "all", NULL, CLI_FLAG, &all, "print more than the first 10 disagreements", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "groups verify",
		.usage = "DIR|FILE... [--layout FILE|--parallel SPEC] [--json]",
		.about = "Compare what the ranks of a job believe about their communicators and did in\n"
			 "them, from the records that they write (docs/records.md). DIR is a job's\n"
			 "directory or the records in it.",
		.opts = opts,
		.max_args = ARGS_MAX,
	};
	const char **args = calloc(ARGS_MAX, sizeof(*args));
	struct sn_err err;
	int rc;

	if (!args) {
		sn_err_set(&err, -ENOMEM, "no memory");
		return snctl_fail("groups verify", SNCTL_USAGE, &err);
	}
	rc = cli_parse(&cli, argc, argv, args, &n_args, &err);
	if (rc > 0) {
		free(args);
		return SNCTL_DONE;
	}
	if (!rc && !n_args)
		rc = sn_err_set(&err, -EINVAL,
				"a directory or files with records are needed, such as $SUPERNODE_JOB_DIR");
	if (!rc && layout && spec)
		rc = sn_err_set(&err, -EINVAL, "--layout and --parallel say the same; give one");
	if (!rc)
		rc = verify(args, n_args, layout, spec, stall, json, all, &agree, &err);
	free(args);
	if (rc)
		return snctl_fail("groups verify", SNCTL_USAGE, &err);
	return agree ? SNCTL_DONE : SNCTL_NO;
}
