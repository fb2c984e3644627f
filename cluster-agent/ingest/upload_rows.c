#include "cluster-agent/ingest/upload_rows.h"

#include <errno.h>

#include "cluster-agent/ingest/function_starts.h"
#include "cluster-agent/ingest/profile_rows.h"
#include "common/data/table.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/text/utf8.h"

#define MAX_FUTURE_NS (INT64_C(3600) * (int64_t)NS_PER_S)
#define KEEP_STACK_NS (INT64_C(3600) * (int64_t)NS_PER_S)

/* One upload while its rows are made. */
struct layout {
	const struct upload_rows_config *cfg;
	struct profile_rows_limits limits; /* what is left for the parts to come */
	struct row_batch *batch;
	struct arena *arena;
	struct upload_rows ret;
	uint64_t upload; /* number of the part that is made */
	/* of that part */
	const struct upload_part *part;
	struct profile_rows rows;
	int64_t last_seen_ns;
};

static void layout_fini(struct layout *l)
{
	free(l->ret.stacks);
}

static bool is_used(const struct profile_rows *r, uint32_t stack)
{
	for (uint32_t i = 0; i < r->n_types; i++)
		if (profile_rows_has(&r->types[i], stack))
			return true;
	return false;
}

static size_t count_unknown(const struct profile_rows *r)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_stacks; i++)
		n += !r->stacks[i].known;
	return n;
}

static int add_stack(struct layout *l, uint32_t i, struct row_text *frames)
{
	const struct profile_rows_stack *stack = &l->rows.stacks[i];
	const struct stack_row row = {
		.service = l->part->service,
		.hash = stack->hash,
		.last_seen_ns = l->last_seen_ns,
		.frames = frames,
		.n_frames = profile_rows_frames(&l->rows, i, frames),
	};
	int e = row_batch_add_stack(l->batch, &row);

	if (e == 0)
		l->ret.stacks[l->ret.n_stacks++] = (struct seen_stack){stack->key, stack->hash};
	return e;
}

static int add_stacks(struct layout *l)
{
	const struct profile_rows *r = &l->rows;
	size_t n_unknown = count_unknown(r);
	struct row_text *frames = arena_alloc(l->arena, r->max_frames * sizeof(*frames));
	struct seen_stack *stacks;
	int e = 0;

	if (!frames)
		return arena_error(l->arena, r->max_frames * sizeof(*frames));
	stacks = reallocarray(l->ret.stacks, l->ret.n_stacks + n_unknown + 1, sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	l->ret.stacks = stacks;
	l->ret.n_known += r->n_stacks - n_unknown;
	for (uint32_t i = 0; i < r->n_stacks && e == 0; i++)
		if (!r->stacks[i].known && is_used(r, i))
			e = add_stack(l, i, frames);
	return e;
}

static int add_samples(struct layout *l, const struct profile_rows_type *t)
{
	const struct profile_rows *r = &l->rows;
	struct sample_row row = {
		.service = l->part->service,
		.type = {.data = t->type.data, .len = t->type.len},
		.start_ns = r->start_ns,
		.end_ns = r->end_ns,
		.labels = l->part->labels,
		.n_labels = l->part->n_labels,
	};
	struct sample_value *values = arena_alloc(l->arena, r->n_stacks * sizeof(*values));
	size_t n = 0;

	if (!values)
		return arena_error(l->arena, r->n_stacks * sizeof(*values));
	for (uint32_t i = 0; i < r->n_stacks; i++)
		if (profile_rows_has(t, i))
			values[n++] = (struct sample_value){r->stacks[i].hash, t->values[i]};
	l->ret.n_samples += n;
	return row_batch_add_samples(l->batch, &row, values, n);
}

static const struct row_text *find_label(const struct upload_part *u, const char *name)
{
	for (size_t i = 0; i < u->n_labels; i++) {
		const struct row_label *l = &u->labels[i];

		if (l->name.len == strlen(name) && memcmp(l->name.data, name, l->name.len) == 0)
			return &l->value;
	}
	return NULL;
}

/*
 * An instance is a container, or a pod and the port at which it is scraped. The container alone
 * counts if there is one: its pod may become known between two of its profiles.
 */
static uint64_t instance_of(const struct upload_part *u)
{
	static const char *const names[] = {"container.id", "namespace", "pod", "port"};
	size_t n = find_label(u, names[0]) ? 1 : ARRAY_SIZE(names);
	uint64_t hash = 0;

	for (size_t i = 0; i < n; i++) {
		const struct row_text *value = find_label(u, names[i]);

		if (value)
			hash = XXH3_64bits_withSeed(value->data, value->len, hash + 1);
	}
	return hash;
}

/* starts: with the first type of a profile only. */
static int add_quality(struct layout *l, const struct profile_rows_type *t,
		       const struct row_count *starts, size_t n_starts)
{
	const struct profile_rows *r = &l->rows;
	const struct quality_row row = {
		.service = l->part->service,
		.type = {.data = t->type.data, .len = t->type.len},
		.start_ns = r->start_ns,
		.end_ns = r->end_ns,
		.host = l->part->host,
		.n_samples = t->n_samples,
		.n_truncated = t->n_truncated,
		.value = t->sum,
		.lost = r->lost,
		.n_lost = r->n_lost,
		.runtimes = r->runtimes,
		.n_runtimes = r->n_runtimes,
		.unwinding = r->unwinding,
		.n_unwinding = r->n_unwinding,
		.starts = starts,
		.n_starts = n_starts,
		.instance = instance_of(l->part),
		.upload = l->upload,
	};

	return row_batch_add_quality(l->batch, &row);
}

static int add_rows(struct layout *l)
{
	struct row_count *starts = NULL;
	size_t n_starts = 0;
	int e = add_stacks(l);

	if (e == 0)
		e = function_starts_list(&l->rows, &starts, &n_starts);

	for (uint32_t i = 0; e == 0 && i < l->rows.n_types; i++) {
		e = add_samples(l, &l->rows.types[i]);
		if (e == 0)
			e = add_quality(l, &l->rows.types[i], starts, i == 0 ? n_starts : 0);
	}
	return e;
}

/* The text of all parts together has the limit of one profile, as has the work of hashing it. */
static int add_part(struct layout *l, const struct upload_part *part, struct err *err)
{
	const struct profile_rows_known known = {l->cfg->seen, part->service};
	int e;

	l->part = part;
	e = profile_rows_make(&l->rows, &part->profile, &l->limits, l->cfg->seen ? &known : NULL,
			      err);
	if (e < 0)
		return e;
	l->limits.max_hash_bytes -= l->rows.text_bytes;
	profile_losses_add(&l->ret.losses, &part->profile.losses);
	l->last_seen_ns = l->rows.end_ns + KEEP_STACK_NS;
	if (l->ret.last_seen_ns == 0 || l->ret.last_seen_ns > l->last_seen_ns)
		l->ret.last_seen_ns = l->last_seen_ns;
	return add_rows(l);
}

static int too_many_rows(struct err *err)
{
	return err_set(err, -EFBIG,
		       "the profile's rows are more than %llu MiB, or %llu MiB compressed",
		       (unsigned long long)(LIMIT_PROFILE_ROWS_BYTES / MIB),
		       (unsigned long long)(LIMIT_PROFILE_PACKED_BYTES / MIB));
}

/* A pprof with types of ours, of the service that the upload names. */
static int decode_own(struct upload_parts *ret, struct arena *arena, const struct upload *u,
		      struct err *err)
{
	struct upload_part *part = arena_calloc(arena, 1, sizeof(*part));

	if (!part)
		return arena_error(arena, sizeof(*part));
	*part = (struct upload_part){
		.service = u->service,
		.host = u->host,
		.labels = u->labels,
		.n_labels = u->n_labels,
	};
	*ret = (struct upload_parts){.items = part, .n = 1};
	return pprof_decode(&part->profile, arena, u->body, u->len, err);
}

static int decode(struct upload_parts *ret, struct arena *arena, const struct upload *u,
		  struct err *err)
{
	int e = u->decode ? u->decode(ret, arena, u->decode_ctx, u->body, u->len, err)
			  : decode_own(ret, arena, u, err);

	if (e == -EFBIG && err && !err->msg[0])
		return err_set(err, e, "the upload needs more memory than allowed");
	return e;
}

/* The note has words of the sender's, and the line goes into logs and headers. */
static void write_left_out(struct layout *l, const struct upload_parts *parts)
{
	char *text = l->ret.left_out;
	size_t len;

	profile_losses_add(&l->ret.losses, &parts->losses);
	profile_losses_text(&l->ret.losses, text, UPLOAD_LEFT_OUT_BYTES);
	len = strlen(text);
	if (parts->note && parts->note[0])
		snprintf(text + len, UPLOAD_LEFT_OUT_BYTES - len, "%s%s", len > 0 ? ": " : "",
			 parts->note);
	text[utf8_make_printable(text, strlen(text))] = '\0';
}

int upload_rows_make(struct upload_rows *ret, struct row_batch *batch, const struct upload *u,
		     const struct upload_rows_config *cfg, struct arena *arena, struct err *err)
{
	CLEANUP(layout_fini)
	struct layout l = {
		.cfg = cfg,
		.limits = {.now_ns = cfg->now_ns,
			   .max_future_ns = MAX_FUTURE_NS,
			   .max_age_ns = cfg->max_age_ns,
			   .max_hash_bytes = LIMIT_PROFILE_STACK_TEXT_BYTES},
		.batch = batch,
		.arena = arena,
	};
	struct upload_parts parts = {0};
	int e = decode(&parts, arena, u, err);

	for (size_t i = 0; e == 0 && i < parts.n; i++) {
		l.upload = cfg->upload + i;
		e = add_part(&l, &parts.items[i], err);
	}
	if (e == 0)
		e = row_batch_finish(batch);
	if (e < 0)
		return e == -EFBIG && !(err && err->msg[0]) ? too_many_rows(err) : e;
	write_left_out(&l, &parts);
	*ret = l.ret;
	l.ret.stacks = NULL;
	return 0;
}
