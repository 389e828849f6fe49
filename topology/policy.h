/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h - supernode.conf: what a site decides, apart from what it has.
 *
 * Slurm's own style: Key=Value, several on a line, any case of keys, "#" to
 * the end of a line is a comment. A value with blanks or "#" stands in double
 * quotes. One table (sn_policy_keys) drives parsing,
 * the defaults, the sentences about unknown keys and the documentation. Every
 * key has a default, so an empty or missing file is a whole policy.
 */
#ifndef SN_TOPOLOGY_POLICY_H
#define SN_TOPOLOGY_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_POLICY_NAME_MAX 32
#define SN_POLICY_TEXT_MAX 512 /* with the NUL */

struct sn_policy {
	char card_gres[SN_POLICY_NAME_MAX]; /* the gres that a card is: "npu" */
	uint32_t small_job_cards; /* jobs up to this many cards are small; 0: none is */
	char degraded[SN_POLICY_TEXT_MAX]; /* a hostlist of supernodes and units */
	uint32_t node_power, idle_node_power; /* W; node_power 0: not known */
	char probe_tool[SN_POLICY_TEXT_MAX]; /* a path, "auto" or "none" */
	char probe_link_tool[SN_POLICY_TEXT_MAX]; /* the same */
	uint32_t probe_timeout; /* s */
	uint32_t probe_temperature; /* degrees C, 0: any */
	uint64_t probe_memory; /* bytes */
	uint32_t vendor; /* enum sn_vendor; sn_policy_vendor() resolves auto */
	char job_dir[SN_POLICY_TEXT_MAX]; /* pattern of $SUPERNODE_JOB_DIR */
	uint32_t job_dir_keep; /* days, 0: for ever */
	uint32_t job_dir_shared; /* enum sn_job_dir_shared */
	uint32_t max_restarts; /* of jobs with spares */
	uint32_t restart_wait; /* s, from SIGTERM to SIGKILL before a restart */
	uint32_t stop_wait; /* s, the same when the user stops a job */
	uint32_t progress_time; /* s */
	uint32_t node_poll; /* ms */
	uint32_t visible_cards; /* 0: the rank's own, 1: the node's */
	uint32_t bind; /* enum sn_bind_mode of launcher/bind.h */
	char card_pci[SN_POLICY_TEXT_MAX];
	char task_env[SN_POLICY_TEXT_MAX];
	char socket_ifname[SN_POLICY_TEXT_MAX];
	uint32_t collective_hints;
	uint32_t hccl_connect_timeout; /* s */
	uint32_t hccl_if_base_port;
	char hccl_if_ip[SN_POLICY_TEXT_MAX]; /* an interface */
	char nccl_topo_file[SN_POLICY_TEXT_MAX];
	uint32_t elastic_members; /* 0: no, 1: yes */
	uint32_t elastic_members_max;
	uint32_t elastic_grow; /* 0: no, 1: yes */
	uint32_t elastic_wait; /* s */
	uint32_t help_wait; /* s */
	uint32_t elastic_poll; /* s */
	uint32_t checkpoint_soft, checkpoint_hard; /* s */
	uint32_t checkpoint_preset; /* index into sn_ckpt_presets */
	uint32_t pool_provider; /* enum sn_pool_provider */
	char pool_dir[SN_POLICY_TEXT_MAX]; /* where regions are mounted */
	char pool_program[SN_POLICY_TEXT_MAX]; /* of SN_POOL_PROVIDER_PROGRAM */
	uint32_t pool_timeout; /* seconds, of one call of it */
	uint32_t pool_high, pool_low; /* percent of a region */
	uint32_t pool_named, pool_named_user; /* percent of PoolMemory */
	char card_memory_program[SN_POLICY_TEXT_MAX];
	uint32_t card_memory_high, card_memory_low; /* percent */
	uint32_t rank_table; /* enum sn_rank_table */
	char inventory[SN_POLICY_TEXT_MAX]; /* a path, %n in it; "": none */
	char inventory_program[SN_POLICY_TEXT_MAX]; /* a path; "": none */
	uint32_t inventory_timeout; /* s, for one node */
	uint32_t preflight; /* 1: always, not only with snrun --preflight */
	char preflight_versions[SN_POLICY_TEXT_MAX]; /* commands, ";" between */
	char preflight_devices[SN_POLICY_TEXT_MAX]; /* a path, %c and %n in it */
	char preflight_cards[SN_POLICY_TEXT_MAX]; /* a command */
	char preflight_program[SN_POLICY_TEXT_MAX]; /* a command */
	uint32_t preflight_timeout; /* s, for a node's own checks together */
	uint32_t preflight_clock; /* ms, 0: not checked */
	uint64_t preflight_memory; /* bytes */
	uint32_t preflight_slow; /* times the median, 0: not checked */
	char elasticd_hosts[SN_POLICY_TEXT_MAX]; /* "": slurm.conf's SlurmctldHosts */
	uint32_t elasticd_port;
	char elasticd_socket[SN_POLICY_TEXT_MAX]; /* "": none */
	char elasticd_state_dir[SN_POLICY_TEXT_MAX]; /* "": below StateSaveLocation */
	char elasticd_pid_file[SN_POLICY_TEXT_MAX];
	char elasticd_log_file[SN_POLICY_TEXT_MAX]; /* "": syslog */
	uint32_t elasticd_connections, elasticd_jobs;
	uint32_t elasticd_poll; /* ms */
	uint32_t history_days;
	char operators[SN_POLICY_TEXT_MAX]; /* users, blanks or commas between */
	/* healthconf.h says what they mean */
	uint32_t health_slow, health_gross, health_domain; /* percent */
	uint32_t health_score; /* tenths of a standard deviation */
	uint32_t health_peers;
	uint32_t health_window; /* s */
	uint32_t health_settle; /* ms */
	uint32_t health_domain_hold; /* s */
	uint32_t health_probe_timeout, health_probe_retry; /* s */
	uint32_t health_probe_tries;
	char health_probe_program[SN_POLICY_TEXT_MAX]; /* a path; "": none */
	uint32_t health_hold; /* s */
	uint32_t health_escalate;
	uint32_t health_escalate_time; /* s */
	uint32_t health_recover; /* samples */
	char health_codes[SN_POLICY_TEXT_MAX]; /* a path; "": none */
	uint32_t health_unknown_code; /* enum sn_health_level */
	char health_metrics[SN_POLICY_TEXT_MAX];
	uint32_t health_job_reports; /* 0: hints, 1: trusted */
	char elastic_costs[SN_POLICY_TEXT_MAX]; /* sn_ladder_costs_parse() */
	char elastic_policy[SN_POLICY_TEXT_MAX]; /* sn_elastic_policy_parse() */
	uint32_t elastic_nodes_out; /* a minute */
	uint32_t metrics_port; /* 0: none */
	char metrics_address[SN_POLICY_TEXT_MAX]; /* "": all */
};

/* In the order of RankTable's words. */
enum sn_rank_table {
	SN_RANK_TABLE_NONE, SN_RANK_TABLE_1_0, SN_RANK_TABLE_1_2, SN_RANK_TABLE_2_0
};

enum sn_pool_provider { SN_POOL_PROVIDER_TMPFS, SN_POOL_PROVIDER_HUGETLBFS, SN_POOL_PROVIDER_PROGRAM, SN_POOL_PROVIDER_NONE };
enum sn_job_dir_shared { SN_JOB_DIR_AUTO, SN_JOB_DIR_SHARED, SN_JOB_DIR_LOCAL };
enum sn_vendor { SN_VENDOR_AUTO, SN_VENDOR_ASCEND, SN_VENDOR_NVIDIA, SN_VENDOR_NONE };

/*
 * What a key's field in struct sn_policy is:
 *	NAME	char[SN_POLICY_NAME_MAX]: letters, digits, "_", "-", never empty
 *	TEXT	char[SN_POLICY_TEXT_MAX]: anything on one line, also empty
 *	CHOICE	uint32_t: the number of the word in "choices", counted from 0
 *	UINT	uint32_t in [min, max]
 *	SIZE	uint64_t: bytes, as in text.h
 *	ENV	as TEXT: NAME=VALUE words, blanks between
 *	PCI	as TEXT: PCI addresses, blanks between
 */
enum sn_policy_type {
	SN_POLICY_NAME, SN_POLICY_TEXT, SN_POLICY_CHOICE, SN_POLICY_UINT,
	SN_POLICY_SIZE, SN_POLICY_ENV, SN_POLICY_PCI
};

struct sn_policy_key {
	const char *name;
	enum sn_policy_type type;
	size_t offset; /* in struct sn_policy */
	uint64_t min, max; /* UINT */
	const char *choices; /* CHOICE: "no|yes" */
	const char *preset; /* the default, as it would be written */
	const char *help;
};
extern const struct sn_policy_key sn_policy_keys[]; /* ends with name NULL */
#define SN_POLICY_KEYS_MAX 256 /* with that end */

/* The first word of an ENV or PCI value (len bytes, no NUL needed) that is none,
 * NULL: all are. ret_len may be NULL. */
const char *sn_policy_bad_word(enum sn_policy_type type, const char *value,
			       size_t len, size_t *ret_len);

/* The vendor whose variables tasks get: as configured, or by the gres's name. */
enum sn_vendor sn_policy_vendor(const struct sn_policy *policy);

/* PreflightDevices, where it is auto that of the vendor's driver; "": none. */
const char *sn_policy_devices(const struct sn_policy *policy);

/* Every key at its default. */
void sn_policy_init(struct sn_policy *policy);

/*
 * Parse the text of a supernode.conf. file is what errors begin with, as in
 *	supernode.conf:3: Cardgress=npu: no such key; did you mean CardGres?
 * *ret is filled only on success. -EINVAL.
 */
int sn_policy_parse(const char *text, size_t len, const char *file,
		    struct sn_policy *ret, struct sn_err *err);

#endif
