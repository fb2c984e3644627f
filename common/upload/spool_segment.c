#include "common/upload/spool_segment.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/limits.h"
#include "common/system/fs.h"
#include "common/upload/spool_record.h"

#define SUFFIX ".spool"
/* A segment is closed at a few MiB, so it may have one larger profile at its end. */
#define FILE_MAX_BYTES (2 * LIMIT_UPLOAD_BYTES)

void spool_segment_name(uint64_t number, char ret[static SPOOL_SEGMENT_NAME_BYTES])
{
	snprintf(ret, SPOOL_SEGMENT_NAME_BYTES, "%016llx" SUFFIX, (unsigned long long)number);
}

bool spool_segment_parse_name(uint64_t *ret, const char *name)
{
	char canonical[SPOOL_SEGMENT_NAME_BYTES];
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(name, &end, 16);
	if (errno != 0 || number == 0)
		return false;
	spool_segment_name(number, canonical);
	*ret = number;
	return strcmp(name, canonical) == 0;
}

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

int spool_segment_create(struct spool_segment **ret, int dir_fd, uint64_t number)
{
	CLEANUP(spool_segment_freep) struct spool_segment *s = segment_alloc(number);
	char name[SPOOL_SEGMENT_NAME_BYTES];
	int r;

	if (!s)
		return -ENOMEM;
	spool_segment_name(number, name);
	r = record_file_create(&s->file, dir_fd, name, SPOOL_FILE_TYPE, SPOOL_FILE_VERSION);
	if (r < 0)
		return r;
	s->n_bytes = s->file.end;
	*ret = TAKE_PTR(s);
	return 0;
}

static int open_file(struct spool_segment *s, int dir_fd)
{
	char name[SPOOL_SEGMENT_NAME_BYTES];

	if (s->file.fd >= 0)
		return 0;
	spool_segment_name(s->number, name);
	return record_file_open(&s->file, dir_fd, name, SPOOL_FILE_TYPE, SPOOL_FILE_VERSION);
}

/* ---- entries ---- */

static int add_entry(struct spool_segment *s, uint64_t offset, uint64_t created_ns,
		     enum spool_entry_state state)
{
	if (ARRAY_RESERVE(s->entries, s->max_entries, s->n_entries + 1) < 0)
		return -ENOMEM;
	s->entries[s->n_entries++] = (struct spool_entry){offset, created_ns, state};
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

/* Sets n_bytes to where the next record goes. */
static int scan(struct spool_segment *s, const struct buf *content)
{
	enum record_outcome outcome;
	struct record_cursor c;
	struct record record;
	int r = record_cursor_init(&c, content->data, content->len);

	if (r < 0)
		return r;
	if (c.file.type != SPOOL_FILE_TYPE)
		return -EBADMSG;
	if (c.file.version > SPOOL_FILE_VERSION)
		return -EPROTONOSUPPORT;
	while (r == 0 && (outcome = record_cursor_next(&c, &record)) != RECORD_END &&
	       outcome != RECORD_TORN) {
		if (outcome == RECORD_DAMAGED)
			s->n_damaged++;
		else
			r = take_record(s, &record);
	}
	s->n_bytes = c.offset;
	return r;
}

/* Records are at multiples of 8, which damage at the end of a file may not respect. */
static uint64_t record_boundary(uint64_t offset)
{
	return offset & ~UINT64_C(7);
}

int spool_segment_load(struct spool_segment **ret, int dir_fd, uint64_t number)
{
	CLEANUP(spool_segment_freep) struct spool_segment *s = segment_alloc(number);
	CLEANUP(buf_fini) struct buf content;
	char name[SPOOL_SEGMENT_NAME_BYTES];
	int r;

	buf_init(&content, FILE_MAX_BYTES);
	if (!s)
		return -ENOMEM;
	spool_segment_name(number, name);
	r = fs_read_at(dir_fd, name, &content);
	/* the process ended before it had written the header */
	if (r == 0 && content.len < RECORD_FILE_HEADER_BYTES)
		return -ENODATA;
	if (r == 0)
		r = scan(s, &content);
	if (r < 0)
		return r == -EFBIG ? -EBADMSG : r;
	s->n_bytes = record_boundary(s->n_bytes);
	if (s->n_bytes != content.len) {
		r = open_file(s, dir_fd);
		if (r == 0)
			r = record_file_cut(&s->file, s->n_bytes);
		if (r < 0)
			return r;
		spool_segment_close(s);
	}
	*ret = TAKE_PTR(s);
	return 0;
}

/* ---- reading and writing records ---- */

static int append(struct spool_segment *s, enum spool_record_kind kind, const void *payload,
		  size_t len)
{
	const struct record_data data = {
		.kind = kind,
		.len = (uint32_t)len,
		.payload = payload,
		.sum = record_sum(payload, len),
	};
	int r = record_file_append(&s->file, &data, 1);

	s->n_bytes = s->file.end;
	return r;
}

int spool_segment_append(struct spool_segment *s, int dir_fd, uint64_t created_ns,
			 const struct buf *payload)
{
	int r = open_file(s, dir_fd);

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

int spool_segment_read(struct spool_segment *s, int dir_fd, const struct spool_entry *e,
		       struct upload_item **ret)
{
	CLEANUP(buf_fini) struct buf payload;
	struct record record;
	int r = open_file(s, dir_fd);

	buf_init(&payload, FILE_MAX_BYTES);
	if (r == 0)
		r = record_file_read(&s->file, e->offset, &record, &payload);
	if (r == 0 && !spool_record_is_profile(record.kind))
		r = -EBADMSG;
	if (r == 0)
		r = spool_profile_parse(ret, record.kind, payload.data, payload.len);
	return r == -ENODATA || r == -EFBIG ? -EBADMSG : r;
}

int spool_segment_finish(struct spool_segment *s, int dir_fd, struct spool_entry *e)
{
	uint8_t mark[SPOOL_DONE_BYTES];
	int r;

	spool_segment_set_state(s, e, SPOOL_ENTRY_DONE);
	if (s->n_idle + s->n_out == 0)
		return 0; /* the whole segment goes */
	spool_done_encode(mark, e->offset);
	r = open_file(s, dir_fd);
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
