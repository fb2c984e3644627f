#include "common/upload/spool_segment.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/limits.h"
#include "common/upload/spool_record.h"

/* A segment is closed at a few MiB, so it may have one larger profile at its end. */
#define FILE_MAX_BYTES (2 * LIMIT_UPLOAD_BYTES)

static struct spool_segment *segment_alloc(uint64_t number)
{
	struct spool_segment *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->number = number;
	s->file = RECORD_FILE_NONE;
	return s;
}

void spool_segment_free(struct spool_segment *s)
{
	if (!s)
		return;
	record_file_close(&s->file);
	free(s->entries);
	free(s);
}

void spool_segment_close(struct spool_segment *s)
{
	record_file_close(&s->file);
}

int spool_segment_create(struct spool_segment **ret, const struct record_dir *dir, uint64_t number)
{
	CLEANUP(spool_segment_freep) struct spool_segment *s = segment_alloc(number);
	int r;

	if (!s)
		return -ENOMEM;
	r = record_dir_create(&s->file, dir, number, SPOOL_FILE);
	if (r < 0)
		return r;
	s->n_bytes = s->file.end;
	*ret = TAKE_PTR(s);
	return 0;
}

static int open_file(struct spool_segment *s, const struct record_dir *dir)
{
	return s->file.fd >= 0 ? 0 : record_dir_open(&s->file, dir, s->number, SPOOL_FILE);
}

/* ---- entries ---- */

static int add_entry(struct spool_segment *s, uint64_t offset, uint64_t created_ns,
		     enum spool_entry_state state)
{
	if (ARRAY_RESERVE(s->entries, s->max_entries, s->n_entries + 1) < 0)
		return -ENOMEM;
	/* only a file of an earlier process has profiles that are idle from the start */
	s->entries[s->n_entries++] =
		(struct spool_entry){offset, created_ns, state, state == SPOOL_ENTRY_IDLE};
	if (state == SPOOL_ENTRY_IDLE)
		s->n_idle++;
	else
		s->n_out++;
	return 0;
}

/* The number of entries before this offset. */
static size_t lower_bound(const struct spool_segment *s, uint64_t offset)
{
	size_t first = 0, last = s->n_entries;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (s->entries[middle].offset < offset)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

struct spool_entry *spool_segment_find(const struct spool_segment *s, uint64_t offset)
{
	size_t i = lower_bound(s, offset);

	return i < s->n_entries && s->entries[i].offset == offset ? &s->entries[i] : NULL;
}

struct spool_entry *spool_segment_next_idle(const struct spool_segment *s, uint64_t offset)
{
	for (size_t i = lower_bound(s, offset); s->n_idle > 0 && i < s->n_entries; i++) {
		if (s->entries[i].state == SPOOL_ENTRY_IDLE)
			return &s->entries[i];
	}
	return NULL;
}

void spool_segment_set_state(struct spool_segment *s, struct spool_entry *e,
			     enum spool_entry_state state)
{
	s->n_idle -= e->state == SPOOL_ENTRY_IDLE;
	s->n_out -= e->state == SPOOL_ENTRY_OUT;
	e->state = state;
	s->n_idle += e->state == SPOOL_ENTRY_IDLE;
	s->n_out += e->state == SPOOL_ENTRY_OUT;
}

/* ---- reading what an earlier process left ---- */

static int take_record(struct spool_segment *s, const struct record *record)
{
	struct spool_entry *e;
	uint64_t value;

	if (spool_record_is_profile(record->kind)) {
		if (spool_profile_parse_created(&value, record->kind, record->payload,
						record->len) == 0)
			return add_entry(s, record->offset, value, SPOOL_ENTRY_IDLE);
		s->n_damaged++;
	} else if (record->kind == SPOOL_RECORD_DONE &&
		   spool_done_parse(&value, record->payload, record->len) == 0) {
		e = spool_segment_find(s, value);
		if (e)
			spool_segment_set_state(s, e, SPOOL_ENTRY_DONE);
	}
	return 0;
}

static int load(struct spool_segment *s, const struct record_dir *dir)
{
	AUTO_FREE char *content = NULL;
	struct record_cursor c = {0};
	struct record record;
	int r = record_dir_load(dir, s->number, SPOOL_FILE, FILE_MAX_BYTES + 1, &content, &c);

	if (r == 0 && c.len > FILE_MAX_BYTES)
		r = -EBADMSG;
	while (r == 0 && record_cursor_read(&c, &record))
		r = take_record(s, &record);
	if (r < 0)
		return r;
	s->n_damaged += c.n_damaged;
	s->n_bytes = record_boundary(c.offset);
	if (s->n_bytes == c.len)
		return 0;
	r = open_file(s, dir);
	if (r < 0)
		return r;
	r = record_file_cut(&s->file, s->n_bytes);
	if (r < 0)
		return r;
	spool_segment_close(s);
	return 0;
}

int spool_segment_load(struct spool_segment **ret, const struct record_dir *dir, uint64_t number)
{
	CLEANUP(spool_segment_freep) struct spool_segment *s = segment_alloc(number);
	int r = s ? load(s, dir) : -ENOMEM;

	if (r == 0)
		*ret = TAKE_PTR(s);
	return r;
}

/* ---- reading and writing records ---- */

static int append(struct spool_segment *s, enum spool_record_kind kind, const void *payload,
		  size_t len)
{
	int r = record_file_add(&s->file, kind, payload, len);

	s->n_bytes = s->file.end;
	return r;
}

int spool_segment_append(struct spool_segment *s, const struct record_dir *dir, uint64_t created_ns,
			 const struct buf *payload)
{
	int r = open_file(s, dir);

	if (r == 0) /* first, since it can be undone */
		r = add_entry(s, s->n_bytes, created_ns, SPOOL_ENTRY_OUT);
	if (r < 0)
		return r;
	r = append(s, SPOOL_RECORD_CLOCKED, payload->data, payload->len);
	if (r < 0) {
		s->n_entries--;
		s->n_out--;
	}
	return r;
}

int spool_segment_read(struct spool_segment *s, const struct record_dir *dir,
		       const struct spool_entry *e, struct upload_item **ret)
{
	CLEANUP(buf_fini) struct buf payload;
	struct record record;
	int r = open_file(s, dir);

	buf_init(&payload, FILE_MAX_BYTES);
	if (r == 0)
		r = record_file_read(&s->file, e->offset, &record, &payload);
	if (r == 0 && !spool_record_is_profile(record.kind))
		r = -EBADMSG;
	if (r == 0)
		r = spool_profile_parse(ret, record.kind, payload.data, payload.len);
	return r == -ENODATA || r == -EFBIG ? -EBADMSG : r;
}

int spool_segment_finish(struct spool_segment *s, const struct record_dir *dir,
			 struct spool_entry *e)
{
	uint8_t mark[SPOOL_DONE_BYTES];
	int r;

	spool_segment_set_state(s, e, SPOOL_ENTRY_DONE);
	if (s->n_idle + s->n_out == 0)
		return 0; /* the whole segment goes */
	spool_done_encode(mark, e->offset);
	r = open_file(s, dir);
	return r == 0 ? append(s, SPOOL_RECORD_DONE, mark, sizeof(mark)) : r;
}

int spool_segment_empty(struct spool_segment *s)
{
	int r = record_file_cut(&s->file, RECORD_FILE_HEADER_BYTES);

	if (r < 0)
		return r;
	s->n_entries = 0;
	s->n_bytes = s->file.end;
	return 0;
}
