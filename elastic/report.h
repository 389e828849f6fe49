/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - what a request says, checked: health reports, and the members that
 * all requests share. Pure; nothing here believes anything (auth.h does).
 */
#ifndef SN_ELASTIC_REPORT_H
#define SN_ELASTIC_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "topology/err.h"
#include "topology/health.h"

#define SN_REPORT_ITEMS_MAX 8192 /* samples, faults and probes of one report, each */
#define SN_REPORT_NODE_MAX 128 /* with the NUL */
#define SN_REPORT_WORD_MAX 32
#define SN_REPORT_TEXT_MAX 256

struct sn_report_sample {
	uint32_t card;
	char metric[SN_METRIC_NAME_MAX];
	double value, time; /* time: NaN where it is not said */
	uint64_t step; /* SN_HEALTH_NO_STEP */
	uint32_t gen;
};

struct sn_report_fault {
	uint32_t card;
	char code[SN_HEALTH_CODE_MAX]; /* "sick" where none is said */
	char text[SN_REPORT_TEXT_MAX];
};

struct sn_report_probe {
	uint32_t card;
	bool passed;
	char text[SN_REPORT_TEXT_MAX];
};

struct sn_report {
	char node[SN_REPORT_NODE_MAX];
	char source[SN_REPORT_WORD_MAX]; /* "" */
	uint32_t job;
	struct sn_report_sample *sample;
	struct sn_report_fault *fault;
	struct sn_report_probe *probe;
	uint32_t n_samples, n_faults, n_probes;
};

/* -EINVAL, with what is wrong and where; -ENOMEM. */
int sn_report_parse(struct json_object *request, struct sn_report *ret,
		    struct sn_err *err);
void sn_report_done(struct sn_report *report);

/* ---- members ---- */

/* A string, without control characters, below size bytes. absent: "" if it is not
 * there, else -EINVAL. */
int sn_request_string(struct json_object *o, const char *key, bool absent, char *ret,
		      size_t size, struct sn_err *err);
/* A whole number from 0 to max; *ret is left alone where it is not there. */
int sn_request_uint(struct json_object *o, const char *key, uint64_t max,
		    uint64_t *ret, struct sn_err *err);
/* "cards": [3, 5] as bits; at least one, each below 64. */
int sn_request_cards(struct json_object *o, uint64_t *ret, struct sn_err *err);

#endif
