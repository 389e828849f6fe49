/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflight.h - the checks of a job's nodes before its ranks start.
 *
 * snrun starts one task on each node by an srun of its own; it runs snrun again,
 * as `snrun --preflight-node`. Both talk in lines over srun's standard input
 * (which goes to all tasks) and output. What a task says begins with "@pf NODE ",
 * so that nothing that a prolog prints is taken for it:
 *	snrun to all			a task to snrun
 *					hello PORT
 *	clock				clock NANOSECONDS
 *	cards 0-7 n[001-128]		-
 *	port 61234 n001			-
 *	check				version I TEXT · memory BYTES ·
 *					bad CHECK TAB EXPECTED TAB FOUND · checked
 *	ring TOKEN n001=ADDRESS:PORT …	link NANOSECONDS BYTES/S · bad … · rung
 *	quit				-
 */
#ifndef SN_LAUNCHER_PREFLIGHT_H
#define SN_LAUNCHER_PREFLIGHT_H

#define SN_PREFLIGHT_NODE "--preflight-node" /* snrun's hidden mode */
#define SN_PREFLIGHT_JSON "preflight.json"
#define SN_PREFLIGHT_VERSIONS_MAX 32

/* What the tasks are told of supernode.conf, by variables. */
#define SN_PREFLIGHT_ENV_VERSIONS "SN_PREFLIGHT_VERSIONS"
#define SN_PREFLIGHT_ENV_DEVICES "SN_PREFLIGHT_DEVICES"
#define SN_PREFLIGHT_ENV_CARDS "SN_PREFLIGHT_CARDS"
#define SN_PREFLIGHT_ENV_PROGRAM "SN_PREFLIGHT_PROGRAM"
#define SN_PREFLIGHT_ENV_TIMEOUT "SN_PREFLIGHT_TIMEOUT"
#define SN_PREFLIGHT_ENV_PORTS "SN_PREFLIGHT_PORTS" /* HCCL's first, or 0 */

/* A task of the preflight's step; its exit code. */
int sn_preflight_node(void);

/* Cut text at ";" into at most SN_PREFLIGHT_VERSIONS_MAX commands, in place;
 * blanks around them and empty ones are left out. Returns how many. */
unsigned int sn_preflight_commands(char *text, const char **ret);

/*
 * The ring of latency and bandwidth, one node's part: who is at address sends
 * and measures, who calls on the listening socket gets its answers. 0, or -errno
 * with a sentence on the next one.
 */
struct sn_err;
struct sn_preflight_link {
	unsigned long long latency; /* ns */
	unsigned long long bandwidth; /* bytes/s */
};
int sn_preflight_ring(int listening, const char *token, const char *next,
		      const char *address, const char *port, unsigned int seconds,
		      struct sn_preflight_link *ret, struct sn_err *err);
/* A listening socket on a port of the kernel's choice. -errno. */
int sn_preflight_listen(unsigned int *ret_port);

#endif
