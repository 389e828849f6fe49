/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sntrain.c - a training job without the mathematics; trainer.h says what for.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snrecord.h"
#include "tests/trainer/trainer.h"
#include "topology/text.h"

/* What a launcher sees. A peer that is gone is somebody else's failure. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PEER = 3, EXIT_TERM = 128 + SIGTERM };

static const char usage[] =
"Usage: sntrain [OPTION]…\n"
"One rank of a training job without the mathematics: exchanges messages with its\n"
"tp, cp, ep, pp and dp groups and prints (rank 0) a hash that one lost, doubled\n"
"or misrouted message changes. Start it by snrun, or by srun with --parallel.\n"
"\n"
"  --steps N             steps to train [100]\n"
"  --checkpoint-every N  steps between checkpoints, 0: none [10]\n"
"  --state-dir DIR       checkpoints, \"begins\", \"steps\", \"final\"; shared\n"
"  --step-ms MS          simulated computing in each step [0]\n"
"  --payload SIZE        of each message [4K]\n"
"  --seed N              of the first state [1]\n"
"  --parallel SPEC       the layout, where no groups.json says it\n"
"  --records DIR         what each rank does, for snctl groups verify\n"
"  --slow RANK:PERCENT   that rank computes longer\n"
"  --fault drop|dup|misroute|die@STEP[:RANK]\n"
"                        falsify the first message of the rank [1] in that step;\n"
"                        die: end by SIGKILL there, in generation 0 only\n"
"  --meet S              wait so long for all ranks to come [60]\n"
"  --grace S             after SIGTERM, for a last checkpoint [4]\n"
"  --memory-every N      steps between checkpoints in the pool's memory, 0: none [0]\n"
"  --memory-size SIZE    of each rank's there, at least 512 [512]\n"
"  --elastic             go on from a checkpoint of another layout, too\n"
"  --verbose             say when each step ends; every rank says why it fails\n"
"  --free-port           print a TCP port that is free here, and exit\n"
"Exit: 0 done, 1 failed, 2 usage, 3 another rank is gone, 143 SIGTERM.\n";

enum { O_STEPS = 1, O_EVERY, O_STATE, O_STEP_MS, O_PAYLOAD, O_SEED, O_PARALLEL,
       O_RECORDS,
       O_SLOW, O_FAULT, O_MEET, O_GRACE, O_ELASTIC, O_MEMORY, O_MEMORY_SIZE, O_VERBOSE, O_PORT, O_HELP };

static const struct option options[] = {
	{ "steps", required_argument, NULL, O_STEPS },
	{ "checkpoint-every", required_argument, NULL, O_EVERY },
	{ "state-dir", required_argument, NULL, O_STATE },
	{ "step-ms", required_argument, NULL, O_STEP_MS },
	{ "payload", required_argument, NULL, O_PAYLOAD },
	{ "seed", required_argument, NULL, O_SEED },
	{ "parallel", required_argument, NULL, O_PARALLEL },
	{ "records", required_argument, NULL, O_RECORDS },
	{ "slow", required_argument, NULL, O_SLOW },
	{ "fault", required_argument, NULL, O_FAULT },
	{ "meet", required_argument, NULL, O_MEET },
	{ "grace", required_argument, NULL, O_GRACE },
	{ "memory-every", required_argument, NULL, O_MEMORY },
	{ "memory-size", required_argument, NULL, O_MEMORY_SIZE },
	{ "elastic", no_argument, NULL, O_ELASTIC },
	{ "verbose", no_argument, NULL, O_VERBOSE },
	{ "free-port", no_argument, NULL, O_PORT },
	{ "help", no_argument, NULL, O_HELP },
	{ 0 },
};

static int get_uint(const char *text, uint32_t max, uint32_t *ret,
		    struct sn_err *err)
{
	uint64_t n;
	int rc = sn_parse_uint(text, 0, max, &n, err);

	if (!rc)
		*ret = (uint32_t)n;
	return rc;
}

static int get_size(const char *text, uint32_t *ret, struct sn_err *err)
{
	uint64_t n;
	int rc = sn_parse_size(text, &n, err);

	if (rc)
		return rc;
	if (n > TR_LENGTH_MAX)
		return sn_err_set(err, -EINVAL, "%s: at most 64M", text);
	*ret = (uint32_t)n;
	return 0;
}

static int get_slow(char *text, struct tr_options *opt, struct sn_err *err)
{
	char *colon = strchr(text, ':');
	int rc;

	if (!colon)
		return sn_err_set(err, -EINVAL, "\"%s\": RANK:PERCENT is right", text);
	*colon = '\0';
	rc = get_uint(text, UINT32_MAX, &opt->slow_rank, err);
	return rc ? rc : get_uint(colon + 1, 1000000, &opt->slow_percent, err);
}

static int get_fault(char *text, struct tr_options *opt, struct sn_err *err)
{
	static const char *const name[] = { "none", "drop", "dup", "misroute", "die" };
	char *at = strchr(text, '@'), *colon = at ? strchr(at, ':') : NULL;
	int rc = 0;

	if (!at)
		return sn_err_set(err, -EINVAL, "\"%s\": drop@7 or the like is right", text);
	*at = '\0';
	opt->fault_rank = 1;
	if (colon) {
		*colon = '\0';
		rc = get_uint(colon + 1, UINT32_MAX, &opt->fault_rank, err);
	}
	if (!rc)
		rc = get_uint(at + 1, UINT32_MAX, &opt->fault_step, err);
	if (rc)
		return rc;
	for (opt->fault = TR_FAULT_DROP; opt->fault <= TR_FAULT_DIE; opt->fault++)
		if (!strcmp(text, name[opt->fault]))
			return 0;
	return sn_err_set(err, -EINVAL, "\"%s\" is none of drop, dup, misroute, die", text);
}

static int print_free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) ||
	    getsockname(fd, (struct sockaddr *)&address, &len))
		return EXIT_FAILED;
	printf("%u\n", ntohs(address.sin_port));
	return EXIT_DONE;
}

/* 0; 1: nothing is left to do. */
static int parse(int argc, char **argv, struct tr_options *opt,
		 struct sn_err *err)
{
	int c, rc = 0, index = 0;

	*opt = (struct tr_options){
		.steps = 100, .checkpoint_every = 10, .payload = 4096,
		.grace_s = 4, .meet_s = 60, .seed = 1,
	};
	while (!rc && (c = getopt_long(argc, argv, "", options, &index)) != -1) {
		switch (c) {
		case O_STEPS: rc = get_uint(optarg, 99999999, &opt->steps, err); break;
		case O_EVERY: rc = get_uint(optarg, UINT32_MAX, &opt->checkpoint_every, err); break;
		case O_STATE: opt->state_dir = optarg; break;
		case O_STEP_MS: rc = get_uint(optarg, 3600000, &opt->step_ms, err); break;
		case O_PAYLOAD: rc = get_size(optarg, &opt->payload, err); break;
		case O_SEED: rc = sn_parse_uint(optarg, 0, UINT64_MAX, &opt->seed, err); break;
		case O_PARALLEL: opt->parallel = optarg; break;
		case O_RECORDS: opt->records = optarg; break;
		case O_SLOW: rc = get_slow(optarg, opt, err); break;
		case O_FAULT: rc = get_fault(optarg, opt, err); break;
		case O_MEET: rc = get_uint(optarg, 86400, &opt->meet_s, err); break;
		case O_GRACE: rc = get_uint(optarg, 86400, &opt->grace_s, err); break;
		case O_MEMORY: rc = get_uint(optarg, UINT32_MAX, &opt->memory_every, err); break;
		case O_MEMORY_SIZE: rc = get_size(optarg, &opt->memory_size, err); break;
		case O_ELASTIC: opt->elastic = true; break;
		case O_VERBOSE: opt->verbose = true; break;
		case O_PORT: exit(print_free_port());
		case O_HELP: fputs(usage, stdout); exit(EXIT_DONE);
		default: return sn_err_set(err, -EINVAL, "see --help");
		}
		if (rc)
			return sn_err_prefix(err, -EINVAL, "--%s: ", options[index].name);
	}
	if (optind < argc)
		return sn_err_set(err, -EINVAL, "\"%s\" is no option; see --help", argv[optind]);
	if (!opt->state_dir)
		opt->checkpoint_every = 0;
	return 0;
}

/* ---- the run ---------------------------------------------------------------- */

static int open_files(struct trainer *t, struct sn_err *err)
{
	char path[4096];

	/* Tells a launcher that the job gets on; one rank a node is enough. */
	if (t->self.job_dir && !t->self.local_rank) {
		snprintf(path, sizeof(path), "%s/progress", t->self.job_dir);
		t->progress_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	}
	if (t->self.rank || !t->opt.state_dir)
		return 0;
	snprintf(path, sizeof(path), "%s/steps", t->opt.state_dir);
	t->steps_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (t->steps_fd < 0)
		return sn_err_set(err, -errno, "cannot write %s: %s", path, strerror(errno));
	return 0;
}

static void note_step(struct trainer *t, uint32_t step)
{
	struct timespec now;

	if (t->progress_fd >= 0)
		futimens(t->progress_fd, NULL);
	if (t->self.rank)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t->steps_fd >= 0)
		dprintf(t->steps_fd, "%u %u %lld.%06ld\n", t->self.generation, step,
			(long long)now.tv_sec, now.tv_nsec / 1000);
	if (t->opt.verbose)
		fprintf(stderr, "sntrain: generation %u: step %u ended\n", t->self.generation, step);
}

/* What this generation begins with, in STATE_DIR/begins: a launcher that is killed
 * at that moment does not print it any more. */
static void note_begin(const struct trainer *t)
{
	struct timespec now;
	char path[4096];
	int fd;

	if (t->self.rank || !t->opt.state_dir)
		return;
	snprintf(path, sizeof(path), "%s/begins", t->opt.state_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	dprintf(fd, "%u %u %u %u %lld.%06ld\n", t->self.generation, t->self.world,
		t->resume, t->resume_world, (long long)now.tv_sec, now.tv_nsec / 1000);
	close(fd);
}

static int checkpoint(struct trainer *t, struct sn_err *err)
{
	int rc;

	if (!t->opt.checkpoint_every || t->begun == t->resume ||
	    (t->begun % t->opt.checkpoint_every && t->begun != t->opt.steps))
		return 0;
	rc = tr_checkpoint_write(t, err);
	return rc ? rc : tr_tell(t, TR_WRITTEN, t->begun, 0, NULL, 0, err);
}

static int wait_for_bye(struct trainer *t, struct sn_err *err)
{
	int rc = 0;

	while (!rc && !t->bye)
		rc = tr_turn(t, UINT64_MAX, err);
	return rc ? rc : tr_flush(t, err);
}

/* All end after the same step, so that the checkpoint of it is one. */
static int stop_here(struct trainer *t, struct sn_err *err)
{
	int rc = 0;

	t->finishing = true;
	if (t->opt.state_dir && (t->begun > t->resume || t->memory_step == t->resume))
		rc = tr_checkpoint_write(t, err);
	if (!rc)
		rc = tr_tell(t, TR_WRITTEN, t->opt.state_dir ? t->begun : 0, 1, NULL, 0, err);
	if (!rc)
		rc = wait_for_bye(t, err);
	return rc ? rc : sn_err_set(err, -ECANCELED, "terminated after step %u", t->begun);
}

static int train(struct trainer *t, struct sn_err *err)
{
	int rc = 0;

	while (!rc && t->begun < t->opt.steps) {
		while (!rc && t->asked && !t->stopping)
			rc = tr_turn(t, UINT64_MAX, err);
		if (rc)
			return rc;
		if (t->stopping && t->begun == t->stop_at)
			return stop_here(t, err);
		t->begun++;
		rc = tr_step(t, t->begun, err);
		if (!rc)
			note_step(t, t->begun);
		if (!rc)
			tr_memory_save(t);
		if (!rc)
			rc = checkpoint(t, err);
	}
	return rc;
}

static int finish(struct trainer *t, struct sn_err *err)
{
	struct tr_final final;
	int rc = tr_finish(t, err);

	if (rc)
		return rc;
	t->finishing = true;
	final = (struct tr_final){ t->state, t->messages, t->odd };
	rc = tr_tell(t, TR_FINAL, t->opt.steps, 0, &final, sizeof(final), err);
	return rc ? rc : wait_for_bye(t, err);
}

static int begin(struct trainer *t, struct sn_err *err)
{
	int rc;

	tr_memory_open(t);
	rc = tr_meet(t, err);
	if (rc)
		return rc;
	if (t->resume > t->opt.steps)
		return sn_err_set(err, -EINVAL, "the checkpoint is of step %u, beyond --steps %u", t->resume, t->opt.steps);
	t->durable = t->on_disk;
	for (uint32_t i = 0; !t->self.rank && i < t->self.world; i++)
		t->written[i] = t->written[i] > t->on_disk ? t->written[i] : t->on_disk;
	t->state = tr_mix(t->opt.seed ^ tr_mix(t->self.rank + 1));
	if (t->resume)
		rc = tr_checkpoint_read(t, t->resume, err);
	if (!rc)
		rc = open_files(t, err);
	if (!rc && t->opt.records)
		rc = tr_record_open(t, err);
	if (!rc)
		note_begin(t);
	if (!rc && !t->self.rank && t->opt.elastic)
		printf("generation %u: %u ranks begin after step %u of %u\n", t->self.generation,
		       t->self.world, t->resume, t->resume_world);
	else if (!rc && !t->self.rank && t->resume)
		printf("generation %u begins after step %u\n", t->self.generation, t->resume);
	if (!rc && !t->self.rank && t->memory_step && t->memory_step == t->resume)
		printf("generation %u begins from memory, %u on disk\n", t->self.generation, t->on_disk);
	fflush(stdout);
	return rc;
}

static int prepare(struct trainer *t, struct sn_err *err)
{
	t->body = malloc(t->opt.payload ? t->opt.payload : 1);
	t->written = calloc(t->self.world, sizeof(*t->written));
	t->final_state = calloc(t->self.world, sizeof(*t->final_state));
	if (!t->body || !t->written || !t->final_state)
		return sn_err_set(err, -ENOMEM, "out of memory");
	return tr_net_open(t, err);
}

static int run(struct trainer *t, struct sn_err *err)
{
	int rc = prepare(t, err);

	if (!rc)
		rc = begin(t, err);
	if (!rc)
		rc = train(t, err);
	return rc ? rc : finish(t, err);
}

static int exit_code(int rc)
{
	switch (rc) {
	case 0: return EXIT_DONE;
	case -EINVAL: return EXIT_USAGE;
	case -EPIPE: return EXIT_PEER;
	case -ECANCELED: return EXIT_TERM;
	default: return EXIT_FAILED;
	}
}

int main(int argc, char **argv)
{
	struct trainer t = { .epoll = -1, .signals = -1, .steps_fd = -1, .progress_fd = -1 };
	struct sn_err err = { "" };
	int rc;

	rc = parse(argc, argv, &t.opt, &err);
	if (!rc)
		rc = tr_self_read(&t.self, &t.opt, &err);
	if (!rc)
		rc = run(&t, &err);
	/* When one rank dies all others fail; that is not worth a line of each. */
	if (rc && (!t.self.rank || t.opt.verbose || (rc != -EPIPE && rc != -ECANCELED)))
		fprintf(stderr, "sntrain: rank %u: %s\n", t.self.rank, err.text);
	snrecord_close(t.record);
	/* It would wait for a neighbour that may be the one that is gone. */
	if (!rc)
		snmem_close(t.memory);
	tr_net_close(&t);
	tr_self_done(&t.self);
	free(t.body);
	free(t.written);
	free(t.final_state);
	free(t.ranks);
	return exit_code(rc);
}
