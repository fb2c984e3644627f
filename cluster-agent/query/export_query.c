/*
 * All stacks of a selection in the formats of other tools, and the largest of them as JSON. Stacks
 * beyond the limit of the query are one stack "other", so that the sum of a file is that of the
 * selection.
 */
#include <errno.h>

#include "cluster-agent/query/export/pprof_export.h"
#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/side_rate.h"
#include "cluster-agent/query/read/stack_query.h"
#include "cluster-agent/query/read/start_query.h"
#include "common/flame/folded_text.h"
#include "common/flame/frame_text.h"
#include "common/flame/speedscope_json.h"
#include "common/text/json_writer.h"

static const struct flame_frame other = {"other :0", sizeof("other :0") - 1};

static const struct query_filter *base_of(const struct query_request *p)
{
	return p->has_base ? &p->base : NULL;
}

/* Gives fn all stacks, and then, as one, what was cut of them. */
static int each_stack(struct store *store, const struct query_request *p, stack_query_fn fn,
		      void *ctx, struct stack_query_result *stacks, struct err *err)
{
	const struct query_sides sides = {&p->filter, base_of(p), p->by_share};
	int r = stack_query(store, sides, fn, ctx, stacks, err);

	if (r < 0 || (stacks->cut.value <= 0 && stacks->cut.base <= 0))
		return r;
	return fn(ctx, &other, 1, stacks->cut);
}

/* ---- pprof ---- */

static int add_to_pprof(void *ctx, const struct flame_frame *frames, size_t n_frames,
			struct stack_value value)
{
	return pprof_export_add(ctx, frames, n_frames, value);
}

static int add_start(void *ctx, const char *key, size_t len, uint64_t line)
{
	return pprof_export_add_start(ctx, key, len, line);
}

static int check_purpose(const struct query_request *p, struct err *err)
{
	if (p->purpose != QUERY_FOR_GO_PGO)
		return 0;
	if (p->has_base)
		return err_set(err, -EINVAL, "for=go-pgo: a comparison cannot be built with");
	if (strcmp(profile_type_unit(p->filter.type), "nanoseconds") != 0 ||
	    !strstr(p->filter.type, "cpu"))
		return err_set(err, -EINVAL, "for=go-pgo: type must be one of CPU time");
	return 0;
}

/* The time that the values of the selection stand for, so that other tools know its rate. */
static int find_duration(struct store *store, const struct query_request *p,
			 const struct stack_query_result *stacks, int64_t *ret_ns, struct err *err)
{
	struct query_filter f = p->filter;
	struct side_time time = {0};
	int r;

	f.from_ns = stacks->ranges[0].from_ns;
	f.to_ns = stacks->ranges[0].to_ns;
	r = side_time_add(&time, store, &f, stacks->total.value, err);
	*ret_ns = side_time_ns(&time);
	return r;
}

int profile_query_pprof(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err)
{
	CLEANUP(pprof_export_fini) struct pprof_export e = {0};
	struct stack_query_result stacks;
	/* a stack is a sample of each side */
	int r = check_purpose(p, err);

	if (r < 0)
		return r;
	r = pprof_export_init(&e, 2 * (STACK_QUERY_MAX_STACKS + 1));

	if (r < 0)
		return r;
	r = each_stack(store, p, add_to_pprof, &e, &stacks, err);
	if (r == 0)
		r = find_duration(store, p, &stacks, &e.duration_ns, err);
	if (r < 0)
		return r;
	if (p->purpose == QUERY_FOR_GO_PGO)
		r = pprof_export_begin_starts(&e);
	if (r < 0)
		return r;
	if (p->purpose == QUERY_FOR_GO_PGO)
		r = start_query(store, &p->filter, add_start, &e, err);
	if (r < 0)
		return r;
	return pprof_export_write(&e, &p->filter, out, err);
}

/* ---- folded ---- */

struct folded {
	struct buf *out;
	bool has_base;
};

static int add_to_folded(void *ctx, const struct flame_frame *frames, size_t n_frames,
			 struct stack_value value)
{
	struct folded *f = ctx;

	return folded_text_add(f->out, frames, n_frames, value, f->has_base);
}

int profile_query_folded(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err)
{
	struct folded f = {out, p->has_base};
	struct stack_query_result stacks;

	return each_stack(store, p, add_to_folded, &f, &stacks, err);
}

/* ---- speedscope ---- */

static int add_to_speedscope(void *ctx, const struct flame_frame *frames, size_t n_frames,
			     struct stack_value value)
{
	return speedscope_json_add(ctx, frames, n_frames, value);
}

int profile_query_speedscope(struct store *store, const struct query_request *p, struct buf *out,
			     struct err *err)
{
	CLEANUP(speedscope_json_fini) struct speedscope_json s = {0};
	const struct speedscope_texts texts = {
		.exporter = "coroot-cluster-agent",
		.title = p->filter.type,
		.unit = profile_type_unit(p->filter.type),
		.name = p->filter.service,
		.base = p->has_base ? p->base.service : NULL,
	};
	struct stack_query_result stacks;
	int r = speedscope_json_init(&s, STACK_QUERY_MAX_STACKS + 1);

	if (r < 0)
		return r;
	r = each_stack(store, p, add_to_speedscope, &s, &stacks, err);
	if (r < 0)
		return r;
	return speedscope_json_write(&s, &texts, out);
}

/* ---- stacks ---- */

struct stack_list {
	struct json_writer w;
	bool has_base;
	uint32_t n;
	uint32_t max;
	struct stack_value beyond; /* of stacks after the first max */
	uint64_t n_beyond;
};

static void put_frame(struct json_writer *w, const struct flame_frame *frame)
{
	struct frame_text parts;

	frame_text_split(&parts, frame->text, frame->len);
	json_open(w, '{');
	json_key(w, "name");
	json_put_string(w, parts.name, parts.name_len);
	json_key(w, "file");
	json_put_string(w, parts.file, parts.file_len);
	json_member_int(w, "line", parts.line);
	json_key(w, "inlined");
	json_put_bool(w, parts.inlined);
	json_close(w, '}');
}

/* Saturates. */
static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static int add_to_list(void *ctx, const struct flame_frame *frames, size_t n_frames,
		       struct stack_value value)
{
	struct stack_list *l = ctx;
	struct json_writer *w = &l->w;

	if (l->n == l->max) {
		add(&l->beyond.value, value.value);
		add(&l->beyond.base, value.base);
		l->n_beyond++;
		return 0;
	}
	l->n++;
	json_open(w, '{');
	json_member_int(w, "value", value.value);
	if (l->has_base)
		json_member_int(w, "base", value.base);
	json_key(w, "frames");
	json_open(w, '[');
	for (size_t i = 0; i < n_frames; i++)
		put_frame(w, &frames[i]);
	json_close(w, ']');
	json_close(w, '}');
	return w->error;
}

int profile_query_stacks(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err)
{
	struct stack_list l = {.has_base = p->has_base, .max = p->limit};
	const char *unit = profile_type_unit(p->filter.type);
	struct stack_query_result stacks = {0};
	struct json_writer *w = &l.w;
	int r;

	json_writer_init(w, out);
	json_open(w, '{');
	json_key(w, "unit");
	json_put_string(w, unit, strlen(unit));
	json_key(w, "stacks");
	json_open(w, '[');
	r = stack_query(store, (struct query_sides){&p->filter, base_of(p)}, add_to_list, &l,
			&stacks, err);
	if (r < 0)
		return r;
	json_close(w, ']');
	add(&l.beyond.value, stacks.cut.value);
	add(&l.beyond.base, stacks.cut.base);
	json_member_int(w, "total", stacks.total.value);
	json_member_int(w, "n", (int64_t)stacks.n_stacks);
	json_member_int(w, "stacksCut", (int64_t)(stacks.n_stacks_cut + l.n_beyond));
	json_member_int(w, "valueCut", l.beyond.value);
	if (p->has_base) {
		json_member_int(w, "baseTotal", stacks.total.base);
		json_member_int(w, "baseCut", l.beyond.base);
	}
	json_close(w, '}');
	return json_writer_finish(w);
}
