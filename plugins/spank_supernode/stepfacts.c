/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepfacts.c - what a step's tasks have in common beside their ranks.
 */
#include "plugins/compat.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "launcher/jobdir.h"
#include "launcher/stepenv.h"
#include "plugins/common/sitefiles.h"
#include "plugins/spank_supernode/stepfacts.h"

char *stepfacts_env(spank_t sp, const char *name)
{
	size_t size = 1u << 12;

	for (;;) {
		char *buf = malloc(size);
		spank_err_t rc = buf ? spank_getenv(sp, name, buf, (int)size) :
			ESPANK_ERROR;

		if (rc == ESPANK_SUCCESS)
			return buf;
		free(buf);
		/* Tasks per node of a big step are long. */
		if (rc != ESPANK_NOSPACE || size > (64u << 20))
			return NULL;
		size *= 4;
	}
}

static bool has_imex(void)
{
	DIR *dir = opendir("/dev/nvidia-caps-imex-channels");
	struct dirent *entry;
	bool has = false;

	while (dir && !has && (entry = readdir(dir)))
		has = !strncmp(entry->d_name, "channel", 7);
	if (dir)
		closedir(dir);
	return has;
}

static void find_ip(const char *name, struct stepfacts *ret)
{
	struct ifaddrs *list = NULL, *at;
	char buf[INET_ADDRSTRLEN];

	if (getifaddrs(&list))
		list = NULL;
	for (at = list; at && !*ret->if_ip; at = at->ifa_next) {
		struct sockaddr_in *in = (struct sockaddr_in *)at->ifa_addr;

		if (in && in->sin_family == AF_INET &&
		    !strcmp(at->ifa_name, name) &&
		    inet_ntop(AF_INET, &in->sin_addr, buf, sizeof(buf)))
			snprintf(ret->if_ip, sizeof(ret->if_ip), "%s", buf);
	}
	if (list)
		freeifaddrs(list);
	if (!*ret->if_ip)
		sn_err_set(&ret->trouble, 0,
			   "HCCL_IF_IP is not set, for HcclIfIp=%s in supernode.conf names no interface with an IPv4 address here",
			   name);
}

static void find_job_dir(spank_t sp, struct stepfacts *ret)
{
	char *given = stepfacts_env(sp, SN_STEPENV_JOB_DIR), buf[1 << 14];
	struct passwd pw, *found = NULL;
	uint32_t job;
	uid_t uid;

	if (given && *given)
		snprintf(ret->job_dir, sizeof(ret->job_dir), "%s", given);
	free(given);
	if (*ret->job_dir ||
	    spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return;
	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found))
		found = NULL;
	if (sn_jobdir_expand(ret->policy.job_dir, job,
			     found ? found->pw_name : NULL,
			     found ? found->pw_dir : NULL, ret->job_dir,
			     sizeof(ret->job_dir), &ret->trouble))
		ret->job_dir[0] = '\0';
	ret->own_job_dir = *ret->job_dir != '\0';
}

void stepfacts_make(spank_t sp, struct stepfacts *ret)
{
	struct sn_err err;

	memset(ret, 0, sizeof(*ret));
	if (sn_site_policy(&ret->policy, &err))
		sn_err_set(&ret->trouble, 0,
			   "the site's policy is not in effect on this node: %s",
			   err.text);
	ret->vendor = sn_policy_vendor(&ret->policy);
	ret->imex = ret->vendor == SN_VENDOR_NVIDIA && has_imex();
	if (ret->vendor == SN_VENDOR_ASCEND && *ret->policy.hccl_if_ip)
		find_ip(ret->policy.hccl_if_ip, ret);
	ret->step_gpus = stepfacts_env(sp, "SLURM_STEP_GPUS");
	find_job_dir(sp, ret);
}
