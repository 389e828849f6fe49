/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_care.c - what the daemon's looks at jobs and nodes cost: 10,000 nodes, 5,000
 * jobs of two nodes each, all of them elastic, attached and saying every ten seconds
 * how they are. CPU time of one look at a time, in percent of a core at one a second.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/carebed.h"

#define SUPERNODES 200
#define PER 50
#define JOBS 5000
#define LOOKS 200

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t decisions;

static void decided(void *arg, const struct sn_care_decision *d)
{
	(void)arg, (void)d;
	decisions++;
}

static void relieved(void *arg, const struct sn_care_relief *r)
{
	(void)arg, (void)r;
}

static void puzzled(void *arg, uint32_t job, const char *why)
{
	(void)arg;
	fprintf(stderr, "job %u: %s\n", job, why);
	exit(1);
}

static double look(void)
{
	const struct sn_care_calls calls = { decided, relieved, puzzled, NULL };
	struct sn_care_eyes eyes = bed_eyes();
	double from = cpu();
	struct sn_err err;

	bed_must(sn_care_look(bed.care, &bed.conf, &eyes, &calls, &err), &err);
	bed.ms += 1000;
	bed.now += 1;
	return cpu() - from;
}

static void say(const char *what, double seconds, uint32_t n)
{
	printf("%-58s %8.3f ms %7.3f %%\n", what, seconds / n * 1000, seconds / n * 100);
}

int main(void)
{
	double took, tables = 0;

	bed_make(SUPERNODES, PER, 1);
	for (uint32_t j = 0; j < JOBS; j++)
		bed_job(2 * j, 2, 0, "elastic=min_dp=2,max_dp=8");
	bed_tables();
	printf("%u nodes, %u jobs; CPU time of one, percent of a core at one a second\n", bed.n, JOBS);
	say("the first look", look(), 1);
	took = 0;
	for (uint32_t i = 0; i < LOOKS; i++)
		took += look();
	say("a look, nothing has changed", took, LOOKS);
	took = 0;
	for (uint32_t i = 0; i < LOOKS; i++) {
		double from = cpu();

		bed.run[i].priority++; /* one job is another */
		bed_tables();
		tables += cpu() - from;
		for (uint32_t k = 0; k < JOBS / 10; k++) {
			uint32_t j = (i * (JOBS / 10) + k) % JOBS;

			bed_says(j, (uint32_t[]){ 2 * j, 2 * j + 1 }, 2, 2, SN_ATTACH_RUNNING);
		}
		took += look();
	}
	say("new tables, without what libslurm needs", tables, LOOKS);
	say("a look, a job has changed and 500 have said how they are", took, LOOKS);
	took = 0;
	for (uint32_t i = 0; i < LOOKS; i++) {
		bed.mark[0].card = i % 8;
		if (!i)
			bed_mark(17, 0, SN_HEALTH_QUARANTINE, false, "sick");
		took += look();
	}
	say("a look with a decision for a job", took, LOOKS);
	for (uint32_t i = 0; i < PER; i++)
		bed.down[i] = true;
	bed_tables();
	decisions = 0;
	took = look();
	printf("a supernode is lost: %u decisions in %.1f ms\n", decisions, took * 1000);
	bed_done();
	return decisions >= PER / 2 ? 0 : 1;
}
