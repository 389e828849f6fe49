/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugindir.h - open a plugin's file in slurm.conf's PluginDir, which may be
 * a list of directories.
 */
#ifndef SN_PLUGINS_COMMON_PLUGINDIR_H
#define SN_PLUGINS_COMMON_PLUGINDIR_H

/* dlopen() of the first directory's `file` that can be opened with flags, or
 * NULL; then dlerror() tells of the last one tried. */
void *sn_plugindir_open(const char *file, int flags);

#endif
