/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_elastic.c - what comes to snelasticd from others: frames, requests, the
 * extra of node records, the hosts of a configuration, and its own state file. The
 * first byte chooses.
 */
#include "config.h"

#include "elastic/frame.h"
#include "elastic/healthfile.h"
#include "elastic/marks.h"
#include "elastic/report.h"
#include "elastic/where.h"
#include "fuzz.h"
#include "snctl/jsonread.h"
#include "topology/policy.h"

/* Whole, and byte by byte: the same. */
static void frames(const uint8_t *data, size_t size)
{
	struct sn_frame a, b;
	struct sn_err err = { "" };
	size_t used, at = 0;
	bool whole = false, whole_b = false;
	int rc, rc_b = 0;

	sn_frame_init(&a, 4096);
	sn_frame_init(&b, 4096);
	rc = sn_frame_feed(&a, data, size, &used, &whole, &err);
	if (rc)
		fuzz_check_err(&err);
	else
		MUST(used <= size && (whole || used == size));
	while (!rc_b && !whole_b && at < size) {
		size_t n;

		rc_b = sn_frame_feed(&b, data + at, 1, &n, &whole_b, NULL);
		at += n;
	}
	MUST(rc == rc_b && whole == whole_b);
	if (whole)
		MUST(a.need == b.need && !memcmp(a.body, b.body, a.need + 1) && at == used);
	sn_frame_done(&a);
	sn_frame_done(&b);
}

static void report(const char *text, size_t len)
{
	struct json_object *o;
	struct sn_report r;
	struct sn_err err = { "" };
	uint64_t cards;

	if (snctl_json_parse(text, len, "f", &o, &err))
		return;
	if (json_object_is_type(o, json_type_object)) {
		if (sn_report_parse(o, &r, &err)) {
			fuzz_check_err(&err);
		} else {
			MUST(*r.node);
			for (uint32_t i = 0; i < r.n_samples; i++)
				MUST(r.sample[i].card < 64 && r.sample[i].value == r.sample[i].value);
			for (uint32_t i = 0; i < r.n_faults; i++)
				MUST(r.fault[i].card < 64 && *r.fault[i].code);
			sn_report_done(&r);
		}
		if (!sn_request_cards(o, &cards, &err))
			MUST(cards);
	}
	json_object_put(o);
}

/* What is written is what is read, and written again it is the same. */
static void marks(const char *extra)
{
	struct sn_cardmark mark[2] = {
		{ .state = SN_CARDHEALTH_SUSPECT, .at = 5, .why = "slow" },
		{ .state = SN_CARDHEALTH_MANUAL, .at = 6, .why = "slow again" },
	};
	/* New ones, so that none counts as taken away by somebody. */
	struct sn_marks m = { .cards = 0x11, .card = mark, .anew = 0x11 };
	struct sn_marks_seen seen;
	struct sn_err err = { "" };
	char *a, *b;

	if (sn_marks_write(extra, &m, &a, NULL, &err)) {
		fuzz_check_err(&err);
		return;
	}
	/* Other people's marks that make no sense are not ours to mend. */
	(void)sn_marks_read(a, &seen, NULL);
	MUST((seen.cards & 0x11) == 0x11 && seen.own == 0x11);
	MUST(!sn_marks_write(a, &m, &b, NULL, NULL));
	MUST(!strcmp(a, b));
	free(a);
	free(b);
}

static void hosts(const char *text)
{
	struct sn_elastic_where where = { .n_hosts = 0 };
	struct sn_err err = { "" };

	if (sn_elastic_hosts(text, NULL, 0, &where, &err))
		fuzz_check_err(&err);
	for (uint32_t i = 0; i < where.n_hosts; i++)
		MUST(*where.host[i].name && *where.host[i].address);
}

static void state(const char *text, size_t len)
{
	static const char conf[] = "SupernodeName=s Nodes=n[1-4]\n";
	struct sn_health_conf health_conf;
	struct sn_policy policy;
	struct sn_topo *topo;
	struct sn_health *h, *again;
	struct sn_err err = { "" };
	uint32_t over;
	char *saved;
	size_t n;

	sn_policy_init(&policy);
	MUST(!sn_health_conf_init(&policy, &health_conf, NULL));
	MUST(!sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, NULL));
	(void)sn_healthfile_names(text, len, "f", topo, NULL);
	MUST(!sn_health_create(topo, &health_conf, NULL, &h, NULL));
	MUST(!sn_health_create(topo, &health_conf, NULL, &again, NULL));
	if (sn_healthfile_read(text, len, "f", h, 100, &over, &err))
		fuzz_check_err(&err);
	/* Whatever came in can be saved, and read back whole. */
	MUST(!sn_healthfile_write(h, NULL, 0, &saved, &n, NULL));
	MUST(!sn_healthfile_read(saved, n, "f", again, 100, &over, NULL) && !over);
	free(saved);
	sn_health_destroy(h);
	sn_health_destroy(again);
	sn_topo_destroy(topo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data + (size ? 1 : 0), size ? size - 1 : 0);
	size_t len = size ? size - 1 : 0;

	switch (size ? data[0] % 5 : 0) {
	case 0:
		frames(data + (size ? 1 : 0), len);
		break;
	case 1:
		report(text, len);
		break;
	case 2:
		marks(text);
		break;
	case 3:
		hosts(text);
		break;
	default:
		state(text, len);
	}
	free(text);
	return 0;
}
