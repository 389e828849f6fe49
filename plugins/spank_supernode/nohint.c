/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nohint.c - without munge there is no snelasticd to tell.
 */
#include "plugins/spank_supernode/hint.h"

void hint_task_exit(spank_t sp)
{
	(void)sp;
}

void hint_step_ends(spank_t sp)
{
	(void)sp;
}

void hint_job_ends(spank_t sp)
{
	(void)sp;
}
