/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.c - files of KEY=VALUE lines in Slurm's style.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/conf.h"

#define CLIP 64

/* A file that is being read; the files around it are above it. */
struct source {
	const char *name;
	const char *text;
	size_t len, pos;
	uint32_t line; /* lines begun so far */
	const struct source *from;
	unsigned depth;
};

/* Where in the joined text a line of the file begins. */
struct join {
	size_t at;
	uint32_t line;
};

struct reader {
	sn_conf_read_fn read;
	void *ctx;
	sn_conf_line_fn fn;
	void *arg;
	struct sn_err *err;
	unsigned files;
	/* The line in work, reused from line to line. */
	char *text;
	size_t len, size;
	struct join *join;
	size_t n_joins, joins_size;
	struct sn_conf_pair *pair;
	size_t n_pairs, pairs_size;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_key(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "out of memory");
}

/* Make room for one more of an array of things of `each` bytes. */
static bool grow(void **array, size_t *size, size_t n, size_t each)
{
	size_t want = *size ? *size * 2 : 16;
	void *p;

	if (n < *size)
		return true;
	p = realloc(*array, want * each);
	if (!p)
		return false;
	*array = p;
	*size = want;
	return true;
}

static int check_text(const struct source *s, const char *text, size_t len,
		      struct sn_err *err)
{
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && !is_blank(text[i])) || c == 0x7f)
			return sn_err_set(err, -EINVAL, "%s:%u: byte 0x%02x at column %zu; this is not a text file",
					  s->name, s->line, c, i + 1);
	}
	return 0;
}

/* Does the text after a backslash hold nothing but blanks and, behind at least
 * one of them, a comment? Then the backslash joins the next line. */
static bool joins_next(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && is_blank(text[i]))
		i++;
	return i == len || (i && text[i] == '#');
}

/* Append one line of the file to the text in work, without comment and
 * escapes. *ret_more: it ends with a backslash. */
static int add_physical(struct reader *r, const struct source *s,
			const char *text, size_t len, bool *ret_more)
{
	struct join join = { r->len, s->line };
	size_t i;
	char *p;

	*ret_more = false;
	if (len > SN_CONF_LINE_MAX || r->len + len > SN_CONF_LINE_MAX)
		return sn_err_set(r->err, -EINVAL, "%s:%u: a line of %zu bytes; a line has at most %u with its continuations: write ranges such as n[001-784], or several lines",
				  s->name, s->line, r->len + len, SN_CONF_LINE_MAX);
	if (r->size < r->len + len + 1) {
		size_t size = 2 * (r->len + len) + 64;

		p = realloc(r->text, size);
		if (!p)
			return no_memory(r->err);
		r->text = p;
		r->size = size;
	}
	if (!grow((void **)&r->join, &r->joins_size, r->n_joins, sizeof(*r->join)))
		return no_memory(r->err);
	r->join[r->n_joins++] = join;
	p = r->text + r->len;
	for (i = 0; i < len && text[i] != '#'; i++) {
		if (text[i] == '\\') {
			if (joins_next(text + i + 1, len - i - 1)) {
				*ret_more = true;
				break;
			}
			i++;
		}
		*p++ = text[i];
	}
	*p = '\0';
	r->len = (size_t)(p - r->text);
	return 0;
}

/* The next line with its continuations; *ret_end where the file is at its end. */
static int next_line(struct reader *r, struct source *s, bool *ret_end)
{
	bool more = true;
	int rc;

	r->len = 0;
	r->n_joins = 0;
	*ret_end = s->pos >= s->len;
	while (more && s->pos < s->len) {
		const char *text = s->text + s->pos;
		const char *nl = memchr(text, '\n', s->len - s->pos);
		size_t len = nl ? (size_t)(nl - text) : s->len - s->pos;

		s->pos += len + (nl != NULL);
		s->line++;
		rc = check_text(s, text, len, r->err);
		if (!rc)
			rc = add_physical(r, s, text, len, &more);
		if (rc)
			return rc;
	}
	return 0;
}

/* The line of the file that a place in the text in work came from. */
static uint32_t line_at(const struct reader *r, const char *place)
{
	size_t at = (size_t)(place - r->text), lo = 0, hi = r->n_joins;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (r->join[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	return r->join[lo].line;
}

static char *skip_blanks(char *c)
{
	while (is_blank(*c))
		c++;
	return c;
}

/* The value at c, cut off in place; what follows it is in *ret_next. */
static int read_value(struct reader *r, const struct source *s, char *c,
		      struct sn_conf_pair *pair, char **ret_next)
{
	char clip[CLIP];
	char *start = c;
	bool apart;

	c = skip_blanks(c);
	apart = c != start;
	if (*c == '"') {
		start = ++c;
		c = strchr(c, '"');
		if (!c)
			return sn_err_set(r->err, -EINVAL, "%s:%u: %s=\"%s: the quote is not closed",
					  s->name, pair->line, pair->key, sn_text_clip(start, clip, sizeof(clip)));
		if (c[1] && !is_blank(c[1]))
			return sn_err_set(r->err, -EINVAL, "%s:%u: %s=: a blank is missing after the closing quote",
					  s->name, pair->line, pair->key);
	} else {
		start = c;
		while (*c && !is_blank(*c))
			c++;
	}
	*ret_next = *c ? c + 1 : c;
	*c = '\0';
	/* "Nodes= SpareNodes=1": Slurm would take the next key for the value. */
	if (!*start || (apart && strchr(start, '=')))
		return sn_err_set(r->err, -EINVAL, "%s:%u: %s= has no value",
				  s->name, pair->line, pair->key);
	pair->value = start;
	return 0;
}

/* Cut the text in work, from c, into pairs. */
static int read_pairs(struct reader *r, const struct source *s, char *c)
{
	char clip[CLIP];
	int rc;

	r->n_pairs = 0;
	for (c = skip_blanks(c); *c; c = skip_blanks(c)) {
		struct sn_conf_pair pair = { .key = c, .line = line_at(r, c) };
		char *end;

		while (is_key(*c))
			c++;
		end = c;
		c = skip_blanks(c);
		if (end == pair.key || *c != '=') {
			for (; *end && !is_blank(*end); end++)
				;
			*end = '\0';
			return sn_err_set(r->err, -EINVAL, "%s:%u: \"%s\" is not KEY=VALUE; a value with blanks must be in quotes",
					  s->name, pair.line, sn_text_clip(pair.key, clip, sizeof(clip)));
		}
		*end = '\0';
		rc = read_value(r, s, c + 1, &pair, &c);
		if (rc)
			return rc;
		if (!grow((void **)&r->pair, &r->pairs_size, r->n_pairs, sizeof(*r->pair)))
			return no_memory(r->err);
		r->pair[r->n_pairs++] = pair;
	}
	return 0;
}

/* The path if the text in work is an Include line, cut off in place. */
static char *include_path(char *c)
{
	size_t n;

	if (strncasecmp(c, "include", 7) || !is_blank(c[7]))
		return NULL;
	c = skip_blanks(c + 7);
	if (*c == '=')
		return NULL;
	for (n = strlen(c); n && is_blank(c[n - 1]); n--)
		;
	if (n >= 2 && *c == '"' && c[n - 1] == '"') {
		c++;
		n -= 2;
	}
	c[n] = '\0';
	return c;
}

static int read_source(struct reader *r, struct source *s);

/* At most SN_CONF_DEPTH_MAX deep. */
static int include(struct reader *r, const struct source *from, const char *path)
{
	struct source s = { .from = from, .depth = from->depth + 1 };
	const struct source *up;
	char clip[CLIP];
	char *name = NULL, *text = NULL;
	uint32_t line = r->join[0].line;
	int rc;

	sn_text_clip(path, clip, sizeof(clip));
	if (!*path)
		return sn_err_set(r->err, -EINVAL, "%s:%u: Include: a file name is missing",
				  from->name, line);
	if (!r->read)
		return sn_err_set(r->err, -EINVAL, "%s:%u: Include %s: this text cannot include other files",
				  from->name, line, clip);
	for (up = from; up; up = up->from) {
		if (strcmp(up->name, path) == 0)
			return sn_err_set(r->err, -EINVAL, "%s:%u: Include %s: the file would include itself",
					  from->name, line, clip);
	}
	if (s.depth > SN_CONF_DEPTH_MAX)
		return sn_err_set(r->err, -EINVAL, "%s:%u: Include %s: more than %d files inside one another",
				  from->name, line, clip, SN_CONF_DEPTH_MAX);
	if (++r->files > SN_CONF_FILES_MAX)
		return sn_err_set(r->err, -EINVAL, "%s:%u: Include %s: more than %d included files",
				  from->name, line, clip, SN_CONF_FILES_MAX);
	/* path is in the text in work, which the file will overwrite. */
	name = strdup(path);
	if (!name)
		return no_memory(r->err);
	rc = r->read(r->ctx, name, from->name, &text, &s.len, r->err);
	if (rc) {
		sn_err_prefix(r->err, rc, "%s:%u: Include %s: ",
			      from->name, line, clip);
	} else {
		s.name = name;
		s.text = text;
		rc = read_source(r, &s);
		free(text);
	}
	free(name);
	return rc;
}

static int read_source(struct reader *r, struct source *s)
{
	struct sn_conf_line line = { .file = s->name };
	bool end;
	char *path;
	int rc;

	/* Editors of other systems put a byte order mark first. */
	if (s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
		s->pos = 3;
	for (;;) {
		rc = next_line(r, s, &end);
		if (rc || end)
			return rc;
		path = include_path(skip_blanks(r->text));
		if (path) {
			rc = include(r, s, path);
			if (rc)
				return rc;
			continue;
		}
		rc = read_pairs(r, s, r->text);
		if (rc)
			return rc;
		if (!r->n_pairs)
			continue;
		line.line = r->pair[0].line;
		line.pair = r->pair;
		line.n = r->n_pairs;
		rc = r->fn(r->arg, &line, r->err);
		if (rc)
			return rc;
	}
}

int sn_conf_parse(const char *text, size_t len, const char *file,
		  sn_conf_read_fn read, void *ctx, sn_conf_line_fn fn,
		  void *arg, struct sn_err *err)
{
	struct reader r = {
		.read = read, .ctx = ctx, .fn = fn, .arg = arg, .err = err,
	};
	struct source s = { .name = file, .text = text, .len = len };
	int rc;

	rc = read_source(&r, &s);
	free(r.text);
	free(r.join);
	free(r.pair);
	return rc;
}

int sn_conf_at(struct sn_err *err, int code, const struct sn_conf_line *line,
	       const struct sn_conf_pair *pair)
{
	char key[40], value[CLIP];

	return sn_err_prefix(err, code, "%s:%u: %s=%s: ", line->file, pair->line,
			     sn_text_clip(pair->key, key, sizeof(key)),
			     sn_text_clip(pair->value, value, sizeof(value)));
}
