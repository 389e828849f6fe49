/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_probe.c - whatever npu-smi, hccn_tool and nvidia-smi may say.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/probe.h"

static void check(const struct sn_probe_facts *facts)
{
	MUST(facts->n_cards <= SN_PROBE_CARDS);
	MUST(facts->n_processes <= SN_PROBE_PROCESSES);
	MUST(memchr(facts->version, '\0', sizeof(facts->version)));
	for (uint32_t i = 0; i < facts->n_cards; i++) {
		const struct sn_probe_card *card = &facts->card[i];

		MUST(card->number < 1u << 16 && card->unit <= 1u << 16);
		MUST(memchr(card->said, '\0', sizeof(card->said)));
		MUST(memchr(card->bus, '\0', sizeof(card->bus)));
		for (const char *p = card->said; *p; p++)
			MUST(*p >= 0x20 && *p < 0x7f);
	}
	for (uint32_t i = 0; i < facts->n_processes; i++) {
		MUST(facts->process[i].pid);
		MUST(memchr(facts->process[i].name, '\0', sizeof(facts->process[i].name)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sn_probe_facts facts;
	static struct sn_probe_verdict verdict;
	static struct sn_probe_node node;
	struct sn_probe_limits limits = { 1 << 20, 90 };
	const char *text = (const char *)data;
	struct sn_err err = { "" };

	if (sn_probe_npu(text, size, &facts, &err))
		fuzz_check_err(&err);
	check(&facts);
	(void)sn_probe_npu_ecc(text, size, 0, &facts);
	(void)sn_probe_npu_link(text, size, 0, &facts);
	check(&facts);
	if (sn_probe_nvidia(text, size, &facts, &err))
		fuzz_check_err(&err);
	check(&facts);
	(void)sn_probe_nvlink(text, size, &facts);
	check(&facts);
	node.facts = facts;
	node.tool = SN_PROBE_TOOL_OK;
	node.n_devices = 8;
	sn_probe_judge(&node, &limits, &verdict);
	MUST(verdict.n_findings <= SN_PROBE_FINDINGS);
	MUST(verdict.n_samples <= SN_PROBE_SAMPLES);
	return 0;
}
