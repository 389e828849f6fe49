/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe.h - what a node's cards are like: text of the vendors' tools to facts, and
 * facts to findings. All of it pure; probenode.h does the I/O.
 *
 * The tools' output has no contract and changes from version to version, so the
 * parsers look for what they know and pass over all else: a table's columns are
 * found by their headings, a report's values by their keys. What a tool does not
 * say is not known, and not known is never a fault.
 */
#ifndef SN_LAUNCHER_PROBE_H
#define SN_LAUNCHER_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/conf.h"
#include "topology/err.h"
#include "topology/policy.h"

#define SN_PROBE_CARDS 64
#define SN_PROBE_PROCESSES 256
#define SN_PROBE_UNKNOWN UINT64_MAX /* of counts and sizes */
#define SN_PROBE_NO_VALUE (-1e9) /* of temperature and power */

enum sn_probe_health {
	SN_PROBE_NOT_TOLD, SN_PROBE_OK, SN_PROBE_WARNING, SN_PROBE_ALARM,
	SN_PROBE_CRITICAL,
	SN_PROBE_LOST /* the tool lists it and cannot talk to it */
};
const char *sn_probe_health_word(enum sn_probe_health health);

struct sn_probe_card {
	uint32_t number; /* the N of /dev/davinciN or /dev/nvidiaN */
	uint32_t unit, chip; /* as npu-smi counts; nvidia-smi: its place, 0 */
	enum sn_probe_health health;
	char said[48]; /* the tool's own word of it */
	char bus[32]; /* "0000:c1:00.0", lower case; "": not told */
	double temperature; /* degrees C, or SN_PROBE_NO_VALUE */
	double power; /* W, or SN_PROBE_NO_VALUE */
	uint64_t memory_used, memory_total; /* bytes of HBM or frame buffer */
	uint64_t ecc_fatal, ecc_corrected; /* counts, as all below */
	uint64_t retired_pages, row_remaps;
	uint64_t link_errors, crc_errors;
	bool links_told;
	uint32_t links_down; /* that the tool says are down */
	int numa; /* node of the host, -1: not told */
};

struct sn_probe_process {
	uint32_t number; /* of the card */
	uint32_t pid;
	uint64_t memory; /* bytes, or SN_PROBE_UNKNOWN */
	char name[32];
};

struct sn_probe_facts {
	struct sn_probe_card card[SN_PROBE_CARDS];
	uint32_t n_cards;
	struct sn_probe_process process[SN_PROBE_PROCESSES];
	uint32_t n_processes; /* at most SN_PROBE_PROCESSES are kept */
	char version[48]; /* of the tool or the driver; "" */
};

/*
 * `npu-smi info`. A card is a chip; its number is the Phy-ID or Device that the
 * table has, else, with one chip an NPU, the NPU's number, else its place.
 * `nvidia-smi -q`. The number is the Minor Number, else its place.
 * -EINVAL: it shows no card; the sentence has how the text begins.
 */
int sn_probe_npu(const char *text, size_t len, struct sn_probe_facts *ret,
		 struct sn_err *err);
int sn_probe_nvidia(const char *text, size_t len, struct sn_probe_facts *ret,
		    struct sn_err *err);

/* `npu-smi info -t ecc -i UNIT`: into the cards of that unit. False: there was
 * nothing of that in it. */
bool sn_probe_npu_ecc(const char *text, size_t len, uint32_t unit,
		      struct sn_probe_facts *facts);
/* `hccn_tool -i N -link -g`: "link status: UP". */
bool sn_probe_npu_link(const char *text, size_t len, uint32_t number,
		       struct sn_probe_facts *facts);
/* `nvidia-smi nvlink -e`, of all cards by their places. */
bool sn_probe_nvlink(const char *text, size_t len, struct sn_probe_facts *facts);

/* ---- the node ---- */

enum sn_probe_tool {
	SN_PROBE_TOOL_NONE, /* none is configured, or there is none */
	SN_PROBE_TOOL_OK,
	SN_PROBE_TOOL_FAILED,
	SN_PROBE_TOOL_GARBAGE, /* nothing that could be read */
	SN_PROBE_TOOL_HANGS
};
const char *sn_probe_tool_word(enum sn_probe_tool tool);

struct sn_probe_device { /* a card that Slurm gives out, in its order */
	char path[256]; /* "": Slurm knows no file of it */
	uint32_t number; /* of the file's name, else its place */
	bool present;
};

struct sn_probe_node {
	char name[128];
	enum sn_vendor vendor;
	struct sn_probe_device device[SN_PROBE_CARDS];
	uint32_t n_devices;
	enum sn_probe_tool tool;
	char tool_path[SN_POLICY_TEXT_MAX];
	struct sn_err tool_err; /* where it is not OK */
	struct sn_probe_facts facts;
	uint64_t memory_available; /* bytes, SN_PROBE_UNKNOWN */
	uint32_t cpus_present, cpus_online; /* 0: not known */
	uint32_t numa_nodes;
};

#define SN_PROBE_TEXT 160
struct sn_probe_finding {
	uint32_t card; /* as Slurm numbers it; UINT32_MAX: the node's */
	const char *code; /* as healthcode.h knows it, for a node "node-…"; NULL: only
			   * to be told */
	char text[SN_PROBE_TEXT];
};
struct sn_probe_sample {
	uint32_t card;
	const char *metric; /* as healthconf.h knows it */
	double value;
};

#define SN_PROBE_FINDINGS 256
#define SN_PROBE_SAMPLES (8 * SN_PROBE_CARDS)
struct sn_probe_verdict {
	struct sn_probe_finding finding[SN_PROBE_FINDINGS];
	uint32_t n_findings, n_faults; /* faults are those with a code */
	struct sn_probe_sample sample[SN_PROBE_SAMPLES];
	uint32_t n_samples;
};

struct sn_probe_limits {
	uint64_t memory; /* bytes that must be available; 0: any */
	uint32_t temperature; /* degrees from which a card is too hot; 0: any */
};

void sn_probe_judge(const struct sn_probe_node *node,
		    const struct sn_probe_limits *limits,
		    struct sn_probe_verdict *ret);
/* The fault of a card that stands for all of them, NULL: it is well. */
const struct sn_probe_finding *
sn_probe_fault_of(const struct sn_probe_verdict *verdict, uint32_t card);
/* The facts of a card as Slurm numbers it; NULL: the tool does not list it. */
const struct sn_probe_card *sn_probe_card_of(const struct sn_probe_node *node,
					     uint32_t card);

/*
 * The card files of a node by gres.conf: lines with Name=GRES and File=, and
 * NodeName= that has the node, or none. `detects`: AutoDetect is on. -EINVAL as
 * sn_conf_parse().
 */
int sn_probe_gres(const char *text, size_t len, const char *file,
		  sn_conf_read_fn read, void *ctx, const char *gres,
		  const char *node,
		  struct sn_probe_device *ret, uint32_t *ret_n, bool *ret_detects,
		  struct sn_err *err);
/* The device file of a card by a pattern with %c and %n. */
void sn_probe_pattern(const char *pattern, const char *node, uint32_t card,
		      char *buf, size_t size);

#endif
