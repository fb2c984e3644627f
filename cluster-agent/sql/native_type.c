/*
 * Types nest by parentheses: Map(LowCardinality(String), Array(UInt8)). Types that are stored like
 * others become those: a Map is an array of tuples, a Point a tuple of numbers, an Enum a number.
 * So six kinds of nodes are enough. Sizes are those of ClickHouse's documentation of its types.
 */
#include "cluster-agent/sql/native_type.h"

#include <ctype.h>
#include <errno.h>

#define MAX_FIXED_BYTES (16u << 20) /* ClickHouse's limit for FixedString */

struct parser {
	const char *pos;
	const char *end;
	struct native_type *type;
	unsigned depth;
};

struct word {
	const char *start;
	size_t len;
};

static const struct {
	const char *name;
	uint32_t width;
} fixed_types[] = {
	{"Bool", 1},      {"Int8", 1},      {"Int16", 2},       {"Int32", 4},
	{"Int64", 8},     {"Int128", 16},   {"Int256", 32},     {"UInt8", 1},
	{"UInt16", 2},    {"UInt32", 4},    {"UInt64", 8},      {"UInt128", 16},
	{"UInt256", 32},  {"BFloat16", 2},  {"Float32", 4},     {"Float64", 8},
	{"Date", 2},      {"Date32", 4},    {"DateTime", 4},    {"DateTime64", 8},
	{"Time", 4},      {"Time64", 8},    {"Enum8", 1},       {"Enum16", 2},
	{"Decimal32", 4}, {"Decimal64", 8}, {"Decimal128", 16}, {"Decimal256", 32},
	{"UUID", 16},     {"IPv4", 4},      {"IPv6", 16},       {"Nothing", 1},
};

/* Shapes of the plane are named for what they are made of. */
static const struct {
	const char *name;
	unsigned dimensions; /* arrays around Tuple(Float64, Float64) */
} shapes[] = {
	{"Point", 0},           {"Ring", 1},    {"LineString", 1},
	{"MultiLineString", 2}, {"Polygon", 2}, {"MultiPolygon", 3},
};

static bool is(struct word w, const char *name)
{
	return w.len == strlen(name) && memcmp(w.start, name, w.len) == 0;
}

static int new_node(struct parser *p, enum native_kind kind, uint32_t width, uint16_t *ret)
{
	struct native_type *t = p->type;

	if (t->n_nodes == NATIVE_TYPE_MAX_NODES)
		return -EOPNOTSUPP;
	*ret = (uint16_t)t->n_nodes++;
	t->nodes[*ret] = (struct native_node){.kind = kind, .width = width};
	return 0;
}

static bool take(struct parser *p, char c)
{
	if (p->pos == p->end || *p->pos != c)
		return false;
	p->pos++;
	return true;
}

static void skip_spaces(struct parser *p)
{
	while (take(p, ' '))
		;
}

/* The text in quotes at p; in it a backslash takes the next character, and quotes are doubled. */
static int skip_quoted(struct parser *p)
{
	char quote = *p->pos++;

	while (p->pos < p->end) {
		char c = *p->pos++;

		if (c == quote)
			return 0;
		if (c == '\\' && p->pos < p->end)
			p->pos++;
	}
	return -EOPNOTSUPP;
}

/* Up to the parenthesis or comma that ends an argument. */
static int skip_argument(struct parser *p)
{
	unsigned open = 0;

	while (p->pos < p->end) {
		char c = *p->pos;

		if (open == 0 && (c == ')' || c == ','))
			return 0;
		if (c == '\'' || c == '`' || c == '"') {
			if (skip_quoted(p) < 0)
				return -EOPNOTSUPP;
			continue;
		}
		open += c == '(';
		open -= c == ')';
		p->pos++;
	}
	return -EOPNOTSUPP;
}

/* The rest of the arguments; the parenthesis before them has been taken. */
static int skip_arguments(struct parser *p)
{
	do {
		if (skip_argument(p) < 0)
			return -EOPNOTSUPP;
	} while (take(p, ','));
	return take(p, ')') ? 0 : -EOPNOTSUPP;
}

static struct word take_word(struct parser *p)
{
	struct word w = {.start = p->pos};

	while (p->pos < p->end && (isalnum((unsigned char)*p->pos) || *p->pos == '_'))
		p->pos++;
	w.len = (size_t)(p->pos - w.start);
	return w;
}

static int take_number(struct parser *p, uint32_t max, uint32_t *ret)
{
	struct word w;
	uint32_t n = 0;

	skip_spaces(p);
	w = take_word(p);
	for (size_t i = 0; i < w.len; i++) {
		if (!isdigit((unsigned char)w.start[i]) || n > max)
			return -EOPNOTSUPP;
		n = n * 10 + (uint32_t)(w.start[i] - '0');
	}
	*ret = n;
	return w.len > 0 && n > 0 && n <= max ? 0 : -EOPNOTSUPP;
}

static int parse_type(struct parser *p, uint16_t *ret);

/* One child, which is all that is between the parentheses. */
static int parse_wrapper(struct parser *p, enum native_kind kind, uint16_t *ret)
{
	uint16_t child;
	int r = new_node(p, kind, 0, ret);

	if (r < 0 || !take(p, '('))
		return -EOPNOTSUPP;
	r = parse_type(p, &child);
	if (r < 0 || !take(p, ')'))
		return -EOPNOTSUPP;
	p->type->nodes[*ret].child = child;
	return 0;
}

/* "UInt8", "name UInt8", "`any name` UInt8" */
static int parse_element(struct parser *p, uint16_t *ret)
{
	const char *start;

	skip_spaces(p);
	start = p->pos;
	if (p->pos < p->end && (*p->pos == '`' || *p->pos == '"')) {
		if (skip_quoted(p) < 0)
			return -EOPNOTSUPP;
		skip_spaces(p);
		return parse_type(p, ret);
	}
	take_word(p);
	if (p->pos == p->end || *p->pos != ' ')
		p->pos = start;
	skip_spaces(p);
	return parse_type(p, ret);
}

static int parse_elements(struct parser *p, uint16_t tuple)
{
	uint16_t last = 0, element;

	if (!take(p, '('))
		return -EOPNOTSUPP;
	if (take(p, ')'))
		return 0;
	do {
		if (parse_element(p, &element) < 0)
			return -EOPNOTSUPP;
		if (last)
			p->type->nodes[last].next = element;
		else
			p->type->nodes[tuple].child = element;
		last = element;
	} while (take(p, ','));
	return take(p, ')') ? 0 : -EOPNOTSUPP;
}

/* Tuple, or an array of tuples: Map, Nested. */
static int parse_tuple(struct parser *p, bool is_array, uint16_t *ret)
{
	uint16_t array = 0, tuple;

	if (is_array && new_node(p, NATIVE_ARRAY, 0, &array) < 0)
		return -EOPNOTSUPP;
	if (new_node(p, NATIVE_TUPLE, 0, &tuple) < 0 || parse_elements(p, tuple) < 0)
		return -EOPNOTSUPP;
	if (is_array)
		p->type->nodes[array].child = tuple;
	*ret = is_array ? array : tuple;
	return 0;
}

static int add_shape(struct parser *p, unsigned dimensions, uint16_t *ret)
{
	uint16_t node, x, y, parent = 0;

	for (unsigned i = 0; i <= dimensions; i++) {
		enum native_kind kind = i < dimensions ? NATIVE_ARRAY : NATIVE_TUPLE;

		if (new_node(p, kind, 0, &node) < 0)
			return -EOPNOTSUPP;
		if (i == 0)
			*ret = node;
		else
			p->type->nodes[parent].child = node;
		parent = node;
	}
	if (new_node(p, NATIVE_FIXED, 8, &x) < 0 || new_node(p, NATIVE_FIXED, 8, &y) < 0)
		return -EOPNOTSUPP;
	p->type->nodes[node].child = x;
	p->type->nodes[x].next = y;
	return 0;
}

/* FixedString(N) and Decimal(P, S) */
static int parse_sized(struct parser *p, bool is_decimal, uint16_t *ret)
{
	uint32_t n;

	if (!take(p, '(') || take_number(p, is_decimal ? 76 : MAX_FIXED_BYTES, &n) < 0 ||
	    skip_arguments(p) < 0)
		return -EOPNOTSUPP;
	if (is_decimal)
		n = n <= 9 ? 4 : n <= 18 ? 8 : n <= 38 ? 16 : 32;
	return new_node(p, NATIVE_FIXED, n, ret);
}

/* SimpleAggregateFunction(f, T): stored as T. */
static int parse_simple_aggregate(struct parser *p, uint16_t *ret)
{
	if (!take(p, '(') || skip_argument(p) < 0 || !take(p, ','))
		return -EOPNOTSUPP;
	skip_spaces(p);
	return parse_type(p, ret) == 0 && skip_arguments(p) == 0 ? 0 : -EOPNOTSUPP;
}

static int parse_fixed(struct parser *p, struct word name, uint16_t *ret)
{
	uint32_t width = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fixed_types); i++) {
		if (is(name, fixed_types[i].name))
			width = fixed_types[i].width;
	}
	if (name.len > 8 && memcmp(name.start, "Interval", 8) == 0)
		width = 8;
	/* a time zone, a scale, the values of an Enum */
	if (width == 0 || (take(p, '(') && skip_arguments(p) < 0))
		return -EOPNOTSUPP;
	return new_node(p, NATIVE_FIXED, width, ret);
}

static int parse_named(struct parser *p, struct word name, uint16_t *ret)
{
	if (is(name, "String"))
		return new_node(p, NATIVE_STRING, 0, ret);
	if (is(name, "Array"))
		return parse_wrapper(p, NATIVE_ARRAY, ret);
	if (is(name, "Nullable"))
		return parse_wrapper(p, NATIVE_NULLABLE, ret);
	if (is(name, "LowCardinality"))
		return parse_wrapper(p, NATIVE_LOW_CARDINALITY, ret);
	if (is(name, "Tuple"))
		return parse_tuple(p, false, ret);
	if (is(name, "Map") || is(name, "Nested"))
		return parse_tuple(p, true, ret);
	if (is(name, "FixedString"))
		return parse_sized(p, false, ret);
	if (is(name, "Decimal"))
		return parse_sized(p, true, ret);
	if (is(name, "SimpleAggregateFunction"))
		return parse_simple_aggregate(p, ret);
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (is(name, shapes[i].name))
			return add_shape(p, shapes[i].dimensions, ret);
	}
	return parse_fixed(p, name, ret);
}

static int parse_type(struct parser *p, uint16_t *ret)
{
	struct word name = take_word(p);
	int r;

	if (name.len == 0 || p->depth == NATIVE_TYPE_MAX_DEPTH)
		return -EOPNOTSUPP;
	p->depth++;
	r = parse_named(p, name, ret);
	p->depth--;
	return r;
}

/* The dictionary holds plain values; for Nullable(T) its values are of T. */
static int simplify_dictionaries(struct native_type *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		struct native_node *node = &t->nodes[i];

		if (node->kind != NATIVE_LOW_CARDINALITY)
			continue;
		if (t->nodes[node->child].kind == NATIVE_NULLABLE)
			node->child = t->nodes[node->child].child;
		if (t->nodes[node->child].kind != NATIVE_FIXED &&
		    t->nodes[node->child].kind != NATIVE_STRING)
			return -EOPNOTSUPP;
	}
	return 0;
}

int native_type_parse(struct native_type *ret, const char *name, size_t len)
{
	struct parser p = {.pos = name, .end = name + len, .type = ret};
	uint16_t root;

	ret->n_nodes = 0;
	if (parse_type(&p, &root) < 0 || p.pos != p.end)
		return -EOPNOTSUPP;
	return simplify_dictionaries(ret);
}
