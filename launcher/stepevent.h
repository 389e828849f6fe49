/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepevent.h - what srun says about its step, one line at a time.
 *
 * Slurm's API tells of a step's tasks only when all of them are gone; srun says
 * on its standard error at once which failed and which node was lost:
 *	srun: error: n003: tasks 0-7: Exited with exit code 3
 *	srun: error: n001: task 8: Killed
 *	srun: error: Node failure on n007
 *	srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 2
 *	srun: error: Task launch for StepId=1.2 failed on node n007: Communication connection failure
 * snrun gives it a standard error of its own, so that no task can forge these.
 * The words are those of 24.11 to 26.05.
 */
#ifndef SN_LAUNCHER_STEPEVENT_H
#define SN_LAUNCHER_STEPEVENT_H

#include <stdbool.h>
#include <stdint.h>

enum sn_event_kind {
	SN_EVENT_EXIT, /* ranks ended with an exit code other than 0 */
	SN_EVENT_SIGNAL, /* ranks were ended by a signal */
	SN_EVENT_NODE, /* nodes, by name, are lost to the step */
	SN_EVENT_NODE_NUMBER, /* a node, by its number in the step's list, is */
};

struct sn_event {
	enum sn_event_kind kind;
	uint32_t rank; /* EXIT, SIGNAL: the first of those named */
	int code; /* EXIT */
	bool out_of_memory; /* SIGNAL */
	uint32_t number; /* NODE_NUMBER: as in SLURM_NODEID */
	char nodes[256]; /* NODE: a hostlist; EXIT, SIGNAL: where; may be "" */
};

/* False: the line says nothing of that kind. */
bool sn_event_parse(const char *line, struct sn_event *ret);

#endif
