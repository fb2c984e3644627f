/*
 * The tables of a request are read first (otlp_dictionary.h), then its profiles one by one. A
 * profile refers to a few of the stacks and locations that the tables have, and a part must have
 * its own: so what a part uses is numbered as it is met. The arrays for that are as long as the
 * tables, made once, and marked with the number of the part instead of being cleared, so that a
 * thousand small profiles do not cost a thousand times the tables.
 *
 * Samples of a part with the same stack are added up at once. What all samples of a request have as
 * text is limited before any of it is hashed: see LIMIT_PROFILE_STACK_TEXT_BYTES.
 */
#include "cluster-agent/otlp/otlp_parts.h"

#include <errno.h>

#include "cluster-agent/otlp/otlp_dictionary.h"
#include "cluster-agent/otlp/otlp_resource.h"
#include "cluster-agent/push/foreign_types.h"
#include "common/limits.h"
#include "common/system/clock.h"

#define MAX_COMMENTS 512u
/* Comments "lost:<reason>=<count>", of which a profile may have a few: see profile_rows.h. */
#define MAX_LOST 64u
#define LOST "lost:"

/* What a stack or location of the dictionary is called in the part with that number. */
struct place {
	uint32_t part;
	uint32_t index;
};

/* A sample of the profile that is read. */
struct sample {
	uint32_t stack;
	uint32_t name; /* 1 + number of the attribute that names its service; 0: none */
	int64_t value;
};

struct decoder {
	const struct otlp_parts_config *cfg;
	struct otlp_parts_report *report;
	struct arena *arena;
	struct err *err;
	struct otlp_dictionary dict;
	struct upload_parts parts;
	uint32_t max_parts;
	uint32_t part; /* number of the part that is made */
	struct place *stacks, *locations, *functions;
	uint64_t n_samples; /* of the request */
	uint64_t text_bytes;
	/* of the scope and the profile that are read */
	struct otlp_resource resource;
	bool is_ebpf;
	struct otlp_profile profile;
	struct sample *samples;
	uint32_t n;
	bool has_names;
	int64_t start_ns, end_ns;
	struct profile_string own_type; /* coroot.profile.type */
	struct profile_string *comments;
	uint32_t n_comments;
	uint32_t n_lost;
	struct profile_losses losses;
};

static int invalid(const struct decoder *d, const char *what)
{
	return err_set(d->err, -EBADMSG, "not a valid OTLP request: %s", what);
}

static int no_room(const struct decoder *d, size_t size)
{
	int e = arena_error(d->arena, size);

	return e == -EFBIG ? err_set(d->err, e, "the request takes more than %zu bytes of memory",
				     d->arena->limit_bytes)
			   : e;
}

static void *alloc(struct decoder *d, size_t n, size_t size, int *ret_error)
{
	void *p = arena_calloc(d->arena, n + 1, size);

	if (!p)
		*ret_error = no_room(d, (n + 1) * size);
	return p;
}

/* Counts the profile as rejected. Returns 1. */
static int reject(struct decoder *d, const char *reason)
{
	if (d->report->n_rejected++ == 0)
		snprintf(d->report->reason.msg, sizeof(d->report->reason.msg), "%s", reason);
	return 1;
}

static struct profile_string string_of(struct otlp_bytes b)
{
	return (struct profile_string){.data = b.data ? (const char *)b.data : "", .len = b.len};
}

/* ---- attributes ---- */

static int name_sample(void *ctx, uint64_t index)
{
	struct decoder *d = ctx;
	const struct otlp_dictionary_attribute *a = otlp_dictionary_attribute(&d->dict, index);
	struct sample *s = &d->samples[d->n];

	if (!a)
		return -ENOENT;
	if (a->value.kind != OTLP_VALUE_STRING || a->value.bytes.len == 0)
		return 0;
	if (a->key == OTLP_KEY_SERVICE || (a->key == OTLP_KEY_EXECUTABLE && s->name == 0))
		s->name = (uint32_t)index + 1;
	return 0;
}

/* Returns -EEXIST if it is the mark of a sample that was subtracted. */
static int find_base(void *ctx, uint64_t index)
{
	const struct decoder *d = ctx;
	const struct otlp_dictionary_attribute *a = otlp_dictionary_attribute(&d->dict, index);
	bool is_base = a && a->key == OTLP_KEY_BASE && a->value.kind == OTLP_VALUE_STRING &&
		       a->value.bytes.len == 4 && memcmp(a->value.bytes.data, "true", 4) == 0;

	return is_base ? -EEXIST : 0;
}

static int add_comment(struct decoder *d, struct otlp_bytes text)
{
	int e = 0;

	if (d->n_comments == MAX_COMMENTS)
		return 0;
	if (text.len >= strlen(LOST) && memcmp(text.data, LOST, strlen(LOST)) == 0 &&
	    d->n_lost++ >= MAX_LOST)
		return 0;
	if (d->n_comments == 0)
		d->comments = alloc(d, MAX_COMMENTS, sizeof(*d->comments), &e);
	if (e == 0)
		d->comments[d->n_comments++] = string_of(text);
	return e;
}

static int add_comments(struct decoder *d, struct otlp_bytes array)
{
	struct wire_reader w = otlp_reader(array);
	struct wire_field f;
	int e;

	while ((e = otlp_next(&w, OTLP_ARRAY_VALUES, &f)) > 0) {
		struct otlp_value v;

		if (otlp_read_value((struct otlp_bytes){f.data, f.len}, &v) < 0)
			return -EBADMSG;
		if (v.kind == OTLP_VALUE_STRINDEX)
			v.bytes = otlp_dictionary_string(&d->dict, (int32_t)v.number);
		if (v.kind != OTLP_VALUE_STRING && v.kind != OTLP_VALUE_STRINDEX)
			continue;
		e = add_comment(d, v.bytes);
		if (e < 0)
			return e;
	}
	return e;
}

/* Whether it is "source:name:unit": profile_rows.h would refuse the whole upload otherwise. */
static bool is_own_type(struct otlp_bytes text)
{
	size_t n_chars = 0;
	unsigned n_parts = 1;

	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = text.data[i];

		if (c <= ' ' || c >= 0x7f || (c == ':' && n_chars == 0))
			return false;
		n_parts += c == ':';
		n_chars = c == ':' ? 0 : n_chars + 1;
	}
	return n_parts == 3 && n_chars > 0;
}

static int read_profile_attribute(void *ctx, uint64_t index)
{
	struct decoder *d = ctx;
	const struct otlp_dictionary_attribute *a = otlp_dictionary_attribute(&d->dict, index);

	if (!a)
		return -ENOENT;
	if (a->key == OTLP_KEY_PROFILE_TYPE && a->value.kind == OTLP_VALUE_STRING &&
	    is_own_type(a->value.bytes))
		d->own_type = string_of(a->value.bytes);
	else if (a->key == OTLP_KEY_COMMENT && a->value.kind == OTLP_VALUE_STRING)
		return add_comment(d, a->value.bytes);
	else if (a->key == OTLP_KEY_COMMENT && a->value.kind == OTLP_VALUE_ARRAY)
		return add_comments(d, a->value.bytes);
	return 0;
}

static int attribute_error(const struct decoder *d, int e)
{
	if (e != -ENOENT && e != -EBADMSG)
		return e;
	return invalid(d, e == -ENOENT ? "attribute_indices refers to what does not exist"
				       : "broken attribute");
}

/* ---- samples of a profile ---- */

/* Returns 0, 1 if the profile is rejected, or an error. */
static int add_sample(struct decoder *d, struct otlp_bytes message)
{
	struct otlp_sample s;
	int e;

	if (otlp_read_sample(message, &s) < 0)
		return invalid(d, "broken sample");
	if (s.stack_index < 0 || (uint32_t)s.stack_index >= d->dict.n_stacks)
		return invalid(d, "stack_index refers to what does not exist");
	if (s.n_values == 0 && s.n_timestamps == 0)
		return reject(d, "a sample has neither values nor timestamps");
	if (d->dict.has_base &&
	    otlp_each_number(message, OTLP_SAMPLE_ATTRIBUTES, find_base, d) == -EEXIST)
		return reject(d, "it is a difference of two profiles (samples have the attribute "
				 "pprof::base); send the two profiles themselves");
	d->losses.n[PROFILE_LOSS_NEGATIVE_VALUES] += s.n_negative;
	d->losses.n[PROFILE_LOSS_CLAMPED_VALUES] += s.is_clamped;
	d->samples[d->n] = (struct sample){
		.stack = (uint32_t)s.stack_index,
		.value = s.n_values > 0 ? s.sum : (int64_t)s.n_timestamps,
	};
	if (d->resource.service.len == 0) {
		e = otlp_each_number(message, OTLP_SAMPLE_ATTRIBUTES, name_sample, d);
		if (e < 0)
			return attribute_error(d, e);
		d->has_names |= d->samples[d->n].name != 0;
	}
	d->n++;
	if (s.n_timestamps > 0 && s.last_ns <= INT64_MAX) {
		if (d->start_ns == 0 || (int64_t)s.first_ns < d->start_ns)
			d->start_ns = (int64_t)s.first_ns;
		if ((int64_t)s.last_ns > d->end_ns)
			d->end_ns = (int64_t)s.last_ns;
	}
	return 0;
}

static int read_samples(struct decoder *d, struct otlp_bytes profile)
{
	struct wire_reader w = otlp_reader(profile);
	struct wire_field f;
	int e = 0;

	d->n_samples += d->profile.n_samples;
	if (d->n_samples > LIMIT_PPROF_SAMPLES)
		return err_set(d->err, -EFBIG, "more than %u samples", LIMIT_PPROF_SAMPLES);
	d->samples = alloc(d, d->profile.n_samples, sizeof(*d->samples), &e);
	d->n = 0;
	d->has_names = false;
	d->start_ns = d->end_ns = 0;
	while (e == 0 && (e = wire_reader_read_field(&w, &f)) > 0)
		e = f.number == OTLP_PROFILE_SAMPLES
			    ? add_sample(d, (struct otlp_bytes){f.data, f.len})
			    : 0;
	return e;
}

/*
 * Those that the profile gives, or without them those of its timestamps. Returns 0, or 1 if the
 * profile is rejected.
 */
static int set_times(struct decoder *d)
{
	const struct otlp_profile *p = &d->profile;
	int64_t now = d->cfg->now_ns;
	int64_t end;

	if (p->duration_ns > INT64_MAX)
		return reject(d, "its duration is too long");
	if (p->start_ns > 0) {
		/* no clock of ours: the profile gets the time of its arrival */
		d->start_ns = p->start_ns > INT64_MAX ? INT64_MAX : (int64_t)p->start_ns;
		end = d->end_ns > d->start_ns ? d->end_ns : d->start_ns;
		if (p->duration_ns > 0 &&
		    __builtin_add_overflow(d->start_ns, (int64_t)p->duration_ns, &end)) {
			end = INT64_MAX;
			d->start_ns = end - (int64_t)p->duration_ns;
		}
		d->end_ns = end;
	} else if (d->end_ns == 0) {
		d->end_ns = now;
		d->start_ns = now - ((int64_t)p->duration_ns < d->cfg->max_age_ns
					     ? (int64_t)p->duration_ns
					     : 0);
	}
	return d->end_ns - d->start_ns > d->cfg->max_age_ns ? reject(d, "its duration is too long")
							    : 0;
}

/* ---- parts ---- */

static int add_location(struct decoder *d, struct profile *p, uint32_t number, uint32_t *ret)
{
	const struct profile_location *from = &d->dict.locations[number];
	struct place *place = &d->locations[number];
	struct profile_line *lines;
	int e = 0;

	if (place->part == d->part) {
		*ret = place->index;
		return 0;
	}
	lines = alloc(d, from->n_lines, sizeof(*lines), &e);
	if (!lines)
		return e;
	for (uint32_t i = 0; i < from->n_lines; i++) {
		struct place *f = &d->functions[from->lines[i].function];

		if (f->part != d->part) {
			*f = (struct place){d->part, p->n_functions};
			p->functions[p->n_functions++] = d->dict.functions[from->lines[i].function];
		}
		lines[i] = (struct profile_line){f->index, from->lines[i].line};
	}
	*place = (struct place){d->part, p->n_locations};
	p->locations[p->n_locations] = *from;
	p->locations[p->n_locations].lines = lines;
	*ret = p->n_locations++;
	return 0;
}

static void add_value(struct decoder *d, int64_t *sum, int64_t value)
{
	if (!__builtin_add_overflow(*sum, value, sum))
		return;
	*sum = INT64_MAX;
	d->losses.n[PROFILE_LOSS_CLAMPED_VALUES]++;
}

static int add_to_part(struct decoder *d, struct profile *p, int64_t *values,
		       const struct sample *s)
{
	const struct otlp_stack *stack = &d->dict.stacks[s->stack];
	struct place *place = &d->stacks[s->stack];
	uint32_t *locations, n;
	int e = 0;

	if (place->part == d->part) {
		add_value(d, &values[place->index], s->value);
		return 0;
	}
	d->text_bytes += stack->text_bytes;
	if (d->text_bytes > LIMIT_PROFILE_STACK_TEXT_BYTES)
		return err_set(d->err, -EFBIG, "stacks are more than %llu bytes of text",
			       (unsigned long long)LIMIT_PROFILE_STACK_TEXT_BYTES);
	locations = alloc(d, stack->n, sizeof(*locations), &e);
	for (uint32_t i = 0; i < stack->n && e == 0; i++)
		e = add_location(d, p, stack->locations[i], &locations[i]);
	if (e < 0)
		return e;
	n = p->n_samples++;
	*place = (struct place){d->part, n};
	values[n] = s->value;
	p->samples[n] = (struct profile_sample){
		.locations = locations,
		.n_locations = stack->n,
		.values = &values[n],
	};
	return 0;
}

/* How many locations and lines the samples have at most, counting each stack once. */
static void count_places(struct decoder *d, uint32_t first, uint32_t n, size_t *ret_locations,
			 size_t *ret_lines)
{
	size_t n_locations = 0, n_lines = 0;

	for (uint32_t i = first; i < first + n; i++) {
		const struct otlp_stack *stack = &d->dict.stacks[d->samples[i].stack];

		if (d->stacks[d->samples[i].stack].part == d->part)
			continue;
		d->stacks[d->samples[i].stack].part = d->part;
		for (uint32_t j = 0; j < stack->n; j++) {
			struct place *l = &d->locations[stack->locations[j]];

			if (l->part == d->part)
				continue;
			l->part = d->part;
			n_locations++;
			n_lines += d->dict.locations[stack->locations[j]].n_lines;
		}
	}
	*ret_locations = n_locations;
	*ret_lines = n_lines;
	d->part++; /* forgets the marks */
}

static int add_samples(struct decoder *d, struct profile *p, uint32_t first, uint32_t n)
{
	size_t n_locations, n_lines;
	int64_t *values;
	int e = 0;

	d->part++;
	count_places(d, first, n, &n_locations, &n_lines);
	values = alloc(d, n, sizeof(*values), &e);
	if (values)
		p->samples = alloc(d, n, sizeof(*p->samples), &e);
	if (e == 0)
		p->locations = alloc(d, n_locations, sizeof(*p->locations), &e);
	if (e == 0)
		p->functions = alloc(d, n_lines, sizeof(*p->functions), &e);
	for (uint32_t i = first; i < first + n && e == 0; i++)
		e = add_to_part(d, p, values, &d->samples[i]);
	return e;
}

static struct profile_value_type type_of(const struct decoder *d, struct otlp_value_type t)
{
	return (struct profile_value_type){
		string_of(otlp_dictionary_string(&d->dict, t.type_strindex)),
		string_of(otlp_dictionary_string(&d->dict, t.unit_strindex)),
	};
}

/* The texts of types are compared as strings, so they are copied with an end. */
static int copy_string(struct decoder *d, struct profile_string *s)
{
	char *copy = arena_strndup(d->arena, s->data, s->len);

	if (!copy)
		return no_room(d, s->len);
	s->data = copy;
	return 0;
}

static int set_types(struct decoder *d, struct profile *p)
{
	int e = 0;

	p->types = alloc(d, 1, sizeof(*p->types), &e);
	if (e < 0)
		return e;
	p->n_types = 1;
	p->types[0] = type_of(d, d->profile.sample_type);
	p->period_type = type_of(d, d->profile.period_type);
	p->period = d->profile.period;
	if (d->own_type.len > 0)
		p->types[0].type = d->own_type;
	e = copy_string(d, &p->types[0].type);
	if (e == 0)
		e = copy_string(d, &p->types[0].unit);
	if (e == 0)
		e = copy_string(d, &p->period_type.type);
	return e < 0 ? e : copy_string(d, &p->period_type.unit);
}

/* Whether it is one of the types that profilers of whole machines send. */
static bool is_machine_type(const struct profile *p, bool has_language)
{
	const char *type = p->types[0].type.data;

	if (strcmp(type, "off_cpu") == 0)
		return true;
	if (strcmp(type, "samples") == 0)
		return strcmp(p->period_type.type.data, "cpu") == 0;
	/* SDKs send these, too */
	return !has_language && (strcmp(type, "cpu") == 0 || strcmp(type, "events") == 0);
}

/*
 * A profiler of whole machines sends what it saw of a process in several profiles and requests.
 * They must get the same type whatever language most of their frames are in, and although the
 * resource may say the language of the process.
 */
static enum foreign_source source_of(const struct decoder *d, const struct profile *p)
{
	enum foreign_source s = d->resource.source;

	if (d->is_ebpf)
		return FOREIGN_EBPF;
	return d->dict.crosses_languages && is_machine_type(p, s != FOREIGN_ANY) ? FOREIGN_EBPF : s;
}

/* A type that has a name here has the values of that type already. */
static int map_types(struct decoder *d, struct profile *p)
{
	const struct foreign_hints hints = {.source = source_of(d, p)};
	struct err err = {""};
	int e;

	if (foreign_types_present(p)) {
		e = foreign_types_apply(p, &hints, &err);
		if (e == -EBADMSG)
			return reject(d, err.msg);
		if (e < 0)
			return e == -EFBIG ? err_set(d->err, e, "%s", err.msg) : e;
	}
	if (p->n_types == 0 || p->types[0].type.len == 0)
		return reject(d, "its sample_type has no name");
	return is_own_type((struct otlp_bytes){(const uint8_t *)p->types[0].type.data,
					       p->types[0].type.len})
		       ? 0
		       : reject(d, "its sample_type is not a name");
}

static struct upload_part *new_part(struct decoder *d, int *ret_error)
{
	if (d->parts.n == UPLOAD_PARTS_MAX) {
		*ret_error = err_set(d->err, -EFBIG, "more than %u profiles and services",
				     UPLOAD_PARTS_MAX);
		return NULL;
	}
	if (d->parts.n == d->max_parts) {
		uint32_t max = d->max_parts ? 2 * d->max_parts : 16;
		struct upload_part *more = alloc(d, max, sizeof(*more), ret_error);

		if (!more)
			return NULL;
		if (d->parts.n > 0)
			memcpy(more, d->parts.items, d->parts.n * sizeof(*more));
		d->parts.items = more;
		d->max_parts = max;
	}
	return &d->parts.items[d->parts.n];
}

static struct row_text service_of(struct decoder *d, uint32_t name)
{
	if (d->resource.service.len > 0)
		return d->resource.service;
	return name > 0 ? otlp_resource_text(d->arena, d->dict.attributes[name - 1].value.bytes,
					     OTLP_RESOURCE_VALUE_BYTES)
			: d->resource.unnamed;
}

/* Makes a part of samples that have one name. As add_to_part(). */
static int add_part(struct decoder *d, uint32_t first, uint32_t n)
{
	int e = 0;
	struct upload_part *part = new_part(d, &e);
	struct profile *p;

	if (!part)
		return e;
	*part = (struct upload_part){
		.service = service_of(d, d->samples[first].name),
		.host = d->resource.host,
		.labels = d->resource.labels,
		.n_labels = d->resource.n_labels,
		.profile = {.arena = d->arena,
			    .comments = d->comments,
			    .n_comments = d->n_comments,
			    .time_ns = d->end_ns,
			    .duration_ns = d->end_ns - d->start_ns},
	};
	if (!part->service.data)
		return no_room(d, OTLP_RESOURCE_VALUE_BYTES);
	p = &part->profile;
	e = set_types(d, p);
	if (e == 0)
		e = add_samples(d, p, first, n);
	if (e == 0)
		e = map_types(d, p);
	if (e == 0)
		d->parts.n++;
	return e;
}

static int by_name(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

static int add_parts(struct decoder *d)
{
	uint32_t first = 0;
	int e = 0;

	if (d->has_names)
		qsort(d->samples, d->n, sizeof(*d->samples), by_name);
	for (uint32_t i = 1; i <= d->n && e == 0; i++) {
		if (i < d->n && d->samples[i].name == d->samples[first].name)
			continue;
		e = add_part(d, first, i - first);
		first = i;
	}
	return e;
}

/* A profile without samples is fine, and makes no part. */
static int read_profile(struct decoder *d, struct otlp_bytes message)
{
	size_t n_parts = d->parts.n;
	int e;

	d->report->n_profiles++;
	if (otlp_read_profile(message, &d->profile) < 0)
		return invalid(d, "broken profile");
	d->own_type = (struct profile_string){"", 0};
	d->n_comments = 0;
	d->n_lost = 0;
	d->losses = (struct profile_losses){0};
	e = otlp_each_number(message, OTLP_PROFILE_ATTRIBUTES, read_profile_attribute, d);
	if (e < 0)
		return attribute_error(d, e);
	e = read_samples(d, message);
	if (e == 0 && d->n > 0) {
		if (d->profile.sample_type.type_strindex == 0 && d->own_type.len == 0)
			e = reject(d, "it has no sample_type");
		if (e == 0)
			e = set_times(d);
		if (e == 0)
			e = add_parts(d);
	}
	if (e == 1)
		d->parts.n = n_parts;
	else
		profile_losses_add(&d->parts.losses, &d->losses);
	return e < 0 ? e : 0;
}

/* ---- the messages around profiles ---- */

static int read_scope(struct decoder *d, struct otlp_bytes message)
{
	struct wire_reader w = otlp_reader(message);
	struct wire_field f;
	int e;

	while ((e = otlp_next(&w, OTLP_SCOPE_NAME, &f)) > 0)
		d->is_ebpf |= foreign_source_find((const char *)f.data, f.len) == FOREIGN_EBPF;
	return e < 0 ? invalid(d, "broken scope") : 0;
}

static int read_scope_profiles(struct decoder *d, struct otlp_bytes message)
{
	struct wire_reader w = otlp_reader(message);
	struct wire_field f;
	int e;

	/* the scope may follow its profiles */
	d->is_ebpf = d->resource.source == FOREIGN_EBPF;
	while ((e = otlp_next(&w, OTLP_SCOPE_PROFILES_SCOPE, &f)) > 0) {
		e = read_scope(d, (struct otlp_bytes){f.data, f.len});
		if (e < 0)
			return e;
	}
	w = otlp_reader(message);
	while (e == 0 && (e = otlp_next(&w, OTLP_SCOPE_PROFILES_PROFILES, &f)) > 0)
		e = f.number == OTLP_SCOPE_PROFILES_PROFILES
			    ? read_profile(d, (struct otlp_bytes){f.data, f.len})
			    : 0;
	return e == -EBADMSG && d->err->msg[0] == '\0' ? invalid(d, "broken field") : e;
}

static int read_resource_profiles(struct decoder *d, struct otlp_bytes message)
{
	struct otlp_bytes resource = {.len = 0};
	struct wire_reader w = otlp_reader(message);
	struct wire_field f;
	int e;

	while ((e = otlp_next(&w, OTLP_RESOURCE_PROFILES_RESOURCE, &f)) > 0)
		resource = (struct otlp_bytes){f.data, f.len};
	if (e == 0)
		e = otlp_resource_read(&d->resource, d->arena, &d->dict, resource, d->err);
	w = otlp_reader(message);
	while (e == 0 && (e = otlp_next(&w, OTLP_RESOURCE_PROFILES_SCOPES, &f)) > 0)
		e = f.number == OTLP_RESOURCE_PROFILES_SCOPES
			    ? read_scope_profiles(d, (struct otlp_bytes){f.data, f.len})
			    : 0;
	return e == -EBADMSG && d->err->msg[0] == '\0' ? invalid(d, "broken field") : e;
}

static int read_request(struct decoder *d, struct otlp_bytes request)
{
	struct wire_reader w = otlp_reader(request);
	struct wire_field f;
	int e = otlp_dictionary_read(&d->dict, d->arena, request, d->err);

	if (e == 0)
		d->stacks = alloc(d, d->dict.n_stacks, sizeof(*d->stacks), &e);
	if (e == 0)
		d->locations = alloc(d, d->dict.n_locations, sizeof(*d->locations), &e);
	if (e == 0)
		d->functions = alloc(d, d->dict.n_functions, sizeof(*d->functions), &e);
	while (e == 0 && (e = otlp_next(&w, OTLP_REQUEST_DICTIONARY, &f)) > 0)
		e = f.number == OTLP_REQUEST_RESOURCE_PROFILES
			    ? read_resource_profiles(d, (struct otlp_bytes){f.data, f.len})
			    : 0;
	return e;
}

int otlp_parts_decode(struct upload_parts *ret, struct otlp_parts_report *report,
		      struct arena *arena, const struct otlp_parts_config *cfg,
		      struct otlp_bytes request, struct err *err)
{
	struct decoder d = {.cfg = cfg, .report = report, .arena = arena, .err = err};
	int e;

	*report = (struct otlp_parts_report){.n_profiles = 0};
	err->msg[0] = '\0';
	e = read_request(&d, request);
	if (e < 0)
		return e == -EBADMSG && err->msg[0] == '\0' ? invalid(&d, "broken field") : e;
	if (report->n_rejected > 0 && d.parts.n == 0)
		return err_set(err, -EBADMSG, "none of the profiles can be stored: %s",
			       report->reason.msg);
	*ret = d.parts;
	return 0;
}
