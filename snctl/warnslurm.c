/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * warnslurm.c - the lines of Slurm's own files that the suite needs.
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "snctl/confpath.h"
#include "snctl/gresidx.h"
#include "snctl/readfile.h"
#include "snctl/warn.h"
#include "topology/conf.h"
#include "topology/place.h"
#include "topology/text.h"

#define SPANK "spank_supernode.so"
#define INCLUDES_DEEP 4

/* "supernode" and "job_submit/supernode" are the same to Slurm. */
static bool has_plugin(const char *list, const char *type, const char *name)
{
	size_t skip = strlen(type);

	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
		const char *word = p;
		size_t len = strcspn(p, ",");

		if (len > skip && !strncmp(word, type, skip) && word[skip] == '/') {
			word += skip + 1;
			len -= skip + 1;
		}
		if (len == strlen(name) && !strncmp(word, name, len))
			return true;
	}
	return false;
}

/* ---- plugstack.conf ------------------------------------------------------------- */

static bool names_spank(const char *path, int depth);

static bool includes_spank(const char *from, const char *pattern, int depth)
{
	char *path = *pattern == '/' ? strdup(pattern) : snctl_sibling(from, pattern);
	glob_t found;
	bool yes = false;

	if (path && !glob(path, 0, NULL, &found)) {
		for (size_t i = 0; !yes && i < found.gl_pathc; i++)
			yes = names_spank(found.gl_pathv[i], depth + 1);
		globfree(&found);
	}
	free(path);
	return yes;
}

static bool names_spank(const char *path, int depth)
{
	char *text, *save = NULL;
	size_t len;
	bool yes = false;

	if (depth > INCLUDES_DEEP || snctl_read_file(path, &text, &len, NULL))
		return false;
	for (char *line = strtok_r(text, "\n", &save); line && !yes;
	     line = strtok_r(NULL, "\n", &save)) {
		char *at = line, *word, *rest = NULL;

		line[strcspn(line, "#")] = '\0';
		word = strtok_r(at, " \t\r", &rest);
		at = word ? strtok_r(NULL, " \t\r", &rest) : NULL;
		if (!at)
			continue;
		if (!strcasecmp(word, "include"))
			yes = includes_spank(path, at, depth);
		else if (!strcasecmp(word, "required") || !strcasecmp(word, "optional"))
			yes = strstr(at, SPANK) != NULL;
	}
	free(text);
	return yes;
}

int snctl_warn_plugins(const char *path, const struct snctl_slurmconf *conf,
		       struct sn_names *ret)
{
	char *yaml = snctl_sibling(path, "topology.yaml");
	char *stack = conf->plugstack ? strdup(conf->plugstack) :
		snctl_sibling(path, "plugstack.conf");
	int rc = yaml && stack ? 0 : -ENOMEM;

	if (!rc && (!conf->select_type ||
		    (!has_plugin(conf->select_type, "select", "supernode") &&
		     !has_plugin(conf->select_type, "select", "cons_tres_supernode"))))
		rc = snctl_warn(ret, "slurm.conf has %s%s, so masked cards are given out and ranks stay in the node table's order; the line is SelectType=select/supernode",
				conf->select_type ? "SelectType=" : "no SelectType",
				conf->select_type ? conf->select_type : "");
	if (!rc && !has_plugin(conf->job_submit, "job_submit", "supernode"))
		rc = snctl_warn(ret, "slurm.conf has %s%s, so --parallel asks for no cards; the line is JobSubmitPlugins=%s%ssupernode",
				conf->job_submit ? "JobSubmitPlugins=" : "no JobSubmitPlugins",
				conf->job_submit ? conf->job_submit : "",
				conf->job_submit ? conf->job_submit : "", conf->job_submit ? "," : "");
	if (!rc && !names_spank(stack, 0))
		rc = snctl_warn(ret, "%s does not name %s, so sbatch, salloc and srun do not know --parallel on this host; the line is \"required %s\"",
				stack, SPANK, SPANK);
	if (!rc && !access(yaml, F_OK))
		rc = snctl_warn(ret, "%s is there: Slurm 25.05 and later read it instead of TopologyPlugin and topology.conf, and it knows only Slurm's own plugins; remove it",
				yaml);
	free(yaml);
	free(stack);
	return rc;
}

/* ---- gres.conf ------------------------------------------------------------------ */

struct gres {
	const char *card;
	struct sn_names *warnings;
	uint64_t cards; /* lines of them */
	bool detects;
	bool counts; /* said so: one sentence, though every node may have such a line */
	bool by_line; /* some line has Cores= or Type= */
	struct sn_buf several; /* about the first line with several cards */
};

/* "Name=npu File=/dev/npu0", with everything else that the line has. */
static void format_lines(const struct sn_conf_line *line, const struct sn_names *files,
			 struct sn_buf *buf)
{
	for (size_t f = 0; f < files->n; f++) {
		/* The first two and the last show how it goes on. */
		if (f >= 2 && f + 1 < files->n) {
			if (f == 2)
				sn_buf_add(buf, " ...");
			continue;
		}
		sn_buf_add(buf, f ? " / " : "");
		for (size_t i = 0; i < line->n; i++) {
			bool file = !strcasecmp(line->pair[i].key, "File");

			if (strcasecmp(line->pair[i].key, "Count"))
				sn_buf_add(buf, "%s%s=%s", i ? " " : "", line->pair[i].key,
					   file ? files->name[f] : line->pair[i].value);
		}
	}
}

static int take_gres(void *arg, const struct sn_conf_line *line, struct sn_err *err)
{
	const struct sn_conf_pair *name = NULL, *file = NULL, *count = NULL;
	struct gres *gres = arg;
	struct sn_names files = { 0 };
	struct sn_buf buf = { 0 };
	uint64_t n = 1;
	int rc = 0;

	(void)err;
	for (size_t i = 0; i < line->n; i++) {
		const struct sn_conf_pair *pair = &line->pair[i];

		if (!strcasecmp(pair->key, "Name"))
			name = pair;
		else if (!strcasecmp(pair->key, "File") || !strcasecmp(pair->key, "MultipleFiles"))
			file = pair;
		else if (!strcasecmp(pair->key, "Count"))
			count = pair;
		else if (!strcasecmp(pair->key, "AutoDetect") && strcasecmp(pair->value, "off"))
			gres->detects = true;
	}
	if (!name || strcmp(name->value, gres->card))
		return 0;
	for (size_t i = 0; i < line->n; i++)
		gres->by_line |= !strcasecmp(line->pair[i].key, "Cores") ||
			!strcasecmp(line->pair[i].key, "CPUs") ||
			!strcasecmp(line->pair[i].key, "Type");
	if (file && sn_hostlist_expand(file->value, &files, NULL))
		return 0;
	if (count && sn_parse_uint(count->value, 0, UINT32_MAX, &n, NULL))
		n = 1;
	if (file)
		n = files.n && !strcasecmp(file->key, "File") ? files.n : 1;
	gres->cards += n;
	if (n > 1 && files.n && !gres->several.text) {
		format_lines(line, &files, &buf);
		sn_buf_add(&gres->several, "%s:%u: %llu cards in one line, which Slurm 24.11 keeps out of use together when one of them is taken out; write a line for each: %s",
			   line->file, line->line, (unsigned long long)n,
			   buf.text ? buf.text : "");
	} else if (n && !files.n && !gres->counts) {
		gres->counts = true;
		rc = snctl_warn(gres->warnings, "%s:%u: %llu card%s without File=, of which Slurm does not tell one from another: when one is taken out, none of the node's is given out; write a line for each: Name=%s File=/dev/... and so on",
				line->file, line->line, (unsigned long long)n,
				n == 1 ? "" : "s", gres->card);
	}
	sn_buf_done(&buf);
	sn_names_done(&files);
	return rc;
}

/* One sentence: every line may have so many. */
static int warn_too_many(const struct snctl_slurmconf *conf, const char *card,
			 struct sn_names *ret)
{
	size_t first = 0, lines = 0;
	char nodes[64], more[64] = "";

	for (size_t i = conf->gres_values.n; i--;)
		if (gres_count(conf->gres_values.name[i], card) > SN_CARDS_MAX) {
			first = i;
			lines++;
		}
	if (!lines)
		return 0;
	if (lines > 1)
		snprintf(more, sizeof(more), " (and %zu other line%s)", lines - 1,
			 lines == 2 ? "" : "s");
	return snctl_warn(ret, "slurm.conf gives %s%s %llu cards a node by Gres=%s, more than the %d that can be told apart: jobs with --parallel get cards 0 to %d only, and the others cannot be shown or taken out; give a node at most %d",
			  sn_text_clip(conf->gres_nodes.name[first], nodes, sizeof(nodes)), more,
			  (unsigned long long)gres_count(conf->gres_values.name[first], card),
			  conf->gres_values.name[first], SN_CARDS_MAX, SN_CARDS_MAX - 1, SN_CARDS_MAX);
}

int snctl_warn_gres(const char *path, const struct snctl_slurmconf *conf,
		    const char *card, struct sn_names *ret)
{
	struct gres gres = { .card = card, .warnings = ret };
	char *gres_path = snctl_sibling(path, "gres.conf"), *text = NULL;
	uint64_t n = gres_count(conf->gres, card);
	struct sn_err why;
	size_t len;
	int rc = gres_path ? 0 : -ENOMEM;

	if (!rc && !has_plugin(conf->gres_types, "gres", card))
		rc = snctl_warn(ret, "slurm.conf has %s%s, without the cards of CardGres=%s; the line is GresTypes=%s%s%s",
				conf->gres_types ? "GresTypes=" : "no GresTypes",
				conf->gres_types ? conf->gres_types : "", card,
				conf->gres_types ? conf->gres_types : "",
				conf->gres_types ? "," : "", card);
	if (!rc && !n)
		rc = snctl_warn(ret, "slurm.conf has no node with Gres=%s:N, so no job gets a card; add it to the NodeName lines",
				card);
	if (!rc)
		rc = warn_too_many(conf, card, ret);
	if (!rc && !access(gres_path, F_OK)) {
		if (snctl_read_file(gres_path, &text, &len, &why) ||
		    sn_conf_parse(text, len, gres_path, snctl_read_include, gres_path,
				  take_gres, &gres, &why)) {
			rc = snctl_warn(ret, "not looked at: %.900s", why.text);
			gres.detects = true; /* who knows */
		}
		free(text);
	}
	/* Without Cores= and Type= Slurm picks cards by their numbers, whatever the
	 * lines. */
	if (!rc && gres.by_line && gres.several.text)
		rc = snctl_warn(ret, "%s", gres.several.text);
	sn_buf_done(&gres.several);
	if (!rc && n && !gres.cards && !gres.detects)
		rc = snctl_warn(ret, "%s has no line for %s, so jobs get cards without devices and none can be kept out of use; add a line for each card: Name=%s File=/dev/%s0 and so on to /dev/%s%llu",
				gres_path, card, card, card, card, (unsigned long long)(n - 1));
	free(gres_path);
	return rc;
}
