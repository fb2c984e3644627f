/*
 * Decoded profile → stacks and values in the shape of the tables.
 *
 * A pprof says per sample which locations, a location says which lines (several if calls were
 * inlined, the innermost first), a line says which function. The tables want a text per frame and
 * a hash per stack. All lines of a location but the last are marked as inlined in their text.
 * A profile has far more samples than locations, so each location is formatted once, and a
 * stack is then the concatenation of its locations' frames: never copied, only walked, by
 * stack_hash.h and by profile_rows_frames().
 *
 * The hash that is stored, FNV-1a over kilobytes of text, takes longer than all else. So each
 * location has an XXH3 of its frames, the XXH3 of these is the stack's key, and seen_stacks.h
 * knows the stored hash by that key. Only stacks that it does not know are hashed. Two keys may
 * belong to one stored hash: a stack may have locations without a frame.
 *
 * Foreign data is checked in the order of what it costs: types and times first, then the amount
 * of text to hash, and only then the hashing. A few long names that a million stacks repeat
 * would otherwise keep a CPU busy for hours, within all limits on counts.
 */
#include "cluster-agent/ingest/profile_rows.h"

#include <errno.h>

#include "cluster-agent/ingest/stack_hash.h"
#include "common/data/hash.h"
#include "common/data/number_index.h"
#include "common/data/table.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/text/parse.h"

#define TRUNCATED "[truncated]"
#define LOST "lost:"
#define RUNTIME "runtime:"
#define UNWIND "unwind:"
#define INLINED ":inlined"

/* The sender may repeat the upload later if there was no memory, but not if it is too large. */
static int memory_error(int r, struct err *err)
{
	return r == -EFBIG ? err_set(err, r, "profile needs more memory than allowed") : r;
}

static int no_room(const struct profile *p, size_t size, struct err *err)
{
	return memory_error(arena_error(p->arena, size), err);
}

static size_t decimal(char *end, int64_t v)
{
	uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
	char *p = end;

	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (v < 0)
		*--p = '-';
	return (size_t)(end - p);
}

/* Marks a frame that is inlined into the next one. */
static const struct profile_string inlined_mark = {INLINED, sizeof(INLINED) - 1};

/* The last space of a text ends the name, so a file must have none: "<frozen_importlib>". */
static void copy_file(char *to, const struct profile_string *file)
{
	for (size_t i = 0; i < file->len; i++)
		to[i] = file->data[i] == ' ' ? '_' : file->data[i];
}

static int format_frame(struct row_text *ret, const struct profile *p,
			const struct profile_line *line, bool inlined, struct err *err)
{
	const struct profile_function *f = &p->functions[line->function];
	char digits[24];
	size_t n_digits = decimal(digits + sizeof(digits), line->line);
	size_t mark_len = inlined ? inlined_mark.len : 0;
	size_t len = f->name.len + 1 + f->file.len + 1 + n_digits + mark_len;
	char *text = arena_alloc(p->arena, len), *at = text;

	if (!text)
		return no_room(p, len, err);
	*ret = (struct row_text){.data = text, .len = len};
	memcpy(at, f->name.data, f->name.len);
	at += f->name.len;
	*at++ = ' ';
	copy_file(at, &f->file);
	at += f->file.len;
	*at++ = ':';
	memcpy(at, digits + sizeof(digits) - n_digits, n_digits);
	memcpy(at + n_digits, inlined_mark.data, mark_len);
	return 0;
}

static bool has_truncated(const struct profile *p, const struct profile_location *l)
{
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_string *name = &p->functions[l->lines[i].function].name;

		if (name->len == strlen(TRUNCATED) &&
		    memcmp(name->data, TRUNCATED, strlen(TRUNCATED)) == 0)
			return true;
	}
	return false;
}

static int format_location(struct profile_rows_location *ret, const struct profile *p,
			   const struct profile_location *l, struct err *err)
{
	struct row_text *frames = arena_calloc(p->arena, l->n_lines, sizeof(*frames));

	if (!frames)
		return no_room(p, l->n_lines * sizeof(*frames), err);
	*ret = (struct profile_rows_location){
		.frames = frames,
		.hash = table_seed,
		.n_frames = (uint16_t)l->n_lines,
		.truncated = has_truncated(p, l),
	};
	for (uint32_t i = 0; i < l->n_lines; i++) {
		int e = format_frame(&frames[i], p, &l->lines[i], i + 1 < l->n_lines, err);

		if (e < 0)
			return e;
		ret->n_bytes += (uint32_t)frames[i].len;
		ret->hash = XXH3_64bits_withSeed(frames[i].data, frames[i].len, ret->hash);
	}
	return 0;
}

/* Formats every frame once; stacks then refer to them by location. */
static int format_locations(struct profile_rows *r, struct err *err)
{
	const struct profile *p = r->profile;
	size_t size = p->n_locations * sizeof(*r->locations);
	int e = 0;

	r->locations = arena_calloc(p->arena, p->n_locations + 1, sizeof(*r->locations));
	if (!r->locations)
		return no_room(p, size, err);
	for (uint32_t i = 0; i < p->n_locations && e == 0; i++)
		if (p->locations[i].n_lines > 0)
			e = format_location(&r->locations[i], p, &p->locations[i], err);
	return e;
}

/* What samples refer to, by sample, until equal stacks are merged. */
struct sample_stacks {
	struct seen_key *keys;
	struct seen_answer *answers;
	uint64_t *hashes;
	uint32_t *unknown; /* samples whose hash must be computed */
	uint32_t n_unknown;
	bool *truncated;
};

static int sample_stacks_init(struct sample_stacks *s, const struct profile *p, struct err *err)
{
	uint32_t n = p->n_samples;

	s->keys = arena_alloc(p->arena, n * sizeof(*s->keys));
	s->answers = arena_calloc(p->arena, n, sizeof(*s->answers));
	s->hashes = arena_alloc(p->arena, n * sizeof(*s->hashes));
	s->unknown = arena_alloc(p->arena, n * sizeof(*s->unknown));
	s->truncated = arena_alloc(p->arena, n * sizeof(*s->truncated));
	if (!s->keys || !s->answers || !s->hashes || !s->unknown || !s->truncated)
		return no_room(p, n * sizeof(*s->keys), err);
	return 0;
}

/* Secret for keys: other services have other keys of the same stacks, and no sender knows them. */
static void make_secret(uint8_t *secret, const struct profile_rows_known *known)
{
	uint64_t seed = table_seed;

	if (known)
		seed = XXH3_64bits_withSeed(known->service.data, known->service.len, seed);
	XXH3_generateSecret_fromSeed(secret, seed);
}

/* Walks all stacks once; the text that would have to be hashed may be limits.max_hash_bytes. */
static int read_stacks(struct profile_rows *r, struct sample_stacks *s, uint64_t max_bytes,
		       const struct profile_rows_known *known, struct err *err)
{
	uint8_t secret[XXH3_SECRET_DEFAULT_SIZE];
	UNINITIALIZED uint64_t path[LIMIT_PPROF_STACK_DEPTH];
	uint64_t n_bytes = 0;
	const struct profile *p = r->profile;

	make_secret(secret, known);
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		uint32_t n_frames = 0;
		bool truncated = false;
		XXH128_hash_t key;

		for (uint32_t d = 0; d < sample->n_locations; d++) {
			const struct profile_rows_location *l = &r->locations[sample->locations[d]];

			path[d] = l->hash;
			n_frames += l->n_frames;
			n_bytes += l->n_bytes;
			truncated |= l->truncated;
		}
		key = XXH3_128bits_withSecret(path, sample->n_locations * sizeof(path[0]), secret,
					      sizeof(secret));
		s->keys[i] = (struct seen_key){.low = key.low64, .high = key.high64};
		s->truncated[i] = truncated;
		if (n_frames > r->max_frames)
			r->max_frames = n_frames;
		if (n_bytes > max_bytes)
			return err_set(err, -EFBIG, "stacks are more than %llu bytes of text",
				       (unsigned long long)max_bytes);
	}
	r->text_bytes = n_bytes;
	return 0;
}

static void hash_stacks(const struct profile_rows *r, struct sample_stacks *s,
			const struct profile_rows_known *known)
{
	const struct profile *p = r->profile;

	if (known)
		seen_stacks_find(known->seen, s->keys, p->n_samples, r->window.end_ns, s->answers);
	for (uint32_t i = 0; i < p->n_samples; i++) {
		s->hashes[i] = s->answers[i].hash;
		s->unknown[s->n_unknown] = i;
		s->n_unknown += !s->answers[i].found;
	}
	stack_hash_all(r->locations, p->samples, s->unknown, s->n_unknown, s->hashes);
}

/* Fills r->stacks; stack_of[sample] becomes its index there. */
static int merge_stacks(struct profile_rows *r, const struct sample_stacks *s, uint32_t *stack_of,
			struct err *err)
{
	const struct profile *p = r->profile;
	struct number_index by_hash = {.arena = p->arena};
	int e;

	r->stacks = arena_alloc(p->arena, (p->n_samples + 1) * sizeof(*r->stacks));
	if (!r->stacks)
		return no_room(p, (p->n_samples + 1) * sizeof(*r->stacks), err);
	e = number_index_reserve(&by_hash, p->n_samples);
	for (uint32_t i = 0; e == 0 && i < p->n_samples; i++) {
		if (!number_index_find(&by_hash, s->hashes[i], r->stacks, sizeof(*r->stacks),
				       &stack_of[i])) {
			stack_of[i] = r->n_stacks;
			r->stacks[r->n_stacks++] = (struct profile_rows_stack){
				.hash = s->hashes[i],
				.key = s->keys[i],
				.sample = i,
				.truncated = s->truncated[i],
			};
			e = number_index_add(&by_hash, number_hash(s->hashes[i]), stack_of[i]);
		}
		r->stacks[stack_of[i]].known |= s->answers[i].known;
	}
	if (e < 0)
		return memory_error(e, err);
	if (r->n_stacks == 0)
		r->stacks[r->n_stacks++] =
			(struct profile_rows_stack){.hash = FNV1A64_INIT, .sample = UINT32_MAX};
	return 0;
}

static bool is_type(const struct profile_string *type)
{
	size_t n_chars = 0;
	int n_parts = 1;

	for (size_t i = 0; i < type->len; i++) {
		unsigned char c = (unsigned char)type->data[i];

		if (c != ':') {
			/* the type is a key of queries: neither spaces nor control characters */
			if (c <= ' ' || c >= 0x7f)
				return false;
			n_chars++;
			continue;
		}
		if (n_chars == 0)
			return false;
		n_chars = 0;
		n_parts++;
	}
	return n_parts == 3 && n_chars > 0;
}

static bool is_kept(const struct profile_string *type)
{
	return type->len > 0 && type->len <= PROFILE_ROWS_TYPE_BYTES;
}

static bool same(const struct profile_string *a, const struct profile_string *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static uint64_t observations(const struct profile *p, uint32_t type, uint64_t value,
			     uint64_t n_pprof_samples)
{
	uint64_t period = p->period > 0 ? (uint64_t)p->period : 0;

	if (period == 0 || p->period_type.unit.len == 0 ||
	    !same(&p->period_type.unit, &p->types[type].unit))
		return n_pprof_samples;
	return value / period + (value % period >= period - period / 2);
}

/* What the values of a type add up to. */
struct totals {
	uint64_t sum, n;                     /* of samples with a value */
	uint64_t truncated_sum, n_truncated; /* of those whose stack is truncated */
	uint64_t n_negative, n_clamped;
};

/* Adds values up by stack, at most max of each. Returns false if they exceed 63 bits together. */
static bool add_values(const struct profile_rows *r, uint32_t type, const uint32_t *stack_of,
		       int64_t max, int64_t *values, struct totals *ret)
{
	const struct profile *p = r->profile;
	struct totals t = {.n = 0};

	for (uint32_t i = 0; i < p->n_samples; i++) {
		int64_t v = p->samples[i].values[type];
		uint32_t stack = stack_of[i];

		t.n_negative += v < 0;
		t.n_clamped += v > max;
		if (v <= 0)
			continue;
		if (v > max)
			v = max;
		t.sum += (uint64_t)v;
		if (t.sum > INT64_MAX)
			return false;
		values[stack] += v;
		t.n++;
		if (r->stacks[stack].truncated) {
			t.truncated_sum += (uint64_t)v;
			t.n_truncated++;
		}
	}
	*ret = t;
	return true;
}

static int add_type(struct profile_rows *r, uint32_t type, const uint32_t *stack_of,
		    struct err *err)
{
	const struct profile *p = r->profile;
	size_t size = r->n_stacks * sizeof(int64_t);
	int64_t *values = arena_calloc(p->arena, r->n_stacks, sizeof(*values));
	int64_t max = INT64_MAX;
	struct totals t;

	if (!values)
		return no_room(p, size, err);
	/* there are fewer samples than 2^63, so it ends above 0 */
	while (!add_values(r, type, stack_of, max, values, &t)) {
		memset(values, 0, size);
		max /= 2;
	}
	r->losses.n[PROFILE_LOSS_NEGATIVE_VALUES] += t.n_negative;
	r->losses.n[PROFILE_LOSS_CLAMPED_VALUES] += t.n_clamped;
	r->types[r->n_types++] = (struct profile_rows_type){
		.type = p->types[type].type,
		.values = values,
		.sum = (int64_t)t.sum,
		.is_zero = t.sum == 0,
		.n_samples = observations(p, type, t.sum, t.n),
		.n_truncated = observations(p, type, t.truncated_sum, t.n_truncated),
	};
	return 0;
}

static int add_types(struct profile_rows *r, const uint32_t *stack_of, struct err *err)
{
	const struct profile *p = r->profile;

	r->types = arena_calloc(p->arena, p->n_types + 1, sizeof(*r->types));
	if (!r->types)
		return no_room(p, p->n_types * sizeof(*r->types), err);
	for (uint32_t i = 0; i < p->n_types; i++) {
		int e = 0;

		if (is_kept(&p->types[i].type))
			e = add_type(r, i, stack_of, err);
		if (e < 0)
			return e;
	}
	return 0;
}

/* Every type that is kept must have the form by which queries ask for it. */
static int check_types(struct profile_rows *r, struct err *err)
{
	const struct profile *p = r->profile;
	uint32_t n_kept = 0;

	for (uint32_t i = 0; i < p->n_types; i++) {
		const struct profile_string *type = &p->types[i].type;

		r->n_long_types += type->len > PROFILE_ROWS_TYPE_BYTES;
		n_kept += is_kept(type);
		if (is_kept(type) && !is_type(type))
			return err_set(err, -EBADMSG,
				       "sample type \"%.64s\" is not \"source:name:unit\"",
				       type->data);
	}
	if (n_kept > 0)
		return 0;
	return r->n_long_types > 0 ? err_set(err, -EBADMSG, "no sample type is below %u bytes",
					     PROFILE_ROWS_TYPE_BYTES + 1)
				   : err_set(err, -EBADMSG, "no sample type has a name");
}

/* Parses "<prefix><name>=<count>". Other comments are free text and ignored. */
static bool parse_count(const struct profile_string *comment, const char *prefix,
			struct row_count *ret)
{
	size_t len = strlen(prefix);
	const char *equals;

	if (comment->len <= len || memcmp(comment->data, prefix, len) != 0)
		return false;
	equals = memchr(comment->data, '=', comment->len);
	if (!equals || equals == comment->data + len)
		return false;
	ret->name.data = comment->data + len;
	ret->name.len = (size_t)(equals - ret->name.data);
	return parse_u64(equals + 1, (size_t)(comment->data + comment->len - equals - 1), 0,
			 INT64_MAX, &ret->count) == 0;
}

static int read_lost(struct profile_rows *r, struct err *err)
{
	const struct profile *p = r->profile;

	r->lost = arena_calloc(p->arena, PROFILE_ROWS_MAX_LOST, sizeof(*r->lost));
	if (!r->lost)
		return no_room(p, PROFILE_ROWS_MAX_LOST * sizeof(*r->lost), err);
	for (uint32_t i = 0; i < p->n_comments; i++) {
		struct row_count lost;

		if (!parse_count(&p->comments[i], LOST, &lost))
			continue;
		if (r->n_lost == PROFILE_ROWS_MAX_LOST)
			return err_set(err, -EBADMSG, "more than %u reasons of loss",
				       PROFILE_ROWS_MAX_LOST);
		r->lost[r->n_lost++] = lost;
	}
	return 0;
}

/* Whether it is "<runtime>:<state>", both of lower case letters, digits and underscores. */
static bool is_state(const struct row_text *name)
{
	size_t n_colons = 0;

	if (name->len > PROFILE_ROWS_STATE_BYTES || name->data[0] == ':' ||
	    name->data[name->len - 1] == ':')
		return false;
	for (size_t i = 0; i < name->len; i++) {
		char c = name->data[i];

		n_colons += c == ':';
		if (c != ':' && c != '_' && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
			return false;
	}
	return n_colons == 1;
}

static bool has_count(const struct row_count *counts, size_t n, const struct row_text *name)
{
	for (size_t i = 0; i < n; i++) {
		if (counts[i].name.len == name->len &&
		    memcmp(counts[i].name.data, name->data, name->len) == 0)
			return true;
	}
	return false;
}

/* What is wrong or too much is left out: it is not worth the profile. */
static int read_runtimes(struct profile_rows *r, struct err *err)
{
	const struct profile *p = r->profile;

	r->runtimes = arena_calloc(p->arena, PROFILE_ROWS_MAX_RUNTIMES, sizeof(*r->runtimes));
	if (!r->runtimes)
		return no_room(p, PROFILE_ROWS_MAX_RUNTIMES * sizeof(*r->runtimes), err);
	for (uint32_t i = 0; i < p->n_comments; i++) {
		struct row_count c;

		if (parse_count(&p->comments[i], RUNTIME, &c) && is_state(&c.name) && c.count > 0 &&
		    c.count <= PROFILE_ROWS_MAX_PROGRAMS &&
		    r->n_runtimes < PROFILE_ROWS_MAX_RUNTIMES &&
		    !has_count(r->runtimes, r->n_runtimes, &c.name))
			r->runtimes[r->n_runtimes++] = c;
	}
	return 0;
}

/* Whether it is "<end>" or "<end>:<binary>", with an end of lower case letters and underscores. */
static bool is_unwinding(const struct row_text *name)
{
	size_t n = 0;

	while (n < name->len &&
	       (name->data[n] == '_' || (name->data[n] >= 'a' && name->data[n] <= 'z')))
		n++;
	if (n == 0 || name->len > PROFILE_ROWS_UNWINDING_BYTES)
		return false;
	return n == name->len || (name->data[n] == ':' && n + 1 < name->len);
}

/* Likewise. */
static int read_unwinding(struct profile_rows *r, struct err *err)
{
	const struct profile *p = r->profile;

	r->unwinding = arena_calloc(p->arena, PROFILE_ROWS_MAX_UNWINDING, sizeof(*r->unwinding));
	if (!r->unwinding)
		return no_room(p, PROFILE_ROWS_MAX_UNWINDING * sizeof(*r->unwinding), err);
	for (uint32_t i = 0; i < p->n_comments; i++) {
		struct row_count c;

		if (parse_count(&p->comments[i], UNWIND, &c) && is_unwinding(&c.name) &&
		    c.count > 0 && r->n_unwinding < PROFILE_ROWS_MAX_UNWINDING &&
		    !has_count(r->unwinding, r->n_unwinding, &c.name))
			r->unwinding[r->n_unwinding++] = c;
	}
	return 0;
}

/* In the order of what the steps cost. */
static int make_all(struct profile_rows *r, const struct profile_rows_limits *limits,
		    const struct profile_rows_known *known, struct err *err)
{
	const struct profile *p = r->profile;
	struct sample_stacks s = {0};
	uint32_t *stack_of;
	int e = check_types(r, err);

	profile_window_set(&r->window, p->time_ns, p->duration_ns, limits->now_ns,
			   limits->max_age_ns);
	r->losses.n[PROFILE_LOSS_BAD_TIMES] += r->window.bad_duration;
	if (e == 0)
		e = format_locations(r, err);
	if (e == 0)
		e = read_lost(r, err);
	if (e == 0)
		e = read_runtimes(r, err);
	if (e == 0)
		e = read_unwinding(r, err);
	if (e == 0)
		e = sample_stacks_init(&s, p, err);
	if (e == 0)
		e = read_stacks(r, &s, limits->max_hash_bytes, known, err);
	if (e != 0)
		return e;
	hash_stacks(r, &s, known);
	stack_of = arena_alloc(p->arena, p->n_samples * sizeof(*stack_of));
	if (!stack_of)
		return no_room(p, p->n_samples * sizeof(*stack_of), err);
	e = merge_stacks(r, &s, stack_of, err);
	return e < 0 ? e : add_types(r, stack_of, err);
}

int profile_rows_make(struct profile_rows *ret, const struct profile *p,
		      const struct profile_rows_limits *limits,
		      const struct profile_rows_known *known, struct err *err)
{
	struct profile_rows r = {.profile = p};
	int e = make_all(&r, limits, known, err);

	if (e == 0)
		*ret = r;
	return e;
}

size_t profile_rows_frames(const struct profile_rows *r, uint32_t stack, struct row_text *frames)
{
	uint32_t sample = r->stacks[stack].sample;
	const struct profile_sample *s;
	size_t n = 0;

	if (sample == UINT32_MAX)
		return 0;
	s = &r->profile->samples[sample];
	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct profile_rows_location *l = &r->locations[s->locations[i]];

		for (uint32_t f = 0; f < l->n_frames; f++)
			frames[n++] = l->frames[f];
	}
	return n;
}

bool profile_rows_has(const struct profile_rows_type *t, uint32_t stack)
{
	return t->values[stack] != 0 || (stack == 0 && t->is_zero);
}

/* ---- the window ---- */

/* How far the end is from now, if that is not credible. */
static int64_t find_skew(int64_t end_ns, int64_t now_ns, int64_t max_age_ns)
{
	int64_t skew_ns;

	if (__builtin_sub_overflow(end_ns, now_ns, &skew_ns))
		return end_ns < now_ns ? INT64_MIN : INT64_MAX;
	if (end_ns < 0 || skew_ns > PROFILE_WINDOW_MAX_FUTURE_NS || skew_ns < -max_age_ns)
		return skew_ns;
	return 0;
}

void profile_window_set(struct profile_window *ret, int64_t end_ns, int64_t duration_ns,
			int64_t now_ns, int64_t max_age_ns)
{
	int64_t skew_ns = end_ns == 0 ? 0 : find_skew(end_ns, now_ns, max_age_ns);

	if (end_ns == 0 || skew_ns != 0)
		end_ns = now_ns;
	*ret = (struct profile_window){
		.end_ns = end_ns,
		.bad_duration = duration_ns < 0 || duration_ns > max_age_ns || duration_ns > end_ns,
		.skew_ns = skew_ns,
	};
	ret->start_ns = ret->bad_duration ? end_ns : end_ns - duration_ns;
}
