/*
 * A conversion has three steps. Each type of the profile is looked up: that gives the text of our
 * type, and a factor for its values. Types that become the same are then put into one column; and
 * at last all samples get new values, the sum of what goes into each column.
 *
 * Most profilers write a column that merely counts samples beside one with their time. It is left
 * out then. If it is all there is, as in stacks of py-spy or rbspy, each sample stands for a
 * period; but not if the period is in another unit than a time, such as cycles: then counts remain
 * counts.
 */
#include "cluster-agent/push/foreign_types.h"

#include <errno.h>
#include <strings.h>

#include "common/limits.h"
#include "common/system/clock.h"

#define MAX_NAME_BYTES 64u
#define DEFAULT_PERIOD_NS (10 * INT64_C(1000000))
#define NANOSECONDS "nanoseconds"
#define BYTES "bytes"
#define COUNT "count"
/* Longer than any extension of a file. */
#define MAX_EXTENSION_BYTES 16u
/* Longer than the name of any unit that we know. */
#define MAX_UNIT_BYTES 24u
/*
 * Names are shared by any number of functions, and functions by any number of samples: without
 * limits, searching a small upload could take hours.
 */
#define MAX_LEAVES 1000u

/* ---- the table ---- */

#define ANY FOREIGN_ANY
#define GO FOREIGN_GO
#define PYTHON FOREIGN_PYTHON

static const struct foreign_type table[] = {
	{GO, "", "cpu", "profile_cpu:" NANOSECONDS},
	{GO, "", "time", "wall:" NANOSECONDS},
	{GO, "", "goroutine", "goroutine_goroutine:" COUNT},
	{GO, "", "goroutines", "goroutine_goroutine:" COUNT},
	{GO, "mutex", "contentions", "mutex_contentions:" COUNT},
	{GO, "mutex", "delay", "mutex_delay:" NANOSECONDS},
	{GO, "block", "contentions", "block_contentions:" COUNT},
	{GO, "block", "delay", "block_delay:" NANOSECONDS},
	{ANY, "", "cpu", "cpu:" NANOSECONDS},
	{ANY, "", "itimer", "cpu:" NANOSECONDS},
	{ANY, "", "wall", "wall:" NANOSECONDS},
	{ANY, "", "off_cpu", "off_cpu:" NANOSECONDS},
	{ANY, "", "alloc_objects", "heap_alloc_objects:" COUNT},
	{ANY, "", "alloc_space", "heap_alloc_space:" BYTES},
	{ANY, "", "alloc-samples", "heap_alloc_objects:" COUNT},
	{ANY, "", "alloc-size", "heap_alloc_space:" BYTES},
	{ANY, "", "alloc_in_new_tlab_objects", "heap_alloc_objects:" COUNT},
	{ANY, "", "alloc_in_new_tlab_bytes", "heap_alloc_space:" BYTES},
	{ANY, "", "alloc_outside_tlab_objects", "heap_alloc_objects:" COUNT},
	{ANY, "", "alloc_outside_tlab_bytes", "heap_alloc_space:" BYTES},
	{ANY, "", "inuse_objects", "heap_inuse_objects:" COUNT},
	{ANY, "", "inuse_space", "heap_inuse_space:" BYTES},
	{ANY, "", "inuse-objects", "heap_inuse_objects:" COUNT},
	{ANY, "", "inuse-space", "heap_inuse_space:" BYTES},
	{ANY, "", "live", "heap_inuse_objects:" COUNT},
	{ANY, "", "objects", "heap_inuse_objects:" COUNT},
	{ANY, "", "space", "heap_inuse_space:" BYTES},
	{ANY, "", "heap", "heap_inuse_space:" BYTES},
	{ANY, "", "contentions", "lock_contentions:" COUNT},
	{ANY, "", "delay", "lock_delay:" NANOSECONDS},
	{ANY, "", "lock_count", "lock_contentions:" COUNT},
	{ANY, "", "lock_duration", "lock_delay:" NANOSECONDS},
	{ANY, "", "lock-count", "lock_contentions:" COUNT},
	{ANY, "", "lock-time", "lock_delay:" NANOSECONDS},
	{PYTHON, "", "threads", "threads:" COUNT},
};

const struct foreign_type *foreign_types(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(table);
	return table;
}

/* ---- sources ---- */

/* Names that tools give a source, after its own, and extensions of its files. */
static const struct {
	const char *name;
	const char *aliases[4];
	const char *extensions[7];
} sources[FOREIGN_SOURCE_MAX] = {
	[FOREIGN_ANY] = {"pprof", {NULL}, {NULL}},
	[FOREIGN_GO] = {"go", {"gospy", "golang"}, {".go"}},
	[FOREIGN_JAVA] = {"java", {"javaspy", "jvm"}, {".java", ".kt", ".scala"}},
	[FOREIGN_NODEJS] = {"nodejs",
			    {"nodespy", "node", "webjs", "v8js"},
			    {".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx"}},
	[FOREIGN_PYTHON] = {"python", {"pyspy", "py-spy", "cpython"}, {".py", ".pyx"}},
	[FOREIGN_RUBY] = {"ruby", {"rbspy"}, {".rb"}},
	[FOREIGN_RUST] = {"rust", {"pyroscope-rs", "pprof-rs"}, {".rs"}},
	[FOREIGN_DOTNET] = {"dotnet", {"dotnetspy", ".net"}, {".cs", ".fs", ".vb"}},
	[FOREIGN_PHP] = {"php", {"phpspy"}, {".php"}},
	[FOREIGN_EBPF] = {"ebpf", {"ebpfspy", "parca-agent"}, {NULL}},
};

const char *foreign_source_name(enum foreign_source s)
{
	return sources[s].name;
}

static bool same(const char *text, size_t len, const char *word)
{
	return word && len == strlen(word) && (len == 0 || memcmp(text, word, len) == 0);
}

/* "go.opentelemetry.io/ebpf-profiler", "./ebpf-profiler", "alloy.ebpf", "eBPF" */
static bool has_ebpf(const char *name, size_t len)
{
	static const char word[] = "ebpf";

	for (size_t i = 0; i + strlen(word) <= len; i++)
		if (strncasecmp(name + i, word, strlen(word)) == 0)
			return true;
	return false;
}

enum foreign_source foreign_source_find(const char *name, size_t len)
{
	for (int s = FOREIGN_ANY + 1; s < FOREIGN_SOURCE_MAX; s++) {
		if (same(name, len, sources[s].name))
			return (enum foreign_source)s;
		for (size_t i = 0; i < ARRAY_SIZE(sources[s].aliases); i++)
			if (same(name, len, sources[s].aliases[i]))
				return (enum foreign_source)s;
	}
	return has_ebpf(name, len) ? FOREIGN_EBPF : FOREIGN_ANY;
}

static enum foreign_source source_of_file(const struct profile_string *file)
{
	size_t n = file->len < MAX_EXTENSION_BYTES ? file->len : MAX_EXTENSION_BYTES;
	const char *end = file->data + file->len, *dot = n > 0 ? memrchr(end - n, '.', n) : NULL;
	size_t len = dot ? (size_t)(end - dot) : 0;

	if (file->len > 5 && memcmp(file->data, "node:", 5) == 0)
		return FOREIGN_NODEJS;
	for (int s = FOREIGN_ANY + 1; len > 0 && s < FOREIGN_SOURCE_MAX; s++)
		for (size_t i = 0; i < ARRAY_SIZE(sources[s].extensions); i++)
			if (same(dot, len, sources[s].extensions[i]))
				return (enum foreign_source)s;
	return FOREIGN_ANY;
}

enum foreign_source foreign_source_guess(const struct profile *p)
{
	uint32_t counts[FOREIGN_SOURCE_MAX] = {0};
	int best = FOREIGN_ANY;

	for (uint32_t i = 0; i < p->n_functions; i++)
		counts[source_of_file(&p->functions[i].file)]++;
	for (int s = FOREIGN_ANY + 1; s < FOREIGN_SOURCE_MAX; s++)
		if (counts[s] > (best == FOREIGN_ANY ? 0 : counts[best]))
			best = s;
	return (enum foreign_source)best;
}

/* ---- units ---- */

/*
 * Names in lower case, without the "s" of a plural: those that "go tool pprof" knows, with its
 * factors (measurement.go: a kilobyte has 1024 bytes), IEC's, and UCUM's, which OTLP uses.
 */
static const struct {
	const char *unit; /* ours */
	int64_t factor;
	const char *names[6];
} units[] = {
	{NANOSECONDS, 1, {"ns", "nanosecond", "nsec", "nano", "lock_nanosecond"}},
	/* Greek mu and the micro sign */
	{NANOSECONDS, 1000, {"us", "\xce\xbcs", "\xc2\xb5s", "microsecond", "usec", "micro"}},
	{NANOSECONDS, 1000000, {"ms", "millisecond", "msec", "milli"}},
	{NANOSECONDS, 1000000000, {"s", "sec", "second"}},
	{NANOSECONDS, 60 * INT64_C(1000000000), {"min", "minute"}},
	{NANOSECONDS, 3600 * INT64_C(1000000000), {"h", "hr", "hour"}},
	{NANOSECONDS, 86400 * INT64_C(1000000000), {"d", "day"}},
	{BYTES, 1, {"b", "byte", "by"}},
	{BYTES, INT64_C(1) << 10, {"kb", "kbyte", "kilobyte", "kib", "kibibyte", "kiby"}},
	{BYTES, INT64_C(1) << 20, {"mb", "mbyte", "megabyte", "mib", "mebibyte", "miby"}},
	{BYTES, INT64_C(1) << 30, {"gb", "gbyte", "gigabyte", "gib", "gibibyte", "giby"}},
	{BYTES, INT64_C(1) << 40, {"tb", "tbyte", "terabyte", "tib", "tebibyte", "tiby"}},
	{BYTES, INT64_C(1) << 50, {"pb", "pbyte", "petabyte", "pib", "pebibyte", "piby"}},
	{COUNT, 1, {"count", "", "1", "sample", "object", "goroutine"}},
	{COUNT, 1, {"lock_sample"}},
};

static int find_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		for (size_t j = 0; j < ARRAY_SIZE(units[i].names); j++)
			if (same(name, len, units[i].names[j]))
				return (int)i;
	return -1;
}

/* Returns our unit and *ret_factor, or NULL if it is none that we know. */
static const char *find_unit(const struct profile_string *name, int64_t *ret_factor)
{
	char lower[MAX_UNIT_BYTES];
	int i;

	if (name->len > sizeof(lower))
		return NULL;
	for (size_t n = 0; n < name->len; n++)
		lower[n] = name->data[n] >= 'A' && name->data[n] <= 'Z'
				   ? (char)(name->data[n] - 'A' + 'a')
				   : name->data[n];
	i = find_name(lower, name->len);
	if (i < 0 && name->len > 2 && lower[name->len - 1] == 's')
		i = find_name(lower, name->len - 1);
	if (i < 0)
		return NULL;
	*ret_factor = units[i].factor;
	return units[i].unit;
}

static bool is_time(const struct profile_string *unit)
{
	int64_t factor;
	const char *ours = find_unit(unit, &factor);

	return ours && strcmp(ours, NANOSECONDS) == 0;
}

/* ---- one type ---- */

static bool is(const struct profile_string *s, const char *text)
{
	return same(s->data, s->len, text);
}

static bool is_foreign(const struct profile_string *type)
{
	return type->len > 0 && !memchr(type->data, ':', type->len);
}

bool foreign_types_present(const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_types; i++)
		if (is_foreign(&p->types[i].type))
			return true;
	return false;
}

/* Where the values of a type go. */
struct column {
	const char *type; /* NULL: nowhere */
	char text[2 * MAX_NAME_BYTES + 16];
	const char *unit;
	int64_t factor;
	uint32_t target; /* index of the new type */
};

struct conversion {
	struct profile *p;
	enum foreign_source source;
	const char *metric;
	int64_t period_ns;
	bool has_time;
	bool samples_are_time;
	bool counted;                           /* samples became time */
	const struct profile_value_type *other; /* the first type that does not count samples */
	struct column columns[LIMIT_PPROF_TYPES];
	struct err *err;
};

/* Tools disagree about capitals: "cpu" and "CPU". */
static bool is_called(const struct profile_string *s, const char *word)
{
	return s->len == strlen(word) && strncasecmp(s->data, word, s->len) == 0;
}

static const struct foreign_type *find_row(enum foreign_source source, const char *metric,
					   const struct profile_string *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct foreign_type *t = &table[i];

		if (t->source == source && is_called(name, t->name) &&
		    (t->metric[0] == '\0' || strcmp(t->metric, metric) == 0))
			return t;
	}
	return NULL;
}

static const struct foreign_type *find_type(const struct conversion *c,
					    const struct profile_string *name)
{
	const struct foreign_type *t = find_row(c->source, c->metric, name);

	return t ? t : find_row(FOREIGN_ANY, c->metric, name);
}

/* A part of a type: what queries and addresses do not like is replaced. */
static void copy_name(char ret[static MAX_NAME_BYTES], const struct profile_string *s)
{
	size_t n = s->len < MAX_NAME_BYTES - 1 ? s->len : MAX_NAME_BYTES - 1;

	for (size_t i = 0; i < n; i++) {
		char ch = s->data[i];
		bool plain = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
			     (ch >= '0' && ch <= '9') || ch == '-' || ch == '.';

		ret[i] = plain ? ch : '_';
	}
	ret[n] = '\0';
}

static void set_type(const struct conversion *c, struct column *col, const char *rest)
{
	snprintf(col->text, sizeof(col->text), "%s:%s", foreign_source_name(c->source), rest);
	col->type = col->text;
}

/* A type that the table does not have: "<source>:<name>:<unit>". */
static void set_unlisted(const struct conversion *c, struct column *col,
			 const struct profile_value_type *t)
{
	char rest[2 * MAX_NAME_BYTES], name[MAX_NAME_BYTES], unit[MAX_NAME_BYTES];

	copy_name(name, &t->type);
	copy_name(unit, &t->unit);
	if (col->unit)
		snprintf(unit, sizeof(unit), "%s", col->unit);
	else
		col->factor = 1;
	snprintf(rest, sizeof(rest), "%s:%s", name, unit);
	set_type(c, col, rest);
}

/* What counted samples are samples of: the type of the period if that is a time, or CPU. */
static const struct profile_string *sampled_type(const struct profile *p)
{
	static const struct profile_string cpu = {"cpu", 3};

	return p->period_type.type.len > 0 && is_time(&p->period_type.unit) ? &p->period_type.type
									    : &cpu;
}

/* Whether a sample stands for a time: that of its period, unless this is in another unit. */
static bool samples_are_time(const struct profile *p, const struct foreign_hints *hints)
{
	return hints->period_ns > 0 || p->period_type.unit.len == 0 ||
	       is_time(&p->period_type.unit);
}

static bool counts_samples(const struct profile_value_type *t, const char *unit)
{
	return unit && strcmp(unit, COUNT) == 0 &&
	       (is(&t->type, "samples") || is(&t->type, "sample") || is(&t->type, "cpu-samples") ||
		is(&t->type, "cpu") || is(&t->type, "wall"));
}

/*
 * What samples stand for beside a type that is no time: objects if it has bytes, as in heaps of
 * pypprof, else what they are.
 */
static const struct profile_string *counted_objects(const struct profile_value_type *other,
						    const struct profile_string *name)
{
	static const struct profile_string in_use = {"inuse_objects", 13};
	static const struct profile_string allocated = {"alloc_objects", 13};
	int64_t factor;
	const char *unit = find_unit(&other->unit, &factor);

	if (!unit || strcmp(unit, BYTES) != 0)
		return name;
	return other->type.len >= 5 && strncasecmp(other->type.data, "alloc", 5) == 0 ? &allocated
										      : &in_use;
}

/* Chooses the name under which counted samples are looked up. */
static const struct profile_string *name_samples(struct conversion *c, struct column *col,
						 const struct profile_string *name)
{
	if (c->other)
		return counted_objects(c->other, name);
	if (!c->samples_are_time)
		return name;
	col->unit = NANOSECONDS;
	col->factor = c->period_ns;
	c->counted = true;
	return is(name, "samples") || is(name, "sample") || is(name, "cpu-samples")
		       ? sampled_type(c->p)
		       : name;
}

static void convert_type(struct conversion *c, uint32_t i)
{
	const struct profile_value_type *t = &c->p->types[i];
	struct column *col = &c->columns[i];
	const struct profile_string *name = &t->type;
	const struct foreign_type *row;

	col->unit = find_unit(&t->unit, &col->factor);
	if (counts_samples(t, col->unit)) {
		if (c->has_time)
			return;
		name = name_samples(c, col, name);
	}
	row = find_type(c, name);
	if (row && col->unit && strcmp(strchr(row->type, ':') + 1, col->unit) == 0)
		set_type(c, col, row->type);
	else
		set_unlisted(c, col, &(struct profile_value_type){*name, t->unit});
}

static void keep_type(struct conversion *c, uint32_t i)
{
	const struct profile_value_type *t = &c->p->types[i];
	struct column *col = &c->columns[i];

	col->type = t->type.data;
	col->unit = t->unit.data;
	col->factor = 1;
}

/* ---- hints ---- */

/* Whether a stack ends in the release of a lock, as all of Go's mutex profile do. */
static bool ends_in_unlock(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_location *leaf;

	if (s->n_locations == 0)
		return false;
	leaf = &p->locations[s->locations[0]];
	for (uint32_t i = 0; i < leaf->n_lines; i++) {
		const struct profile_string *name = &p->functions[leaf->lines[i].function].name;

		size_t len =
			name->len < LIMIT_SYMBOL_NAME_BYTES ? name->len : LIMIT_SYMBOL_NAME_BYTES;

		if (memmem(name->data, len, "nlock", 5) ||
		    is(name, "runtime._LostContendedRuntimeLock"))
			return true;
	}
	return false;
}

/* Go's mutex and block profiles have the same types; the first stacks distinguish them. */
static const char *contention_metric(const struct profile *p)
{
	uint32_t n = p->n_samples < MAX_LEAVES ? p->n_samples : MAX_LEAVES, n_unlock = 0;

	for (uint32_t i = 0; i < n; i++)
		n_unlock += ends_in_unlock(p, &p->samples[i]);
	return n_unlock > n / 2 ? "mutex" : "block";
}

static int64_t period_ns(const struct profile *p, const struct foreign_hints *hints)
{
	int64_t factor, ns;
	const char *unit = find_unit(&p->period_type.unit, &factor);

	if (hints->period_ns > 0)
		return hints->period_ns;
	if (unit && strcmp(unit, NANOSECONDS) == 0 && p->period > 0 &&
	    !__builtin_mul_overflow(p->period, factor, &ns))
		return ns;
	return DEFAULT_PERIOD_NS;
}

static void read_hints(struct conversion *c, const struct foreign_hints *hints)
{
	const struct profile *p = c->p;

	c->source = hints->source != FOREIGN_ANY ? hints->source : foreign_source_guess(p);
	c->period_ns = period_ns(p, hints);
	c->samples_are_time = samples_are_time(p, hints);
	c->metric = hints->metric ? hints->metric : "";
	if (c->source == FOREIGN_GO && strcmp(c->metric, "mutex") != 0 &&
	    strcmp(c->metric, "block") != 0)
		c->metric = contention_metric(p);
	for (uint32_t i = 0; i < p->n_types; i++) {
		int64_t factor;
		const char *unit = find_unit(&p->types[i].unit, &factor);

		c->has_time |= unit && strcmp(unit, NANOSECONDS) == 0;
		if (!c->other && p->types[i].type.len > 0 && !counts_samples(&p->types[i], unit))
			c->other = &p->types[i];
	}
}

/* ---- all ---- */

/* Numbers the new types. Returns how many there are. */
static uint32_t assign_targets(struct conversion *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->p->n_types; i++) {
		struct column *col = &c->columns[i];
		uint32_t j = 0;

		if (!col->type)
			continue;
		while (j < i && (!c->columns[j].type || strcmp(c->columns[j].type, col->type) != 0))
			j++;
		col->target = j < i ? c->columns[j].target : n++;
	}
	return n;
}

static int no_room(const struct conversion *c, size_t size)
{
	int r = arena_error(c->p->arena, size);

	return r == -EFBIG ? err_set(c->err, r, "the profile takes more than %zu bytes of memory",
				     c->p->arena->limit_bytes)
			   : r;
}

static int make_types(struct conversion *c, uint32_t n_new, struct profile_value_type **ret)
{
	struct profile *p = c->p;
	struct profile_value_type *types = arena_calloc(p->arena, n_new + 1, sizeof(*types));

	if (!types)
		return no_room(c, n_new * sizeof(*types));
	for (uint32_t i = 0; i < p->n_types; i++) {
		const struct column *col = &c->columns[i];
		const char *colon;
		char *copy;

		if (!col->type || types[col->target].type.data)
			continue;
		copy = arena_strndup(p->arena, col->type, strlen(col->type));
		if (!copy)
			return no_room(c, strlen(col->type));
		colon = strrchr(copy, ':');
		types[col->target] = (struct profile_value_type){
			.type = {copy, strlen(copy)},
			.unit = {colon ? colon + 1 : "", colon ? strlen(colon + 1) : 0},
		};
	}
	*ret = types;
	return 0;
}

static void convert_values(const struct conversion *c, const int64_t *from, int64_t *to)
{
	uint64_t *n_clamped = &c->p->losses.n[PROFILE_LOSS_CLAMPED_VALUES];

	for (uint32_t i = 0; i < c->p->n_types; i++) {
		const struct column *col = &c->columns[i];
		int64_t v;

		if (!col->type)
			continue;
		/* none is negative */
		if (__builtin_mul_overflow(from[i], col->factor, &v) ||
		    __builtin_add_overflow(to[col->target], v, &to[col->target])) {
			to[col->target] = INT64_MAX;
			++*n_clamped;
		}
	}
}

static int make_values(struct conversion *c, uint32_t n_new)
{
	struct profile *p = c->p;
	int64_t *values = arena_calloc(p->arena, (size_t)p->n_samples * n_new + 1, sizeof(*values));

	if (!values)
		return no_room(c, (size_t)p->n_samples * n_new * sizeof(*values));
	for (uint32_t i = 0; i < p->n_samples; i++) {
		int64_t *to = values + (size_t)i * n_new;

		convert_values(c, p->samples[i].values, to);
		p->samples[i].values = to;
	}
	return 0;
}

/* So that the number of observations can be derived from values. */
static void set_period(struct conversion *c)
{
	static const struct profile_string nanoseconds = {NANOSECONDS, sizeof(NANOSECONDS) - 1};
	struct profile *p = c->p;

	if (c->counted || is_time(&p->period_type.unit)) {
		p->period = c->period_ns;
		p->period_type.unit = nanoseconds;
	}
}

int foreign_types_apply(struct profile *p, const struct foreign_hints *hints, struct err *err)
{
	struct conversion c = {.p = p, .err = err};
	struct profile_value_type *types = NULL;
	uint32_t n_new;
	int r;

	read_hints(&c, hints);
	for (uint32_t i = 0; i < p->n_types; i++) {
		if (is_foreign(&p->types[i].type))
			convert_type(&c, i);
		else if (p->types[i].type.len > 0)
			keep_type(&c, i);
	}
	n_new = assign_targets(&c);
	r = make_types(&c, n_new, &types);
	if (r == 0)
		r = make_values(&c, n_new);
	if (r < 0)
		return r;
	set_period(&c);
	p->types = types;
	p->n_types = n_new;
	return 0;
}

void foreign_times_set(struct profile *p, int64_t now_ns)
{
	int64_t end;

	if (p->time_ns <= 0 || p->duration_ns <= 0 ||
	    __builtin_add_overflow(p->time_ns, p->duration_ns, &end))
		return;
	if (end <= now_ns)
		p->time_ns = end;
	else if (p->time_ns < now_ns)
		p->time_ns = now_ns;
}
