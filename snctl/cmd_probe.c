/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_probe.c - snctl health probe: look at the cards of this node, for Slurm's
 * HealthCheckProgram or by hand.
 *
 * It ends within ten seconds whatever the driver does: the tools have ProbeTimeout
 * and two seconds to die, and snelasticd a second for each of two questions.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "elastic/client.h"
#include "launcher/probenode.h"
#include "snctl/cli.h"
#include "snctl/confpath.h"
#include "snctl/gresidx.h"
#include "snctl/probeshow.h"
#include "snctl/progress.h"
#include "snctl/readfile.h"
#include "snctl/slurmconf.h"
#include "snctl/snctl.h"

#define ASK_MS 1000

struct options {
	const char *config, *node;
	bool report, json;
};

/* ---- which cards there should be ---------------------------------------------------- */

/* -ENOENT: there is no gres.conf, or no card in it. */
static int devices_of_gres(const char *config, const struct sn_policy *policy,
			   struct sn_probe_node *node, struct sn_err *err)
{
	char *path = snctl_sibling(config, "gres.conf"), *text = NULL;
	bool detects = false;
	size_t len;
	int rc = path ? 0 : -ENOMEM;

	if (!rc && access(path, F_OK))
		rc = -ENOENT;
	if (!rc)
		rc = snctl_read_file(path, &text, &len, err);
	if (!rc)
		rc = sn_probe_gres(text, len, path, snctl_read_include, path,
				   policy->card_gres, node->name, node->device,
				   &node->n_devices, &detects, err);
	free(text);
	free(path);
	return rc || node->n_devices ? rc : -ENOENT;
}

static uint32_t count_of_slurm(const char *config, const struct sn_policy *policy)
{
	char *path = snctl_sibling(config, "slurm.conf");
	struct snctl_slurmconf conf;
	uint64_t n = 0;

	if (path && !access(path, F_OK) && !snctl_slurmconf_read(path, &conf, NULL)) {
		n = conf.gres ? gres_count(conf.gres, policy->card_gres) : 0;
		snctl_slurmconf_done(&conf);
	}
	free(path);
	return n < SN_PROBE_CARDS ? (uint32_t)n : SN_PROBE_CARDS;
}

static int find_devices(const char *config, const struct sn_policy *policy,
			struct sn_probe_node *node, struct sn_err *err)
{
	int rc = devices_of_gres(config, policy, node, err);

	if (rc != -ENOENT)
		return rc;
	node->n_devices = count_of_slurm(config, policy);
	for (uint32_t c = 0; c < node->n_devices; c++) {
		struct sn_probe_device *d = &node->device[c];

		sn_probe_pattern(sn_policy_devices(policy), node->name, c, d->path,
				 sizeof(d->path));
		d->number = c;
	}
	return 0;
}

static void find_name(const struct options *o, struct sn_probe_node *node)
{
	const char *name = o->node ? o->node : getenv("SLURMD_NODENAME");

	if (name && *name) {
		snprintf(node->name, sizeof(node->name), "%s", name);
		return;
	}
	if (gethostname(node->name, sizeof(node->name) - 1))
		snprintf(node->name, sizeof(node->name), "localhost");
	node->name[strcspn(node->name, ".")] = '\0';
}

/* ---- snelasticd ------------------------------------------------------------------------ */

static int ask(const struct sn_elastic_where *where, struct json_object *request,
	       struct json_object **ret, struct sn_err *err)
{
	int rc = sn_elastic_ask(where, request, ASK_MS, ret, err);

	json_object_put(request);
	return rc;
}

/* The cards that snelasticd wants probed, as bits. */
static int ask_wanted(const struct sn_elastic_where *where, const char *name,
		      uint64_t *ret, struct sn_err *err)
{
	struct json_object *request = json_object_new_object(), *answer, *cards;
	int rc;

	*ret = 0;
	json_object_object_add(request, "op", json_object_new_string("health.wanted"));
	json_object_object_add(request, "node", json_object_new_string(name));
	rc = ask(where, request, &answer, err);
	if (rc)
		return rc;
	if (json_object_object_get_ex(answer, "cards", &cards) &&
	    json_object_is_type(cards, json_type_array))
		for (size_t i = 0; i < json_object_array_length(cards); i++) {
			struct json_object *c = json_object_object_get(
				json_object_array_get_idx(cards, i), "card");
			int64_t n = c ? json_object_get_int64(c) : -1;

			if (n >= 0 && n < 64)
				*ret |= UINT64_C(1) << n;
		}
	json_object_put(answer);
	return 0;
}

static void add_fault(struct json_object *list, const struct sn_probe_finding *f)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "card", json_object_new_int64(f->card));
	json_object_object_add(o, "code", json_object_new_string(f->code));
	json_object_object_add(o, "text", json_object_new_string(f->text));
	json_object_array_add(list, o);
}

static void add_probe(struct json_object *list, uint32_t card,
		      const struct sn_probe_finding *fault)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "card", json_object_new_int64(card));
	json_object_object_add(o, "passed", json_object_new_boolean(!fault));
	json_object_object_add(o, "text", json_object_new_string(fault ? fault->text : ""));
	json_object_array_add(list, o);
}

static struct json_object *samples_of(const struct sn_probe_verdict *v)
{
	struct json_object *list = json_object_new_array(), *o;

	for (uint32_t i = 0; i < v->n_samples; i++) {
		o = json_object_new_object();
		json_object_object_add(o, "card", json_object_new_int64(v->sample[i].card));
		json_object_object_add(o, "metric", json_object_new_string(v->sample[i].metric));
		json_object_object_add(o, "value", json_object_new_double(v->sample[i].value));
		json_object_object_add(o, "time", json_object_new_int64(time(NULL)));
		json_object_array_add(list, o);
	}
	return list;
}

static int send_report(const struct sn_elastic_where *where,
		       const struct sn_probe_node *node,
		       const struct sn_probe_verdict *v, uint64_t wanted,
		       struct sn_err *err)
{
	struct json_object *request = json_object_new_object(), *answer;
	struct json_object *faults = json_object_new_array();
	struct json_object *probes = json_object_new_array();
	int rc;

	for (uint32_t i = 0; i < v->n_findings; i++)
		if (v->finding[i].code && v->finding[i].card < node->n_devices)
			add_fault(faults, &v->finding[i]);
	for (uint32_t c = 0; c < node->n_devices; c++)
		if (wanted >> c & 1)
			add_probe(probes, c, sn_probe_fault_of(v, c));
	json_object_object_add(request, "op", json_object_new_string("health.report"));
	json_object_object_add(request, "node", json_object_new_string(node->name));
	json_object_object_add(request, "source", json_object_new_string("probe"));
	json_object_object_add(request, "samples", samples_of(v));
	json_object_object_add(request, "faults", faults);
	json_object_object_add(request, "probes", probes);
	rc = ask(where, request, &answer, err);
	if (!rc)
		json_object_put(answer);
	return rc;
}

/* In a step's cgroup the tools may not open the cards, and would say that there are
 * none: contrib/examples/health-probe leaves it. */
static bool is_confined(void)
{
	FILE *f = getenv("SLURM_STEP_ID") ? fopen("/proc/self/cgroup", "re") : NULL;
	char *line = NULL;
	size_t size = 0;
	bool is = false;

	while (f && !is && getline(&line, &size, f) > 0)
		is = strstr(line, "/job_");
	free(line);
	if (f)
		fclose(f);
	return is;
}

/* ---- the whole --------------------------------------------------------------------------- */

static int probe(const struct options *o, struct sn_probe_node *node,
		 struct sn_probe_verdict *verdict, struct sn_err *err)
{
	char *config = snctl_topology_path(o->config, NULL);
	struct sn_elastic_where where;
	struct sn_probe_limits limits;
	struct sn_policy policy, again;
	struct sn_err said = { "" };
	uint64_t wanted = 0;
	int rc = o->report && is_confined() ?
		sn_err_set(err, -EPERM,
			   "this is a job step, whose cgroup may keep it from the cards; contrib/examples/health-probe leaves it") :
		config ? snctl_read_policy(config, &policy, err) :
		sn_err_set(err, -ENOMEM, "no memory"), told = -ENOENT;

	if (!rc)
		rc = find_devices(config, &policy, node, err);
	progress_begin("looking at the cards");
	if (!rc && o->report) {
		told = sn_elastic_find(config, &again, &where, &said);
		if (!told)
			told = ask_wanted(&where, node->name, &wanted, &said);
	}
	free(config);
	if (!rc)
		rc = sn_probe_look(&policy, node, err);
	if (rc) {
		progress_end();
		return rc;
	}
	limits = (struct sn_probe_limits){ policy.probe_memory,
					   policy.probe_temperature };
	sn_probe_judge(node, &limits, verdict);
	if (o->report && !told)
		told = send_report(&where, node, verdict, wanted, &said);
	progress_end();
	if (o->report && told)
		fprintf(stderr, "snctl health probe: not reported: %s\n", said.text);
	if (o->json)
		probe_json(node, verdict, o->report ? &told : NULL, stdout);
	else
		probe_print(node, verdict, stdout);
	return 0;
}

int cmd_health_probe(int argc, char **argv)
{
	struct options o = { 0 };
	const struct cli_opt opts[] = {
		{ "report", NULL, CLI_FLAG, &o.report, "tell snelasticd, and answer what it wants probed (root)", false, 0, 0 },
		{ "node", "NAME", CLI_STRING, &o.node, "this node's name; by default $SLURMD_NODENAME, else the host's", false, 0, 0 },
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o.json, "what was found as JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "health probe",
		.usage = "[--report] [--json]",
		.about = "Look at this node's cards: their device files (gres.conf, else PreflightDevices), what\n"
			 "npu-smi or nvidia-smi says of them, links, memory, CPUs. It ends within ten seconds,\n"
			 "also where the driver hangs, which is a fault; it drains nothing.",
		.more = "Exit status: 0 all is well, 1 something is wrong, 2 usage or bad input.",
		.opts = opts,
	};
	struct sn_probe_node *node = calloc(1, sizeof(*node));
	struct sn_probe_verdict *verdict = calloc(1, sizeof(*verdict));
	struct sn_err err = { "no memory" };
	uint32_t n_args;
	int rc = node && verdict ? 0 : -ENOMEM, code;

	if (!rc)
		rc = cli_parse(&cli, argc, argv, NULL, &n_args, &err);
	code = rc > 0 ? SNCTL_DONE : SNCTL_USAGE;
	if (!rc) {
		find_name(&o, node);
		rc = probe(&o, node, verdict, &err);
		if (!rc)
			code = verdict->n_faults ? SNCTL_NO : SNCTL_DONE;
	}
	free(node);
	free(verdict);
	return rc < 0 ? snctl_fail("health probe", code, &err) : code;
}
