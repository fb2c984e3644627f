/*
 * Of each chunk, events are added up until the table of groups is full; then these are reported,
 * and reading continues with an empty table. So a chunk with very many stacks is reported in
 * several batches. Each of them reads the constant pools again, which is why their number is
 * limited: what comes behind the last one is "[other]".
 */
#include "common/jfr/jfr_stacks.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/err.h"
#include "common/jfr/jfr_chunk.h"
#include "common/jfr/jfr_report.h"

#define BATCHES_MAX 8u /* of a chunk */
/* metadata, and the places of constant pools */
#define CHUNK_BYTES ((size_t)4 << 20)
#define MIN_EVENT_BYTES 4u /* of one that is used: size, type, a field, a stack */

struct reading {
	const struct jfr_stacks_config *cfg;
	struct jfr_result *result;
	struct jfr_reader reader;
	struct jfr_events events;
	struct jfr_report report;
	struct jfr_groups groups;
	struct jfr_sample others[JFR_KIND_MAX]; /* beyond the last batch */
	uint32_t n_others[JFR_KIND_MAX];
	const struct jfr_metadata *metadata; /* of the chunk */
	uint64_t *n_skipped;                 /* events that are not used, by type; may be NULL */
	struct arena chunk_arena, batch_arena;
	size_t fixed_bytes;
};

static const char *const loss_names[] = {
	[JFR_LOSS_NO_STACK] = "no_stack",       [JFR_LOSS_UNKNOWN_STACK] = "unknown_stack",
	[JFR_LOSS_STACKS_FULL] = "stacks_full", [JFR_LOSS_NAMES_FULL] = "names_full",
	[JFR_LOSS_NO_INTERVAL] = "no_interval", [JFR_LOSS_BAD_EVENT] = "bad_event",
};

const char *jfr_loss_name(enum jfr_loss loss)
{
	return loss_names[loss];
}

static void add_other(struct reading *rd, const struct jfr_sample *s)
{
	struct jfr_sample *sum = &rd->others[s->kind];

	sum->kind = s->kind;
	sum->count += s->count;
	sum->amount += s->amount;
	rd->n_others[s->kind]++;
}

static void skip_event(struct reading *rd, uint64_t type_id)
{
	const struct jfr_type *t = rd->n_skipped ? jfr_metadata_find(rd->metadata, type_id) : NULL;

	if (t)
		rd->n_skipped[t - rd->metadata->types]++;
}

static bool has_stack(const struct jfr_metadata *m, const struct jfr_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (strcmp(m->fields[t->first_field + i].name, "stackTrace") == 0)
			return true;
	return false;
}

static void report_other_type(struct jfr_result *result, const char *name, uint64_t n_events)
{
	struct jfr_other_type *t = result->other_types;
	uint32_t i = 0;

	result->n_other_events += n_events;
	while (i < result->n_other_types && i < JFR_OTHER_TYPES_MAX &&
	       strncmp(t[i].name, name, JFR_TYPE_NAME_BYTES - 1) != 0)
		i++;
	if (i == result->n_other_types && i < JFR_OTHER_TYPES_MAX) {
		snprintf(t[i].name, sizeof(t[i].name), "%s", name);
		result->n_other_types++;
	}
	if (i < JFR_OTHER_TYPES_MAX)
		t[i].n_events += n_events;
}

/* After the events of a chunk. */
static void report_skipped(struct reading *rd)
{
	const struct jfr_metadata *m = rd->metadata;

	for (uint32_t i = 0; rd->n_skipped && i < m->n_types; i++)
		if (rd->n_skipped[i] > 0 && has_stack(m, &m->types[i]))
			report_other_type(rd->result, m->types[i].name, rd->n_skipped[i]);
}

/*
 * Reads events from *at to end, or until the table is full; then *at is the first event that has no
 * room. Events that do not fit are added to others if is_last.
 */
static int read_events(struct reading *rd, uint64_t *at, uint64_t end, bool is_last)
{
	struct jfr_reader *r = &rd->reader;
	struct jfr_sample s;

	jfr_reader_seek(r, *at, end);
	while (*at < end) {
		uint32_t size = jfr_reader_count(r);
		uint64_t type = jfr_reader_long(r), next = *at + size;
		enum jfr_event event = jfr_events_find(&rd->events, type);

		if (r->error != 0)
			return r->error;
		if (size == 0 || size > end - *at || jfr_reader_tell(r) > next)
			return -EBADMSG;
		if (event != JFR_EVENT_MAX) {
			bool is_sample = jfr_events_read(&rd->events, event, r, &s);

			if (r->error != 0)
				return r->error;
			if (jfr_reader_tell(r) > next)
				rd->result->lost[JFR_LOSS_BAD_EVENT]++;
			else if (is_sample && !jfr_groups_add(&rd->groups, &s)) {
				if (!is_last)
					return 0;
				add_other(rd, &s);
			}
		} else {
			skip_event(rd, type);
		}
		rd->result->n_events++;
		*at = next;
		if (next - jfr_reader_tell(r) <= (uint64_t)(r->end - r->p))
			r->p += next - jfr_reader_tell(r);
		else
			jfr_reader_seek(r, next, end);
	}
	return 0;
}

static void note_peak(struct reading *rd)
{
	size_t now = rd->fixed_bytes + rd->chunk_arena.used_bytes + rd->batch_arena.used_bytes;

	if (now > rd->result->peak_bytes)
		rd->result->peak_bytes = now;
}

static int report_others(struct reading *rd)
{
	int r = 0;

	for (size_t i = 0; i < JFR_KIND_MAX && r >= 0; i++) {
		if (rd->n_others[i] != 0)
			r = jfr_report_other(&rd->report, &rd->others[i], rd->n_others[i]);
		rd->others[i] = (struct jfr_sample){0};
		rd->n_others[i] = 0;
	}
	return r;
}

/*
 * Returns 0, or 1 if the events after *at cannot be read. Stores in *error the first way in which
 * the chunk is broken.
 */
static int read_batch(struct reading *rd, const struct jfr_chunk *c, uint64_t *at, bool is_last,
		      int *error)
{
	uint64_t n_max = (c->end - *at) / MIN_EVENT_BYTES + 1;
	int r, events_error;

	arena_clear(&rd->batch_arena);
	rd->batch_arena.limit_bytes =
		JFR_STACKS_MAX_BYTES - rd->fixed_bytes - rd->chunk_arena.used_bytes;
	r = jfr_groups_init(&rd->groups, &rd->batch_arena,
			    n_max < JFR_GROUPS_MAX ? (uint32_t)n_max : JFR_GROUPS_MAX);
	if (r < 0)
		return r;
	events_error = read_events(rd, at, c->end, is_last);
	if (events_error < 0 && events_error != -EBADMSG)
		return events_error;
	rd->reader.error = 0;
	rd->report.batch++;
	r = jfr_report_groups(&rd->report, &rd->groups, &rd->batch_arena, c->end - c->start);
	note_peak(rd);
	if (r < 0 && r != -EBADMSG)
		return r;
	if (*error == 0)
		*error = events_error != 0 ? events_error : r;
	return events_error < 0;
}

/* Reads events and constants. Stores where the events were read to. */
static int read_content(struct reading *rd, const struct jfr_chunk *c, const struct jfr_metadata *m,
			uint64_t *ret_at, struct err *err)
{
	struct jfr_constants constants;
	int error, r = 0;

	error = jfr_constants_find(&constants, &rd->reader, m, &rd->chunk_arena, c);
	if (error < 0 && error != -EBADMSG)
		return error;
	rd->reader.error = 0;
	rd->report.constants = &constants;
	*ret_at = c->events;
	for (unsigned i = 0; *ret_at < c->end && r == 0; i++)
		r = read_batch(rd, c, ret_at, i == BATCHES_MAX - 1, &error);
	if (r >= 0)
		r = report_others(rd);
	if (r < 0)
		return r;
	return error < 0 ? err_set(err, error, "an event or a constant is broken") : 0;
}

static int read_chunk(struct reading *rd, uint64_t start, uint64_t *ret_end, struct err *err)
{
	struct jfr_metadata metadata;
	struct jfr_chunk c;
	int r;

	arena_clear(&rd->batch_arena);
	arena_clear(&rd->chunk_arena);
	rd->reader.compressed = true;
	r = jfr_chunk_read(&c, &rd->reader, start, err);
	if (r < 0)
		return r;
	if (rd->result->start_ns == 0)
		rd->result->start_ns = c.start_ns;
	rd->reader.compressed = c.compressed;
	jfr_reader_seek(&rd->reader, c.metadata, c.end);
	r = jfr_metadata_read(&metadata, &rd->reader, &rd->chunk_arena, err);
	if (r < 0)
		return r;
	jfr_events_prepare(&rd->events, &metadata, c.ticks_per_second);
	/* cppcheck-suppress autoVariables */
	rd->metadata = &metadata;
	/* without memory, the events are not counted */
	rd->n_skipped =
		arena_calloc(&rd->chunk_arena, metadata.n_types + 1, sizeof(*rd->n_skipped));
	r = read_content(rd, &c, &metadata, ret_end, err);
	report_skipped(rd);
	rd->result->end_ns = c.end_ns;
	return r;
}

static int read_chunks(struct reading *rd, uint64_t size, struct err *err)
{
	uint64_t at = 0;
	int r = 0;

	while (at < size && r == 0) {
		uint64_t end = at;

		r = read_chunk(rd, at, &end, err);
		if (r < 0)
			r = err_wrap(err, r, "chunk %llu of the recording, at byte %llu",
				     (unsigned long long)rd->result->n_chunks + 1,
				     (unsigned long long)at);
		else
			rd->result->n_chunks++;
		at = end;
	}
	rd->result->unread_bytes = size - at;
	return r;
}

int jfr_stacks_read(const struct jfr_source *source, const struct jfr_stacks_config *cfg,
		    struct jfr_result *ret, struct err *err)
{
	AUTO_FREE struct reading *rd = calloc(1, sizeof(*rd));
	AUTO_FREE uint8_t *window = malloc(JFR_WINDOW_BYTES);
	AUTO_FREE struct jfr_frame *frames = malloc(JFR_STACK_DEPTH_MAX * sizeof(*frames));
	int r;

	*ret = (struct jfr_result){0};
	if (!rd || !window || !frames)
		return -ENOMEM;
	rd->cfg = cfg;
	rd->result = ret;
	rd->fixed_bytes = sizeof(*rd) + JFR_WINDOW_BYTES + JFR_STACK_DEPTH_MAX * sizeof(*frames);
	rd->report = (struct jfr_report){
		.cfg = cfg,
		.result = ret,
		.events = &rd->events,
		.frames = frames,
	};
	arena_init(&rd->chunk_arena, CHUNK_BYTES);
	arena_init(&rd->batch_arena, 0);
	jfr_reader_init(&rd->reader, source, window);
	jfr_events_init(&rd->events, cfg->settings);
	r = read_chunks(rd, source->size_bytes, err);
	if (cfg->settings)
		*cfg->settings = rd->events.settings;
	arena_fini(&rd->batch_arena);
	arena_fini(&rd->chunk_arena);
	return r;
}
