/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostlist.c - Slurm's hostlist notation, "n[001-049,060],login1".
 *
 * Slurm's own hostlist sorts, is not to be had outside its library, and takes
 * what it cannot read for a name; here order is meaning and a slip is an error.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "topology/hostlist.h"
#include "topology/text.h"

#define NAME_MAX_LEN 255 /* bytes of one name */
#define BRACKETS_MAX 8 /* bracket groups in one name */
#define DIGITS_MAX 18 /* of one number: fits uint64_t without a check */
#define CLIP 64

/* lo-hi, written with at least width digits. */
struct range {
	uint64_t lo, hi;
	unsigned width;
};

/* A stretch of plain text, then the ranges of the bracket after it (none after
 * the last stretch). */
struct part {
	const char *text;
	size_t len;
	size_t first, n_ranges; /* in ranges */
};

/* One name of a list, brackets and all. */
struct element {
	struct part part[BRACKETS_MAX + 1];
	size_t n_parts;
	struct range *range; /* reused from element to element */
	size_t n_ranges, size;
	uint64_t count; /* names it stands for */
	size_t max_len; /* of the longest one */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static unsigned digits(uint64_t v)
{
	unsigned n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

int sn_names_add(struct sn_names *names, const char *name)
{
	char *copy;

	if (names->n == names->size) {
		size_t size = names->size ? names->size * 2 : 8;
		char **p = realloc(names->name, size * sizeof(*p));

		if (!p)
			return -ENOMEM;
		names->name = p;
		names->size = size;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	names->name[names->n++] = copy;
	return 0;
}

static void names_cut(struct sn_names *names, size_t n)
{
	while (names->n > n)
		free(names->name[--names->n]);
}

void sn_names_done(struct sn_names *names)
{
	names_cut(names, 0);
	free(names->name);
	memset(names, 0, sizeof(*names));
}

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "out of memory");
}

/* The digits at *at as a number; false if there are none or too many. */
static bool read_number(const char **at, uint64_t *ret, unsigned *ret_width)
{
	const char *c = *at;

	*ret = 0;
	for (; is_digit(*c); c++) {
		if (c - *at >= DIGITS_MAX)
			return false;
		*ret = *ret * 10 + (unsigned)(*c - '0');
	}
	*ret_width = (unsigned)(c - *at);
	*at = c;
	return *ret_width > 0;
}

static int add_range(struct element *e, const struct range *r,
		     struct sn_err *err)
{
	if (e->n_ranges == e->size) {
		size_t size = e->size ? e->size * 2 : 8;
		struct range *p = realloc(e->range, size * sizeof(*p));

		if (!p)
			return no_memory(err);
		e->range = p;
		e->size = size;
	}
	e->range[e->n_ranges++] = *r;
	return 0;
}

/* What stands between brackets, from after '[' to after ']'. */
static int read_bracket(struct element *e, const char **at, struct sn_err *err)
{
	struct part *part = &e->part[e->n_parts - 1];
	uint64_t count = 0;
	unsigned longest = 0;
	char clip[CLIP], clip2[CLIP];
	const char *c = *at, *start;
	struct range r;
	int rc;

	part->first = e->n_ranges;
	for (;;) {
		unsigned hi_width;

		start = c;
		if (!read_number(&c, &r.lo, &r.width))
			goto bad;
		r.hi = r.lo;
		if (*c == '-') {
			c++;
			if (!read_number(&c, &r.hi, &hi_width))
				goto bad;
			if (r.hi < r.lo)
				return sn_err_set(err, -EINVAL, "[%s counts down; write [%" PRIu64 "-%" PRIu64 "]",
						  sn_text_clip(start, clip, 40), r.hi, r.lo);
			/* [1-010]: nobody can tell which width is meant. */
			if (hi_width > r.width && hi_width > digits(r.hi))
				return sn_err_set(err, -EINVAL, "[%s: the ends of a range have different widths; write [%0*" PRIu64 "-%0*" PRIu64 "] or [%" PRIu64 "-%" PRIu64 "]",
						  sn_text_clip(start, clip, 40), (int)hi_width, r.lo,
						  (int)hi_width, r.hi, r.lo, r.hi);
		}
		/* Each end has at most 18 digits: no overflow in the sum until
		 * the limit is long passed. */
		if (r.hi - r.lo >= SN_HOSTLIST_MAX ||
		    (count += r.hi - r.lo + 1) > SN_HOSTLIST_MAX)
			return sn_err_set(err, -E2BIG, "[%s: more than %u names; a list holds at most that many",
					  sn_text_clip(start, clip, 40), SN_HOSTLIST_MAX);
		if (r.width > longest)
			longest = r.width;
		if (digits(r.hi) > longest)
			longest = digits(r.hi);
		rc = add_range(e, &r, err);
		if (rc)
			return rc;
		if (*c == ']')
			break;
		if (*c != ',')
			goto bad;
		c++;
	}
	part->n_ranges = e->n_ranges - part->first;
	e->max_len += longest;
	e->count *= count; /* both at most 2^22 */
	*at = c + 1;
	return 0;
bad:
	if (!strchr(c, ']'))
		return sn_err_set(err, -EINVAL, "%s: the bracket is not closed; write a list such as n[001-049,060]",
				  sn_text_clip(part->text, clip, sizeof(clip)));
	return sn_err_set(err, -EINVAL, "%s: \"%s\" is not a number of at most %d digits; brackets hold numbers and ranges, such as n[001-049,060]",
			  sn_text_clip(part->text, clip, 48), sn_text_clip(start, clip2, 24), DIGITS_MAX);
}

/* One element of the list, up to its comma, blank or end. */
static int read_element(struct element *e, const char **at, struct sn_err *err)
{
	const char *start = *at, *c = start;
	char clip[CLIP];
	int rc;

	e->n_ranges = 0;
	e->n_parts = 0;
	e->count = 1;
	e->max_len = 0;
	for (;;) {
		struct part *part = &e->part[e->n_parts++];

		part->text = c;
		part->first = part->n_ranges = 0;
		while (*c && !strchr(",[] \t\r\n", *c)) {
			if ((unsigned char)*c < 0x20 || *c == 0x7f ||
			    strchr("\"'=\\", *c))
				return sn_err_set(err, -EINVAL, "%s: a name cannot hold the byte 0x%02x",
						  sn_text_clip(start, clip, sizeof(clip)), (unsigned char)*c);
			c++;
		}
		part->len = (size_t)(c - part->text);
		e->max_len += part->len;
		if (*c == ']')
			return sn_err_set(err, -EINVAL, "%s: a ] without its [",
					  sn_text_clip(start, clip, sizeof(clip)));
		if (*c != '[')
			break;
		if (e->n_parts > BRACKETS_MAX)
			return sn_err_set(err, -EINVAL, "%s: more than %d brackets in one name",
					  sn_text_clip(start, clip, sizeof(clip)), BRACKETS_MAX);
		c++;
		rc = read_bracket(e, &c, err);
		if (rc)
			return rc;
		if (e->count > SN_HOSTLIST_MAX)
			return sn_err_set(err, -E2BIG, "%s: more than %u names; a list holds at most that many",
					  sn_text_clip(start, clip, sizeof(clip)), SN_HOSTLIST_MAX);
	}
	if (c == start)
		return sn_err_set(err, -EINVAL, "an empty name in the list; write names with one comma between them");
	if (e->max_len > NAME_MAX_LEN)
		return sn_err_set(err, -EINVAL, "%s: a name of %zu bytes; a name has at most %d",
				  sn_text_clip(start, clip, sizeof(clip)), e->max_len, NAME_MAX_LEN);
	*at = c;
	return 0;
}

/* Write v with at least width digits; returns how many. */
static size_t put_number(char *buf, uint64_t v, unsigned width)
{
	unsigned n = digits(v), i;

	if (n < width)
		n = width;
	for (i = n; i-- > 0; v /= 10)
		buf[i] = (char)('0' + v % 10);
	return n;
}

/* Add every name of parts p, p+1, … behind the len bytes already in buf.
 * At most BRACKETS_MAX deep. */
static int emit(const struct element *e, size_t p, char *buf, size_t len,
		struct sn_names *ret)
{
	const struct part *part = &e->part[p];
	size_t i;
	uint64_t v;
	int rc;

	memcpy(buf + len, part->text, part->len);
	len += part->len;
	if (p + 1 == e->n_parts) {
		buf[len] = '\0';
		return sn_names_add(ret, buf);
	}
	for (i = 0; i < part->n_ranges; i++) {
		const struct range *r = &e->range[part->first + i];

		for (v = r->lo; v <= r->hi; v++) {
			rc = emit(e, p + 1, buf,
				  len + put_number(buf + len, v, r->width), ret);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static const char *skip_blanks(const char *c)
{
	while (is_blank(*c))
		c++;
	return c;
}

int sn_hostlist_expand_max(const char *text, size_t max, struct sn_names *ret,
			   struct sn_err *err)
{
	char buf[NAME_MAX_LEN + 1];
	struct element e = { .range = NULL };
	size_t before = ret->n;
	bool had_none = !ret->name;
	const char *c = skip_blanks(text);
	int rc = 0;

	while (*c) {
		rc = read_element(&e, &c, err);
		if (rc)
			break;
		if (e.count > max - (ret->n - before)) {
			rc = sn_err_set(err, -E2BIG, "more than %zu names; a list holds at most that many",
					max);
			break;
		}
		rc = emit(&e, 0, buf, 0, ret);
		if (rc) {
			no_memory(err);
			break;
		}
		c = skip_blanks(c);
		if (*c == ',') {
			c = skip_blanks(c + 1);
			if (!*c) {
				rc = sn_err_set(err, -EINVAL, "the list ends with a comma; a name is missing or the comma is too much");
				break;
			}
		}
	}
	free(e.range);
	if (rc && had_none)
		sn_names_done(ret);
	else if (rc)
		names_cut(ret, before);
	return rc;
}

int sn_hostlist_expand(const char *text, struct sn_names *ret,
		       struct sn_err *err)
{
	return sn_hostlist_expand_max(text, SN_HOSTLIST_MAX, ret, err);
}

/* A name cut into what comes before its trailing number, and that. */
struct numbered {
	size_t prefix; /* bytes */
	unsigned width; /* 0: it does not end in a number */
	uint64_t v;
};

static struct numbered split(const char *name)
{
	size_t len = strlen(name);
	struct numbered n = { .prefix = len };
	const char *c;

	while (n.prefix && n.width < DIGITS_MAX && is_digit(name[n.prefix - 1])) {
		n.prefix--;
		n.width++;
	}
	for (c = name + n.prefix; *c; c++)
		n.v = n.v * 10 + (unsigned)(*c - '0');
	return n;
}

static bool same_prefix(const char *a, const struct numbered *na,
			const char *b, const struct numbered *nb)
{
	return na->width && nb->width && na->prefix == nb->prefix &&
	       memcmp(a, b, na->prefix) == 0;
}

/* Is b what a range that begins with lo yields right after a? */
static bool follows(const struct numbered *lo, const struct numbered *a,
		    const struct numbered *b)
{
	unsigned width = digits(b->v);

	if (width < lo->width)
		width = lo->width;
	return b->v == a->v + 1 && b->width == width;
}

char *sn_hostlist_compress(const char *const *name, size_t n)
{
	struct sn_buf buf = { .text = NULL };
	size_t i, end, j;

	sn_buf_add(&buf, "%s", "");
	for (i = 0; i < n; i = end) {
		struct numbered first = split(name[i]), lo, cur, next;

		/* [i, end): names that share one bracket. */
		for (end = i + 1; end < n; end++) {
			next = split(name[end]);
			if (!same_prefix(name[i], &first, name[end], &next))
				break;
		}
		if (i)
			sn_buf_add(&buf, ",");
		if (end == i + 1) {
			sn_buf_add(&buf, "%s", name[i]);
			continue;
		}
		sn_buf_add(&buf, "%.*s[", (int)first.prefix, name[i]);
		for (j = i; j < end; j++) {
			size_t from = j;

			lo = cur = split(name[j]);
			while (j + 1 < end) {
				next = split(name[j + 1]);
				if (!follows(&lo, &cur, &next))
					break;
				cur = next;
				j++;
			}
			sn_buf_add(&buf, "%s%s", from == i ? "" : ",",
				   name[from] + first.prefix);
			if (j > from)
				sn_buf_add(&buf, "-%s", name[j] + first.prefix);
		}
		sn_buf_add(&buf, "]");
	}
	return buf.text;
}

/* The digits at *at as a number without leading zeros: where it starts, and how
 * long it is. */
static size_t trim_number(const char **at, const char **ret)
{
	const char *c = *at;

	while (*c == '0')
		c++;
	*ret = c;
	while (is_digit(*c))
		c++;
	*at = c;
	return (size_t)(c - *ret);
}

int sn_name_cmp(const char *a, const char *b)
{
	const char *x = a, *y = b, *dx, *dy;

	while (*x && *y) {
		if (is_digit(*x) && is_digit(*y)) {
			size_t nx = trim_number(&x, &dx);
			size_t ny = trim_number(&y, &dy);
			int c = nx != ny ? (nx < ny ? -1 : 1) : memcmp(dx, dy, nx);

			if (c)
				return c;
		} else if (*x != *y) {
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		} else {
			x++;
			y++;
		}
	}
	if (*x || *y)
		return *x ? 1 : -1;
	/* n1 and n01 are the same number but not the same name. */
	return strcmp(a, b);
}
