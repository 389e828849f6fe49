/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bindload.c - the machine for bind.h, and where cards are in it.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launcher/bind.h"

int sn_bind_load(const char *xml, hwloc_topology_t *ret, struct sn_err *err)
{
	/* Absent ones are no error. */
	static const char *const slow[] = {
		"cuda", "nvml", "rsmi", "opencl", "levelzero", "gl",
	};
	hwloc_topology_t topology;
	size_t i;

	if (hwloc_topology_init(&topology))
		return sn_err_set(err, -ENOMEM, "hwloc: out of memory");
	for (i = 0; !xml && i < sizeof(slow) / sizeof(slow[0]); i++)
		(void)hwloc_topology_set_components(topology,
						    HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
						    slow[i]);
	if ((xml && hwloc_topology_set_xml(topology, xml)) ||
	    hwloc_topology_set_io_types_filter(topology,
					       HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_set_flags(topology,
				     HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
	    hwloc_topology_load(topology)) {
		hwloc_topology_destroy(topology);
		return sn_err_set(err, -EIO, "%s: hwloc cannot read it: %s",
				  xml ? xml : "this machine's topology",
				  strerror(errno ? errno : EINVAL));
	}
	*ret = topology;
	return 0;
}

hwloc_obj_t sn_bind_near_pci(hwloc_topology_t topology, const char *bus_id)
{
	hwloc_obj_t pci = hwloc_get_pcidev_by_busidstring(topology, bus_id);

	return pci ? hwloc_get_non_io_ancestor_obj(topology, pci) : NULL;
}

hwloc_obj_t sn_bind_near_name(hwloc_topology_t topology, uint32_t card)
{
	static const char *const stem[] = {
		"cuda", "rsmi", "nvml", "ze", "opencl0d",
	};
	size_t i;

	for (i = 0; i < sizeof(stem) / sizeof(stem[0]); i++) {
		hwloc_obj_t obj = NULL;
		char name[32];

		snprintf(name, sizeof(name), "%s%u", stem[i], card);
		while ((obj = hwloc_get_next_osdev(topology, obj)))
			if (obj->name && !strcmp(obj->name, name))
				return hwloc_get_non_io_ancestor_obj(topology, obj);
	}
	return NULL;
}
