#include "cluster-agent/ingest/upload_rows.h"

#include <errno.h>

#include "cluster-agent/ingest/clock_skews.h"
#include "cluster-agent/ingest/function_starts.h"
#include "cluster-agent/ingest/profile_rows.h"
#include "common/data/table.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/text/utf8.h"

#define KEEP_STACK_NS (INT64_C(3600) * (int64_t)NS_PER_S)

/* One upload while its rows are made. */
struct layout {
	const struct upload_rows_config *cfg;
	struct profile_rows_limits limits; /* what is left for the parts to come */
	struct row_batch *batch;
	struct arena *arena;
	struct upload_rows ret;
	size_t n_stored;    /* parts that have rows */
	struct err refusal; /* of a part that has none */
	uint64_t upload;    /* number of the part that is made */
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

/* Returns how many frames, from the leaf on, fit into a row. */
static size_t cut_stack(struct layout *l, const struct row_text *frames, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		bytes += frames[i].len;
		if (bytes > UPLOAD_STACK_TEXT_BYTES) {
			l->ret.losses.n[PROFILE_LOSS_CUT_STACKS]++;
			return i;
		}
	}
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
		.n_frames = cut_stack(l, frames, profile_rows_frames(&l->rows, i, frames)),
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
		.start_ns = r->window.start_ns,
		.end_ns = r->window.end_ns,
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
 * An instance is a container or a pod, and the port at which it is scraped. The container counts
 * without its pod, which may become known between two of its profiles.
 */
static uint64_t instance_of(const struct upload_part *u)
{
	static const char *const names[] = {"container.id", "port", "namespace", "pod", "port"};
	bool has_container = find_label(u, names[0]) != NULL;
	size_t first = has_container ? 0 : 2, n = has_container ? 2 : ARRAY_SIZE(names);
	uint64_t hash = 0;

	for (size_t i = first; i < n; i++) {
		const struct row_text *value = find_label(u, names[i]);

		if (value)
			hash = XXH3_64bits_withSeed(value->data, value->len, hash + 1);
	}
	return hash;
}

/* Of labels in their order; not 0. */
static uint64_t label_set_of(const struct upload_part *u)
{
	uint64_t hash = u->n_labels + 1;

	for (size_t i = 0; i < u->n_labels; i++) {
		const struct row_label *l = &u->labels[i];

		hash = XXH3_64bits_withSeed(l->name.data, l->name.len, hash);
		hash = XXH3_64bits_withSeed(l->value.data, l->value.len, hash);
	}
	return hash ? hash : 1;
}

/* starts: with the first type of a profile only. */
static int add_quality(struct layout *l, const struct profile_rows_type *t,
		       const struct row_count *starts, size_t n_starts)
{
	const struct profile_rows *r = &l->rows;
	const struct quality_row row = {
		.service = l->part->service,
		.type = {.data = t->type.data, .len = t->type.len},
		.start_ns = r->window.start_ns,
		.end_ns = r->window.end_ns,
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
		.labels = l->part->labels,
		.n_labels = l->part->n_labels,
		.label_set = label_set_of(l->part),
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

static int too_many_types(const struct row_text *service, int why, struct err *err)
{
	int len = service->len < 200 ? (int)service->len : 200;

	if (why == -EDQUOT)
		return err_set(err, -EBADMSG, "service %.*s has %u other sample types already", len,
			       service->data, SERVICE_TYPES_MAX);
	return err_set(err, -EBADMSG,
		       "service %.*s has a new sample type, and there are too many already: %u "
		       "services or %u types of all together are the limit",
		       len, service->data, SERVICE_TYPES_MAX_SERVICES, SERVICE_TYPES_MAX_PAIRS);
}

/*
 * Takes the types off the part that its service may not have. If none is left, l->refusal says why.
 * Returns 0 or -ENOMEM.
 */
static int admit_types(struct layout *l)
{
	struct profile_rows *r = &l->rows;
	uint32_t now_s = (uint32_t)(l->cfg->now_ns / (int64_t)NS_PER_S), n = 0;
	int e, why = 0;

	l->ret.losses.n[PROFILE_LOSS_OTHER_TYPES] += r->n_long_types;
	for (uint32_t i = 0; l->cfg->types && i < r->n_types; i++) {
		struct row_text type = {r->types[i].type.data, r->types[i].type.len};

		e = service_types_admit(l->cfg->types, l->part->service, type, now_s);
		if (e == -ENOMEM)
			return e;
		if (e == 0)
			r->types[n++] = r->types[i];
		else
			why = e;
	}
	if (why == 0)
		return 0;
	l->ret.losses.n[PROFILE_LOSS_OTHER_TYPES] += r->n_types - n;
	r->n_types = n;
	if (n == 0)
		(void)too_many_types(&l->part->service, why, &l->refusal);
	return 0;
}

/* A name of any length would be in every list of services. */
static int shorten_service(struct layout *l, struct upload_part *part)
{
	const struct row_text *s = &part->service;
	size_t keep = UPLOAD_SERVICE_BYTES - 17;
	char *text;

	if (s->len <= UPLOAD_SERVICE_BYTES)
		return 0;
	text = arena_alloc(l->arena, UPLOAD_SERVICE_BYTES + 1);
	if (!text)
		return arena_error(l->arena, UPLOAD_SERVICE_BYTES + 1);
	memcpy(text, s->data, keep);
	/* not in the middle of a character */
	while (keep > 0 && ((unsigned char)s->data[keep] & 0xc0) == 0x80)
		keep--;
	/* the same after a restart, unlike the seed of tables */
	keep += (size_t)snprintf(text + keep, 18, "~%016llx",
				 (unsigned long long)XXH3_64bits(s->data, s->len));
	part->service = (struct row_text){text, keep};
	l->ret.losses.n[PROFILE_LOSS_CUT_STRINGS]++;
	return 0;
}

/*
 * Says in a label that the part's rows are not at the time that its sender claimed. A label of that
 * name that the sender gave stays.
 */
static int label_skew(struct layout *l, struct upload_part *part, int64_t skew_ns)
{
	static const char name[] = CLOCK_SKEW_LABEL;
	char text[CLOCK_SKEW_TEXT_BYTES];
	struct row_label *labels;

	if (find_label(part, name))
		return 0;
	labels = arena_calloc(l->arena, part->n_labels + 1, sizeof(*labels));
	if (!labels)
		return arena_error(l->arena, (part->n_labels + 1) * sizeof(*labels));
	if (part->n_labels > 0)
		memcpy(labels, part->labels, part->n_labels * sizeof(*labels));
	clock_skew_text(skew_ns, text);
	labels[part->n_labels] = (struct row_label){
		.name = {.data = name, .len = sizeof(name) - 1},
		.value = {.data = arena_strndup(l->arena, text, strlen(text)), .len = strlen(text)},
	};
	if (!labels[part->n_labels].value.data)
		return arena_error(l->arena, strlen(text) + 1);
	part->labels = labels;
	part->n_labels++;
	return 0;
}

/* The part was stored at the time of its arrival: which host's clock is that wrong? */
static void note_skew(struct upload_rows *ret, struct row_text host, int64_t skew_ns)
{
	ret->n_moved++;
	for (size_t i = 0; i < ret->n_skews; i++) {
		const struct upload_skew *s = &ret->skews[i];

		if (s->host.len == host.len &&
		    (host.len == 0 || memcmp(s->host.data, host.data, host.len) == 0))
			return;
	}
	if (ret->n_skews < UPLOAD_ROWS_MAX_SKEWS)
		ret->skews[ret->n_skews++] = (struct upload_skew){host, skew_ns};
}

/* The text of all parts together has the limit of one profile, as has the work of hashing it. */
static int add_part(struct layout *l, struct upload_part *part, struct err *err)
{
	struct profile_rows_known known = {l->cfg->seen};
	int e = shorten_service(l, part);

	if (e < 0)
		return e;
	l->part = part;
	known.service = part->service;
	e = profile_rows_make(&l->rows, &part->profile, &l->limits, l->cfg->seen ? &known : NULL,
			      err);
	if (e == 0)
		e = admit_types(l);
	if (e < 0 || l->rows.n_types == 0)
		return e;
	if (l->rows.window.skew_ns != 0) {
		note_skew(&l->ret, part->host, l->rows.window.skew_ns);
		e = label_skew(l, part, l->rows.window.skew_ns);
		if (e < 0)
			return e;
	}
	l->n_stored++;
	l->limits.max_hash_bytes -= l->rows.text_bytes;
	profile_losses_add(&l->ret.losses, &part->profile.losses);
	profile_losses_add(&l->ret.losses, &l->rows.losses);
	l->last_seen_ns = l->rows.window.end_ns + KEEP_STACK_NS;
	if (l->ret.last_seen_ns == 0 || l->ret.last_seen_ns > l->last_seen_ns)
		l->ret.last_seen_ns = l->last_seen_ns;
	return add_rows(l);
}

/* What an upload becomes may be a million times its size, so the sentence says what of. */
static int too_many_rows(const struct layout *l, const struct upload_parts *parts, struct err *err)
{
	bool packed = l->batch->n_bytes < l->batch->max_bytes / 2;
	uint64_t limit = packed ? l->batch->max_packed : l->batch->max_bytes;
	uint64_t n_values = 0;

	for (size_t i = 0; i < parts->n; i++)
		n_values += (uint64_t)parts->items[i].profile.n_samples *
			    parts->items[i].profile.n_types;
	return err_set(err, -EFBIG,
		       "%llu values (samples times sample types), with their labels and stacks, "
		       "become more than %llu MiB of rows%s",
		       (unsigned long long)n_values, (unsigned long long)(limit / MIB),
		       packed ? ", compressed" : "");
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
	if (e == 0 && l.n_stored == 0 && l.refusal.msg[0])
		e = err_set(err, -EBADMSG, "%s", l.refusal.msg);
	if (e == 0)
		e = row_batch_finish(batch);
	if (e < 0)
		return e == -EFBIG && !(err && err->msg[0]) ? too_many_rows(&l, &parts, err) : e;
	write_left_out(&l, &parts);
	*ret = l.ret;
	l.ret.stacks = NULL;
	return 0;
}
