/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflightstep.c - the srun of the preflight: its words, environment and pipes.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launcher/preflightrun.h"
#include "launcher/sruncmd.h"
#include "launcher/stepenv.h"
#include "topology/hostlist.h"
#include "topology/policy.h"

static char *nodes_list(const struct sn_plan *plan)
{
	const char **name = calloc((size_t)plan->n_nodes + 1, sizeof(*name));
	char *list = NULL;

	for (uint32_t i = 0; name && i < plan->n_nodes; i++)
		name[i] = plan->node[i].name;
	if (name)
		list = sn_hostlist_compress(name, plan->n_nodes);
	free(name);
	return list;
}

/* Slurm's variables of the batch script speak of the job's ranks; of those this
 * step takes only what leads to the job. */
static bool kept(const char *entry)
{
	static const char *const slurm[] = {
		"SLURM_CONF=", "SLURM_JOB_ID=", "SLURM_JOBID=", "SLURM_CLUSTER_NAME=",
		"SLURM_JWT=", "SLURM_JOB_UID=",
	};

	if (strncmp(entry, "SLURM_", 6) && strncmp(entry, "SN_PREFLIGHT", 12))
		return true;
	for (size_t i = 0; i < sizeof(slurm) / sizeof(slurm[0]); i++)
		if (!strncmp(entry, slurm[i], strlen(slurm[i])))
			return true;
	return false;
}

static int make_words(const struct pf *pf, struct sn_words *argv, struct sn_words *env,
		      struct sn_err *err)
{
	const struct sn_policy *policy = pf->ask->policy;
	char *list = nodes_list(pf->plan), self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!list || n < 0) {
		free(list);
		return sn_err_set(err, list ? -errno : -ENOMEM, "snrun does not find itself");
	}
	self[n] = '\0';
	sn_words_add(argv, "srun");
	sn_words_add(argv, "--nodes=%u", pf->plan->n_nodes);
	sn_words_add(argv, "--ntasks=%u", pf->plan->n_nodes);
	sn_words_add(argv, "--ntasks-per-node=1");
	sn_words_add(argv, "--nodelist=%s", list);
	sn_words_add(argv, "--gres=none");
	sn_words_add(argv, "--overlap");
	sn_words_add(argv, "--mpi=none");
	sn_words_add(argv, "--no-kill");
	sn_words_add(argv, "--kill-on-bad-exit=0");
	sn_words_add(argv, "--export=ALL");
	sn_words_add(argv, "--job-name=preflight");
	sn_words_add(argv, "--");
	sn_words_add(argv, "%s", self);
	sn_words_add(argv, SN_PREFLIGHT_NODE);
	for (char *const *entry = pf->ask->environment; *entry; entry++)
		if (kept(*entry))
			sn_words_add(env, "%s", *entry);
	sn_words_add(env, SN_STEPENV_NO_RANKS "=1");
	sn_words_add(env, SN_PREFLIGHT_ENV_VERSIONS "=%s", policy->preflight_versions);
	sn_words_add(env, SN_PREFLIGHT_ENV_DEVICES "=%s", sn_policy_devices(policy));
	sn_words_add(env, SN_PREFLIGHT_ENV_CARDS "=%s", policy->preflight_cards);
	sn_words_add(env, SN_PREFLIGHT_ENV_PROGRAM "=%s", policy->preflight_program);
	sn_words_add(env, SN_PREFLIGHT_ENV_TIMEOUT "=%u", policy->preflight_timeout);
	sn_words_add(env, SN_PREFLIGHT_ENV_PORTS "=%u",
		     sn_policy_vendor(policy) == SN_VENDOR_ASCEND ? policy->hccl_if_base_port : 0);
	free(list);
	return argv->failed || env->failed ? sn_err_set(err, -ENOMEM, "no memory") : 0;
}

static void start_srun(const struct pf *pf, const struct sn_words *argv,
		       const struct sn_words *env, const int *in, const int *out,
		       const int *says)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == 1)
		_exit(1);
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	dup2(says[1], STDERR_FILENO);
	sigprocmask(SIG_SETMASK, &pf->ask->signals, NULL);
	execvpe(argv->word[0], argv->word, env->word);
	dprintf(STDERR_FILENO, "srun cannot be run: %s\n", strerror(errno));
	_exit(127);
}

int sn_pf_launch(struct pf *pf, struct sn_err *err)
{
	struct sn_words argv = { 0 }, env = { 0 };
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, says[2] = { -1, -1 };
	int rc = make_words(pf, &argv, &env, err);

	if (!rc && (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(says, O_CLOEXEC)))
		rc = sn_err_set(err, -errno, "pipe: %s", strerror(errno));
	if (!rc) {
		fflush(NULL);
		pf->pid = fork();
		if (!pf->pid)
			start_srun(pf, &argv, &env, in, out, says);
		if (pf->pid < 0)
			rc = sn_err_set(err, -errno, "fork: %s", strerror(errno));
	}
	pf->in = in[1];
	pf->out.fd = out[0];
	pf->says.fd = says[0];
	for (const int *fd = (const int[]){ in[0], out[1], says[1], -1 }; *fd >= 0; fd++)
		close(*fd);
	if (!rc)
		fcntl(pf->in, F_SETFL, O_NONBLOCK);
	sn_words_done(&argv);
	sn_words_done(&env);
	return rc;
}
