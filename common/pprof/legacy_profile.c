/*
 * Each format has a header, samples with addresses of code, and maps of the process. Samples are
 * read first, with the distinct addresses as locations; the maps then name them.
 */
#include "common/pprof/legacy_profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/data/array.h"
#include "common/data/number_index.h"
#include "common/limits.h"
#include "common/pprof/code_file.h"
#include "common/pprof/legacy_text.h"

#define TRUNCATED "[truncated]"
#define MAX_HEADER_BYTES 256u
#define MAX_VALUES 4u
#define CPU_HEADER_WORDS 5u

struct map {
	uint64_t start;
	uint64_t end; /* exclusive */
	struct code_file file;
	struct profile_string module;
};

struct legacy {
	struct profile profile;
	struct err *err;
	struct legacy_text rest;
	struct number_index index; /* of addresses */
	uint64_t *addresses;       /* of the locations */
	uint32_t max_locations;
	uint32_t max_samples;
	uint32_t cut_location; /* 1 + index of "[truncated]"; 0: none */
	bool is_scaled;        /* heap values are divided by their probability */
	bool has_alloc;
	int64_t cycles_per_second;
	struct map *maps;
	size_t n_maps;
};

/* Words of a CPU profile. */
struct words {
	const uint8_t *at;
	const uint8_t *end;
	unsigned int size; /* 4 or 8 */
	bool is_big;
};

/* A sample being read. */
struct stack {
	uint64_t addresses[LIMIT_PPROF_STACK_DEPTH];
	size_t n;
	bool is_cut;
	int64_t values[MAX_VALUES];
};

static void legacy_fini(struct legacy *l)
{
	number_index_fini(&l->index);
	free(l->addresses);
}

/* ---- samples ---- */

static void count(struct legacy *l, enum profile_loss loss)
{
	l->profile.losses.n[loss]++;
}

static int no_memory(struct legacy *l, size_t size)
{
	int r = arena_error(l->profile.arena, size);

	return r == -EFBIG ? err_set(l->err, r, "the profile takes more than %zu bytes of memory",
				     l->profile.arena->limit_bytes)
			   : r;
}

static int new_location(struct legacy *l, uint64_t address, uint32_t *ret)
{
	if (l->profile.n_locations == LIMIT_PPROF_LOCATIONS)
		return err_set(l->err, -EFBIG, "more than %u locations", LIMIT_PPROF_LOCATIONS);
	if (ARRAY_RESERVE(l->addresses, l->max_locations, l->profile.n_locations + 1) < 0)
		return -ENOMEM;
	*ret = l->profile.n_locations++;
	l->addresses[*ret] = address;
	return 0;
}

static int find_location(struct legacy *l, uint64_t address, uint32_t *ret)
{
	uint32_t hash = (uint32_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 32), at = hash;
	int r;

	while (number_index_next(&l->index, hash, &at, ret)) {
		if (l->addresses[*ret] == address)
			return 0;
	}
	r = new_location(l, address, ret);
	return r < 0 ? r : number_index_add(&l->index, hash, *ret);
}

static void add_address(struct stack *s, uint64_t address)
{
	if (s->n < LIMIT_PPROF_STACK_DEPTH)
		s->addresses[s->n++] = address;
	else
		s->is_cut = true;
}

static int64_t checked_value(struct legacy *l, int64_t v)
{
	if (v >= 0)
		return v;
	count(l, PROFILE_LOSS_NEGATIVE_VALUES);
	return 0;
}

static int add_sample(struct legacy *l, const struct stack *s)
{
	size_t n_types = l->profile.n_types;
	size_t size = n_types * sizeof(int64_t) + s->n * sizeof(uint32_t);
	int64_t *values;
	uint32_t *locations;
	int r = 0;

	if (l->profile.n_samples == l->max_samples)
		return err_set(l->err, -EFBIG, "more than %u samples", LIMIT_PPROF_SAMPLES);
	values = arena_alloc(l->profile.arena, size);
	if (!values)
		return no_memory(l, size);
	locations = (uint32_t *)(values + n_types);
	for (size_t i = 0; i < n_types; i++)
		values[i] = checked_value(l, s->values[i]);
	for (size_t i = 0; i < s->n - s->is_cut && r == 0; i++)
		r = find_location(l, s->addresses[i], &locations[i]);
	if (s->is_cut && r == 0) {
		count(l, PROFILE_LOSS_CUT_STACKS);
		if (l->cut_location == 0) {
			r = new_location(l, 0, &locations[s->n - 1]);
			l->cut_location = l->profile.n_locations;
		} else {
			locations[s->n - 1] = l->cut_location - 1;
		}
	}
	if (r == 0)
		l->profile.samples[l->profile.n_samples++] =
			(struct profile_sample){locations, (uint32_t)s->n, values};
	return r;
}

static int64_t to_value(struct legacy *l, double v)
{
	if (v < 0)
		return -1; /* becomes 0, and is counted */
	if (v < 0x1p63)
		return (int64_t)v;
	count(l, PROFILE_LOSS_CLAMPED_VALUES);
	return INT64_MAX;
}

static int64_t multiply(struct legacy *l, int64_t a, int64_t b)
{
	int64_t ret;

	if (!__builtin_mul_overflow(a, b, &ret))
		return ret;
	count(l, PROFILE_LOSS_CLAMPED_VALUES);
	return INT64_MAX;
}

/* " @ 0x1 0x2"; these are return addresses, and the calls lie before them. */
static bool read_callers(struct legacy_text *line, struct stack *s)
{
	uint64_t address;

	s->n = 0;
	s->is_cut = false;
	if (!legacy_skip_mark(line, "@"))
		return false;
	while (legacy_skip_mark(line, "0x")) {
		if (!legacy_read_number(line, 16, &address))
			return false;
		add_address(s, address - 1);
	}
	return line->at == line->end;
}

/* ---- heap ---- */

/* "1: 2 [3: 4]": objects and bytes in use, and allocated */
static bool read_heap_values(struct legacy_text *t, int64_t *v)
{
	return legacy_read_signed(t, &v[0]) && legacy_skip_mark(t, ":") &&
	       legacy_read_signed(t, &v[1]) && legacy_skip_mark(t, "[") &&
	       legacy_read_signed(t, &v[2]) && legacy_skip_mark(t, ":") &&
	       legacy_read_signed(t, &v[3]) && legacy_skip_mark(t, "]");
}

static bool set_heap_kind(struct legacy *l, struct legacy_text *t)
{
	uint64_t period = 0;
	bool is_heap, is_v2;

	l->profile.period = 1;
	if (legacy_skip_text(t, "growth") || legacy_skip_text(t, "fragmentation") ||
	    legacy_skip_text(t, "heapprofile"))
		return true;
	is_v2 = legacy_skip_text(t, "heapz_v2") || legacy_skip_text(t, "heap_v2");
	is_heap = !is_v2 && legacy_skip_text(t, "heap");
	if ((!is_v2 && !is_heap) || (t->at < t->end && *t->at != '/' && *t->at != ' '))
		return false;
	if (legacy_skip_text(t, "/") && (!legacy_read_number(t, 10, &period) || period > INT64_MAX))
		return false;
	/* Go wrote twice the rate here, for readers of that time */
	l->profile.period = (int64_t)(is_heap ? period / 2 : period);
	l->is_scaled = true;
	return true;
}

static bool read_heap_header(struct legacy *l, struct legacy_text *t)
{
	struct legacy_text kind;
	int64_t v[MAX_VALUES];

	if (!legacy_skip_text(t, "heap profile:") || !read_heap_values(t, v) ||
	    !legacy_skip_mark(t, "@"))
		return false;
	legacy_skip_blanks(t);
	kind = *t;
	if (!set_heap_kind(l, t))
		return false;
	if (!legacy_skip_text(&kind, "growth") && !legacy_skip_text(&kind, "fragmentation"))
		l->has_alloc = (v[2] != v[0] && v[2] != 0) || (v[3] != v[1] && v[3] != 0);
	return true;
}

/* A sample was taken with a probability of 1 - exp(-size / period). */
static bool unsample(struct legacy *l, int64_t *v)
{
	double scale;

	if (v[0] == 0)
		return v[1] == 0;
	if (!l->is_scaled)
		return true;
	if (v[1] == 0) {
		v[0] = 0;
		return true;
	}
	if (l->profile.period <= 1 || (v[0] < 0) != (v[1] < 0))
		return true;
	scale = 1 / (1 - exp(-((double)v[1] / (double)v[0]) / (double)l->profile.period));
	for (int i = 0; i < 2; i++)
		v[i] = to_value(l, (double)v[i] * scale);
	return true;
}

static bool read_heap_line(struct legacy *l, struct legacy_text *line, struct stack *s)
{
	int64_t v[MAX_VALUES];

	if (!read_heap_values(line, v) || !read_callers(line, s) || !unsample(l, v) ||
	    (l->has_alloc && !unsample(l, v + 2)))
		return false;
	memcpy(s->values, l->has_alloc ? v + 2 : v, 2 * sizeof(*v));
	memcpy(s->values + 2, v, 2 * sizeof(*v));
	return true;
}

/* ---- contentions and counts ---- */

static bool read_contention_header(struct legacy_text *t)
{
	return legacy_skip_text(t, "--- contentionz ") || legacy_skip_text(t, "--- mutex:") ||
	       legacy_skip_text(t, "--- contention:");
}

/* "cycles/second=1000"; returns false if the line is none of these */
static bool read_attribute(struct legacy *l, struct legacy_text *line)
{
	static const char *const names[] = {"cycles/second", "sampling period", "ms since reset",
					    "discarded samples"};
	int64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct legacy_text t = *line;

		if (!legacy_skip_text(&t, names[i]) || !legacy_skip_mark(&t, "=") ||
		    !legacy_read_signed(&t, &v))
			continue;
		if (i == 0)
			l->cycles_per_second = v;
		else if (i == 1)
			l->profile.period = v;
		else if (i == 2 && v >= 0)
			l->profile.duration_ns = multiply(l, v, 1000000);
		return true;
	}
	return false;
}

static bool read_contention_line(struct legacy *l, struct legacy_text *line, struct stack *s)
{
	int64_t delay, n;

	if (!legacy_read_signed(line, &delay) || !legacy_read_signed(line, &n) ||
	    !read_callers(line, s))
		return false;
	if (l->profile.period > 0) {
		if (l->cycles_per_second > 0)
			delay = to_value(l, (double)delay * (double)l->profile.period /
						    ((double)l->cycles_per_second / 1e9));
		n = multiply(l, n, l->profile.period);
	}
	s->values[0] = n;
	s->values[1] = delay;
	return true;
}

/* "goroutine profile: total 7" */
static bool read_count_header(struct legacy_text *t, struct profile_string *ret_type)
{
	const char *begin = t->at;
	int64_t total;

	while (t->at<t->end && * t->at> ' ')
		t->at++;
	*ret_type = (struct profile_string){begin, (size_t)(t->at - begin)};
	return ret_type->len > 0 && legacy_skip_text(t, " profile: total ") &&
	       legacy_read_signed(t, &total) && t->at == t->end;
}

static bool read_count_line(struct legacy *l, struct legacy_text *line, struct stack *s)
{
	(void)l;
	return legacy_read_signed(line, &s->values[0]) && read_callers(line, s) && s->n > 0;
}

/* ---- maps ---- */

static bool only_has(struct legacy_text t, const char *set)
{
	for (; t.at < t.end; t.at++) {
		if (!*t.at || !strchr(set, *t.at))
			return false;
	}
	return true;
}

/* A line of /proc/PID/maps, or "0x40000-0x80000 /bin/x (@ff00) <build id>"; code only. */
static bool read_map(struct legacy_text line, struct map *m)
{
	struct legacy_text word, after, device, offset;

	*m = (struct map){0};
	(void)legacy_skip_text(&line, "0x");
	if (!legacy_read_number(&line, 16, &m->start))
		return false;
	if (!legacy_skip_text(&line, "-"))
		legacy_skip_blanks(&line);
	(void)legacy_skip_text(&line, "0x");
	if (!legacy_read_number(&line, 16, &m->end) || m->end <= m->start)
		return false;
	(void)legacy_skip_text(&line, ":");
	after = line;
	word = legacy_next_word(&after);
	if (word.at < word.end && only_has(word, "-rwxps")) {
		if (!memchr(word.at, 'x', (size_t)(word.end - word.at)))
			return false;
		line = after;
	}
	word = legacy_next_word(&line);
	after = line;
	device = legacy_next_word(&after);
	offset = word;
	if (memchr(device.at, ':', (size_t)(device.end - device.at)) &&
	    legacy_read_number(&offset, 16, &m->file.offset) && offset.at == offset.end) {
		legacy_next_word(&after); /* the inode */
		word = legacy_next_word(&after);
	} else if (legacy_skip_mark(&line, "(@")) {
		if (!legacy_read_number(&line, 16, &m->file.offset))
			return false;
	}
	m->file.path = (struct profile_string){word.at, (size_t)(word.end - word.at)};
	m->file.memory_start = m->start;
	return true;
}

static int compare_maps(const void *a, const void *b)
{
	const struct map *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int load_maps(struct legacy *l)
{
	struct legacy_text t = l->rest, line;
	struct map m;
	size_t n = 0;

	while (legacy_next_line(&t, &line))
		n += read_map(line, &m);
	if (n > LIMIT_PPROF_MAPPINGS)
		return err_set(l->err, -EFBIG, "more than %u mappings", LIMIT_PPROF_MAPPINGS);
	l->maps = arena_calloc(l->profile.arena, n + 1, sizeof(*l->maps));
	if (!l->maps)
		return no_memory(l, (n + 1) * sizeof(*l->maps));
	while (legacy_next_line(&l->rest, &line)) {
		if (read_map(line, &l->maps[l->n_maps]))
			l->n_maps++;
	}
	qsort(l->maps, l->n_maps, sizeof(*l->maps), compare_maps);
	return 0;
}

static struct map *find_map(struct legacy *l, uint64_t address)
{
	size_t low = 0, high = l->n_maps;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->maps[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < l->maps[low - 1].end ? &l->maps[low - 1] : NULL;
}

static int name_location(struct legacy *l, uint32_t i)
{
	static const struct code_file no_file = {.path = {"", 0}, .build_id = {"", 0}};
	struct profile_function *f = &l->profile.functions[i];
	struct map *m = find_map(l, l->addresses[i]);

	f->file = (struct profile_string){"", 0};
	if (i + 1 == l->cut_location) {
		f->name = (struct profile_string){TRUNCATED, strlen(TRUNCATED)};
		return 0;
	}
	if (m && !m->module.data)
		m->module = code_file_module(&m->file, false, l->profile.arena);
	if (m)
		f->file = m->module;
	f->name = code_file_frame(m ? &m->file : &no_file, l->addresses[i], l->profile.arena);
	return f->name.data && f->file.data ? 0 : no_memory(l, CODE_FILE_TEXT_BYTES);
}

static int name_locations(struct legacy *l)
{
	uint32_t n = l->profile.n_locations;
	struct profile_line *lines = arena_calloc(l->profile.arena, n + 1u, sizeof(*lines));
	int r = 0;

	l->profile.functions =
		arena_calloc(l->profile.arena, n + 1u, sizeof(*l->profile.functions));
	l->profile.locations =
		arena_calloc(l->profile.arena, n + 1u, sizeof(*l->profile.locations));
	if (!lines || !l->profile.functions || !l->profile.locations)
		return no_memory(l, (n + 1u) * sizeof(*l->profile.locations));
	l->profile.n_functions = n;
	for (uint32_t i = 0; i < n && r == 0; i++) {
		lines[i].function = i;
		l->profile.locations[i] = (struct profile_location){
			.lines = &lines[i], .n_lines = 1, .address = l->addresses[i]};
		r = name_location(l, i);
	}
	return r;
}

/* ---- CPU ---- */

static bool next_word_of(struct words *w, uint64_t *ret)
{
	*ret = 0;
	if ((size_t)(w->end - w->at) < w->size)
		return false;
	for (unsigned int i = 0; i < w->size; i++)
		*ret |= (uint64_t)w->at[i] << 8 * (w->is_big ? w->size - 1 - i : i);
	w->at += w->size;
	return true;
}

/* The words 0, 3, 0 (1: Java), the period in µs, 0, of one of four sizes and orders. */
static bool read_cpu_header(const void *data, size_t len, struct words *ret, uint64_t *ret_period)
{
	for (unsigned int i = 0; i < 4; i++) {
		uint64_t n[CPU_HEADER_WORDS] = {0};
		size_t k = 0;

		*ret = (struct words){data, (const uint8_t *)data + len, i < 2 ? 4 : 8, i % 2 == 1};
		while (k < CPU_HEADER_WORDS && next_word_of(ret, &n[k]))
			k++;
		*ret_period = n[3];
		if (k == CPU_HEADER_WORDS && n[0] == 0 && n[1] == 3 && n[2] == 0 && n[3] > 0 &&
		    n[3] < INT64_MAX / 1000 && n[4] == 0)
			return true;
	}
	return false;
}

static int add_cpu_sample(struct legacy *l, struct stack *s, uint64_t n)
{
	if (n > INT64_MAX) {
		count(l, PROFILE_LOSS_CLAMPED_VALUES);
		n = INT64_MAX;
	}
	s->values[0] = (int64_t)n;
	s->values[1] = multiply(l, (int64_t)n, l->profile.period);
	return add_sample(l, s);
}

/* All addresses but the first are return addresses. Ends at the marker 0, 1, 0. */
static int read_cpu_samples(struct legacy *l, struct words *w)
{
	uint64_t n, depth, address;
	struct stack s;
	int r = 0;

	while (r == 0 && w->at < w->end) {
		if (!next_word_of(w, &n) || !next_word_of(w, &depth) ||
		    depth > (size_t)(w->end - w->at) / w->size) {
			count(l, PROFILE_LOSS_BROKEN_SAMPLES);
			w->at = w->end;
			break;
		}
		s.n = 0;
		s.is_cut = false;
		for (uint64_t i = 0; i < depth && next_word_of(w, &address); i++)
			add_address(&s, i > 0 ? address - 1 : address);
		if (n == 0 && depth == 1 && s.addresses[0] == 0)
			break;
		r = add_cpu_sample(l, &s, n);
	}
	return r;
}

static void drop_second(struct profile_sample *s)
{
	uint32_t *locations;

	/* they are ours, and const for readers only */
	memcpy(&locations, &s->locations, sizeof(locations));
	s->n_locations--;
	memmove(&locations[1], &locations[2], (s->n_locations - 1) * sizeof(*locations));
}

/*
 * If nearly all samples have the same second frame, it is one that the kernel pushed for the
 * handler of the signal. Returns whether it was dropped.
 */
static bool drop_signal_frame(struct profile *p)
{
	uint32_t candidate = 0, votes = 0, n = 0;

	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->n_locations < 2)
			continue;
		if (votes == 0)
			candidate = s->locations[1];
		votes += s->locations[1] == candidate ? 1 : -1u;
	}
	for (uint32_t i = 0; i < p->n_samples; i++)
		n += p->samples[i].n_locations > 1 && p->samples[i].locations[1] == candidate;
	if (n == 0 || n < p->n_samples - p->n_samples / 32)
		return false;
	for (uint32_t i = 0; i < p->n_samples; i++) {
		if (p->samples[i].n_locations > 1 && p->samples[i].locations[1] == candidate)
			drop_second(&p->samples[i]);
	}
	return true;
}

static int alloc_samples(struct legacy *l, size_t max)
{
	l->max_samples = max < LIMIT_PPROF_SAMPLES ? (uint32_t)max : LIMIT_PPROF_SAMPLES;
	l->profile.samples =
		arena_alloc(l->profile.arena, (l->max_samples + 1) * sizeof(*l->profile.samples));
	return l->profile.samples ? 0 : no_memory(l, l->max_samples * sizeof(*l->profile.samples));
}

static int read_cpu(struct legacy *l, struct words *w)
{
	struct profile *p = &l->profile;
	int r = alloc_samples(l, (size_t)(w->end - w->at) / w->size / 2);

	if (r == 0)
		r = read_cpu_samples(l, w);
	if (r < 0)
		return r;
	for (int i = 0; i < 2 && drop_signal_frame(p); i++)
		;
	/* the handler may have seen the leaf twice, as the code that ran and as a caller */
	for (uint32_t i = 0; i < p->n_samples; i++) {
		struct profile_sample *s = &p->samples[i];

		if (s->n_locations > 1 &&
		    l->addresses[s->locations[0]] == l->addresses[s->locations[1]] + 1)
			drop_second(s);
	}
	l->rest = (struct legacy_text){(const char *)w->at, (const char *)w->end};
	return 0;
}

/* ---- all ---- */

typedef bool (*line_fn)(struct legacy *l, struct legacy_text *line, struct stack *s);

static bool first_line(const void *data, size_t len, struct legacy_text *ret_rest,
		       struct legacy_text *ret)
{
	*ret_rest = (struct legacy_text){data, (const char *)data + len};
	while (legacy_next_line(ret_rest, ret)) {
		if (!legacy_is_comment(ret))
			return true;
	}
	return false;
}

static int set_types(struct legacy *l, const char *const *texts, uint32_t n)
{
	struct profile_value_type *t = arena_calloc(l->profile.arena, n, sizeof(*t));

	if (!t)
		return no_memory(l, n * sizeof(*t));
	for (uint32_t i = 0; i < n; i++) {
		t[i].type = (struct profile_string){texts[2 * i], strlen(texts[2 * i])};
		t[i].unit = (struct profile_string){texts[2 * i + 1], strlen(texts[2 * i + 1])};
	}
	l->profile.types = t;
	l->profile.n_types = n;
	l->profile.period_type = t[n - 1];
	return 0;
}

static int set_text_types(struct legacy *l, line_fn fn, const struct profile_string *type)
{
	static const char *const heap[] = {"alloc_objects", "count", "alloc_space", "bytes",
					   "inuse_objects", "count", "inuse_space", "bytes"};
	static const char *const growth[] = {"objects", "count", "space", "bytes"};
	static const char *const locks[] = {"contentions", "count", "delay", "nanoseconds"};
	const char *counts[] = {NULL, "count"};
	int r;

	if (fn == read_heap_line) {
		r = l->has_alloc ? set_types(l, heap, 4) : set_types(l, growth, 2);
		if (r == 0)
			l->profile.period_type =
				(struct profile_value_type){{"space", 5}, {"bytes", 5}};
		return r;
	}
	l->profile.period = 1;
	if (fn == read_contention_line) {
		r = set_types(l, locks, 2);
		if (r == 0)
			l->profile.period_type = l->profile.types[0];
		return r;
	}
	counts[0] = arena_strndup(l->profile.arena, type->data, type->len);
	return counts[0] ? set_types(l, counts, 1) : no_memory(l, type->len + 1);
}

static int read_lines(struct legacy *l, line_fn fn)
{
	struct legacy_text line, t = l->rest;
	struct stack s;
	size_t n = 0;
	bool in_samples = true;
	int r;

	while (legacy_next_line(&t, &line))
		n++;
	r = alloc_samples(l, n);
	while (r == 0 && legacy_next_line(&l->rest, &line)) {
		if (legacy_is_map_mark(&line))
			break;
		if (fn != read_heap_line && legacy_skip_text(&line, "---"))
			in_samples = false;
		if (!in_samples || legacy_is_comment(&line) ||
		    (fn == read_contention_line && read_attribute(l, &line)))
			continue;
		if (fn(l, &line, &s))
			r = add_sample(l, &s);
		else
			count(l, PROFILE_LOSS_BROKEN_LINES);
	}
	return r;
}

static line_fn detect_text(struct legacy *l, const struct legacy_text *line,
			   struct profile_string *type)
{
	struct legacy_text t = *line;

	if (read_heap_header(l, &t))
		return read_heap_line;
	t = *line;
	if (read_contention_header(&t))
		return read_contention_line;
	t = *line;
	return read_count_header(&t, type) ? read_count_line : NULL;
}

bool legacy_profile_detect(const void *data, size_t len)
{
	struct profile_string type;
	struct legacy l = {.err = NULL};
	struct legacy_text rest, line;
	struct words w;
	uint64_t period;
	uint8_t c = len > 0 ? *(const uint8_t *)data : 1;

	if (c == 0)
		return read_cpu_header(data, len, &w, &period);
	if (c <= ' ')
		return false;
	return first_line(data, len, &rest, &line) &&
	       (size_t)(line.end - line.at) <= MAX_HEADER_BYTES && detect_text(&l, &line, &type);
}

static int read_samples(struct legacy *l, const void *data, size_t len)
{
	static const char *const cpu[] = {"samples", "count", "cpu", "nanoseconds"};
	struct profile_string type = {"", 0};
	struct legacy_text line;
	struct words w;
	uint64_t period;
	line_fn fn;
	int r;

	if (read_cpu_header(data, len, &w, &period)) {
		l->profile.period = (int64_t)period * 1000;
		r = set_types(l, cpu, 2);
		return r < 0 ? r : read_cpu(l, &w);
	}
	fn = first_line(data, len, &l->rest, &line) ? detect_text(l, &line, &type) : NULL;
	if (!fn)
		return err_set(l->err, -EBADMSG, "not a profile of a known old format");
	r = set_text_types(l, fn, &type);
	return r < 0 ? r : read_lines(l, fn);
}

int legacy_profile_decode(struct profile *ret, struct arena *arena, const void *data, size_t len,
			  struct err *err)
{
	CLEANUP(legacy_fini) struct legacy l = {.profile = {.arena = arena}, .err = err};
	int r = read_samples(&l, data, len);

	if (r < 0)
		return r;
	if (l.profile.n_samples == 0 && profile_losses_any(&l.profile.losses))
		return err_set(err, -EBADMSG, "not one sample of the profile can be read");
	r = load_maps(&l);
	if (r < 0)
		return r;
	r = name_locations(&l);
	if (r < 0)
		return r;
	*ret = l.profile;
	return 0;
}
