/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkpoint.c - how a program is asked for a checkpoint, and how one is known to
 * be durable.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "topology/checkpoint.h"
#include "topology/text.h"

#define TRACKER "latest_checkpointed_iteration.txt"

const struct sn_ckpt_preset sn_ckpt_presets[] = {
	{ .name = "plain", .signal = SIGTERM, .exits = true, .number = SN_CKPT_MAY,
	  .help = "the file \"checkpoint\" in the job directory, or the one named" },
	{ .name = "megatron", .signal = SIGTERM, .exits = true, .marker = TRACKER,
	  .number = SN_CKPT_MUST, .dir_option = "--save",
	  .help = "Megatron-LM with --exit-signal-handler, DIR as in --save" },
	/* Its handler saves and goes on; SIGTERM then ends it after the batch. */
	{ .name = "lightning", .signal = SIGUSR1, .marker = "hpc_ckpt_*.ckpt",
	  .number = SN_CKPT_VERSION, .dir_option = "--trainer.default_root_dir",
	  .help = "PyTorch Lightning's SLURMEnvironment, DIR as in default_root_dir" },
	{ .name = "nvrx", .signal = SIGTERM, .exits = true, .marker = TRACKER,
	  .number = SN_CKPT_MUST, .dir_option = "--save",
	  .marker_option = "--ft-checkpoint-iteration-file", .hard = 1800,
	  .help = "NVIDIA's resiliency extension: FILE as in --ft-checkpoint-iteration-file" },
	/* It neutralises SIGTERM and SIGINT; a thread of rank 0's asks its controller. */
	{ .name = "mindio", .signal = 0, .exits = true, .gasp = true, .marker = TRACKER,
	  .number = SN_CKPT_MUST, .dir_option = "--save", .soft = 180, .hard = 900,
	  .help = "MindIO TTP, asked by supernode_checkpoint.watch_mindio(), DIR as in --save" },
	{ .name = NULL },
};

const struct sn_ckpt_preset *sn_ckpt_find(const char *name)
{
	const struct sn_ckpt_preset *preset = sn_ckpt_presets;

	while (preset->name && strcmp(preset->name, name))
		preset++;
	return preset->name ? preset : NULL;
}

/* ---- signals -------------------------------------------------------------------- */

static const struct {
	const char *name;
	int signal;
} signals[] = {
	{ "none", 0 }, { "SIGTERM", SIGTERM }, { "SIGUSR1", SIGUSR1 },
	{ "SIGUSR2", SIGUSR2 }, { "SIGINT", SIGINT }, { "SIGHUP", SIGHUP },
	{ "SIGQUIT", SIGQUIT },
};
#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

const char *sn_ckpt_signal_name(int signal)
{
	for (size_t i = 0; i < N_SIGNALS; i++)
		if (signals[i].signal == signal)
			return signals[i].name;
	return "a signal";
}

static int take_signal(const char *text, int *ret, struct sn_err *err)
{
	for (size_t i = 0; i < N_SIGNALS; i++) {
		const char *name = signals[i].name;

		if (!strcmp(text, name) || (i && !strcmp(text, name + 3))) {
			*ret = signals[i].signal;
			return 0;
		}
	}
	return sn_err_set(err, -EINVAL,
			  "signal=%.40s: want TERM, USR1, USR2, INT, HUP, QUIT or none",
			  text);
}

/* ---- the option -------------------------------------------------------------------- */

static int take_seconds(const char *key, const char *text, uint32_t *ret,
			struct sn_err *err)
{
	uint64_t n;
	int rc = sn_parse_uint(text, 1, 1u << 20, &n, err);

	if (rc)
		return sn_err_prefix(err, rc, "%s=", key);
	*ret = (uint32_t)n;
	return 0;
}

/* One of ",soft=60": it is cut off. 0: there was none. */
static int take_last(char *text, struct sn_ckpt *ret, struct sn_err *err)
{
	char *comma = strrchr(text, ',');
	int rc;

	if (!comma)
		return 0;
	if (!strncmp(comma, ",soft=", 6)) {
		rc = take_seconds("soft", comma + 6, &ret->soft, err);
		ret->soft_given = true;
	} else if (!strncmp(comma, ",hard=", 6)) {
		rc = take_seconds("hard", comma + 6, &ret->hard, err);
		ret->hard_given = true;
	} else if (!strncmp(comma, ",signal=", 8)) {
		rc = take_signal(comma + 8, &ret->signal, err);
	} else {
		return 0;
	}
	*comma = '\0';
	return rc ? rc : 1;
}

/* The value of --save DIR or --save=DIR; the last counts, as for argparse. */
static const char *option_of(char *const *command, const char *option)
{
	size_t len = option ? strlen(option) : 0;
	const char *value = NULL;

	for (; option && command && *command; command++) {
		if (strncmp(*command, option, len))
			continue;
		if ((*command)[len] == '=')
			value = *command + len + 1;
		else if (!(*command)[len] && command[1])
			value = command[1];
	}
	return value && *value ? value : NULL;
}

static int no_room(struct sn_err *err)
{
	return sn_err_set(err, -EINVAL, "the path is longer than %d characters",
			  SN_CKPT_PATH_MAX - 1);
}

static int set_marker(struct sn_ckpt *ckpt, const char *path, const char *in,
		      struct sn_err *err)
{
	size_t len = strlen(path);
	int n = snprintf(ckpt->marker, sizeof(ckpt->marker), "%s%s%s", path,
			 in && len && path[len - 1] != '/' ? "/" : "", in ? in : "");
	const char *slash;

	if (n < 0 || (size_t)n >= sizeof(ckpt->marker))
		return no_room(err);
	slash = strrchr(ckpt->marker, '/');
	ckpt->pattern = strchr(slash ? slash : ckpt->marker, '*') != NULL;
	/* The directories of a pattern are taken as they are. */
	if (slash && memchr(ckpt->marker, '*', (size_t)(slash - ckpt->marker)))
		return sn_err_set(err, -EINVAL,
				  "\"%.200s\": a * is only understood after the last /",
				  ckpt->marker);
	return 0;
}

/* A FILE is named where a directory could not be meant. */
static bool names_marker(const struct sn_ckpt_preset *preset, const char *path)
{
	const char *last = strrchr(path, '/'), *dot;

	last = last ? last + 1 : path;
	if (!preset->marker || strchr(last, '*') || !strcmp(last, preset->marker))
		return true;
	dot = strrchr(last, '.');
	return dot && !strcmp(dot, ".txt");
}

static int find_marker(struct sn_ckpt *ckpt, const char *path,
		       char *const *command, struct sn_err *err)
{
	const struct sn_ckpt_preset *preset = ckpt->preset;
	const char *found = NULL;

	if (!*path && preset->marker_option) {
		found = option_of(command, preset->marker_option);
		if (found)
			return set_marker(ckpt, found, NULL, err);
	}
	if (!*path && preset->dir_option)
		found = option_of(command, preset->dir_option);
	if (*path)
		found = path;
	if (!found && preset->marker)
		return sn_err_set(err, -ENOENT,
				  "%s: where are the checkpoints? want %s:DIR, the directory of the program's %s",
				  preset->name, preset->name, preset->dir_option);
	if (!found)
		return 0;
	if (*path && names_marker(preset, path)) {
		int rc = set_marker(ckpt, path, NULL, err);

		/* What the user's own pattern stands for is an iteration. */
		if (!rc && ckpt->pattern &&
		    (!preset->marker || strcmp(preset->marker,
				strrchr(path, '/') ? strrchr(path, '/') + 1 : path)))
			ckpt->number = SN_CKPT_IN_NAME;
		return rc;
	}
	return set_marker(ckpt, found, preset->marker, err);
}

/* "megatrn:/x": a slip, not a file. */
static bool is_word(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '-' && *text != '_')
			return false;
	return true;
}

static int unknown(const char *word, struct sn_err *err)
{
	return sn_err_set(err, -EINVAL,
			  "\"%.40s\" is no preset: want plain, megatron, lightning, nvrx or mindio, or a path",
			  word);
}

int sn_ckpt_parse(const char *text, char *const *command, struct sn_ckpt *ret,
		  struct sn_err *err)
{
	struct sn_ckpt ckpt = { .preset = &sn_ckpt_presets[0], .signal = -1 };
	char copy[SN_CKPT_PATH_MAX + 64], *colon, *path = copy;
	int rc;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", text ? text : "") >= sizeof(copy))
		return no_room(err);
	do
		rc = take_last(copy, &ckpt, err);
	while (rc > 0);
	if (rc)
		return rc;
	colon = strchr(copy, ':');
	if (colon)
		*colon = '\0';
	if (sn_ckpt_find(copy)) {
		ckpt.preset = sn_ckpt_find(copy);
		path = colon ? colon + 1 : copy + strlen(copy);
		if (colon && !*path)
			return sn_err_set(err, -EINVAL, "%s: nothing follows the colon",
					  copy);
	} else if (colon && is_word(copy)) {
		return unknown(copy, err);
	} else if (colon) {
		*colon = ':';
	}
	ckpt.number = ckpt.preset->number;
	ckpt.exits = ckpt.preset->exits;
	ckpt.gasp = ckpt.preset->gasp;
	if (ckpt.signal < 0)
		ckpt.signal = ckpt.preset->signal;
	if (!ckpt.soft_given)
		ckpt.soft = ckpt.preset->soft;
	if (!ckpt.hard_given)
		ckpt.hard = ckpt.preset->hard;
	if (ckpt.soft_given && ckpt.hard_given && ckpt.hard < ckpt.soft)
		return sn_err_set(err, -EINVAL, "hard=%u is less than soft=%u",
				  ckpt.hard, ckpt.soft);
	rc = find_marker(&ckpt, path, command, err);
	if (!rc)
		*ret = ckpt;
	return rc;
}

void sn_ckpt_limits(const struct sn_ckpt *ckpt, uint32_t conf_soft,
		    uint32_t conf_hard, uint32_t *ret_soft, uint32_t *ret_hard)
{
	*ret_soft = ckpt->soft_given || ckpt->soft > conf_soft ? ckpt->soft : conf_soft;
	*ret_hard = ckpt->hard_given || ckpt->hard > conf_hard ? ckpt->hard : conf_hard;
	if (*ret_hard < *ret_soft) {
		/* What the user has said stands. */
		if (ckpt->soft_given && !ckpt->hard_given)
			*ret_hard = *ret_soft;
		else
			*ret_soft = *ret_hard;
	}
}

/* ---- numbers ---------------------------------------------------------------------- */

/* len digits; UINT64_MAX: it is no number, or too large. */
static uint64_t digits(const char *text, size_t len)
{
	uint64_t n = 0;

	if (!len || len > 15) /* exact in JSON */
		return UINT64_MAX;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]))
			return UINT64_MAX;
		n = n * 10 + (uint64_t)(text[i] - '0');
	}
	return n;
}

bool sn_ckpt_fits(const char *pattern, const char *name, uint64_t *ret_number)
{
	const char *star = NULL, *from = NULL, *p = pattern, *at = name;

	*ret_number = UINT64_MAX;
	while (*at) {
		if (*p == '*') {
			star = p++;
			from = at;
		} else if (*p == *at) {
			p++;
			at++;
		} else if (star) {
			/* One more character for the last star. */
			p = star + 1;
			at = ++from;
			continue;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	if (*p)
		return false;
	star = strrchr(pattern, '*');
	if (star) {
		size_t tail = strlen(star + 1), end = strlen(name) - tail, begin = end;

		while (begin && isdigit((unsigned char)name[begin - 1]))
			begin--;
		*ret_number = digits(name + begin, end - begin);
	}
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The first word of the first line that is a number. */
static bool first_number(const char *text, size_t len, uint64_t *ret)
{
	for (size_t at = 0, end; at < len && text[at] != '\n'; at = end) {
		uint64_t n;

		while (at < len && is_space(text[at]) && text[at] != '\n')
			at++;
		for (end = at; end < len && !is_space(text[end]);)
			end++;
		n = digits(text + at, end - at);
		if (n != UINT64_MAX) {
			*ret = n;
			return true;
		}
		if (end == at)
			break;
	}
	return false;
}

/* A file that is only a number: an empty one is about to be written. */
static bool whole_number(const char *text, size_t len, uint64_t *ret)
{
	while (len && is_space(text[len - 1]))
		len--;
	while (len && is_space(*text)) {
		text++;
		len--;
	}
	*ret = digits(text, len);
	return *ret != UINT64_MAX;
}

void sn_ckpt_read(const struct sn_ckpt *ckpt, const char *name, const char *text,
		  size_t len, struct sn_ckpt_mark *mark)
{
	const char *slash = strrchr(ckpt->marker, '/');
	uint64_t n = UINT64_MAX;

	mark->there = true;
	mark->has_iteration = false;
	mark->iteration = mark->version = 0;
	if (ckpt->pattern) {
		mark->there = sn_ckpt_fits(slash ? slash + 1 : ckpt->marker, name, &n);
		mark->version = n == UINT64_MAX ? 0 : n;
		mark->has_iteration = mark->there && n != UINT64_MAX &&
			ckpt->number == SN_CKPT_IN_NAME;
	} else if (ckpt->number == SN_CKPT_MUST) {
		mark->there = mark->has_iteration = text && whole_number(text, len, &n);
	} else {
		mark->has_iteration = text && first_number(text, len, &n);
	}
	if (mark->has_iteration)
		mark->iteration = n;
}

/* ---- looks compared ------------------------------------------------------------------ */

bool sn_ckpt_later(const struct sn_ckpt_mark *a, const struct sn_ckpt_mark *b)
{
	if (a->there != b->there)
		return b->there;
	if (a->version != b->version)
		return b->version > a->version;
	if (a->sec != b->sec)
		return b->sec > a->sec;
	return b->nsec > a->nsec;
}

bool sn_ckpt_is_new(const struct sn_ckpt_mark *before,
		    const struct sn_ckpt_mark *now)
{
	if (!now->there)
		return false;
	return !before->there || now->dev != before->dev || now->ino != before->ino ||
		now->size != before->size || now->sec != before->sec ||
		now->nsec != before->nsec || now->version != before->version ||
		now->has_iteration != before->has_iteration ||
		now->iteration != before->iteration;
}

double sn_ckpt_since_safe(int64_t now, int64_t started, int64_t durable, bool running)
{
	int64_t from = durable > started ? durable : started;

	return running && now > from ? (double)(now - from) / 1000 : 0;
}

double sn_ckpt_age(const struct sn_ckpt_mark *mark, int64_t server_sec,
		   uint32_t server_nsec)
{
	double age = (double)(server_sec - mark->sec) +
		((double)server_nsec - (double)mark->nsec) / 1e9;

	return mark->there && age > 0 ? age : 0;
}
