/*
 * Profiles come before the frames that they refer to in files of py-spy, and the list of stacks
 * before that of their weights. So the text is walked over several times (json_spans.h) instead of
 * being kept as a tree of values, which would be many times as large.
 */
#include "cluster-agent/push/speedscope_profiles.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "cluster-agent/push/json_spans.h"
#include "cluster-agent/push/stack_nodes.h"
#include "common/limits.h"

/* One kind of unit: the stacks of all profiles that have it. */
struct group {
	bool used;
	struct stack_nodes stacks;
	uint64_t n_weights; /* of sampled profiles */
};

struct reader {
	struct arena *arena;
	struct frame_source *frames;
	uint32_t n_frames;
	uint32_t *n_open; /* calls that are open, by frame; all 0 between profiles */
	struct group groups[SPEEDSCOPE_KINDS];
	struct profile_losses losses;
	struct err *err;
};

/* The members of an object of the file; those that are absent are empty. */
struct file {
	struct json_span frames, profiles;
};

struct source {
	struct json_span type, unit, start, end, samples, weights, events;
};

static int broken(const struct reader *r, const char *what)
{
	return err_set(r->err, -EBADMSG, "not a file of speedscope: %s", what);
}

static int too_large(const struct reader *r, int e)
{
	return e == -EFBIG ? err_set(r->err, e, "the file has too many frames or stacks") : e;
}

/* ---- texts ---- */

/* Copies a JSON text into the arena; "" if the value is none. */
static int read_text(struct reader *r, const struct json_span *s, struct profile_string *ret)
{
	json_error_t why;
	json_t *v;
	size_t len;
	char *copy;

	*ret = (struct profile_string){"", 0};
	if (s->p == s->end || *s->p != '"')
		return 0;
	v = json_loadb(s->p, (size_t)(s->end - s->p), JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	if (!v)
		return json_error_code(&why) == json_error_out_of_memory
			       ? -ENOMEM
			       : broken(r, "a text is not valid JSON");
	len = strnlen(json_string_value(v), json_string_length(v));
	copy = arena_strndup(r->arena, json_string_value(v), len);
	json_decref(v);
	if (!copy)
		return too_large(r, arena_error(r->arena, len));
	*ret = (struct profile_string){copy, len};
	return 0;
}

/* ---- frames ---- */

static int read_frame(struct reader *r, const struct json_span *value, struct frame_source *ret)
{
	struct json_span name, member;
	struct json_walk w;
	double line;
	int e;

	*ret = (struct frame_source){.name = {"", 0}, .file = {"", 0}};
	if (!json_walk_open(&w, value, '{'))
		return broken(r, "a frame is no object");
	while ((e = json_walk_next(&w, &name, &member)) > 0) {
		if (json_span_is(&name, "name"))
			e = read_text(r, &member, &ret->name);
		else if (json_span_is(&name, "file"))
			e = read_text(r, &member, &ret->file);
		else if (json_span_is(&name, "line") && json_span_number(&member, &line) &&
			 line >= 1 && line <= INT32_MAX)
			ret->line = (int64_t)line;
		if (e < 0)
			return e;
	}
	if (ret->name.len == 0)
		ret->name = (struct profile_string){"[unknown]", 9};
	return e < 0 ? broken(r, "a frame is not valid JSON") : 0;
}

static int count_items(const struct json_span *array, size_t *ret)
{
	struct json_span item;
	struct json_walk w;
	int e;

	*ret = 0;
	if (!json_walk_open(&w, array, '['))
		return -EBADMSG;
	while ((e = json_walk_next(&w, NULL, &item)) > 0)
		++*ret;
	return e;
}

static int read_frames(struct reader *r, const struct json_span *array)
{
	struct json_span item;
	struct json_walk w;
	size_t n;
	int e;

	if (count_items(array, &n) < 0)
		return broken(r, "it has no list of frames in \"shared\"");
	if (n > LIMIT_PPROF_FUNCTIONS)
		return too_large(r, -EFBIG);
	r->frames = arena_alloc(r->arena, (n + 1) * sizeof(*r->frames));
	r->n_open = arena_calloc(r->arena, n + 1, sizeof(*r->n_open));
	if (!r->frames || !r->n_open)
		return too_large(r, arena_error(r->arena, n * sizeof(*r->frames)));
	(void)json_walk_open(&w, array, '[');
	while ((e = json_walk_next(&w, NULL, &item)) > 0) {
		e = read_frame(r, &item, &r->frames[r->n_frames++]);
		if (e < 0)
			return e;
	}
	return 0;
}

static bool frame_of(const struct reader *r, const struct json_span *s, uint32_t *ret)
{
	double n;

	if (!json_span_number(s, &n) || !(n >= 0 && n < r->n_frames) || n != floor(n))
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* ---- sampled ---- */

/* Returns 1, 0 if the stack refers to frames that do not exist, or an error. */
static int find_stack(struct reader *r, struct group *g, const struct json_span *array,
		      uint32_t *ret)
{
	struct json_span item;
	struct json_walk w;
	uint32_t node = 0, frame;
	int e;

	if (!json_walk_open(&w, array, '['))
		return 0;
	while ((e = json_walk_next(&w, NULL, &item)) > 0) {
		if (!frame_of(r, &item, &frame))
			return 0;
		e = stack_nodes_child(&g->stacks, node, frame, &node);
		if (e < 0)
			return too_large(r, e);
	}
	*ret = node;
	return e == 0;
}

/* The next weight: 1 without a list, -1 if there is none. */
static double next_weight(struct json_walk *w, bool has_weights)
{
	struct json_span item;
	double v;

	if (!has_weights)
		return 1;
	return json_walk_next(w, NULL, &item) == 1 && json_span_number(&item, &v) ? v : NAN;
}

static int read_sampled(struct reader *r, struct group *g, const struct source *s, double factor)
{
	struct json_walk samples, weights;
	bool has_weights = json_walk_open(&weights, &s->weights, '[');
	struct json_span item;
	int e;

	if (!json_walk_open(&samples, &s->samples, '['))
		return broken(r, "a sampled profile has no list of samples");
	while ((e = json_walk_next(&samples, NULL, &item)) > 0) {
		double weight = next_weight(&weights, has_weights);
		uint32_t node = 0;

		e = isnan(weight) ? 0 : find_stack(r, g, &item, &node);
		if (e < 0)
			return e;
		if (e == 0) {
			r->losses.n[PROFILE_LOSS_BROKEN_SAMPLES]++;
		} else if (weight < 0) {
			r->losses.n[PROFILE_LOSS_NEGATIVE_VALUES]++;
		} else {
			g->stacks.nodes[node].value += weight * factor;
			g->n_weights += weight > 0;
		}
	}
	return e < 0 ? broken(r, "a list of samples is not valid JSON") : 0;
}

/* ---- evented ---- */

struct calls {
	struct group *group;
	double factor;
	double last; /* time of the last event */
	bool has_last;
	uint32_t node; /* the current stack */
};

/* Gives the time since the last event to the current stack. */
static void pass(struct reader *r, struct calls *c, double at)
{
	if (c->has_last && at < c->last) {
		r->losses.n[PROFILE_LOSS_BAD_TIMES]++;
		return;
	}
	if (c->has_last && c->node > 0)
		c->group->stacks.nodes[c->node].value += (at - c->last) * c->factor;
	c->last = at;
	c->has_last = true;
}

static int enter(struct reader *r, struct calls *c, uint32_t frame)
{
	int e = stack_nodes_child(&c->group->stacks, c->node, frame, &c->node);

	if (e == 0)
		r->n_open[frame]++;
	return too_large(r, e);
}

/* Ends the innermost open call, of which there is one, and returns its frame. */
static uint32_t end_call(struct reader *r, struct calls *c)
{
	const struct stack_node *call = &c->group->stacks.nodes[c->node];

	r->n_open[call->frame]--;
	c->node = call->parent;
	return call->frame;
}

/* Returns false if no call of the frame is open. Calls that it made end with it. */
static bool leave(struct reader *r, struct calls *c, uint32_t frame)
{
	if (r->n_open[frame] == 0)
		return false;
	while (end_call(r, c) != frame)
		r->losses.n[PROFILE_LOSS_BROKEN_SAMPLES]++;
	return true;
}

static int read_event(struct reader *r, struct calls *c, const struct json_span *event)
{
	struct json_span name, value, type = {"", ""}, number = {"", ""};
	double at = NAN;
	struct json_walk w;
	uint32_t frame;
	int e = -1;

	if (json_walk_open(&w, event, '{'))
		while ((e = json_walk_next(&w, &name, &value)) > 0) {
			if (json_span_is(&name, "type"))
				type = value;
			else if (json_span_is(&name, "frame"))
				number = value;
			else if (json_span_is(&name, "at") && !json_span_number(&value, &at))
				at = NAN;
		}
	if (e == 0 && !isnan(at) && frame_of(r, &number, &frame)) {
		pass(r, c, at);
		if (json_span_is(&type, "\"O\""))
			return enter(r, c, frame);
		if (json_span_is(&type, "\"C\"") && leave(r, c, frame))
			return 0;
	}
	r->losses.n[PROFILE_LOSS_BROKEN_SAMPLES]++;
	return 0;
}

static int read_evented(struct reader *r, struct group *g, const struct source *s, double factor)
{
	struct calls c = {.group = g, .factor = factor};
	struct json_span item;
	struct json_walk w;
	double end;
	int e;

	if (!json_walk_open(&w, &s->events, '['))
		return broken(r, "an evented profile has no list of events");
	c.has_last = json_span_number(&s->start, &c.last);
	while ((e = json_walk_next(&w, NULL, &item)) > 0) {
		e = read_event(r, &c, &item);
		if (e < 0)
			return e;
	}
	if (c.node > 0 && json_span_number(&s->end, &end) && end > c.last)
		pass(r, &c, end);
	while (c.node > 0)
		(void)end_call(r, &c);
	return e < 0 ? broken(r, "a list of events is not valid JSON") : 0;
}

/* ---- profiles ---- */

static enum speedscope_kind kind_of(const struct json_span *unit, double *ret_factor)
{
	static const struct {
		const char *unit;
		enum speedscope_kind kind;
		double factor;
	} units[] = {
		{"\"nanoseconds\"", SPEEDSCOPE_TIME, 1},
		{"\"microseconds\"", SPEEDSCOPE_TIME, 1e3},
		{"\"milliseconds\"", SPEEDSCOPE_TIME, 1e6},
		{"\"seconds\"", SPEEDSCOPE_TIME, 1e9},
		{"\"bytes\"", SPEEDSCOPE_BYTES, 1},
	};

	*ret_factor = 1;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!json_span_is(unit, units[i].unit))
			continue;
		*ret_factor = units[i].factor;
		return units[i].kind;
	}
	return SPEEDSCOPE_SAMPLES;
}

static int find_members(struct source *ret, const struct json_span *profile)
{
	struct json_span name, value;
	struct json_walk w;
	int e;

	*ret = (struct source){.type = {"", ""}};
	if (!json_walk_open(&w, profile, '{'))
		return -EBADMSG;
	while ((e = json_walk_next(&w, &name, &value)) > 0) {
		const struct {
			const char *name;
			struct json_span *to;
		} members[] = {
			{"type", &ret->type},        {"unit", &ret->unit},
			{"startValue", &ret->start}, {"endValue", &ret->end},
			{"samples", &ret->samples},  {"weights", &ret->weights},
			{"events", &ret->events},
		};

		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			if (json_span_is(&name, members[i].name))
				*members[i].to = value;
	}
	return e;
}

static int read_profile(struct reader *r, const struct json_span *profile)
{
	struct source s;
	struct group *g;
	double factor;
	bool is_evented;
	int e = 0;

	if (find_members(&s, profile) < 0)
		return broken(r, "a profile is not valid JSON");
	is_evented = json_span_is(&s.type, "\"evented\"");
	if (!is_evented && !json_span_is(&s.type, "\"sampled\"")) {
		r->losses.n[PROFILE_LOSS_OTHER_TYPES]++;
		return 0;
	}
	g = &r->groups[kind_of(&s.unit, &factor)];
	if (!g->used)
		e = stack_nodes_init(&g->stacks, r->arena);
	if (e < 0)
		return too_large(r, e);
	g->used = true;
	return is_evented ? read_evented(r, g, &s, factor) : read_sampled(r, g, &s, factor);
}

static int read_profiles(struct reader *r, const struct json_span *array)
{
	struct json_span item;
	struct json_walk w;
	int e;

	if (!json_walk_open(&w, array, '['))
		return broken(r, "it has no list of profiles");
	while ((e = json_walk_next(&w, NULL, &item)) > 0) {
		e = read_profile(r, &item);
		if (e < 0)
			return e;
	}
	return e < 0 ? broken(r, "its list of profiles is not valid JSON") : 0;
}

/* ---- results ---- */

struct output {
	struct reader *reader;
	const struct group *group;
	struct profile_builder builder;
	uint32_t *locations; /* of frames: 1 + number; 0: none yet */
	double factor;
	double carry; /* what rounding has left: -0.5 to 0.5 */
};

static int64_t round_value(struct output *o, double value)
{
	double v = value * o->factor + o->carry;

	if (!(v < 0x1p63)) {
		o->builder.profile.losses.n[PROFILE_LOSS_CLAMPED_VALUES]++;
		return INT64_MAX;
	}
	o->carry = v - floor(v + 0.5);
	return (int64_t)floor(v + 0.5);
}

static int location_of(struct output *o, uint32_t frame, uint32_t *ret)
{
	int e = 0;

	if (o->locations[frame] == 0) {
		e = profile_builder_add_frame(&o->builder, &o->reader->frames[frame], ret);
		o->locations[frame] = *ret + 1;
	}
	*ret = o->locations[frame] - 1;
	return e;
}

static int put_stack(struct output *o, uint32_t node)
{
	static const struct frame_source truncated = {{"[truncated]", 11}, {"", 0}, 0};
	UNINITIALIZED uint32_t locations[LIMIT_PPROF_STACK_DEPTH];
	const struct stack_node *nodes = o->group->stacks.nodes;
	int64_t value = round_value(o, nodes[node].value);
	uint32_t n = 0;
	int e = 0;

	for (uint32_t i = node; i > 0 && e == 0; i = nodes[i].parent) {
		if (n == LIMIT_PPROF_STACK_DEPTH - 1) {
			o->builder.profile.losses.n[PROFILE_LOSS_CUT_STACKS]++;
			e = profile_builder_add_frame(&o->builder, &truncated, &locations[n++]);
			break;
		}
		e = location_of(o, nodes[i].frame, &locations[n++]);
	}
	return e < 0 ? e : profile_builder_add_sample(&o->builder, locations, n, &value);
}

static int put_profile(struct reader *r, const struct group *g, const struct folded_unit *unit,
		       struct profile *ret)
{
	struct output o = {.reader = r, .group = g, .factor = (double)unit->factor};
	double total = 0;
	int e = profile_builder_init(&o.builder, r->arena, 1, r->err);

	o.locations = arena_calloc(r->arena, r->n_frames + 1, sizeof(*o.locations));
	if (!o.locations)
		return too_large(r, arena_error(r->arena, r->n_frames * sizeof(*o.locations)));
	for (uint32_t i = 0; i < g->stacks.n && e == 0; i++) {
		if (!(g->stacks.nodes[i].value > 0))
			continue;
		total += g->stacks.nodes[i].value;
		e = put_stack(&o, i);
	}
	if (e == 0)
		e = folded_unit_set(&o.builder.profile, unit);
	if (e < 0)
		return e;
	*ret = o.builder.profile;
	/* so that the number of samples can be told from the time */
	if (!unit->is_period && strcmp(unit->unit, "nanoseconds") == 0 && g->n_weights > 0 &&
	    total < 0x1p63) {
		ret->period_type = ret->types[0];
		ret->period = (int64_t)(total / (double)g->n_weights);
	}
	return 0;
}

/* The unit of a kind: what the request says, if that fits. */
static struct folded_unit unit_of(enum speedscope_kind kind, const struct folded_unit *unit)
{
	bool is_time = unit->is_period || strcmp(unit->unit, "nanoseconds") == 0;

	switch (kind) {
	case SPEEDSCOPE_TIME:
		return (struct folded_unit){is_time ? unit->type : "cpu", "nanoseconds", 1, false};
	case SPEEDSCOPE_BYTES:
		return (struct folded_unit){strcmp(unit->unit, "bytes") == 0 ? unit->type
									     : "alloc_space",
					    "bytes", 1, false};
	default:
		return *unit;
	}
}

static int put_profiles(struct reader *r, const struct folded_unit *unit,
			struct speedscope_profiles *ret)
{
	int e = 0;

	ret->n = 0;
	for (int k = 0; k < SPEEDSCOPE_KINDS && e == 0; k++) {
		struct folded_unit u = unit_of((enum speedscope_kind)k, unit);

		if (r->groups[k].used)
			e = put_profile(r, &r->groups[k], &u, &ret->items[ret->n++]);
	}
	if (e == 0 && ret->n == 0)
		return broken(r, "it has no profile that is sampled or evented");
	if (e == 0)
		profile_losses_add(&ret->items[0].losses, &r->losses);
	return e;
}

/* ---- the file ---- */

/* The byte order mark that some editors and shells write. */
static void skip_mark(const char **text, size_t *len)
{
	if (*len >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
		*text += 3;
		*len -= 3;
	}
}

bool speedscope_detect(const char *text, size_t len)
{
	struct json_span all;

	skip_mark(&text, &len);
	return json_span_first(text, len, &all) && *all.p == '{' &&
	       memmem(text, len, "\"shared\"", 8) && memmem(text, len, "\"profiles\"", 10);
}

static int find_lists(const struct reader *r, const struct json_span *all, struct file *ret)
{
	struct json_span name, value, shared = {"", ""};
	struct json_walk w;
	int e = -1;

	*ret = (struct file){{"", ""}, {"", ""}};
	if (json_walk_open(&w, all, '{'))
		while ((e = json_walk_next(&w, &name, &value)) > 0) {
			if (json_span_is(&name, "shared"))
				shared = value;
			else if (json_span_is(&name, "profiles"))
				ret->profiles = value;
		}
	if (e < 0)
		return broken(r, "not valid JSON");
	if (json_walk_open(&w, &shared, '{'))
		while ((e = json_walk_next(&w, &name, &value)) > 0)
			if (json_span_is(&name, "frames"))
				ret->frames = value;
	return e < 0 ? broken(r, "not valid JSON") : 0;
}

int speedscope_profiles_read(struct speedscope_profiles *ret, struct arena *arena, const char *text,
			     size_t len, const struct folded_unit *unit, struct err *err)
{
	struct reader *r = arena_calloc(arena, 1, sizeof(*r));
	struct json_span all;
	struct file file;
	int e;

	if (!r)
		return arena_error(arena, sizeof(*r));
	r->arena = arena;
	r->err = err;
	skip_mark(&text, &len);
	if (!json_span_first(text, len, &all))
		return broken(r, "not valid JSON");
	e = find_lists(r, &all, &file);
	if (e == 0)
		e = read_frames(r, &file.frames);
	if (e == 0)
		e = read_profiles(r, &file.profiles);
	return e < 0 ? e : put_profiles(r, unit, ret);
}
