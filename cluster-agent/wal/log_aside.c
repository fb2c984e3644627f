/*
 * Files that are kept for a person: segments of which not all could be read, and uploads that the
 * store refused. Bounded in number and size; the oldest are deleted.
 */
#include <errno.h>

#include "cluster-agent/wal/log_state.h"
#include "cluster-agent/wal/upload_record.h"
#include "common/telemetry/log.h"

#define MAX_FILES 64u
#define MAX_BYTES (UINT64_C(256) << 20)

static bool is_aside(const struct record_dir_file *f)
{
	return f->kind == LOG_FILE_DAMAGED || f->kind == LOG_FILE_REFUSED;
}

static void prune(struct upload_log *l)
{
	AUTO_FREE struct record_dir_file *files = NULL;
	uint64_t n_bytes = 0;
	size_t n_files, n = 0;

	if (record_dir_list(&l->files, &files, &n_files) < 0)
		return;
	for (size_t i = n_files; i-- > 0;) {
		if (!is_aside(&files[i]))
			continue;
		n++;
		n_bytes += files[i].n_bytes;
		if (n <= MAX_FILES && (n_bytes <= MAX_BYTES || n == 1))
			continue;
		if (record_dir_remove(&l->files, files[i].number, files[i].kind) == 0)
			metric_add(&l->metrics[LOG_KEPT_ASIDE_DELETED], 1);
	}
}

void log_report_damage(struct upload_log *l, uint64_t number, uint64_t n_lost)
{
	metric_add(&l->metrics[LOG_DAMAGED_SEGMENTS], 1);
	metric_add(&l->metrics[LOG_LOST_RECORDS], n_lost);
	log_error("the log of uploads is damaged; uploads that cannot be read are lost, "
		  "the file is kept as .damaged",
		  "dir=%s segment=%016llx lost=%llu", LOG_QUOTED(l->dir),
		  (unsigned long long)number, (unsigned long long)n_lost);
}

int log_retire_segment(struct upload_log *l, uint64_t number, bool is_damaged)
{
	int r;

	if (!is_damaged)
		return record_dir_remove(&l->files, number, LOG_FILE_SEGMENT);
	r = record_dir_rename(&l->files, number, LOG_FILE_SEGMENT, LOG_FILE_DAMAGED);
	if (r == 0)
		prune(l);
	return r;
}

/* Encodes the frames of one record of s again. *first is that of its first frame. */
static int add_record(struct record_file *f, const struct log_segment *s, size_t record,
		      size_t *first)
{
	const struct log_segment_content *c = &s->content;
	AUTO_FREE struct logged_frames *frames = NULL;
	AUTO_FREE uint8_t *payload = NULL;
	size_t n = 0, size;

	while (*first < c->n_frames && c->frames[*first].record < record)
		(*first)++;
	while (*first + n < c->n_frames && c->frames[*first + n].record == record)
		n++;
	frames = calloc(n + 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		frames[i] = c->frames[*first + i].data;
	size = upload_record_size(frames, n);
	payload = malloc(size + 1);
	if (!payload)
		return -ENOMEM;
	upload_record_encode(payload, c->ids[record], frames, n);
	if (c->is_repeat[record])
		upload_record_mark_repeat(payload);
	return record_file_add(f, UPLOAD_RECORD_KIND, payload, size);
}

static int write_refused(struct upload_log *l, const struct log_segment *s, const bool *refused)
{
	CLEANUP(record_file_close) struct record_file f = {.fd = -1};
	char name[RECORD_NAME_BYTES];
	size_t first = 0;
	int r;

	/* an earlier attempt to commit may have left it */
	r = record_dir_remove(&l->files, s->number, LOG_FILE_REFUSED);
	if (r < 0)
		return r;
	record_dir_name(&l->files, s->number, LOG_FILE_REFUSED, name);
	r = record_file_create(&f, l->files.fd, name, SEGMENT_FILE_TYPE, s->version);
	for (size_t i = 0; r == 0 && i < s->content.n_records; i++) {
		if (refused[i])
			r = add_record(&f, s, i, &first);
	}
	return r < 0 ? r : record_file_sync(&f);
}

void log_keep_refused(struct upload_log *l, const struct log_segment *s, const bool *refused)
{
	size_t n = 0;
	int r;

	for (size_t i = 0; i < s->content.n_records; i++)
		n += refused[i];
	if (n == 0)
		return;
	metric_add(&l->metrics[LOG_REFUSED_RECORDS], n);
	r = write_refused(l, s, refused);
	if (r < 0)
		log_error("uploads that the store refused cannot be kept aside; they are lost",
			  "dir=%s segment=%016llx uploads=%zu error=%s", LOG_QUOTED(l->dir),
			  (unsigned long long)s->number, n, LOG_QUOTED(strerror(-r)));
	prune(l);
}
