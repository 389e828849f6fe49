/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topofabric.c - fabrics of the model, from declarations.
 *
 * Members are looked up after all fabrics are known, so that a line may name
 * fabrics that come later in the file.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/topobuild.h"

#define CLIP 64

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "out of memory");
}

/* Add the fabrics of one line, without their members. *ret_first is the first
 * one's number. */
static int declare(struct sn_build *b, const struct sn_decl *d,
		   uint32_t *ret_first)
{
	struct sn_names names = { .name = NULL };
	uint32_t f;
	size_t i;
	int rc;

	*ret_first = b->topo->n_fabrics;
	rc = sn_decl_expand(d, SN_KEY_FABRIC_NAME, &names, b->err);
	if (!rc)
		rc = sn_build_reserve(&b->decl_of_fabric, b->topo->n_fabrics,
				      names.n, b->err);
	for (i = 0; !rc && i < names.n; i++) {
		rc = sn_topo_push_fabric(b->topo, names.name[i], &f);
		if (rc == -EEXIST) {
			const struct sn_decl *by = &b->decls->decl[b->decl_of_fabric[f]];
			char clip[CLIP], file[CLIP];

			rc = sn_err_set(b->err, -EINVAL, "fabric %s is already declared (%s:%u); a name is declared once",
					sn_text_clip(names.name[i], clip, sizeof(clip)),
					sn_text_clip(by->file, file, sizeof(file)),
					by->line[SN_KEY_FABRIC_NAME]);
			sn_decl_at(b->err, rc, d, SN_KEY_FABRIC_NAME);
		} else if (rc == -ENOMEM) {
			no_memory(b->err);
		} else if (rc) {
			rc = sn_err_set(b->err, -EINVAL, "more than %u fabrics",
					SN_TOPO_NODES_MAX);
			sn_decl_at(b->err, rc, d, SN_KEY_FABRIC_NAME);
		} else {
			names.name[i] = NULL;
			b->decl_of_fabric[f] = (uint32_t)(d - b->decls->decl);
			b->topo->fabric[f].card_bandwidth = d->card_bandwidth;
			b->topo->fabric[f].card_latency = d->card_latency;
		}
	}
	sn_names_done(&names);
	return rc;
}

/* Where a name that is no supernode or fabric, as the key wants, may be found
 * instead. */
static int unknown_member(struct sn_build *b, const struct sn_decl *d,
			  enum sn_key key, const char *name)
{
	const struct sn_topo *topo = b->topo;
	bool want_fabric = key == SN_KEY_FABRICS;
	uint32_t node = sn_topo_find_node(topo, name);
	char clip[CLIP], clip2[CLIP];

	sn_text_clip(name, clip, sizeof(clip));
	if (want_fabric && sn_topo_find_supernode(topo, name) != SN_NONE)
		sn_err_set(b->err, -EINVAL, "%s is a supernode, not a fabric; write it on Supernodes=", clip);
	else if (!want_fabric && sn_topo_find_fabric(topo, name) != SN_NONE)
		sn_err_set(b->err, -EINVAL, "%s is a fabric, not a supernode; write it on Fabrics=", clip);
	else if (node != SN_NONE)
		sn_err_set(b->err, -EINVAL, "%s is a node; its supernode %s can be a member",
			   clip, sn_text_clip(topo->supernode[topo->node[node].supernode].name, clip2, sizeof(clip2)));
	else
		sn_err_set(b->err, -EINVAL, "there is no %s %s; declare it with %s=%s",
			   want_fabric ? "fabric" : "supernode", clip,
			   want_fabric ? "FabricName" : "SupernodeName", clip);
	return sn_decl_at(b->err, -EINVAL, d, key);
}

/* Put the member named so into fabric f. */
static int add_member(struct sn_build *b, const struct sn_decl *d,
		      enum sn_key key, const char *name, uint32_t f)
{
	struct sn_topo *topo = b->topo;
	char clip[CLIP], clip2[CLIP], clip3[CLIP];
	uint32_t member, *parent;

	member = key == SN_KEY_FABRICS ? sn_topo_find_fabric(topo, name) :
					 sn_topo_find_supernode(topo, name);
	if (member == SN_NONE)
		return unknown_member(b, d, key, name);
	parent = key == SN_KEY_FABRICS ? &topo->fabric[member].parent :
					 &topo->supernode[member].fabric;
	if (*parent != SN_NONE) {
		sn_err_set(b->err, -EINVAL, "%s is already in fabric %s and would be in %s too; it has one place in the tree",
			   sn_text_clip(name, clip, sizeof(clip)),
			   sn_text_clip(topo->fabric[*parent].name, clip2, sizeof(clip2)),
			   sn_text_clip(topo->fabric[f].name, clip3, sizeof(clip3)));
		return sn_decl_at(b->err, -EINVAL, d, key);
	}
	*parent = f;
	return 0;
}

/* Deal the members of one line out to its fabrics, first .. first+n-1. */
static int connect(struct sn_build *b, const struct sn_decl *d, uint32_t first,
		   uint32_t n)
{
	struct sn_names supernodes = { .name = NULL }, fabrics = { .name = NULL };
	uint64_t per;
	size_t i;
	int rc = 0;

	if (d->supernodes && d->fabrics && n > 1) {
		sn_err_set(b->err, -EINVAL, "%u fabrics cannot share supernodes and fabrics on one line, as the order would be a guess; write a line for each name",
			   n);
		return sn_decl_at(b->err, -EINVAL, d, SN_KEY_FABRIC_NAME);
	}
	if (d->supernodes)
		rc = sn_decl_expand(d, SN_KEY_SUPERNODES, &supernodes, b->err);
	if (!rc && d->fabrics)
		rc = sn_decl_expand(d, SN_KEY_FABRICS, &fabrics, b->err);
	if (!rc) {
		per = sn_decl_deal(d, n, supernodes.n + fabrics.n,
				   SN_KEY_MEMBERS_PER_FABRIC, "members", b->err);
		rc = per ? 0 : -EINVAL;
		for (i = 0; !rc && i < supernodes.n; i++)
			rc = add_member(b, d, SN_KEY_SUPERNODES, supernodes.name[i],
					first + (n > 1 ? (uint32_t)(i / per) : 0));
		for (i = 0; !rc && i < fabrics.n; i++)
			rc = add_member(b, d, SN_KEY_FABRICS, fabrics.name[i],
					first + (n > 1 ? (uint32_t)(i / per) : 0));
	}
	sn_names_done(&supernodes);
	sn_names_done(&fabrics);
	return rc;
}

/* Fabric f has too many fabrics around it: because they go round, or not. */
static int too_deep(struct sn_build *b, uint32_t f)
{
	const struct sn_topo *topo = b->topo;
	char clip[CLIP], path[256];
	uint32_t at = f, i, start;
	size_t len = 0;

	/* After as many steps as there are fabrics, any walk that has not ended
	 * is on the cycle. */
	for (i = 0; i < topo->n_fabrics && at != SN_NONE; i++)
		at = topo->fabric[at].parent;
	if (at == SN_NONE) {
		sn_err_set(b->err, -EINVAL, "fabric %s is inside more than %d others; the tree may have %d levels",
			   sn_text_clip(topo->fabric[f].name, clip, sizeof(clip)),
			   SN_TOPO_LEVELS_MAX - 1, SN_TOPO_LEVELS_MAX);
		return sn_decl_at(b->err, -EINVAL, &b->decls->decl[b->decl_of_fabric[f]],
				  SN_KEY_FABRIC_NAME);
	}
	path[0] = '\0';
	start = at;
	do {
		at = topo->fabric[at].parent;
		len += (size_t)snprintf(path + len, sizeof(path) - len, " in %s",
					sn_text_clip(topo->fabric[at].name, clip, 32));
	} while (at != start && len < sizeof(path) - 48);
	sn_err_set(b->err, -EINVAL, "the fabrics go round in a circle: %s is%s%s; a fabric cannot be inside itself",
		   sn_text_clip(topo->fabric[start].name, clip, 32), path,
		   at == start ? "" : " ...");
	return sn_decl_at(b->err, -EINVAL, &b->decls->decl[b->decl_of_fabric[start]],
			  SN_KEY_FABRIC_NAME);
}

static int set_depths(struct sn_build *b)
{
	struct sn_topo *topo = b->topo;
	uint32_t f, up, depth;

	for (f = 0; f < topo->n_fabrics; f++) {
		depth = 0;
		for (up = topo->fabric[f].parent; up != SN_NONE; up = topo->fabric[up].parent) {
			if (++depth >= SN_TOPO_LEVELS_MAX)
				return too_deep(b, f);
		}
		topo->fabric[f].depth = depth;
		if (depth + 1 > topo->fabric_levels)
			topo->fabric_levels = depth + 1;
	}
	return 0;
}

int sn_build_fabrics(struct sn_build *b)
{
	const struct sn_decls *decls = b->decls;
	uint32_t *first;
	size_t i;
	int rc = 0;

	/* first[i], first[i + 1]: the fabrics of line i. */
	first = calloc(decls->n + 1, sizeof(*first));
	if (!first)
		return no_memory(b->err);
	for (i = 0; !rc && i < decls->n; i++) {
		first[i] = b->topo->n_fabrics;
		if (decls->decl[i].kind == SN_DECL_FABRIC)
			rc = declare(b, &decls->decl[i], &first[i]);
		first[i + 1] = b->topo->n_fabrics;
	}
	for (i = 0; !rc && i < decls->n; i++) {
		if (decls->decl[i].kind == SN_DECL_FABRIC)
			rc = connect(b, &decls->decl[i], first[i], first[i + 1] - first[i]);
	}
	free(first);
	return rc ? rc : set_depths(b);
}

/*
 * What BlockSizes=base,size,… of topology/block says about blocks: the base is
 * the size of one (which here is counted), and each larger size an aggregate of
 * size / base blocks, which here is a fabric of so many.
 */
#define SIZES_MAX 16

/* The sizes, or 0 if they are not base·k1, base·k1·k2, … */
static size_t read_sizes(const char *text, uint64_t *size)
{
	size_t n = 0;

	while (n < SIZES_MAX) {
		char digits[24];
		size_t len = strcspn(text, ",");

		if (len >= sizeof(digits))
			return 0;
		memcpy(digits, text, len);
		digits[len] = '\0';
		if (sn_parse_uint(digits, 1, SN_TOPO_NODES_MAX, &size[n], NULL) ||
		    (n && (size[n] <= size[n - 1] || size[n] % size[n - 1])))
			return 0;
		n++;
		text += len;
		if (!*text++)
			return n;
	}
	return 0;
}

/* The lines for one level: members, count of them, are grouped by each. What
 * does not fill a group is a group of its own. */
static void add_level(struct sn_buf *text, const char *name, const char *key,
		      const char *whole, const char *rest, uint64_t each,
		      uint64_t n_whole)
{
	if (n_whole)
		sn_buf_add(text, " FabricName=%s[1-%" PRIu64 "] %s=%s MembersPerFabric=%" PRIu64 " ;",
			   name, n_whole, key, whole, each);
	if (*rest)
		sn_buf_add(text, " FabricName=%s%" PRIu64 " %s=%s ;", name,
			   n_whole + 1, key, rest);
}

/* The lines for the first level, over supernodes, and for the others, over the
 * fabrics of the level below. */
static int add_levels(struct sn_build *b, const uint64_t *size, size_t n_sizes,
		      struct sn_buf *text)
{
	const struct sn_topo *topo = b->topo;
	uint64_t each = size[1] / size[0], n = topo->n_supernodes, n_whole = n / each;
	const char **name = calloc(n, sizeof(*name));
	char fabric[32], below[32], whole[64], rest[64];
	char *first = NULL, *last = NULL;
	size_t i;

	if (!name)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		name[i] = topo->supernode[i].name;
	first = sn_hostlist_compress(name, n_whole * each);
	last = sn_hostlist_compress(name + n_whole * each, n - n_whole * each);
	free(name);
	snprintf(fabric, sizeof(fabric), "fabric%" PRIu64 "-", size[1]);
	if (first && last)
		add_level(text, fabric, "Supernodes", first, last, each, n_whole);
	else
		text->failed = true;
	free(first);
	free(last);
	n = n_whole + (n % each != 0);
	for (i = 2; i < n_sizes; i++) {
		memcpy(below, fabric, sizeof(below));
		each = size[i] / size[i - 1];
		n_whole = n / each;
		snprintf(whole, sizeof(whole), "%s[1-%" PRIu64 "]", below, n_whole * each);
		rest[0] = '\0';
		if (n % each == 1)
			snprintf(rest, sizeof(rest), "%s%" PRIu64, below, n);
		else if (n % each)
			snprintf(rest, sizeof(rest), "%s[%" PRIu64 "-%" PRIu64 "]", below,
				 n_whole * each + 1, n);
		snprintf(fabric, sizeof(fabric), "fabric%" PRIu64 "-", size[i]);
		add_level(text, fabric, "Fabrics", whole, rest, each, n_whole);
		n = n_whole + (n % each != 0);
	}
	return text->failed ? -ENOMEM : 0;
}

int sn_build_explain_block_sizes(struct sn_build *b, const struct sn_decl *d)
{
	struct sn_buf text = { .text = NULL };
	uint64_t size[SIZES_MAX];
	size_t n = read_sizes(d->names, size);
	char clip[CLIP], value[CLIP];
	int rc = -EINVAL;

	sn_text_clip(d->names, value, sizeof(value));
	if (!n || (n > 1 && !b->topo->n_supernodes)) {
		sn_err_set(b->err, rc, "this is topology/block's; write FabricName=NAMES Supernodes=BLOCKS MembersPerFabric=N for a size of N blocks, and nothing for the size of one block");
	} else if (n == 1) {
		sn_err_set(b->err, rc, "this is topology/block's; leave the line out: the size of a supernode is the number of its nodes");
	} else {
		rc = add_levels(b, size, n, &text);
		if (!rc) {
			rc = -EINVAL;
			text.text[text.len - 2] = '\0';
			sn_err_set(b->err, rc, "this is topology/block's; write in its place%s%s",
				   n > 2 || strchr(text.text, ';') ? " the lines" : "", text.text);
		} else {
			no_memory(b->err);
		}
		sn_buf_done(&text);
	}
	if (rc == -ENOMEM)
		return rc;
	return sn_err_prefix(b->err, rc, "%s:%u: BlockSizes=%s: ",
			     sn_text_clip(d->file, clip, sizeof(clip)),
			     d->line[SN_KEY_BLOCK_NAME], value);
}
