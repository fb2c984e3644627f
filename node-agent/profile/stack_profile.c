/*
 * Three steps, each a section below:
 *
 *	intern   intern_stack(): the addresses of a stack become numbers of locations, each of which
 *	         is resolved once (stack_locations.h), and these the bytes that the pprof will have
 *	         for them
 *	count    stack_table_add(): those bytes are the key under which values are summed
 *	         (stack_table.h)
 *	encode   encode_stacks(): key and sums are copied into a pprof as a sample; at the end,
 *	         finish_part() adds locations, functions and mappings
 *
 * The obvious way, a struct profile that is encoded at the end, needs all stacks in memory
 * three times: as addresses, as indexes and as bytes. For a heap of half a million stacks that
 * would be the peak of the agent's memory. So the table of stacks is not only packed but
 * bounded: when it outgrows the processor's cache, its stacks are encoded and forgotten. A stack
 * that comes again afterwards becomes a second sample, which pprof allows and readers add up.
 *
 * Samples refer to locations by number, and all parts of a profile share one numbering. So each
 * part gets all locations: parts are rare, and locations few beside so many samples. Parts are
 * finished together, at the end, since only then the times are known.
 *
 * A tentative profile cannot do this: values of its first stacks may have to be forgotten,
 * when the reader finds out late what they mean.
 */
#include "node-agent/profile/stack_profile.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/limits.h"
#include "node-agent/profile/stack_locations.h"
#include "node-agent/profile/stack_table.h"

_Static_assert(STACK_PROFILE_DEPTH_MAX *PPROF_PACKED_LOCATION_MAX_BYTES <=
		       STACK_TABLE_KEY_MAX_BYTES,
	       "the deepest stack has a place");

/* Stacks are encoded above this: what a processor's second-level cache has room for. */
#define KEPT_BYTES ((size_t)2 * 1024 * 1024)

/* One of the pprofs that the profile becomes. */
struct part {
	struct pprof_writer *w;
	struct buf *out;
	size_t out_before;
};

struct stack_profile {
	struct stack_profile_config cfg;
	struct stack_locations *locations;
	struct stack_table *stacks;
	struct part *parts; /* STACK_PROFILE_MAX_PARTS of them */
	size_t n_parts;     /* 0: no sample yet */
	size_t n_samples;
	size_t n_part_samples; /* in the last part, as the next */
	uint64_t n_part_text;
	uint32_t *text; /* bytes of each location as text */
	uint32_t n_text, cap_text, max_text;
	const struct profile_mapping *mappings; /* borrowed */
	size_t n_mappings;
	int error; /* samples are lost, so the profile is of no use */
	uint8_t packed[STACK_PROFILE_DEPTH_MAX * PPROF_PACKED_LOCATION_MAX_BYTES];
};

int stack_profile_new(struct stack_profile **ret, const struct stack_profile_config *cfg)
{
	CLEANUP(stack_profile_freep) struct stack_profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	if (p->cfg.level == 0)
		p->cfg.level = PPROF_LEVEL_FAST;
	if (p->cfg.part_text_bytes == 0)
		p->cfg.part_text_bytes = LIMIT_PART_TEXT_BYTES;
	if (p->cfg.part_samples == 0)
		p->cfg.part_samples = LIMIT_PART_SAMPLES;
	p->parts = calloc(STACK_PROFILE_MAX_PARTS, sizeof(*p->parts));
	if (!p->parts)
		return -ENOMEM;
	r = stack_locations_new(&p->locations, &cfg->resolver, cfg->max_bytes);
	if (r == 0)
		r = stack_table_new(&p->stacks, cfg->n_types, cfg->max_bytes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void stack_profile_free(struct stack_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->parts && i < p->n_parts; i++)
		pprof_writer_free(p->parts[i].w);
	free(p->parts);
	free(p->text);
	stack_table_free(p->stacks);
	stack_locations_free(p->locations);
	free(p);
}

/* ---- intern: a stack's frames → p->packed ---- */

struct interned {
	uint32_t n;
	size_t len;           /* bytes */
	bool wrappers;        /* show those that have an address of their own */
	enum frame_role last; /* of the last frame, shown or not */
};

static void push(struct stack_profile *p, uint32_t location, struct interned *c)
{
	if (c->n == STACK_PROFILE_DEPTH_MAX)
		return;
	c->len += pprof_pack_location(p->packed + c->len, location);
	c->n++;
}

/* Ends at the frame that belongs to the next address of the stack; 0: there is no next one. */
static void push_frames(struct stack_profile *p, const struct stack_address *a, uint64_t next,
			struct interned *c)
{
	const struct stack_frame *f = stack_locations_frames(p->locations, a);

	for (uint32_t i = 0; i < a->n; i++, f++) {
		if (i > 0 && next != 0 && f->address == next)
			break;
		if (f->role != FRAME_WRAPPER || c->last == FRAME_PANIC || (i == 0 && c->wrappers))
			push(p, f->location, c);
		c->last = f->role;
	}
}

/* Pushes all frames of a stack; hide: without the runtime's at the leaf. */
static int push_addresses(struct stack_profile *p, const struct stack_profile_stack *s, bool hide,
			  struct interned *c)
{
	bool physical = s->inlined != STACK_PROFILE_LOGICAL;

	c->wrappers = s->inlined != STACK_PROFILE_UNWOUND;
	for (size_t i = 0; i < s->n; i++) {
		struct stack_address *a = NULL;
		int r;

		r = stack_locations_find(p->locations, s->addresses[i], physical || i + 1 == s->n,
					 &a);
		if (r < 0)
			return r;
		if (hide && stack_locations_is_runtime(p->locations, a))
			continue;
		hide = false;
		if (a->plain) {
			push(p, a->plain - 1, c);
			c->last = FRAME_PLAIN;
			continue;
		}
		push_frames(p, a, i + 1 < s->n ? s->addresses[i + 1] : 0, c);
	}
	return 0;
}

/* A frame that is no code. */
static int push_text(struct stack_profile *p, const char *text, struct interned *c)
{
	const struct frame frame = {.function = text, .file = ""};
	uint32_t location = 0;
	int r = stack_locations_add(p->locations, &frame, &location);

	if (r == 0)
		push(p, location, c);
	return r;
}

/* Stores the bytes of the frames in p->packed. There are none if nothing is to be shown. */
static int intern_stack(struct stack_profile *p, const struct stack_profile_stack *s,
			size_t *ret_len)
{
	struct interned c = {0};
	uint32_t begin;
	int r = s->reason ? push_text(p, s->reason, &c) : 0;

	begin = c.n;
	if (r == 0)
		r = push_addresses(p, s, s->hide_runtime, &c);
	if (r == 0 && c.n == begin && s->hide_runtime)
		r = push_addresses(p, s, false, &c);
	if (r == 0 && s->root)
		r = push_text(p, s->root, &c);
	*ret_len = c.len;
	return r;
}

/* ---- encode: counted stacks → pprof ---- */

static struct profile_string view(const char *s)
{
	return (struct profile_string){s, strlen(s)};
}

static struct profile_value_type type_of(const char *type, const char *unit)
{
	return (struct profile_value_type){view(type), view(unit)};
}

void stack_profile_parts_fini(struct stack_profile_parts *p)
{
	while (p->n > 0)
		buf_fini(&p->bufs[--p->n]);
}

static int begin_part(struct stack_profile *p)
{
	struct part *part = &p->parts[p->n_parts];
	int r;

	if (p->n_parts == STACK_PROFILE_MAX_PARTS || (p->n_parts > 0 && !p->cfg.more))
		return -ENOBUFS;
	part->out = p->cfg.out;
	if (p->n_parts > 0) {
		part->out = &p->cfg.more->bufs[p->cfg.more->n++];
		buf_init(part->out, p->cfg.out->limit);
	}
	part->out_before = part->out->len;
	r = pprof_writer_new(&part->w, p->cfg.level, part->out);
	if (r < 0)
		return r;
	p->n_parts++;
	p->n_part_samples = 0;
	p->n_part_text = 0;
	for (size_t i = 0; i < p->cfg.n_types; i++) {
		const struct profile_value_type type = type_of(p->cfg.types[i], p->cfg.units[i]);

		pprof_writer_put_type(part->w, &type);
	}
	return 0;
}

/* Measures the locations that are new. */
static int measure_locations(struct stack_profile *p)
{
	uint32_t n = stack_locations_count(p->locations);
	int r = ARRAY_RESERVE(p->text, p->cap_text, n);

	for (; r == 0 && p->n_text < n; p->n_text++) {
		uint32_t bytes = (uint32_t)stack_locations_text_bytes(p->locations, p->n_text);

		p->text[p->n_text] = bytes;
		if (bytes > p->max_text)
			p->max_text = bytes;
	}
	return r;
}

/* Bytes of all frames of a packed stack as text. */
static uint64_t exact_text(const struct stack_profile *p, const struct stack_view *s)
{
	uint64_t n = 0, number = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < s->len; i++) {
		number |= (uint64_t)(s->key[i] & 0x7f) << shift;
		shift += 7;
		if (s->key[i] & 0x80)
			continue;
		n += p->text[number - 1];
		number = 0;
		shift = 0;
	}
	return n;
}

/*
 * At least the text of the stack. A frame has at least a byte of the key, so a bound costs nothing;
 * the frames are only counted once bounds alone would fill an eighth of a part.
 */
static uint64_t text_of(const struct stack_profile *p, const struct stack_view *s)
{
	uint64_t bound = (uint64_t)s->len * p->max_text;

	return p->n_part_text + bound <= p->cfg.part_text_bytes / 8 ? bound : exact_text(p, s);
}

static bool is_part_full(const struct stack_profile *p, const struct stack_view *s, uint64_t text)
{
	const struct part *part = &p->parts[p->n_parts - 1];

	if (!p->cfg.more)
		return p->n_samples == LIMIT_PPROF_SAMPLES;
	return p->n_part_samples > 0 &&
	       (p->n_part_samples >= p->cfg.part_samples ||
		p->n_part_text + text > p->cfg.part_text_bytes ||
		pprof_writer_raw_bytes(part->w) + s->len > LIMIT_PART_RAW_BYTES ||
		part->out->len - part->out_before > LIMIT_PART_BYTES);
}

static int put_sample(struct stack_profile *p, const struct stack_view *s)
{
	uint8_t values[STACK_VALUES_MAX * PPROF_PACKED_MAX_BYTES];
	struct pprof_packed_sample sample = {s->key, s->len, values, 0};
	uint64_t text = p->cfg.more ? text_of(p, s) : 0;
	int r;

	for (size_t i = 0; i < p->cfg.n_types; i++)
		sample.values_len += pprof_pack(values + sample.values_len, (uint64_t)s->values[i]);

	if (p->n_parts == 0 || is_part_full(p, s, text)) {
		r = begin_part(p);
		if (r < 0)
			return r;
	}
	pprof_writer_put_packed_sample(p->parts[p->n_parts - 1].w, &sample);
	p->n_part_text += text;
	p->n_part_samples++;
	p->n_samples++;
	return 0;
}

/* Writes all stacks as samples, and empties the table. */
static int encode_stacks(struct stack_profile *p)
{
	struct stack_view s;
	size_t at = 0;
	int r = p->cfg.more ? measure_locations(p) : 0;

	if (r < 0)
		return r;
	stack_table_group(p->stacks);
	while (p->error == 0 && stack_table_next(p->stacks, &at, &s))
		p->error = put_sample(p, &s);
	stack_table_clear(p->stacks);
	return p->error;
}

/* The program before its libraries. */
static void put_mappings(const struct stack_profile *p, struct pprof_writer *w)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < p->n_mappings; i++) {
			if (p->mappings[i].is_main == (pass == 0))
				pprof_writer_put_mapping(w, (uint32_t)i, &p->mappings[i]);
		}
	}
}

static int finish_part(const struct stack_profile *p, const struct part *part,
		       const struct pprof_times *times)
{
	int r;

	put_mappings(p, part->w);
	stack_locations_write(p->locations, part->w);
	for (size_t i = 0; i < p->cfg.n_comments; i++) {
		const struct profile_string comment = view(p->cfg.comments[i]);

		pprof_writer_put_comment(part->w, &comment);
	}
	r = pprof_writer_finish(part->w, times);
	return r == -EFBIG ? -ENOBUFS : r;
}

/* ---- the three steps ---- */

int stack_profile_add(struct stack_profile *p, const struct stack_profile_stack *s,
		      const struct stack_values *values)
{
	size_t len = 0;
	int r = p->error < 0 ? p->error : intern_stack(p, s, &len);

	if (r < 0 || len == 0)
		return r;
	if (!p->cfg.tentative && stack_table_bytes(p->stacks) >= KEPT_BYTES)
		r = encode_stacks(p);
	return r == 0 ? stack_table_add(p->stacks, p->packed, len, values) : r;
}

void stack_profile_forget(struct stack_profile *p, size_t first, size_t last)
{
	p->cfg.tentative = false;
	for (size_t type = first; type <= last; type++)
		stack_table_forget(p->stacks, type);
}

void stack_profile_set_comments(struct stack_profile *p, const char *const *comments, size_t n)
{
	p->cfg.comments = comments;
	p->cfg.n_comments = n;
}

void stack_profile_set_mappings(struct stack_profile *p, const struct profile_mapping *mappings,
				size_t n)
{
	p->mappings = mappings;
	p->n_mappings = n;
}

int stack_profile_finish(struct stack_profile *p, const struct stack_profile_times *times,
			 size_t *ret_samples)
{
	const struct profile_value_type period = type_of(p->cfg.period_type, p->cfg.period_unit);
	const struct pprof_times t = {&period, times->period, times->end_ns, times->duration_ns};
	int r = p->error < 0 ? p->error : encode_stacks(p);

	/* what follows needs as much memory, for texts */
	stack_table_free(TAKE_PTR(p->stacks));
	stack_locations_seal(p->locations);
	free(TAKE_PTR(p->text));
	*ret_samples = p->n_samples;
	/* the first part last: without all the others it must not be there either */
	for (size_t i = p->n_parts; r == 0 && i > 0; i--)
		r = finish_part(p, &p->parts[i - 1], &t);
	return r;
}
