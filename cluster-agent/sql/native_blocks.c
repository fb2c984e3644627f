/*
 * Format of revision 0: per block the number of columns and of rows (varints), then per column its
 * name, its type, and unless there are no rows its data. The data begins with what the type's
 * dictionaries have to say (prefix), outermost first, and goes on with the values.
 *
 * Everything is copied as it is, up to where something must be inserted. Each row costs at least a
 * byte wherever rows are counted, so no count can make this work longer than the data is.
 */
#include "cluster-agent/sql/native_blocks.h"

#include <endian.h>
#include <errno.h>

#include "cluster-agent/sql/native_type.h"

/* flags of a dictionary's index, above the index's type */
#define DICTIONARY_IS_GLOBAL (1u << 8)
#define DICTIONARY_HAS_KEYS (1u << 9)
#define DICTIONARY_VERSION 1u

struct encoder {
	const uint8_t *pos;
	const uint8_t *end;
	const uint8_t *copied; /* what is before has been appended to out */
	struct buf *out;
	struct native_type type; /* of the current column */
};

static uint64_t left(const struct encoder *e)
{
	return (uint64_t)(e->end - e->pos);
}

static int skip(struct encoder *e, uint64_t n)
{
	if (n > left(e))
		return -EBADMSG;
	e->pos += n;
	return 0;
}

static int skip_items(struct encoder *e, uint64_t n, uint64_t width)
{
	if (n > left(e) / width)
		return -EBADMSG;
	e->pos += n * width;
	return 0;
}

static int get_varint(struct encoder *e, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 63; shift += 7) {
		if (e->pos == e->end)
			return -EBADMSG;
		*ret |= (uint64_t)(*e->pos & 0x7f) << shift;
		if (*e->pos++ < 0x80)
			return 0;
	}
	return -EBADMSG;
}

static int get64(struct encoder *e, uint64_t *ret)
{
	if (left(e) < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, e->pos, sizeof(*ret));
	*ret = le64toh(*ret);
	e->pos += sizeof(*ret);
	return 0;
}

static int get_string(struct encoder *e, const char **ret, size_t *ret_len)
{
	uint64_t n;

	if (get_varint(e, &n) < 0 || n > left(e))
		return -EBADMSG;
	*ret = (const char *)e->pos;
	*ret_len = (size_t)n;
	e->pos += n;
	return 0;
}

static int skip_strings(struct encoder *e, uint64_t n)
{
	uint64_t len;

	while (n-- > 0) {
		if (get_varint(e, &len) < 0 || skip(e, len) < 0)
			return -EBADMSG;
	}
	return 0;
}

/* ---- columns: recursion is bounded by NATIVE_TYPE_MAX_DEPTH ---- */

static int skip_prefix(struct encoder *e, const struct native_node *node)
{
	const struct native_node *nodes = e->type.nodes;
	uint64_t version;

	if (node->kind == NATIVE_LOW_CARDINALITY)
		return get64(e, &version) == 0 && version == DICTIONARY_VERSION ? 0 : -EBADMSG;
	for (unsigned c = node->child; c; c = nodes[c].next) {
		if (skip_prefix(e, &nodes[c]) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int skip_column(struct encoder *e, const struct native_node *node, uint64_t n);

/* Rows are told by where each ends; the last end is the number of items. */
static int skip_array(struct encoder *e, const struct native_node *item, uint64_t n)
{
	uint64_t n_items = 0;

	if (n == 0)
		return 0;
	if (skip_items(e, n - 1, sizeof(uint64_t)) < 0 || get64(e, &n_items) < 0)
		return -EBADMSG;
	return skip_column(e, item, n_items);
}

static int skip_low_cardinality(struct encoder *e, const struct native_node *key, uint64_t n)
{
	uint64_t flags, n_keys, n_rows;

	if (n == 0)
		return 0;
	if (get64(e, &flags) < 0 || flags & DICTIONARY_IS_GLOBAL || (flags & 0xff) > 3)
		return -EBADMSG;
	if (flags & DICTIONARY_HAS_KEYS &&
	    (get64(e, &n_keys) < 0 || skip_column(e, key, n_keys) < 0))
		return -EBADMSG;
	if (get64(e, &n_rows) < 0 || n_rows != n)
		return -EBADMSG;
	return skip_items(e, n, UINT64_C(1) << (flags & 0xff));
}

static int skip_tuple(struct encoder *e, const struct native_node *tuple, uint64_t n)
{
	const struct native_node *nodes = e->type.nodes;

	if (!tuple->child)
		return skip(e, n);
	for (unsigned c = tuple->child; c; c = nodes[c].next) {
		if (skip_column(e, &nodes[c], n) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int skip_column(struct encoder *e, const struct native_node *node, uint64_t n)
{
	const struct native_node *child = &e->type.nodes[node->child];

	switch (node->kind) {
	case NATIVE_FIXED:
		return skip_items(e, n, node->width);
	case NATIVE_STRING:
		return skip_strings(e, n);
	case NATIVE_ARRAY:
		return skip_array(e, child, n);
	case NATIVE_NULLABLE:
		return skip(e, n) < 0 ? -EBADMSG : skip_column(e, child, n);
	case NATIVE_TUPLE:
		return skip_tuple(e, node, n);
	case NATIVE_LOW_CARDINALITY:
		return skip_low_cardinality(e, child, n);
	}
	return -EBADMSG;
}

/* ---- blocks ---- */

/* Appends what has been passed, and then the bytes. */
static int insert(struct encoder *e, const void *bytes, size_t n)
{
	int r = buf_add(e->out, e->copied, (size_t)(e->pos - e->copied));

	e->copied = e->pos;
	return r < 0 ? r : buf_add(e->out, bytes, n);
}

static int encode_column(struct encoder *e, uint64_t n_rows, bool has_serialization,
			 struct err *err)
{
	static const uint8_t usual[] = {0};
	const char *name, *type;
	size_t name_len, type_len;
	int r = 0;

	if (get_string(e, &name, &name_len) < 0 || get_string(e, &type, &type_len) < 0)
		return -EBADMSG;
	if (has_serialization)
		r = insert(e, usual, sizeof(usual));
	if (r < 0 || n_rows == 0)
		return r;
	if (native_type_parse(&e->type, type, type_len) < 0)
		return err_set(err, -EOPNOTSUPP,
			       "The column %.*s of type %.*s cannot be sent in the format Native "
			       "with client_protocol_version: cast it, or use another FORMAT",
			       (int)(name_len < 64 ? name_len : 64), name,
			       (int)(type_len < 64 ? type_len : 64), type);
	if (skip_prefix(e, e->type.nodes) < 0)
		return -EBADMSG;
	return skip_column(e, e->type.nodes, n_rows);
}

static int encode_block(struct encoder *e, bool has_serialization, struct err *err)
{
	/* field 1: no totals row that overflows; field 2: bucket -1, none; end */
	static const uint8_t info[] = {1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0};
	uint64_t n_columns, n_rows;
	int r = insert(e, info, sizeof(info));

	if (r < 0)
		return r;
	if (get_varint(e, &n_columns) < 0 || get_varint(e, &n_rows) < 0)
		return -EBADMSG;
	while (n_columns-- > 0 && r == 0)
		r = encode_column(e, n_rows, has_serialization, err);
	return r;
}

int native_blocks_encode(const void *data, size_t len, uint64_t revision, struct buf *out,
			 struct err *err)
{
	struct encoder e = {.pos = data, .copied = data, .out = out};
	int r = 0;

	if (len == 0) /* data may be NULL then */
		return 0;
	e.end = e.pos + len;
	while (e.pos < e.end && r == 0)
		r = encode_block(&e, revision >= NATIVE_REVISION_SERIALIZATION, err);
	if (r == 0)
		r = insert(&e, "", 0);
	if (r == -EBADMSG)
		err_set(err, r, "The engine's answer in the format Native cannot be read");
	return r;
}
