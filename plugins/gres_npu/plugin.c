/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - gres/npu: tell every job, step and task its own cards.
 *
 * For a gres without a plugin Slurm hands out cards and tells nobody which.
 * The variable names cards by the number at the end of their device files,
 * as the Ascend runtime counts them, cgroup or not. What a user has set himself
 * is kept, as with all of the suite's variables; SUPERNODE_CARDS always says
 * what Slurm gave, and so whose the other is.
 */
#include "plugins/compat.h"

#include "src/common/bitstring.h"
#include "src/common/env.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/interfaces/gres.h"

const char plugin_name[] = "Supernode NPU gres plugin";
const char plugin_type[] = "gres/npu";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

#define VISIBLE "ASCEND_RT_VISIBLE_DEVICES"
#define CARDS "SUPERNODE_CARDS"
#define NODE_CARDS "SUPERNODE_NODE_CARDS" /* the step's on this node */

static list_t *devices; /* gres_device_t, in the order of their index */

struct listing {
	bitstr_t *alloc;
	bitstr_t *usable; /* NULL: all of alloc */
	bool usable_is_local; /* its bits count the allocated cards only */
	int position; /* among the allocated cards */
	int last_index; /* a card may have several device files */
	char *text;
};

static int add_device(void *x, void *arg)
{
	const gres_device_t *device = x;
	struct listing *to = arg;
	int bit;

	if (device->index == to->last_index ||
	    device->index >= bit_size(to->alloc) ||
	    !bit_test(to->alloc, device->index))
		return 0;
	to->last_index = device->index;
	bit = to->usable_is_local ? to->position : device->index;
	to->position++;
	if (to->usable &&
	    (bit >= bit_size(to->usable) || !bit_test(to->usable, bit)))
		return 0;
	xstrfmtcat(to->text, "%s%d", to->text ? "," : "", device->dev_num);
	return 0;
}

/* What we had set, for this step or for one around it, is in the other two. */
static bool is_users(char **env)
{
	const char *value = getenvp(env, VISIBLE);

	return value && *value && xstrcmp(value, getenvp(env, CARDS)) &&
		xstrcmp(value, getenvp(env, NODE_CARDS));
}

/* to_node: not only one task's. */
static void set_env(char ***env, bitstr_t *alloc, bitstr_t *usable,
		    bool to_node)
{
	bool keep = is_users(*env);
	struct listing to = {
		.alloc = alloc,
		.usable = usable,
		.usable_is_local = usable && gres_use_local_device_index(),
		.last_index = -1,
	};

	if (alloc && devices)
		list_for_each(devices, add_device, &to);
	/* Without cards the variables must go: an inner `srun --gres=none`
	 * would else see those of the job. */
	if (to.text) {
		if (!keep)
			env_array_overwrite(env, VISIBLE, to.text);
		env_array_overwrite(env, CARDS, to.text);
		if (to_node)
			env_array_overwrite(env, NODE_CARDS, to.text);
	} else {
		unsetenvp(*env, VISIBLE);
		unsetenvp(*env, CARDS);
		unsetenvp(*env, NODE_CARDS);
	}
	xfree(to.text);
}

extern int init(void)
{
	debug("%s: %s loaded", plugin_type, plugin_name);
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	FREE_NULL_LIST(devices);
	return SLURM_SUCCESS;
}

/* Where cgroups confine devices, Slurm tells a task its cards by their place among
 * those that it can open, which is the first for everyone; this asks for the
 * places on the node. */
static int want_global(void *x, void *arg)
{
	gres_slurmd_conf_t *conf = x;

	(void)arg;
	if (!xstrcmp(conf->name, "npu"))
		conf->config_flags |= SN_GRES_GLOBAL_INDEX;
	return 0;
}

extern int gres_p_node_config_load(list_t *gres_conf_list,
				   node_config_load_t *config)
{
	int rc;

	if (gres_conf_list)
		list_for_each(gres_conf_list, want_global, NULL);
	if (devices)
		return SLURM_SUCCESS;
	rc = gres_node_config_load(gres_conf_list, config, &devices);
	if (rc != SLURM_SUCCESS)
		error("%s: gres.conf: the devices of Name=npu cannot be used",
		      plugin_type);
	return rc;
}

extern void gres_p_job_set_env(char ***job_env_ptr, bitstr_t *gres_bit_alloc,
			       uint64_t gres_cnt, gres_internal_flags_t flags)
{
	(void)gres_cnt;
	(void)flags;
	set_env(job_env_ptr, gres_bit_alloc, NULL, true);
}

extern void gres_p_step_set_env(char ***step_env_ptr, bitstr_t *gres_bit_alloc,
				uint64_t gres_cnt, gres_internal_flags_t flags)
{
	(void)gres_cnt;
	(void)flags;
	set_env(step_env_ptr, gres_bit_alloc, NULL, true);
}

extern void gres_p_task_set_env(char ***task_env_ptr, bitstr_t *gres_bit_alloc,
				uint64_t gres_cnt, bitstr_t *usable_gres,
				gres_internal_flags_t flags)
{
	(void)gres_cnt;
	(void)flags;
	/* Not bound to some of them: the step's variable is right. */
	if (usable_gres)
		set_env(task_env_ptr, gres_bit_alloc, usable_gres, false);
}

extern void gres_p_send_stepd(buf_t *buffer)
{
	gres_send_stepd(buffer, devices);
}

extern void gres_p_recv_stepd(buf_t *buffer)
{
	gres_recv_stepd(buffer, &devices);
}

extern list_t *gres_p_get_devices(void)
{
	return devices;
}

extern void gres_p_step_hardware_init(bitstr_t *usable_gres, char *settings)
{
	(void)usable_gres;
	(void)settings;
}

extern void gres_p_step_hardware_fini(void)
{
}

extern gres_prep_t *gres_p_prep_build_env(gres_job_state_t *gres_js)
{
	(void)gres_js;
	return NULL;
}

extern void gres_p_prep_set_env(char ***prep_env_ptr, gres_prep_t *gres_prep,
				int node_inx)
{
	(void)prep_env_ptr;
	(void)gres_prep;
	(void)node_inx;
}
