#include "node-agent/interpreter/ruby/ruby_object.h"

#include <errno.h>

#include "common/text/utf8.h"

#define TYPE_CLASS 2u
#define TYPE_MODULE 3u
#define TYPE_STRING 5u
#define TYPE_ARRAY 7u
#define TYPE_INCLUDED 0x1cu          /* T_ICLASS: stands for a module in a class that includes it */
#define FLAG_FAR (UINT64_C(1) << 13) /* RSTRING_NOEMBED */
#define FLAG_HERE (UINT64_C(1) << 13) /* RARRAY_EMBED_FLAG */
#define STRING_LENGTH_SHIFT 14u
#define STRING_LENGTH_MASK 0x1fu

/* RClass */
#define CLASS_OF 8u
#define CLASS_WORDS 5u        /* up to its superclass */
#define CLASS_POINTER 24u     /* RUBY_CLASS_VARIABLES: of its fields */
#define FIELDS_VARIABLES 8u   /* in these: rb_classext_struct.iv_tbl */
#define CLASS_VALUES 32u      /* RUBY_CLASS_SHAPES: rb_classext_struct.iv_ptr */
#define CLASS_SHAPE_SHIFT 32u /* in its first word */
#define CLASSES_MAX 8u        /* that are gone through */
/* st_table */
#define TABLE_WORDS 7u
#define TABLE_START 4u /* a word */
#define TABLE_BOUND 5u
#define TABLE_ENTRIES 6u
#define ENTRY_WORDS 3u
#define ENTRIES_MAX 64u
#define HIDDEN_MAX 8u /* of these, that are looked at: real classes have three */
#define NO_ENTRY UINT64_MAX
/* rb_vm_t */
#define PAIRS_MAX 32u
#define MACHINE_WORDS 256u /* among which shape_list is, 1 KB from the start on x86-64 */
/* rb_shape_t */
#define SHAPE_ROOT 0u
#define SHAPE_VARIABLE 1u
#define SHAPES_MAX 524288u
#define SHAPE_NONE UINT32_MAX
#define SHAPE_STEPS_MAX 32u

static const struct class_places {
	uint8_t super;
	uint8_t attached; /* whose singleton it is */
	uint8_t name;     /* classpath */
} class_places[] = {
	[RUBY_CLASS_VARIABLES] = {.super = 16},
	[RUBY_CLASS_SHAPES] = {.super = 16},
	[RUBY_CLASS_FIELDS] = {16, 128, 152},
	[RUBY_CLASS_BOXED] = {32, 136, 152},
};

/* symbol.c, template/id.h.tmpl */
#define OPERATORS_MAX 255u /* their IDs are numbers */
#define ID_SHIFT 4u
#define ID_SCOPE 0xeu
#define ID_SCOPE_LOCAL 0u
#define IDS_AT_ONCE 512u

static bool is_object(uint64_t v)
{
	return v > 8 && (v & 7) == 0;
}

/* Reads the first words of an object, and checks its type. */
static int read_object(const struct ruby_memory *m, uint64_t object, unsigned type, uint64_t *words,
		       size_t n)
{
	int r = is_object(object) ? interpreter_read(m->memory, object, words, n * sizeof(*words))
				  : -EBADMSG;

	return r == 0 && (words[0] & RUBY_TYPE_MASK) != type ? -EBADMSG : r;
}

int ruby_string_read(const struct ruby_memory *m, uint64_t object, char *to, size_t cap)
{
	uint64_t words[4], length, at;
	size_t len;
	int r;

	*to = '\0';
	r = read_object(m, object, TYPE_STRING, words, ARRAY_SIZE(words));
	if (r < 0)
		return r;
	length = words[2];
	at = words[3];
	if (!(words[0] & FLAG_FAR)) {
		at = object + (m->layout->string_length ? 24 : 16);
		if (!m->layout->string_length)
			length = words[0] >> STRING_LENGTH_SHIFT & STRING_LENGTH_MASK;
	}
	if (length > INT64_MAX)
		return -EBADMSG;
	len = length < cap ? (size_t)length : cap - 1;
	r = interpreter_read(m->memory, at, to, len);
	if (r < 0)
		len = 0;
	to[strnlen(to, len)] = '\0';
	to[utf8_make_printable(to, strlen(to))] = '\0';
	return r;
}

int ruby_array_get(const struct ruby_memory *m, uint64_t object, uint64_t i, uint64_t *ret)
{
	uint64_t words[5];
	int r = read_object(m, object, TYPE_ARRAY, words, ARRAY_SIZE(words));

	if (r < 0)
		return r;
	if (words[0] & FLAG_HERE)
		return i < 3 ? ruby_read_word(m, object + 16 + i * 8, ret) : -EBADMSG;
	return i < words[2] && i < UINT32_MAX ? ruby_read_word(m, words[4] + i * 8, ret) : -EBADMSG;
}

int ruby_id_read(const struct ruby_memory *m, uint64_t id, char *to, size_t cap)
{
	uint64_t number = id > OPERATORS_MAX ? id >> ID_SHIFT : id, all, some, name;
	int r;

	*to = '\0';
	if (m->layout->ids == 0)
		return -ENOENT;
	r = ruby_read_word(m, m->bias + m->layout->ids, &all);
	if (r == 0)
		r = ruby_array_get(m, all, number / IDS_AT_ONCE, &some);
	if (r == 0) /* each has its name and a symbol */
		r = ruby_array_get(m, some, number % IDS_AT_ONCE * 2, &name);
	return r < 0 ? r : ruby_string_read(m, name, to, cap);
}

/* ---- classes ---- */

static bool has_type(const struct ruby_memory *m, uint64_t object, unsigned a, unsigned b)
{
	uint64_t flags;

	if (!is_object(object) || ruby_read_word(m, object, &flags) < 0)
		return false;
	flags &= RUBY_TYPE_MASK;
	return flags == a || flags == b;
}

static bool is_hidden(uint64_t id)
{
	return id > OPERATORS_MAX && (id & ID_SCOPE) == ID_SCOPE_LOCAL;
}

/* find_variable() in a table. */
static int find_in_table(const struct ruby_memory *m, uint64_t class, unsigned a, unsigned b,
			 uint64_t *ret)
{
	uint64_t fields, table, words[TABLE_WORDS], entries[ENTRIES_MAX * ENTRY_WORDS], n;
	int r = ruby_read_word(m, class + CLASS_POINTER, &fields);

	*ret = 0;
	if (r == 0)
		r = ruby_read_word(m, fields + FIELDS_VARIABLES, &table);
	if (r < 0 || table == 0)
		return r;
	r = interpreter_read(m->memory, table, words, sizeof(words));
	if (r < 0 || words[TABLE_START] >= words[TABLE_BOUND])
		return r;
	n = words[TABLE_BOUND] - words[TABLE_START];
	if (n > ENTRIES_MAX)
		n = ENTRIES_MAX;
	r = interpreter_read(m->memory, words[TABLE_ENTRIES] + words[TABLE_START] * ENTRY_WORDS * 8,
			     entries, n * ENTRY_WORDS * 8);
	for (uint64_t i = 0, n_hidden = 0; r == 0 && i < n && n_hidden < HIDDEN_MAX; i++) {
		const uint64_t *e = &entries[i * ENTRY_WORDS]; /* hash, ID, value */

		if (e[0] == NO_ENTRY || !is_hidden(e[1]))
			continue;
		n_hidden++;
		if (!has_type(m, e[2], a, b))
			continue;
		*ret = e[2];
		break;
	}
	return r;
}

struct shape {
	uint64_t edges;
	uint64_t id; /* of the variable that it adds to its parent's */
	uint32_t n;  /* variables, with that one */
	uint32_t capacity;
	uint8_t type;
	uint8_t pool;
	uint32_t parent;
};
_Static_assert(sizeof(struct shape) == 32, "as in memory");

/*
 * The machine has the array of shapes and, as its next word, the root of their tree, which is the
 * first one. What is in front of them has other sizes on other systems.
 */
static int find_shapes(const struct ruby_memory *m, uint64_t *ret)
{
	uint64_t machine, words[MACHINE_WORDS];
	int r = ruby_read_word(m, m->bias + m->layout->machine, &machine);

	if (r == 0)
		r = interpreter_read(m->memory, machine, words, sizeof(words));
	for (size_t i = 0, n = 0; r == 0 && i + 1 < MACHINE_WORDS && n < PAIRS_MAX; i++) {
		struct shape root;

		if (!is_object(words[i]) || words[i] != words[i + 1])
			continue;
		n++;
		if (interpreter_read(m->memory, words[i], &root, sizeof(root)) < 0 ||
		    root.type != SHAPE_ROOT || root.parent != SHAPE_NONE || root.n != 0)
			continue;
		*ret = words[i];
		return 0;
	}
	return r < 0 ? r : -EBADMSG;
}

/* find_variable() by the shape of the class, from the variable that was set last. */
static int find_by_shape(const struct ruby_memory *m, uint64_t class, unsigned a, unsigned b,
			 uint64_t *ret)
{
	uint64_t shapes, flags, values, number, value;
	int r = find_shapes(m, &shapes);

	*ret = 0;
	if (r == 0)
		r = ruby_read_word(m, class, &flags);
	if (r == 0)
		r = ruby_read_word(m, class + CLASS_VALUES, &values);
	if (r < 0)
		return r;
	number = flags >> CLASS_SHAPE_SHIFT;
	for (unsigned i = 0; i < SHAPE_STEPS_MAX && number < SHAPES_MAX; i++) {
		struct shape shape;

		r = interpreter_read(m->memory, shapes + number * sizeof(shape), &shape,
				     sizeof(shape));
		if (r < 0 || shape.type == SHAPE_ROOT)
			return r;
		number = shape.parent;
		if (shape.type != SHAPE_VARIABLE || !is_hidden(shape.id) || shape.n == 0)
			continue;
		r = ruby_read_word(m, values + (shape.n - 1) * UINT64_C(8), &value);
		if (r < 0)
			return r;
		if (has_type(m, value, a, b)) {
			*ret = value;
			return 0;
		}
	}
	return 0;
}

/*
 * Of the hidden variables of a class, the one that is of one of two types: strings are its name,
 * classes what it is the singleton of. 0: there is none.
 */
static int find_variable(const struct ruby_memory *m, uint64_t class, unsigned a, unsigned b,
			 uint64_t *ret)
{
	return m->layout->class_names == RUBY_CLASS_SHAPES ? find_by_shape(m, class, a, b, ret)
							   : find_in_table(m, class, a, b, ret);
}

/* Whether names and what singletons are of are variables. */
static bool has_variables(const struct ruby_memory *m)
{
	return m->layout->class_names <= RUBY_CLASS_SHAPES;
}

static const struct class_places *places_of(const struct ruby_memory *m)
{
	return &class_places[m->layout->class_names];
}

static int read_class_name(const struct ruby_memory *m, uint64_t class, char *to, size_t cap)
{
	uint64_t name = 0;
	int r;

	if (has_variables(m))
		r = find_variable(m, class, TYPE_STRING, TYPE_STRING, &name);
	else
		r = ruby_read_word(m, class + places_of(m)->name, &name);
	return r < 0 || !is_object(name) ? r : ruby_string_read(m, name, to, cap);
}

/* What a singleton class is of, if that is a class or a module; 0: another object. */
static int find_attached(const struct ruby_memory *m, uint64_t class, uint64_t *ret)
{
	int r;

	if (has_variables(m))
		return find_variable(m, class, TYPE_CLASS, TYPE_MODULE, ret);
	r = ruby_read_word(m, class + places_of(m)->attached, ret);
	if (r == 0 && !has_type(m, *ret, TYPE_CLASS, TYPE_MODULE))
		*ret = 0;
	return r;
}

/* Goes to the class that has a name. Sets *ret_own if the method is one of the class itself. */
static int find_named(const struct ruby_memory *m, uint64_t *class, bool *ret_own)
{
	*ret_own = false;
	for (unsigned i = 0; i < CLASSES_MAX; i++) {
		uint64_t words[CLASS_WORDS], type, of = 0;
		int r = is_object(*class)
				? interpreter_read(m->memory, *class, words, sizeof(words))
				: -EBADMSG;

		if (r < 0)
			return r;
		type = words[0] & RUBY_TYPE_MASK;
		if (type == TYPE_INCLUDED) {
			*class = words[CLASS_OF / 8];
			continue;
		}
		if (type != TYPE_CLASS && type != TYPE_MODULE)
			return -EBADMSG;
		if (*ret_own || type == TYPE_MODULE || !(words[0] >> m->layout->singleton & 1))
			return 0;
		r = find_attached(m, *class, &of);
		if (r < 0)
			return r;
		*ret_own = of != 0;
		*class = of ? of : words[places_of(m)->super / 8]; /* of an object: its class */
	}
	return -EBADMSG;
}

int ruby_class_read(const struct ruby_memory *m, uint64_t object, char *to, size_t cap)
{
	size_t len;
	bool own;
	int r;

	*to = '\0';
	if (m->layout->class_names == RUBY_CLASS_SHAPES && m->layout->machine == 0)
		return 0;
	r = find_named(m, &object, &own);
	if (r == 0)
		r = read_class_name(m, object, to, cap - 1);
	len = strlen(to);
	if (r == 0 && len > 0)
		snprintf(to + len, cap - len, own ? "." : "#");
	return r;
}
