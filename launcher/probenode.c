/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probenode.c - look at the node that this runs on.
 *
 * Device files are only looked up, never opened: opening one of a driver that
 * hangs would hang with it. The tools run all at once, with one time limit.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/probenode.h"
#include "launcher/program.h"

#define OUTPUT_MAX (4u << 20)
#define MORE_MS 2000 /* that must be left for a tool's further questions */
#define WORDS 8

struct run {
	char tool[SN_POLICY_TEXT_MAX], word[WORDS][64];
	const char *argv[WORDS + 1];
	char *text; /* NULL where rc is not 0 */
	size_t len;
	int rc;
	struct sn_err err;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void set_words(struct run *run, const char *tool, const char *words)
{
	uint32_t n = 1;

	*run = (struct run){ .text = NULL };
	snprintf(run->tool, sizeof(run->tool), "%s", tool);
	run->argv[0] = run->tool;
	while (*words && n < WORDS) {
		size_t len = strcspn(words, " ");

		snprintf(run->word[n], sizeof(run->word[n]), "%.*s", (int)len,
			 words);
		run->argv[n] = run->word[n];
		n++;
		words += len + strspn(words + len, " ");
	}
}

static void run_all(struct run *run, uint32_t n, uint32_t seconds)
{
	const struct sn_program_limits limits = {
		.at_once = n, .seconds = seconds ? seconds : 1, .bytes = OUTPUT_MAX,
		.each = true, .bare = true,
	};
	struct sn_program *program = calloc((size_t)n + 1, sizeof(*program));

	for (uint32_t i = 0; program && i < n; i++)
		program[i].argv = run[i].argv;
	if (program)
		(void)sn_programs_run(program, n, &limits, NULL);
	for (uint32_t i = 0; i < n; i++) {
		if (!program) {
			run[i].rc = sn_err_set(&run[i].err, -ENOMEM, "no memory");
			continue;
		}
		run[i].rc = program[i].rc;
		run[i].err = program[i].err;
		run[i].text = program[i].out;
		run[i].len = program[i].len;
	}
	free(program);
}

/* ---- which tool ------------------------------------------------------------------ */

static void find_first(const char *const *path, char *buf, size_t size)
{
	buf[0] = '\0';
	for (; *path && !buf[0]; path++)
		if (!access(*path, X_OK))
			snprintf(buf, size, "%s", *path);
}

void sn_probe_tool_path(const struct sn_policy *policy, char *buf, size_t size)
{
	static const char *const npu[] = {
		"/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi",
		"/usr/bin/npu-smi", "/usr/sbin/npu-smi", NULL,
	};
	static const char *const nvidia[] = {
		"/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi", NULL,
	};

	buf[0] = '\0';
	if (strcasecmp(policy->probe_tool, "auto")) {
		if (strcasecmp(policy->probe_tool, "none"))
			snprintf(buf, size, "%s", policy->probe_tool);
		return;
	}
	switch (sn_policy_vendor(policy)) {
	case SN_VENDOR_ASCEND:
		find_first(npu, buf, size);
		break;
	case SN_VENDOR_NVIDIA:
		find_first(nvidia, buf, size);
		break;
	default:
		break;
	}
}

static void link_tool_path(const struct sn_policy *policy, char *buf, size_t size)
{
	static const char *const hccn[] = {
		"/usr/local/Ascend/driver/tools/hccn_tool",
		"/usr/local/bin/hccn_tool", "/usr/bin/hccn_tool", NULL,
	};

	buf[0] = '\0';
	if (sn_policy_vendor(policy) != SN_VENDOR_ASCEND ||
	    !strcasecmp(policy->probe_link_tool, "none"))
		return;
	if (strcasecmp(policy->probe_link_tool, "auto"))
		snprintf(buf, size, "%s", policy->probe_link_tool);
	else
		find_first(hccn, buf, size);
}

/* ---- what it says ------------------------------------------------------------------ */

static void take_answer(struct sn_probe_node *node, struct run *run)
{
	int rc = run->rc;

	if (rc == -ETIME) {
		node->tool = SN_PROBE_TOOL_HANGS;
		node->tool_err = run->err;
		return;
	}
	if (rc == -EFBIG) {
		node->tool = SN_PROBE_TOOL_GARBAGE;
		node->tool_err = run->err;
		return;
	}
	if (rc) {
		node->tool = SN_PROBE_TOOL_FAILED;
		node->tool_err = run->err;
		return;
	}
	rc = node->vendor == SN_VENDOR_NVIDIA ?
		sn_probe_nvidia(run->text, run->len, &node->facts,
				&node->tool_err) :
		sn_probe_npu(run->text, run->len, &node->facts,
			     &node->tool_err);
	node->tool = rc ? SN_PROBE_TOOL_GARBAGE : SN_PROBE_TOOL_OK;
}

static void ask_nvidia(const struct sn_policy *policy, struct sn_probe_node *node)
{
	struct run run[2];

	set_words(&run[0], node->tool_path, "-q");
	set_words(&run[1], node->tool_path, "nvlink -e");
	run_all(run, 2, policy->probe_timeout);
	take_answer(node, &run[0]);
	if (node->tool == SN_PROBE_TOOL_OK && !run[1].rc)
		(void)sn_probe_nvlink(run[1].text, run[1].len, &node->facts);
	free(run[0].text);
	free(run[1].text);
}

/* Errors of memory, a question for each unit, and links, one for each card. What
 * does not answer is not known. */
static void ask_npu_more(const struct sn_policy *policy,
			 struct sn_probe_node *node, uint32_t seconds)
{
	struct run *run = calloc(2 * SN_PROBE_CARDS, sizeof(*run));
	struct sn_probe_facts *facts = &node->facts;
	uint32_t arg[2 * SN_PROBE_CARDS], n = 0, n_ecc;
	char links[SN_POLICY_TEXT_MAX], words[64];

	if (!run)
		return;
	for (uint32_t i = 0; i < facts->n_cards; i++) {
		if (i && facts->card[i].unit == facts->card[i - 1].unit)
			continue;
		arg[n] = facts->card[i].unit;
		snprintf(words, sizeof(words), "info -t ecc -i %u", arg[n]);
		set_words(&run[n++], node->tool_path, words);
	}
	n_ecc = n;
	link_tool_path(policy, links, sizeof(links));
	for (uint32_t i = 0; links[0] && i < facts->n_cards; i++) {
		arg[n] = facts->card[i].number;
		snprintf(words, sizeof(words), "-i %u -link -g", arg[n]);
		set_words(&run[n++], links, words);
	}
	run_all(run, n, seconds);
	for (uint32_t i = 0; i < n; i++) {
		if (!run[i].rc && i < n_ecc)
			(void)sn_probe_npu_ecc(run[i].text, run[i].len, arg[i],
					       facts);
		else if (!run[i].rc)
			(void)sn_probe_npu_link(run[i].text, run[i].len, arg[i],
						facts);
		free(run[i].text);
	}
	free(run);
}

static void ask_npu(const struct sn_policy *policy, struct sn_probe_node *node)
{
	int64_t end = now_ms() + (int64_t)policy->probe_timeout * 1000, left;
	struct run run;

	set_words(&run, node->tool_path, "info");
	run_all(&run, 1, policy->probe_timeout);
	take_answer(node, &run);
	free(run.text);
	left = end - now_ms();
	if (node->tool == SN_PROBE_TOOL_OK && left >= MORE_MS)
		ask_npu_more(policy, node, (uint32_t)(left / 1000));
}

/* ---- the host ------------------------------------------------------------------------ */

static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(buf, (int)size, f);

	if (f)
		fclose(f);
	return ok;
}

/* "0-3,8" are five. */
static uint32_t count_list(const char *path)
{
	char line[4096], *p = line;
	uint32_t n = 0;

	if (!read_line(path, line, sizeof(line)))
		return 0;
	while (*p >= '0' && *p <= '9') {
		unsigned long lo = strtoul(p, &p, 10), hi = lo;

		if (*p == '-')
			hi = strtoul(p + 1, &p, 10);
		if (hi < lo || hi - lo > 1u << 20)
			return 0;
		n += (uint32_t)(hi - lo) + 1;
		if (*p != ',')
			break;
		p++;
	}
	return n;
}

static uint64_t available_memory(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kb;
	uint64_t ret = SN_PROBE_UNKNOWN;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
			ret = (uint64_t)kb << 10;
	if (f)
		fclose(f);
	return ret;
}

static void find_numa(struct sn_probe_facts *facts)
{
	for (uint32_t i = 0; i < facts->n_cards; i++) {
		struct sn_probe_card *card = &facts->card[i];
		char path[128], line[32];

		/* It comes from the tool, and becomes part of a path. */
		if (!card->bus[0] ||
		    card->bus[strspn(card->bus, "0123456789abcdef:.")] ||
		    strstr(card->bus, ".."))
			continue;
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node",
			 card->bus);
		if (read_line(path, line, sizeof(line)))
			card->numa = (int)strtol(line, NULL, 10);
	}
}

int sn_probe_look(const struct sn_policy *policy, struct sn_probe_node *node,
		  struct sn_err *err)
{
	struct stat st;

	(void)err;
	node->vendor = sn_policy_vendor(policy);
	for (uint32_t i = 0; i < node->n_devices; i++)
		node->device[i].present = node->device[i].path[0] &&
			!stat(node->device[i].path, &st);
	node->memory_available = available_memory();
	node->cpus_present = count_list("/sys/devices/system/cpu/present");
	node->cpus_online = count_list("/sys/devices/system/cpu/online");
	node->numa_nodes = count_list("/sys/devices/system/node/online");
	node->tool = SN_PROBE_TOOL_NONE;
	node->facts = (struct sn_probe_facts){ .n_cards = 0 };
	sn_probe_tool_path(policy, node->tool_path, sizeof(node->tool_path));
	if (!node->tool_path[0])
		return 0;
	if (node->vendor == SN_VENDOR_NVIDIA)
		ask_nvidia(policy, node);
	else
		ask_npu(policy, node);
	find_numa(&node->facts);
	return 0;
}
