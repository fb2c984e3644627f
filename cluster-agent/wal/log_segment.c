#include "cluster-agent/wal/log_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cluster-agent/wal/upload_record.h"
#include "common/system/clock.h"

void log_segment_forget(struct log_segment *s)
{
	free(TAKE_PTR(s->bytes));
	free(TAKE_PTR(s->ids));
	free(TAKE_PTR(s->is_repeat));
	free(TAKE_PTR(s->frames));
	s->content = (struct log_segment_content){0};
}

void log_segment_free(struct log_segment *s)
{
	if (!s)
		return;
	log_segment_forget(s);
	free(s->repeated);
	free(s);
}

/*
 * The next upload of the segment; a record that is none is damage, too. Returns false at the end,
 * which is at c->offset.
 */
static bool next_upload(struct record_cursor *c, struct upload_record *ret)
{
	struct record rec;

	while (record_cursor_read(c, &rec)) {
		if (rec.kind == UPLOAD_RECORD_KIND &&
		    upload_record_parse(ret, rec.payload, rec.len) == 0)
			return true;
		c->n_damaged++;
	}
	return false;
}

/* ---- recovery ---- */

static int leave_out(struct log_segment *s, uint32_t record)
{
	uint32_t *bigger = realloc(s->repeated, (s->n_repeated + 1) * sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	s->repeated = bigger;
	s->repeated[s->n_repeated++] = record;
	return 0;
}

static int recover_records(struct log_segment *s, struct record_cursor *c, struct id_set *ids)
{
	struct upload_record u;

	for (uint32_t i = 0; next_upload(c, &u); i++) {
		int r = 0;

		if (id_set_add(ids, u.id))
			s->n_records++;
		else
			r = leave_out(s, i);
		if (r < 0)
			return r;
	}
	s->n_damaged = (uint32_t)c->n_damaged;
	return 0;
}

static void cut_file(const struct log_segment *s)
{
	CLEANUP(record_file_close) struct record_file f = RECORD_FILE_NONE;

	/* if it fails nothing is wrong: what is torn is not read anyway */
	if (record_dir_open(&f, s->dir, s->number, LOG_FILE_SEGMENT) == 0)
		(void)!record_file_cut(&f, s->n_bytes);
}

static uint64_t ns_of(const struct statx_timestamp *t)
{
	return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

/* How long ago the file was made, or last written if that is longer; 0 if it is not known. */
static uint64_t age_ns(const struct record_dir *dir, uint64_t number)
{
	uint64_t now_ns = clock_realtime_ns(), then_ns;
	char name[RECORD_NAME_BYTES];
	struct statx st;

	record_dir_name(dir, number, LOG_FILE_SEGMENT, name);
	if (statx(dir->fd, name, AT_SYMLINK_NOFOLLOW, STATX_MTIME | STATX_BTIME, &st) < 0)
		return 0;
	then_ns = ns_of(&st.stx_mtime);
	/* not every file system knows when a file was made, and a copy was made later */
	if ((st.stx_mask & STATX_BTIME) && ns_of(&st.stx_btime) < then_ns)
		then_ns = ns_of(&st.stx_btime);
	return then_ns > 0 && then_ns < now_ns ? now_ns - then_ns : 0;
}

int log_segment_recover(struct log_segment **ret, const struct record_dir *dir, uint64_t number,
			struct id_set *ids, uint64_t *ret_torn_bytes)
{
	CLEANUP(log_segment_freep) struct log_segment *s = NULL;
	AUTO_FREE char *bytes = NULL;
	struct record_cursor c;
	int r = record_dir_load(dir, number, LOG_FILE_SEGMENT, LOG_SEGMENT_MAX_BYTES, &bytes, &c);

	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->dir = dir;
	s->number = number;
	memcpy(s->id, c.file.id, sizeof(s->id));
	s->recovered = true;
	s->first_ns = clock_monotonic_ns() - age_ns(dir, number);
	r = recover_records(s, &c, ids);
	if (r < 0)
		return r;
	s->n_bytes = c.offset;
	*ret_torn_bytes = c.len - c.offset;
	if (c.offset < c.len)
		cut_file(s);
	*ret = s->n_records > 0 || s->n_damaged > 0 ? TAKE_PTR(s) : NULL;
	return 0;
}

/* ---- reading ---- */

struct totals {
	size_t n_records;
	size_t n_frames;
};

static bool is_repeated(const struct log_segment *s, uint32_t record)
{
	for (size_t i = 0; i < s->n_repeated; i++) {
		if (s->repeated[i] == record)
			return true;
	}
	return false;
}

static struct totals count(const struct log_segment *s, struct record_cursor c)
{
	struct totals t = {0};
	struct upload_record u;

	for (uint32_t i = 0; next_upload(&c, &u); i++) {
		if (is_repeated(s, i))
			continue;
		t.n_records++;
		t.n_frames += u.n_frames;
	}
	return t;
}

static uint8_t missing_columns(uint32_t version)
{
	if (version < LOG_FILE_VERSION_RUNTIMES)
		return STORE_MISSING_RUNTIMES;
	if (version < LOG_FILE_VERSION_UNWINDING)
		return STORE_MISSING_UNWINDING;
	if (version < LOG_FILE_VERSION_STARTS)
		return STORE_MISSING_STARTS;
	return version < LOG_FILE_VERSION_LABELS ? STORE_MISSING_LABELS : 0;
}

static void fill(struct log_segment *s, struct record_cursor c)
{
	struct log_segment_content *t = &s->content;
	struct upload_record u;

	for (uint32_t i = 0; next_upload(&c, &u); i++) {
		if (is_repeated(s, i))
			continue;
		while (u.n_frames > 0) {
			struct log_frame *f = &s->frames[t->n_frames++];

			f->data = upload_record_take_frame(&u);
			f->data.frame.n_missing = missing_columns(s->version);
			f->record = (uint32_t)t->n_records;
		}
		s->is_repeat[t->n_records] = u.is_repeat;
		s->ids[t->n_records++] = u.id;
	}
	/* the file has become shorter, or its end has become zeros */
	s->n_damaged = (uint32_t)c.n_damaged + (c.offset < s->n_bytes);
}

static int read_content(struct log_segment *s)
{
	struct record_cursor c = {0};
	struct totals totals;
	int r;

	r = record_dir_load(s->dir, s->number, LOG_FILE_SEGMENT, s->n_bytes, &s->bytes, &c);
	if (r == -ENODATA || (r == 0 && memcmp(c.file.id, s->id, sizeof(s->id)) != 0))
		r = -EBADMSG;
	if (r < 0)
		return r;
	s->version = c.file.version;
	totals = count(s, c);
	s->ids = calloc(totals.n_records + 1, sizeof(*s->ids));
	s->is_repeat = calloc(totals.n_records + 1, sizeof(*s->is_repeat));
	s->frames = calloc(totals.n_frames + 1, sizeof(*s->frames));
	if (!s->ids || !s->is_repeat || !s->frames)
		return -ENOMEM;
	fill(s, c);
	s->content.damaged = s->n_damaged > 0;
	s->content.recovered = s->recovered;
	s->content.ids = s->ids;
	s->content.is_repeat = s->is_repeat;
	s->content.frames = s->frames;
	for (size_t i = 0; i < sizeof(s->id); i++)
		(void)snprintf(s->content.token + 2 * i, 3, "%02x", s->id[i]);
	return 0;
}

int log_segment_read(struct log_segment *s, struct log_segment_content *ret, struct err *err)
{
	int r = 0;

	if (!s->bytes) {
		r = read_content(s);
		if (r < 0)
			log_segment_forget(s);
	}
	if (r < 0)
		return err_set(err, r, "read segment %016llx: %s", (unsigned long long)s->number,
			       strerror(-r));
	*ret = s->content;
	return 0;
}
