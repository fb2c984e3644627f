/*
 * Compilers make types and methods of what a programmer has written in one: a lambda is the method
 * "<Pay>b__0_1" of a nested type "<>c", what comes after an await is "MoveNext" of "<Load>d__3".
 * Each such name says in angle brackets what it was made of, so that is shown, and what kind it is
 * by the letter that follows. A name of a kind that is unknown stays as it is.
 *
 * Source: GeneratedNameKind.cs and GeneratedNames.cs of dotnet/roslyn; "<Pay>c__async0" and
 * "<Pay>m__0" are names of Mono's compiler.
 */
#include "node-agent/dotnet/dotnet_names.h"

#include <errno.h>

#include "common/text/utf8.h"

#define NESTING_MAX 16u
#define PARAMETERS_MAX 16u
#define PART_BYTES 512u
#define MANGLED_MAX 4u /* names in names */

struct text {
	char *to;
	size_t len;
	size_t cap; /* with room for the NUL */
};

static void add(struct text *t, const char *s, size_t n)
{
	size_t left = t->cap - 1 - t->len;

	if (n > left)
		n = left;
	memcpy(t->to + t->len, s, n);
	t->len += n;
}

static void add_word(struct text *t, const char *s)
{
	add(t, s, strlen(s));
}

/* The dot between the parts of a name. */
static void add_dot(struct text *t)
{
	if (t->len > 0 && t->to[t->len - 1] != '.')
		add(t, ".", 1);
}

static void finish(struct text *t)
{
	t->to[utf8_make_printable(t->to, t->len)] = '\0';
}

/* The length of "<…>" at the start, whose brackets nest; 0: there is none. */
static size_t bracket_bytes(const char *s, size_t n)
{
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '<')
			depth++;
		else if (s[i] == '>' && depth > 0 && --depth == 0)
			return i + 1;
		if (depth == 0)
			return 0;
	}
	return 0;
}

static bool starts_with(const char *s, size_t n, const char *what)
{
	size_t len = strlen(what);

	return n >= len && memcmp(s, what, len) == 0;
}

/* The number behind "b" or "m": "__0_1". */
static void add_lambda(struct text *t, const char *rest, size_t n)
{
	add_dot(t);
	add_word(t, "lambda");
	add(t, rest, n);
}

/* "g__Check|0_0" */
static void add_local_function(struct text *t, const char *rest, size_t n)
{
	const char *bar = memchr(rest, '|', n);

	add_dot(t);
	if (starts_with(rest, n, "__")) {
		rest += 2;
		n -= 2;
	}
	add(t, rest, bar ? (size_t)(bar - rest) : n);
}

/* Adds one name as it was before the compiler changed it. */
static void add_part(struct text *t, const char *s, size_t n, unsigned level)
{
	size_t brackets = bracket_bytes(s, n), inner = brackets > 2 ? brackets - 2 : 0, left;
	const char *rest = s + brackets + 1;
	char kind = brackets > 0 && n > brackets ? s[brackets] : '\0';

	if (!kind || !strchr("bmgdcF$", kind) || level == MANGLED_MAX ||
	    (inner == 0 && kind != 'm' && kind != 'b')) {
		add_dot(t);
		add(t, s, n);
		return;
	}
	left = n - brackets - 1;
	if (kind == 'F') { /* a type of one file: "<Program>F1A__Entry" */
		const char *name = memmem(rest, left, "__", 2);

		add_dot(t);
		if (name)
			add(t, name + 2, left - (size_t)(name + 2 - rest));
		else
			add(t, s, n);
		return;
	}
	if (inner > 0)
		add_part(t, s + 1, inner, level + 1);
	if (kind == 'b' || kind == 'm')
		add_lambda(t, rest, left);
	else if (kind == 'g')
		add_local_function(t, rest, left);
}

/* A type that only holds what lambdas use: their names say where they are from. */
static bool is_closure(const char *s, size_t n)
{
	return starts_with(s, n, "<>c") && (n == 3 || starts_with(s + 3, n - 3, "__DisplayClass") ||
					    s[3] == '`' || s[3] == '<');
}

/* The number behind '`' in the name of a generic type, which ends there; 0: it is none. */
static uint32_t arity_of(const char *name, size_t *len)
{
	const char *tick = memrchr(name, '`', *len), *end = name + *len;
	uint32_t n = 0;

	if (!tick || tick + 1 == end)
		return 0;
	for (const char *p = tick + 1; p < end; p++) {
		if (*p < '0' || *p > '9' || n > PARAMETERS_MAX)
			return 0;
		n = n * 10 + (uint32_t)(*p - '0');
	}
	*len = (size_t)(tick - name);
	return n;
}

/* Parameters whose names are not known: "<T>", "<T1,T2>". */
static void add_unnamed(struct text *t, uint32_t n)
{
	char part[16];

	for (uint32_t i = 1; i <= n; i++) {
		snprintf(part, sizeof(part), n == 1 ? "%cT" : "%cT%u", i == 1 ? '<' : ',', i);
		add_word(t, part);
	}
	if (n > 0)
		add(t, ">", 1);
}

void dotnet_readable_name(const char *type, const char *method, char *to, size_t cap)
{
	struct text t = {.to = to, .cap = cap};
	bool lambda = method[0] == '<';
	const char *s = type;

	while (*s) {
		/* dots and plus signs within "<…>" belong to the name there */
		size_t n = bracket_bytes(s, strlen(s));

		n += strcspn(s + n, ".+");
		if (n > 0 && !(lambda && is_closure(s, n))) {
			size_t len = n;
			uint32_t arity = arity_of(s, &len);

			add_part(&t, s, len, 0);
			add_unnamed(&t, arity);
		}
		s += n;
		if (*s)
			s++;
	}
	if (*method) {
		if (*method == '.' && t.len > 0)
			add(&t, ".", 1); /* ".ctor" */
		add_part(&t, method, strlen(method), 0);
	}
	finish(&t);
}

/* What is asked for, and the texts of the parts of a name. */
struct reader {
	const struct dotnet_metadata *md;
	const struct byte_source *src;
	char part[PART_BYTES];
};

/*
 * Adds the last n (UINT32_MAX: all) parameters of a type or method, which has those of the types
 * around it, too. What cannot be read is left out.
 */
static void add_parameters(struct reader *r, struct text *t, uint32_t owner, uint32_t n)
{
	uint32_t first, columns[4], count = 0, skip;

	if (n == 0 ||
	    dotnet_metadata_find(r->md, r->src, DOTNET_GENERIC_PARAM, 2, owner, &first) < 0)
		return;
	while (count < 2 * PARAMETERS_MAX &&
	       dotnet_metadata_row(r->md, r->src, DOTNET_GENERIC_PARAM, first + count, columns,
				   4) == 0 &&
	       columns[2] == owner)
		count++;
	skip = count > n ? count - n : 0;
	for (uint32_t i = skip; i < count; i++) {
		add(t, i == skip ? "<" : ",", 1);
		if (dotnet_metadata_row(r->md, r->src, DOTNET_GENERIC_PARAM, first + i, columns,
					4) < 0 ||
		    dotnet_metadata_string(r->md, r->src, columns[3], r->part, sizeof(r->part)) < 0)
			snprintf(r->part, sizeof(r->part), "?");
		add_word(t, r->part);
	}
	if (count > skip)
		add(t, ">", 1);
}

#define OWNER_OF_TYPE(row) ((row) << 1)
#define OWNER_OF_METHOD(row) ((row) << 1 | 1)

/* Adds a type and those around it; lambda: without those that the compiler has made for one. */
static int add_type(struct reader *r, struct text *t, uint32_t type, bool lambda)
{
	uint32_t chain[NESTING_MAX], columns[3], n = 0, arity;
	size_t len;
	int error = 0;

	for (uint32_t at = type; error == 0 && n < NESTING_MAX; n++) {
		chain[n] = at;
		error = dotnet_metadata_enclosing(r->md, r->src, at, &at);
	}
	if (error < 0 && error != -ENOENT)
		return error;
	while (n-- > 0) {
		error = dotnet_metadata_row(r->md, r->src, DOTNET_TYPE_DEF, chain[n], columns, 3);
		if (error == 0 && columns[2] > 0)
			error = dotnet_metadata_string(r->md, r->src, columns[2], r->part,
						       sizeof(r->part));
		if (error < 0)
			return error;
		if (columns[2] > 0 && r->part[0]) {
			add_dot(t);
			add_word(t, r->part);
		}
		error = dotnet_metadata_string(r->md, r->src, columns[1], r->part, sizeof(r->part));
		if (error < 0)
			return error;
		/* of code outside of types */
		if (strcmp(r->part, "<Module>") == 0 ||
		    (lambda && is_closure(r->part, strlen(r->part))))
			continue;
		len = strlen(r->part);
		arity = arity_of(r->part, &len);
		add_part(t, r->part, len, 0);
		add_parameters(r, t, OWNER_OF_TYPE(chain[n]), arity);
	}
	return 0;
}

int dotnet_type_name(const struct dotnet_metadata *md, const struct byte_source *src, uint32_t type,
		     char *to, size_t cap)
{
	struct reader r = {.md = md, .src = src};
	struct text t = {.to = to, .cap = cap};
	int error = add_type(&r, &t, type, false);

	finish(&t);
	return error;
}

int dotnet_method_name(const struct dotnet_metadata *md, const struct byte_source *src,
		       uint32_t method, char *to, size_t cap)
{
	struct reader r = {.md = md, .src = src};
	struct text t = {.to = to, .cap = cap};
	char name[PART_BYTES];
	uint32_t columns[4], type;
	int error = dotnet_metadata_row(md, src, DOTNET_METHOD_DEF, method, columns, 4);

	if (error == 0)
		error = dotnet_metadata_type_of_method(md, src, method, &type);
	if (error == 0)
		error = dotnet_metadata_string(md, src, columns[3], name, sizeof(name));
	if (error >= 0)
		error = add_type(&r, &t, type, name[0] == '<');
	if (error < 0)
		return error;
	if (name[0] == '.' && t.len > 0)
		add(&t, ".", 1); /* ".ctor" */
	add_part(&t, name, strlen(name), 0);
	add_parameters(&r, &t, OWNER_OF_METHOD(method), UINT32_MAX);
	finish(&t);
	return 0;
}

/* Adds the name of a TypeRef as the metadata has it, with those around it. */
static int add_reference(struct reader *r, struct text *t, uint32_t row, unsigned depth)
{
	uint32_t columns[3];
	int error = depth == NESTING_MAX
			    ? -EBADMSG
			    : dotnet_metadata_row(r->md, r->src, DOTNET_TYPE_REF, row, columns, 3);

	/* nested in another TypeRef */
	if (error == 0 && (columns[0] & 3) == 3)
		error = add_reference(r, t, columns[0] >> 2, depth + 1);
	for (unsigned i = 2; error >= 0 && i >= 1; i--) { /* namespace, name */
		if (columns[i] == 0)
			continue;
		error = dotnet_metadata_string(r->md, r->src, columns[i], r->part, sizeof(r->part));
		if (error > 0) {
			add_dot(t);
			add_word(t, r->part);
		}
	}
	return error < 0 ? error : 0;
}

/* A TypeDefOrRef: its two low bits say which. */
static int add_type_token(struct reader *r, struct text *t, uint32_t token)
{
	switch (token & 3) {
	case 0:
		return add_type(r, t, token >> 2, false);
	case 1:
		return add_reference(r, t, token >> 2, 0);
	default:
		return -EBADMSG;
	}
}

#define SPEC_BYTES 6u
#define SPEC_GENERIC 0x15u

/* Adds the type that a TypeSpec gives arguments to: GENERICINST (CLASS | VALUETYPE) token. */
static int add_specification(struct reader *r, struct text *t, uint32_t row)
{
	uint8_t raw[SPEC_BYTES] = {0};
	uint32_t blob, bytes, token;
	uint64_t offset;
	int error = dotnet_metadata_row(r->md, r->src, DOTNET_TYPE_SPEC, row, &blob, 1);

	if (error == 0)
		error = dotnet_metadata_blob(r->md, r->src, blob, &offset, &bytes);
	if (error == 0)
		error = byte_source_read(r->src, offset, raw,
					 bytes < sizeof(raw) ? bytes : sizeof(raw));
	if (error < 0)
		return error;
	if (raw[0] != SPEC_GENERIC)
		return -ENOENT;
	token = !(raw[2] & 0x80)   ? raw[2]
		: !(raw[2] & 0x40) ? (uint32_t)(raw[2] & 0x3f) << 8 | raw[3]
				   : (uint32_t)(raw[2] & 0x1f) << 24 | (uint32_t)raw[3] << 16 |
					     (uint32_t)raw[4] << 8 | raw[5];
	return add_type_token(r, t, token);
}

/* Adds what a MemberRef is of, by the three low bits of its column. */
static int add_parent(struct reader *r, struct text *t, uint32_t parent)
{
	switch (parent & 7) {
	case 0:
		return add_type(r, t, parent >> 3, false);
	case 1:
		return add_reference(r, t, parent >> 3, 0);
	case 4:
		return add_specification(r, t, parent >> 3);
	default:
		return -ENOENT;
	}
}

int dotnet_member_name(const struct dotnet_metadata *md, const struct byte_source *src,
		       uint32_t member, char *to, size_t cap)
{
	struct reader r = {.md = md, .src = src};
	char type[PART_BYTES], name[PART_BYTES];
	struct text t = {.to = type, .cap = sizeof(type)};
	uint32_t columns[2];
	int error = dotnet_metadata_row(md, src, DOTNET_MEMBER_REF, member, columns, 2);

	if (error == 0)
		error = add_parent(&r, &t, columns[0]);
	if (error == 0)
		error = dotnet_metadata_string(md, src, columns[1], name, sizeof(name));
	if (error < 0)
		return error;
	type[t.len] = '\0';
	dotnet_readable_name(type, name, to, cap);
	return 0;
}

int dotnet_assembly_name(const struct dotnet_metadata *md, const struct byte_source *src, char *to,
			 size_t cap)
{
	uint32_t columns[9] = {0}, name = 0;
	int r = dotnet_metadata_row(md, src, DOTNET_ASSEMBLY, 1, columns, 8);

	if (r == 0) {
		name = columns[7];
	} else if (r == -ENOENT) {
		r = dotnet_metadata_row(md, src, DOTNET_MODULE, 1, columns, 2);
		name = columns[1];
	}
	if (r < 0)
		return r;
	r = dotnet_metadata_string(md, src, name, to, cap);
	if (r < 0)
		return r;
	to[utf8_make_printable(to, (size_t)r)] = '\0';
	return 0;
}
