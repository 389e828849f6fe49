/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.c - supernode.conf: what a site decides, apart from what it has.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "topology/healthcode.h"
#include "topology/policy.h"
#include "topology/text.h"

const struct sn_policy_key sn_policy_keys[] = {
	{ "CardGres", SN_POLICY_NAME, offsetof(struct sn_policy, card_gres),
	  0, 0, NULL, "npu",
	  "the generic resource that one card is, as in slurm.conf's GresTypes: npu, gpu" },
	{ "SmallJobCards", SN_POLICY_UINT,
	  offsetof(struct sn_policy, small_job_cards), 0, 1u << 24, NULL, "0",
	  "jobs that take at most this many cards are small; 0: none is" },
	{ "DegradedDomains", SN_POLICY_TEXT, offsetof(struct sn_policy, degraded),
	  0, 0, NULL, "",
	  "supernodes and units whose links are degraded, a hostlist: used where no whole ones fit" },
	{ "NodePower", SN_POLICY_UINT, offsetof(struct sn_policy, node_power),
	  0, 10000000, NULL, "0",
	  "watts that a node with a job draws, for PowerLimit; 0: PowerLimit is not looked at" },
	{ "IdleNodePower", SN_POLICY_UINT,
	  offsetof(struct sn_policy, idle_node_power), 0, 10000000, NULL, "0",
	  "watts that a node without a job draws, for PowerLimit" },
	{ "ProbeTool", SN_POLICY_TEXT, offsetof(struct sn_policy, probe_tool),
	  0, 0, NULL, "auto",
	  "npu-smi or nvidia-smi, for snctl health probe: a path, auto (where the vendor puts it), none" },
	{ "ProbeLinkTool", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, probe_link_tool), 0, 0, NULL, "auto",
	  "hccn_tool, which tells of an NPU's link: a path, auto, none" },
	{ "ProbeTimeout", SN_POLICY_UINT, offsetof(struct sn_policy, probe_timeout),
	  1, 6, NULL, "5",
	  "seconds after which the driver of a tool that does not answer hangs" },
	{ "ProbeTemperature", SN_POLICY_UINT,
	  offsetof(struct sn_policy, probe_temperature), 0, 1000, NULL, "0",
	  "degrees C at which the probe finds a card too hot; 0: it reports them only" },
	{ "ProbeMemory", SN_POLICY_SIZE, offsetof(struct sn_policy, probe_memory),
	  0, 0, NULL, "0",
	  "memory that a node must have available for the probe" },
	{ "Vendor", SN_POLICY_CHOICE, offsetof(struct sn_policy, vendor),
	  0, 0, "auto|ascend|nvidia|none", "auto",
	  "whose variables tasks get; auto: ascend for npu, nvidia for gpu" },
	{ "JobDir", SN_POLICY_TEXT, offsetof(struct sn_policy, job_dir),
	  0, 0, NULL, "%h/.supernode/%j",
	  "where a job's files go: %j is its id, %u the user, %h the home directory" },
	{ "JobDirShared", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, job_dir_shared), 0, 0, "auto|yes|no", "auto",
	  "whether all nodes see one JobDir; where not, snrun writes the files on each" },
	{ "MaxRestarts", SN_POLICY_UINT, offsetof(struct sn_policy, max_restarts),
	  0, 1000000, NULL, "16",
	  "how often snrun starts a job with spares again, without --max-restarts" },
	{ "RestartWait", SN_POLICY_UINT, offsetof(struct sn_policy, restart_wait),
	  0, 3600, NULL, "5",
	  "seconds that the other ranks have, after SIGTERM, before a restart" },
	{ "StopWait", SN_POLICY_UINT, offsetof(struct sn_policy, stop_wait),
	  0, 3600, NULL, "30",
	  "seconds that ranks have after a SIGTERM to snrun, before SIGKILL" },
	{ "ProgressTime", SN_POLICY_UINT, offsetof(struct sn_policy, progress_time),
	  1, 1u << 30, NULL, "600",
	  "seconds after which a run counts as progress, without the progress file" },
	{ "NodePoll", SN_POLICY_UINT, offsetof(struct sn_policy, node_poll),
	  50, 3600000, NULL, "500",
	  "milliseconds between snrun's looks at the nodes of a job that it would restart" },
	{ "CheckpointSoft", SN_POLICY_UINT,
	  offsetof(struct sn_policy, checkpoint_soft), 1, 1u << 20, NULL, "120",
	  "seconds after which snrun says that ranks which it asked to save and end have not" },
	{ "CheckpointHard", SN_POLICY_UINT,
	  offsetof(struct sn_policy, checkpoint_hard), 1, 1u << 20, NULL, "600",
	  "seconds after which such ranks are killed" },
	{ "CheckpointPreset", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, checkpoint_preset), 0, 0,
	  "plain|megatron|lightning|nvrx|mindio", "plain",
	  "how programs are asked for a checkpoint that say nothing else; where the directory is not known: plain" },
	{ "ElasticMembers", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, elastic_members), 0, 0, "no|yes", "yes",
	  "whether an sbatch job with --elastic is a base of min_dp that snrun adds member jobs to; no: one job of dp that only shrinks" },
	{ "ElasticMembersMax", SN_POLICY_UINT,
	  offsetof(struct sn_policy, elastic_members_max), 1, 250, NULL, "32",
	  "how many member jobs one job has at most" },
	{ "ElasticGrow", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, elastic_grow), 0, 0, "no|yes", "yes",
	  "whether jobs grow beyond dp up to max_dp where cards are free and nobody else waits for them" },
	{ "ElasticWait", SN_POLICY_UINT, offsetof(struct sn_policy, elastic_wait),
	  0, 3600, NULL, "5",
	  "seconds that snrun waits at its start for member jobs that can start at once" },
	{ "ElasticPoll", SN_POLICY_UINT, offsetof(struct sn_policy, elastic_poll),
	  1, 3600, NULL, "10",
	  "seconds between a member job's looks at its base, with which it ends" },
	{ "PoolProvider", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, pool_provider), 0, 0,
	  "tmpfs|hugetlbfs|program|none", "tmpfs",
	  "what a job's pool regions are made of; none: the pool is only counted" },
	{ "PoolDir", SN_POLICY_TEXT, offsetof(struct sn_policy, pool_dir),
	  0, 0, NULL, "/run/supernode/pool",
	  "where regions are mounted, a directory of each node's own" },
	{ "PoolProgram", SN_POLICY_TEXT, offsetof(struct sn_policy, pool_program),
	  0, 0, NULL, "",
	  "the site's program that makes regions, with PoolProvider=program" },
	{ "PoolTimeout", SN_POLICY_UINT, offsetof(struct sn_policy, pool_timeout),
	  1, 300, NULL, "20",
	  "seconds after which PoolProgram is killed" },
	{ "PoolHigh", SN_POLICY_UINT, offsetof(struct sn_policy, pool_high),
	  1, 100, NULL, "85",
	  "percent of a region in use at which a job is advised to take data out of it" },
	{ "PoolLow", SN_POLICY_UINT, offsetof(struct sn_policy, pool_low),
	  0, 99, NULL, "70",
	  "percent of a region in use at which it is advised that there is room again" },
	{ "CardMemoryProgram", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, card_memory_program), 0, 0, NULL, "",
	  "prints the memory of a node's cards, a line \"CARD USED TOTAL\" each; empty: the vendor's tool" },
	{ "CardMemoryHigh", SN_POLICY_UINT,
	  offsetof(struct sn_policy, card_memory_high), 1, 100, NULL, "85",
	  "percent of a card's memory in use at which a job is advised to swap out to the pool" },
	{ "CardMemoryLow", SN_POLICY_UINT,
	  offsetof(struct sn_policy, card_memory_low), 0, 99, NULL, "70",
	  "percent of a card's memory in use at which it is advised to swap in again" },
	{ "VisibleCards", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, visible_cards), 0, 0, "own|node", "own",
	  "what ASCEND_RT_VISIBLE_DEVICES names: the rank's own card, or all of the step's on the node" },
	{ "Bind", SN_POLICY_CHOICE, offsetof(struct sn_policy, bind),
	  0, 0, "none|locality|slices", "none",
	  "which CPUs ranks are bound to: as Slurm left it, those near the card, even parts" },
	{ "CardPci", SN_POLICY_PCI, offsetof(struct sn_policy, card_pci),
	  0, 0, NULL, "",
	  "the PCI addresses of a node's cards, in their order, for Bind=locality" },
	{ "TaskEnv", SN_POLICY_ENV, offsetof(struct sn_policy, task_env),
	  0, 0, NULL, "",
	  "variables for every rank: they win over the suite's, the user's win over them" },
	{ "SocketIfName", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, socket_ifname), 0, 0, NULL, "",
	  "the interface for HCCL_, NCCL_ and GLOO_SOCKET_IFNAME" },
	{ "CollectiveHints", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, collective_hints), 0, 0, "no|yes", "no",
	  "set HCCL_ALGO or NCCL_ALGO by the supernode's Shape" },
	{ "HcclConnectTimeout", SN_POLICY_UINT,
	  offsetof(struct sn_policy, hccl_connect_timeout), 0, 7200, NULL, "1800",
	  "HCCL_CONNECT_TIMEOUT in seconds, 120 to 7200; 0: HCCL's own" },
	{ "HcclIfBasePort", SN_POLICY_UINT,
	  offsetof(struct sn_policy, hccl_if_base_port), 0, 65520, NULL, "0",
	  "HCCL_IF_BASE_PORT, 1024 to 65520; 0: HCCL's own" },
	{ "HcclIfIp", SN_POLICY_TEXT, offsetof(struct sn_policy, hccl_if_ip),
	  0, 0, NULL, "",
	  "the interface whose IPv4 address is HCCL_IF_IP" },
	{ "NcclTopoFile", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, nccl_topo_file), 0, 0, NULL, "",
	  "NCCL_TOPO_FILE" },
	{ "RankTable", SN_POLICY_CHOICE, offsetof(struct sn_policy, rank_table),
	  0, 0, "none|1.0|1.2|2.0", "none",
	  "the version of the HCCL rank table that jobs get: 1.0 for A2, 1.2 for A3, 2.0 for Ascend 950" },
	{ "Inventory", SN_POLICY_TEXT, offsetof(struct sn_policy, inventory),
	  0, 0, NULL, "",
	  "the file with the cards' addresses; %n in it is the node's name: one file a node" },
	{ "InventoryProgram", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, inventory_program), 0, 0, NULL, "",
	  "a program that prints the inventory of the node that is its argument" },
	{ "InventoryTimeout", SN_POLICY_UINT,
	  offsetof(struct sn_policy, inventory_timeout), 1, 3600, NULL, "20",
	  "seconds after which InventoryProgram is killed" },
	{ "Preflight", SN_POLICY_CHOICE, offsetof(struct sn_policy, preflight),
	  0, 0, "no|yes", "no",
	  "whether snrun checks the nodes of every job before its ranks start" },
	{ "PreflightVersions", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, preflight_versions), 0, 0, NULL, "",
	  "shell commands, with ; between, whose first lines must be the same on all nodes" },
	{ "PreflightDevices", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, preflight_devices), 0, 0, NULL, "auto",
	  "the device file of card %c on node %n; auto: the vendor's" },
	{ "PreflightCards", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, preflight_cards), 0, 0, NULL, "",
	  "a shell command that fails where the cards are not well and idle" },
	{ "PreflightProgram", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, preflight_program), 0, 0, NULL, "",
	  "the site's own check of a node, a shell command that fails on a bad one" },
	{ "PreflightTimeout", SN_POLICY_UINT,
	  offsetof(struct sn_policy, preflight_timeout), 1, 1500, NULL, "60",
	  "seconds that a node has for these commands together" },
	{ "PreflightClock", SN_POLICY_UINT,
	  offsetof(struct sn_policy, preflight_clock), 0, 3600000, NULL, "1000",
	  "milliseconds that a node's clock may be off the middle of all; 0: any" },
	{ "PreflightMemory", SN_POLICY_SIZE,
	  offsetof(struct sn_policy, preflight_memory), 0, 0, NULL, "0",
	  "memory that a node must have available" },
	{ "PreflightSlow", SN_POLICY_UINT,
	  offsetof(struct sn_policy, preflight_slow), 0, 1000, NULL, "4",
	  "a network so many times slower than the median's is a fault; 0: none is" },
	{ "ElasticdHosts", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, elasticd_hosts), 0, 0, NULL, "",
	  "where snelasticd may run, NAME or NAME(ADDRESS), the first choice first; empty: slurm.conf's SlurmctldHosts" },
	{ "ElasticdPort", SN_POLICY_UINT,
	  offsetof(struct sn_policy, elasticd_port), 1, 65535, NULL, "6823",
	  "the TCP port of snelasticd" },
	{ "ElasticdSocket", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, elasticd_socket), 0, 0, NULL, "/run/snelasticd/socket",
	  "its socket on its own host; empty: none" },
	{ "ElasticdStateDir", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, elasticd_state_dir), 0, 0, NULL, "",
	  "what it keeps, a directory that all ElasticdHosts share; empty: snelasticd in StateSaveLocation" },
	{ "ElasticdPidFile", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, elasticd_pid_file), 0, 0, NULL, "/run/snelasticd/pid",
	  "where it writes its process number; empty: nowhere" },
	{ "ElasticdLogFile", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, elasticd_log_file), 0, 0, NULL, "",
	  "where it logs when it is not in the foreground; empty: syslog" },
	{ "ElasticdConnections", SN_POLICY_UINT,
	  offsetof(struct sn_policy, elasticd_connections), 16, 65536, NULL, "1024",
	  "how many connections it has open at most" },
	{ "ElasticdJobs", SN_POLICY_UINT,
	  offsetof(struct sn_policy, elasticd_jobs), 1, 100000, NULL, "8192",
	  "how many jobs have their snrun attached to it at most, a connection each beside the others" },
	{ "ElasticdPoll", SN_POLICY_UINT,
	  offsetof(struct sn_policy, elasticd_poll), 50, 60000, NULL, "1000",
	  "milliseconds between its looks at what has changed in slurmctld" },
	{ "HistoryDays", SN_POLICY_UINT,
	  offsetof(struct sn_policy, history_days), 1, 36500, NULL, "90",
	  "how long its history of events reaches back" },
	{ "Operators", SN_POLICY_TEXT, offsetof(struct sn_policy, operators),
	  0, 0, NULL, "",
	  "users who may drain, resume and release cards through snelasticd, beside root and SlurmUser" },
	{ "HealthSlow", SN_POLICY_UINT, offsetof(struct sn_policy, health_slow),
	  1, 1000, NULL, "10",
	  "percent by which a card must be slower than its peers to be suspect" },
	{ "HealthScore", SN_POLICY_UINT, offsetof(struct sn_policy, health_score),
	  30, 200, NULL, "51",
	  "tenths of a standard deviation by which it must be slower, too" },
	{ "HealthGross", SN_POLICY_UINT, offsetof(struct sn_policy, health_gross),
	  0, 10000, NULL, "200",
	  "percent by which one sample alone makes a card suspect; 0: none does" },
	{ "HealthPeers", SN_POLICY_UINT, offsetof(struct sn_policy, health_peers),
	  2, 10000, NULL, "4",
	  "other cards that must report a metric before a card is judged by it" },
	{ "HealthWindow", SN_POLICY_UINT, offsetof(struct sn_policy, health_window),
	  1, 3600, NULL, "30",
	  "seconds that the samples of one step are waited for" },
	{ "HealthSettle", SN_POLICY_UINT, offsetof(struct sn_policy, health_settle),
	  1, 60000, NULL, "500",
	  "milliseconds without a further sample after which a step is judged" },
	{ "HealthDomain", SN_POLICY_UINT, offsetof(struct sn_policy, health_domain),
	  1, 1000, NULL, "10",
	  "percent by which a whole unit or supernode must be slower to be degraded" },
	{ "HealthDomainHold", SN_POLICY_UINT, offsetof(struct sn_policy, health_domain_hold),
	  1, 31536000, NULL, "3600",
	  "seconds that it stays degraded when nothing more is known of it" },
	{ "HealthProbeTimeout", SN_POLICY_UINT, offsetof(struct sn_policy, health_probe_timeout),
	  1, 86400, NULL, "60",
	  "seconds after which a probe counts as not answered" },
	{ "HealthProbeRetry", SN_POLICY_UINT, offsetof(struct sn_policy, health_probe_retry),
	  1, 86400, NULL, "300",
	  "seconds between two requests to probe a card" },
	{ "HealthProbeTries", SN_POLICY_UINT, offsetof(struct sn_policy, health_probe_tries),
	  1, 1000, NULL, "3",
	  "probes without an answer after which a card is quarantined" },
	{ "HealthHold", SN_POLICY_UINT, offsetof(struct sn_policy, health_hold),
	  0, 31536000, NULL, "3600",
	  "seconds that a card stays quarantined before a probe may free it" },
	{ "HealthEscalate", SN_POLICY_UINT, offsetof(struct sn_policy, health_escalate),
	  0, 8, NULL, "3",
	  "anomalies in HealthEscalateTime after which only an administrator frees a card; 0: never" },
	{ "HealthEscalateTime", SN_POLICY_UINT, offsetof(struct sn_policy, health_escalate_time),
	  1, 31536000, NULL, "86400",
	  "seconds in which these are counted" },
	{ "HealthRecover", SN_POLICY_UINT, offsetof(struct sn_policy, health_recover),
	  0, 1000000, NULL, "200",
	  "good samples in a row that free a suspect card without a probe; 0: none do" },
	{ "HealthCodes", SN_POLICY_TEXT, offsetof(struct sn_policy, health_codes),
	  0, 0, NULL, "",
	  "the file with the site's fault codes and their levels" },
	{ "HealthUnknownCode", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, health_unknown_code), 0, 0,
	  SN_HEALTH_LEVEL_WORDS, "SubHealthFault",
	  "the level of a fault whose code is in no table" },
	{ "HealthMetrics", SN_POLICY_TEXT,
	  offsetof(struct sn_policy, health_metrics), 0, 0, NULL, "",
	  "the site's own metrics: NAME=high|low, NAME=high:LIMIT, NAME=rise:LIMIT, NAME=off" },
	{ "ElasticCosts", SN_POLICY_TEXT, offsetof(struct sn_policy, elastic_costs),
	  0, 0, NULL, "",
	  "what recoveries cost, NAME=NUMBER words: restart, swap, replace, move, shrink, requeue, horizon, spare, spare_node, slow, flaps, no_progress" },
	{ "ElasticPolicy", SN_POLICY_TEXT, offsetof(struct sn_policy, elastic_policy),
	  0, 0, NULL, "",
	  "what snelasticd may do by account: account=NAME[,NAME]:WORDS;default:WORDS with no-restart, no-swap, no-replace, no-move, no-shrink, no-requeue, off, all" },
	{ "MetricsPort", SN_POLICY_UINT, offsetof(struct sn_policy, metrics_port),
	  0, 65535, NULL, "0",
	  "the TCP port where snelasticd answers GET /metrics, to anybody who can connect; 0: none" },
	{ "MetricsAddress", SN_POLICY_TEXT, offsetof(struct sn_policy, metrics_address),
	  0, 0, NULL, "127.0.0.1",
	  "the address of that port, a number of IPv4 or IPv6; empty: all of the host's" },
	{ "HealthJobReports", SN_POLICY_CHOICE,
	  offsetof(struct sn_policy, health_job_reports), 0, 0, "hint|trust", "hint",
	  "whether what a job's owner reports of its cards is a hint, which alone masks nothing" },
	{ NULL, SN_POLICY_UINT, 0, 0, 0, NULL, NULL, NULL },
};

/* A value may stand in a sentence only as far as a line reaches. */
#define SHOWN 64

struct place {
	const char *file;
	unsigned int line;
};

static const struct sn_policy_key *find_key(const char *name, size_t len)
{
	const struct sn_policy_key *key;

	for (key = sn_policy_keys; key->name; key++)
		if (strlen(key->name) == len &&
		    !strncasecmp(key->name, name, len))
			return key;
	return NULL;
}

/* Letters that both words begin or end with: enough to catch a slip. */
static size_t likeness(const char *word, size_t len, const char *name)
{
	size_t n = strlen(name), head = 0, tail = 0;

	while (head < len && head < n &&
	       tolower((unsigned char)word[head]) ==
	       tolower((unsigned char)name[head]))
		head++;
	while (tail < len - head && tail < n - head &&
	       tolower((unsigned char)word[len - 1 - tail]) ==
	       tolower((unsigned char)name[n - 1 - tail]))
		tail++;
	return head + tail;
}

static int unknown_key(const struct place *at, const char *word, size_t len,
		       struct sn_err *err)
{
	const struct sn_policy_key *key, *best = sn_policy_keys;

	for (key = sn_policy_keys; key->name; key++)
		if (likeness(word, len, key->name) >
		    likeness(word, len, best->name))
			best = key;
	return sn_err_set(err, -EINVAL,
			  "%s:%u: %.*s: no such key; did you mean %s (%s)?",
			  at->file, at->line, (int)(len < SHOWN ? len : SHOWN),
			  word, best->name, best->help);
}

static int set_name(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	char *to = (char *)policy + key->offset;
	size_t n;

	for (n = 0; n < len; n++)
		if (!isalnum((unsigned char)value[n]) && value[n] != '_' &&
		    value[n] != '-')
			break;
	if (!len || n < len || len >= SN_POLICY_NAME_MAX)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s=%.*s: want a name of 1 to %d letters, digits, '_' or '-', such as %s",
				  at->file, at->line, key->name,
				  (int)(len < SHOWN ? len : SHOWN), value,
				  SN_POLICY_NAME_MAX - 1, key->preset);
	memcpy(to, value, len);
	to[len] = '\0';
	return 0;
}

static int set_uint(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	uint64_t v = 0;
	uint32_t v32;
	size_t n;

	for (n = 0; n < len && isdigit((unsigned char)value[n]); n++) {
		v = v * 10 + (uint64_t)(value[n] - '0');
		if (v > key->max)
			break;
	}
	if (!len || n < len || v < key->min)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s=%.*s: want a whole number from %llu to %llu",
				  at->file, at->line, key->name,
				  (int)(len < SHOWN ? len : SHOWN), value,
				  (unsigned long long)key->min,
				  (unsigned long long)key->max);
	v32 = (uint32_t)v;
	memcpy((char *)policy + key->offset, &v32, sizeof(v32));
	return 0;
}

static int set_text(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	char *to = (char *)policy + key->offset;

	if (len >= SN_POLICY_TEXT_MAX)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s: the value has %zu characters, of %d allowed; put it into a script or file and name that",
				  at->file, at->line, key->name, len,
				  SN_POLICY_TEXT_MAX - 1);
	memcpy(to, value, len);
	to[len] = '\0';
	return 0;
}

static int set_choice(const struct place *at, const struct sn_policy_key *key,
		      const char *value, size_t len, struct sn_policy *policy,
		      struct sn_err *err)
{
	const char *word = key->choices;
	uint32_t n = 0;

	for (;;) {
		size_t size = strcspn(word, "|");

		if (size == len && !strncasecmp(word, value, len)) {
			memcpy((char *)policy + key->offset, &n, sizeof(n));
			return 0;
		}
		if (!word[size])
			break;
		word += size + 1;
		n++;
	}
	return sn_err_set(err, -EINVAL, "%s:%u: %s=%.*s: want one of %s",
			  at->file, at->line, key->name,
			  (int)(len < SHOWN ? len : SHOWN), value,
			  key->choices);
}

static int set_size(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	char text[SHOWN];
	struct sn_err why;
	uint64_t bytes;

	snprintf(text, sizeof(text), "%.*s", (int)len, value);
	if (len >= sizeof(text) || sn_parse_size(text, &bytes, &why))
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s=%s: want a size in bytes, with K, M, G or T for powers of 1024, such as 16G",
				  at->file, at->line, key->name, text);
	memcpy((char *)policy + key->offset, &bytes, sizeof(bytes));
	return 0;
}

static int set_words(const struct place *at, const struct sn_policy_key *key,
		     const char *value, size_t len, struct sn_policy *policy,
		     struct sn_err *err)
{
	size_t n;
	const char *word = sn_policy_bad_word(key->type, value, len, &n);

	if (word)
		return sn_err_set(err, -EINVAL, "%s:%u: %s: \"%.*s\": want %s",
				  at->file, at->line, key->name,
				  (int)(n < SHOWN ? n : SHOWN), word,
				  key->type == SN_POLICY_ENV ?
				  "NAME=VALUE, with blanks between several and none in a value, such as \"NCCL_DEBUG=WARN NCCL_IB_TC=106\"" :
				  "PCI addresses with blanks between, such as \"0000:81:00.0 0000:82:00.0\"");
	return set_text(at, key, value, len, policy, err);
}

static int set_value(const struct place *at, const struct sn_policy_key *key,
		     const char *value, size_t len, struct sn_policy *policy,
		     struct sn_err *err)
{
	switch (key->type) {
	case SN_POLICY_NAME:
		return set_name(at, key, value, len, policy, err);
	case SN_POLICY_TEXT:
		return set_text(at, key, value, len, policy, err);
	case SN_POLICY_ENV:
	case SN_POLICY_PCI:
		return set_words(at, key, value, len, policy, err);
	case SN_POLICY_CHOICE:
		return set_choice(at, key, value, len, policy, err);
	case SN_POLICY_SIZE:
		return set_size(at, key, value, len, policy, err);
	default:
		return set_uint(at, key, value, len, policy, err);
	}
}

void sn_policy_init(struct sn_policy *policy)
{
	const struct place at = { "default", 0 };
	const struct sn_policy_key *key;

	memset(policy, 0, sizeof(*policy));
	for (key = sn_policy_keys; key->name; key++)
		set_value(&at, key, key->preset, strlen(key->preset), policy,
			  NULL);
}

enum sn_vendor sn_policy_vendor(const struct sn_policy *policy)
{
	if (policy->vendor != SN_VENDOR_AUTO)
		return policy->vendor;
	if (!strcmp(policy->card_gres, "npu"))
		return SN_VENDOR_ASCEND;
	return strcmp(policy->card_gres, "gpu") ? SN_VENDOR_NONE :
		SN_VENDOR_NVIDIA;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A word, or what stands between double quotes; *ret_next is behind it. */
static int take_value(const struct place *at, const struct sn_policy_key *key,
		      const char *p, const char *end, const char **ret_value,
		      size_t *ret_len, const char **ret_next,
		      struct sn_err *err)
{
	const char *close;

	*ret_value = p;
	if (p < end && *p == '"') {
		p++;
		close = memchr(p, '"', (size_t)(end - p));
		if (!close || (close + 1 < end && !is_blank(close[1]) &&
			       close[1] != '#'))
			return sn_err_set(err, -EINVAL,
					  "%s:%u: %s: %s",
					  at->file, at->line, key->name,
					  close ? "something stands right behind the closing quote; put a blank between" :
					  "the opening quote has no closing one on this line");
		*ret_value = p;
		*ret_len = (size_t)(close - p);
		*ret_next = close + 1;
		return 0;
	}
	while (p < end && !is_blank(*p) && *p != '#')
		p++;
	*ret_len = (size_t)(p - *ret_value);
	*ret_next = p;
	return 0;
}

static int parse_line(const struct place *at, const char *p, const char *end,
		      struct sn_policy *policy, bool *seen, struct sn_err *err)
{
	while (p < end) {
		const struct sn_policy_key *key;
		const char *word, *value = p, *next = p;
		size_t len;
		int rc;

		while (p < end && is_blank(*p))
			p++;
		if (p == end || *p == '#')
			return 0;
		for (word = p; p < end && *p != '=' && *p != '#' && !is_blank(*p);)
			p++;
		len = (size_t)(p - word);
		if (p == end || *p != '=')
			return sn_err_set(err, -EINVAL,
					  "%s:%u: \"%.*s\": want Key=Value, such as CardGres=npu",
					  at->file, at->line,
					  (int)(len < SHOWN ? len : SHOWN), word);
		key = find_key(word, len);
		if (!key)
			return unknown_key(at, word, len, err);
		if (seen[key - sn_policy_keys])
			return sn_err_set(err, -EINVAL,
					  "%s:%u: %s is given twice; keep one",
					  at->file, at->line, key->name);
		seen[key - sn_policy_keys] = true;
		rc = take_value(at, key, p + 1, end, &value, &len, &next, err);
		if (!rc)
			rc = set_value(at, key, value, len, policy, err);
		if (rc)
			return rc;
		p = next;
	}
	return 0;
}

int sn_policy_parse(const char *text, size_t len, const char *file,
		    struct sn_policy *ret, struct sn_err *err)
{
	bool seen[sizeof(sn_policy_keys) / sizeof(sn_policy_keys[0])] = { false };
	struct place at = { file, 0 };
	struct sn_policy policy;
	const char *p = text, *end = text + len;

	if (len && memchr(text, '\0', len))
		return sn_err_set(err, -EINVAL,
				  "%s: not a text file: it holds a NUL byte",
				  file);
	sn_policy_init(&policy);
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		int rc;

		if (!eol)
			eol = end;
		at.line++;
		rc = parse_line(&at, p, eol, &policy, seen, err);
		if (rc)
			return rc;
		p = eol + (eol < end);
	}
	*ret = policy;
	return 0;
}
