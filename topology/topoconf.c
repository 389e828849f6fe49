/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topoconf.c - the text of a topology.conf, read into declarations.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/topobuild.h"

#define CLIP 64
#define ON_ALL (SN_ON_SUPERNODE | SN_ON_UNIT | SN_ON_FABRIC)

/* A field of struct sn_decl and the range of its value. */
#define TEXT(field) SN_OPT_TEXT, .offset = offsetof(struct sn_decl, field)
#define UINT(field, least) SN_OPT_UINT, .offset = offsetof(struct sn_decl, field), \
	.min = (least), .max = SN_TOPO_NODES_MAX
#define SOME(type, field) SN_OPT_##type, .offset = offsetof(struct sn_decl, field), \
	.min = 1, .max = SN_SIZE_MAX

const struct sn_option sn_topo_option[SN_KEYS] = {
	[SN_KEY_SUPERNODE_NAME] = { "SupernodeName", TEXT(names), .on = SN_ON_SUPERNODE,
		.help = "Declares supernodes: a name or a hostlist of names. Begins the line." },
	[SN_KEY_BLOCK_NAME] = { "BlockName", TEXT(names), .on = SN_ON_SUPERNODE,
		.help = "The same, as topology/block writes it." },
	[SN_KEY_UNIT_NAME] = { "UnitName", TEXT(names), .on = SN_ON_UNIT,
		.help = "Declares units (boards, cabinets), each inside one supernode. Begins the line." },
	[SN_KEY_FABRIC_NAME] = { "FabricName", TEXT(names), .on = SN_ON_FABRIC,
		.help = "Declares fabrics (pods, spines) over supernodes or other fabrics. Begins the line." },
	[SN_KEY_NODES] = { "Nodes", TEXT(nodes), .on = SN_ON_SUPERNODE | SN_ON_UNIT,
		.help = "The nodes, in the order in which they are filled. Several names share them in order." },
	[SN_KEY_SUPERNODES] = { "Supernodes", TEXT(supernodes), .on = SN_ON_FABRIC,
		.help = "The supernodes that are members of the fabric. Several names share them in order." },
	[SN_KEY_FABRICS] = { "Fabrics", TEXT(fabrics), .on = SN_ON_FABRIC,
		.help = "The fabrics that are members of the fabric. Several names share them in order." },
	[SN_KEY_NODES_PER_SUPERNODE] = { "NodesPerSupernode", UINT(per, 1), .on = SN_ON_SUPERNODE,
		.help = "How many of the nodes each name takes. Without it, all the same." },
	[SN_KEY_NODES_PER_UNIT] = { "NodesPerUnit", UINT(per, 1), .on = SN_ON_UNIT,
		.help = "How many of the nodes each name takes. Without it, all the same." },
	[SN_KEY_MEMBERS_PER_FABRIC] = { "MembersPerFabric", UINT(per, 1), .on = SN_ON_FABRIC,
		.help = "How many of the members each name takes. Without it, all the same." },
	[SN_KEY_SPARE_NODES] = { "SpareNodes", UINT(spare_nodes, 0), .on = SN_ON_SUPERNODE, .dflt = "0",
		.help = "How many healthy, wholly free nodes of each supernode are held back to replace others." },
	[SN_KEY_SHAPE] = { "Shape", SN_OPT_WORD, .offset = offsetof(struct sn_decl, shape),
		.words = "full|fattree|mesh|torus", .on = SN_ON_SUPERNODE, .dflt = "full",
		.help = "How the cards of each supernode are linked." },
	[SN_KEY_POOL_MEMORY] = { "PoolMemory", SOME(SIZE, pool_memory), .on = SN_ON_SUPERNODE,
		.help = "The pooled memory of each supernode, in bytes. Without it, the supernode has no pool." },
	[SN_KEY_POOL_BANDWIDTH] = { "PoolBandwidth", SOME(SIZE, pool_bandwidth), .on = SN_ON_SUPERNODE,
		.help = "The bandwidth of each supernode's pool, in bytes a second. Without it, it is not accounted." },
	[SN_KEY_POWER_LIMIT] = { "PowerLimit", SOME(POWER, power_limit), .on = SN_ON_SUPERNODE,
		.help = "What each supernode may draw. Without it, there is no limit." },
	[SN_KEY_CARD_BANDWIDTH] = { "CardBandwidth", SOME(SIZE, card_bandwidth), .on = ON_ALL,
		.help = "What one card can send inside the domain, in bytes a second." },
	[SN_KEY_CARD_LATENCY] = { "CardLatency", SOME(LATENCY, card_latency), .on = ON_ALL,
		.help = "The latency between two cards inside the domain." },
};

/* What a line is by its first key. */
static const struct {
	enum sn_decl_kind kind;
	uint32_t on;
} name_key[] = {
	[SN_KEY_SUPERNODE_NAME] = { SN_DECL_SUPERNODE, SN_ON_SUPERNODE },
	[SN_KEY_BLOCK_NAME] = { SN_DECL_SUPERNODE, SN_ON_SUPERNODE },
	[SN_KEY_UNIT_NAME] = { SN_DECL_UNIT, SN_ON_UNIT },
	[SN_KEY_FABRIC_NAME] = { SN_DECL_FABRIC, SN_ON_FABRIC },
};

const struct sn_option *sn_topo_options(size_t *ret_n)
{
	*ret_n = SN_KEYS;
	return sn_topo_option;
}

int sn_decl_at(struct sn_err *err, int code, const struct sn_decl *d,
	       enum sn_key key)
{
	const char *value = *(char *const *)((const char *)d + sn_topo_option[key].offset);
	char clip[CLIP];

	return sn_err_prefix(err, code, "%s:%u: %s=%s: ", d->file, d->line[key],
			     sn_topo_option[key].name,
			     sn_text_clip(value, clip, sizeof(clip)));
}

static void decl_done(struct sn_decl *d)
{
	free(d->file);
	free(d->names);
	free(d->nodes);
	free(d->supernodes);
	free(d->fabrics);
}

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "out of memory");
}

/* A zeroed declaration at the end of the list. */
static struct sn_decl *add_decl(struct sn_decls *decls, const char *file)
{
	struct sn_decl *d;

	if (decls->n == decls->size) {
		size_t size = decls->size ? decls->size * 2 : 16;

		d = realloc(decls->decl, size * sizeof(*d));
		if (!d)
			return NULL;
		decls->decl = d;
		decls->size = size;
	}
	d = &decls->decl[decls->n];
	memset(d, 0, sizeof(*d));
	d->file = strdup(file);
	if (!d->file)
		return NULL;
	decls->n++;
	return d;
}

/* The value of a key of the line, or "". */
static const char *value_of(const struct sn_conf_line *line, const char *key)
{
	size_t i;

	for (i = 0; i < line->n; i++) {
		if (strcasecmp(line->pair[i].key, key) == 0)
			return line->pair[i].value;
	}
	return "";
}

/* Sites that come from topology/tree: a switch over nodes may or may not be a
 * scale-up domain, which only the site knows. */
static int explain_switch(const struct sn_conf_line *line, struct sn_err *err)
{
	char name[CLIP], nodes[CLIP], switches[CLIP];

	sn_text_clip(line->pair[0].value, name, sizeof(name));
	sn_text_clip(value_of(line, "Nodes"), nodes, sizeof(nodes));
	sn_text_clip(value_of(line, "Switches"), switches, sizeof(switches));
	if (*switches)
		sn_err_set(err, -EINVAL, "this is topology/tree's; a switch over supernodes is a fabric: write FabricName=%s Supernodes=%s, or Fabrics=%s where these are fabrics themselves",
			   name, switches, switches);
	else
		sn_err_set(err, -EINVAL, "this is topology/tree's; if these nodes are one scale-up domain write SupernodeName=%s Nodes=%s, else leave the line out; a switch over supernodes is FabricName=%s Supernodes=...",
			   name, *nodes ? nodes : "...", name);
	return sn_conf_at(err, -EINVAL, line, &line->pair[0]);
}

/* Kept until the supernodes are known, since the sentence names them. */
static int keep_block_sizes(struct sn_decls *decls,
			    const struct sn_conf_line *line, struct sn_err *err)
{
	struct sn_decl *d = add_decl(decls, line->file);

	if (!d)
		return no_memory(err);
	d->kind = SN_DECL_BLOCK_SIZES;
	d->line[SN_KEY_BLOCK_NAME] = line->pair[0].line;
	d->names = strdup(line->pair[0].value);
	return d->names ? 0 : no_memory(err);
}

static int unknown_first(const struct sn_conf_line *line, size_t key,
			 struct sn_err *err)
{
	static const char *const first[] = {
		"SupernodeName", "UnitName", "FabricName", "BlockName",
	};
	const char *near = sn_text_nearest(line->pair[0].key, first, 4);

	if (key < SN_KEYS)
		sn_err_set(err, -EINVAL, "a line must begin with SupernodeName=, UnitName= or FabricName=; %s comes after it",
			   sn_topo_option[key].name);
	else if (near)
		sn_err_set(err, -EINVAL, "a line cannot begin with this key; did you mean %s?", near);
	else
		sn_err_set(err, -EINVAL, "a line cannot begin with this key; lines begin with SupernodeName=, UnitName=, FabricName= or Include");
	return sn_conf_at(err, -EINVAL, line, &line->pair[0]);
}

/* What every line of a kind must have. */
static int check_complete(const struct sn_decl *d, struct sn_err *err)
{
	int rc = 0;

	if (d->kind == SN_DECL_FABRIC) {
		if (!d->supernodes && !d->fabrics)
			rc = sn_err_set(err, -EINVAL, "the fabric has no members; add Supernodes= or Fabrics=");
	} else if (!d->nodes) {
		rc = sn_err_set(err, -EINVAL, "there are no nodes; add Nodes=");
	}
	return rc ? sn_decl_at(err, rc, d, d->name_key) : 0;
}

/* An sn_conf_line_fn: one line into one declaration. */
static int read_line(void *arg, const struct sn_conf_line *line,
		     struct sn_err *err)
{
	struct sn_decls *decls = arg;
	size_t first = sn_option_find(sn_topo_option, SN_KEYS, line->pair[0].key);
	struct sn_decl *d;
	size_t i, key;
	uint32_t on;
	int rc;

	if (strcasecmp(line->pair[0].key, "SwitchName") == 0)
		return explain_switch(line, err);
	if (strcasecmp(line->pair[0].key, "BlockSizes") == 0)
		return keep_block_sizes(decls, line, err);
	if (first >= sizeof(name_key) / sizeof(name_key[0]))
		return unknown_first(line, first, err);
	d = add_decl(decls, line->file);
	if (!d)
		return no_memory(err);
	d->kind = name_key[first].kind;
	d->name_key = (enum sn_key)first;
	on = name_key[first].on;
	rc = sn_options_init(sn_topo_option, SN_KEYS, d, err);
	for (i = 0; !rc && i < line->n; i++) {
		const struct sn_conf_pair *pair = &line->pair[i];

		key = sn_option_find(sn_topo_option, SN_KEYS, pair->key);
		if (key == SN_KEYS || !(sn_topo_option[key].on & on))
			rc = sn_option_unknown(sn_topo_option, SN_KEYS, on,
					       sn_topo_option[first].name, pair->key, err);
		else if (d->line[key])
			rc = sn_err_set(err, -EINVAL, "the key is on this line already; write it once");
		else if (i && key < sizeof(name_key) / sizeof(name_key[0]))
			rc = sn_err_set(err, -EINVAL, "the line has begun with %s=; write a line for each",
					sn_topo_option[first].name);
		else
			rc = sn_option_set(&sn_topo_option[key], pair->value, d, err);
		if (rc)
			return sn_conf_at(err, rc, line, pair);
		d->line[key] = pair->line;
	}
	return rc ? rc : check_complete(d, err);
}

static void build_done(struct sn_build *b)
{
	free(b->decl_of_supernode);
	free(b->decl_of_unit);
	free(b->decl_of_fabric);
	sn_topo_destroy(b->topo);
}

static int build(struct sn_build *b, const char *file)
{
	size_t i;
	int rc;

	b->topo = sn_topo_create();
	if (!b->topo)
		return no_memory(b->err);
	rc = sn_build_supernodes(b);
	if (rc)
		return rc;
	for (i = 0; i < b->decls->n; i++) {
		if (b->decls->decl[i].kind == SN_DECL_BLOCK_SIZES)
			return sn_build_explain_block_sizes(b, &b->decls->decl[i]);
	}
	rc = sn_build_units(b);
	if (!rc)
		rc = sn_build_fabrics(b);
	if (!rc && !b->topo->n_supernodes)
		rc = sn_err_set(b->err, -EINVAL, "%s: no supernode is declared; a first line could be: SupernodeName=sn[01-04] Nodes=n[001-032] NodesPerSupernode=8",
				file);
	return rc;
}

/* How to read the rest, past supernode.conf. */
struct rest {
	sn_topo_read_fn read;
	void *ctx;
};

/*
 * Slurm's configless mode sends its own files and what they include, so a site
 * includes supernode.conf here to have it sent. It has other keys, and is read
 * apart.
 */
static int read_rest(void *ctx, const char *path, const char *from,
		     char **ret_text, size_t *ret_len, struct sn_err *err)
{
	const struct rest *rest = ctx;
	const char *slash = strrchr(path, '/');

	if (strcmp(slash ? slash + 1 : path, "supernode.conf"))
		return rest->read(rest->ctx, path, from, ret_text, ret_len, err);
	*ret_text = strdup("");
	*ret_len = 0;
	return *ret_text ? 0 : sn_err_set(err, -ENOMEM, "out of memory");
}

int sn_topo_parse(const char *text, size_t len, const char *file,
		  sn_topo_read_fn read, void *ctx, struct sn_topo **ret,
		  struct sn_err *err)
{
	struct sn_decls decls = { .decl = NULL };
	struct sn_build b = { .decls = &decls, .err = err };
	struct rest rest = { .read = read, .ctx = ctx };
	size_t i;
	int rc;

	rc = sn_conf_parse(text, len, file, read ? read_rest : NULL, &rest,
			   read_line, &decls, err);
	if (!rc)
		rc = build(&b, file);
	if (!rc) {
		*ret = b.topo;
		b.topo = NULL;
	}
	build_done(&b);
	for (i = 0; i < decls.n; i++)
		decl_done(&decls.decl[i]);
	free(decls.decl);
	return rc;
}
