/*
 * What an earlier process left. Ids files first: they say which uploads are in the store, and which
 * segments were committed although their file is still there. Then the segments, from the newest
 * to the oldest: if a write failed, its bytes could not be removed either, and the upload was sent
 * again, its id is in two segments. The earlier one is without it, as it was while it was inserted.
 */
#include <errno.h>

#include "cluster-agent/wal/log_state.h"
#include "cluster-agent/wal/upload_record.h"
#include "common/telemetry/log.h"

/* What the ids files say of the file with the same index. */
struct commit_mark {
	bool is_committed;
	uint8_t segment_id[16];
};

struct recovery {
	struct upload_log *l;
	struct record_dir_file *files; /* by ascending number */
	size_t n_files;
	struct commit_mark *marks;
};

static void note_segment(void *ctx, uint64_t number, const uint8_t segment_id[16])
{
	struct recovery *rec = ctx;

	for (size_t i = 0; i < rec->n_files; i++) {
		if (rec->files[i].kind != LOG_FILE_SEGMENT || rec->files[i].number != number)
			continue;
		rec->marks[i].is_committed = true;
		memcpy(rec->marks[i].segment_id, segment_id, sizeof(rec->marks[i].segment_id));
	}
}

static void note_id(void *ctx, struct upload_id id)
{
	const struct recovery *rec = ctx;

	(void)id_set_add(rec->l->durable, id);
}

static int recover_ids(struct recovery *rec)
{
	struct upload_log *l = rec->l;
	const struct committed_ids_config cfg = {
		.dir = &l->files,
		.max_ids = l->cfg.max_ids,
		.last_number = &l->last_number,
		.segment = note_segment,
		.id = note_id,
		.ctx = rec,
	};
	struct committed_ids_counts counts;
	int r = committed_ids_open(&l->ids, &cfg, rec->files, rec->n_files);

	if (r < 0)
		return r;
	committed_ids_counts(l->ids, &counts);
	metric_set(&l->metrics[LOG_DAMAGED_IDS], counts.n_damaged);
	if (counts.n_damaged > 0)
		log_warn("cannot read some ids of stored uploads; "
			 "one that is sent again may be stored twice",
			 "dir=%s places=%llu", LOG_QUOTED(l->dir),
			 (unsigned long long)counts.n_damaged);
	return 0;
}

static bool is_committed(const struct recovery *rec, size_t i)
{
	struct record_file f;
	bool is_same;

	if (!rec->marks[i].is_committed)
		return false;
	if (record_dir_open(&f, &rec->l->files, rec->files[i].number, LOG_FILE_SEGMENT) < 0)
		return false;
	is_same = memcmp(f.header.id, rec->marks[i].segment_id, sizeof(f.header.id)) == 0;
	record_file_close(&f);
	return is_same;
}

/* Puts a recovered segment in front of the closed ones, as the newest is recovered first. */
static void add_segment(struct upload_log *l, struct log_segment *s)
{
	metric_add(&l->metrics[LOG_RECOVERED], s->n_records);
	l->n_bytes += s->n_bytes - RECORD_FILE_HEADER_BYTES;
	s->next = l->closed;
	l->closed = s;
}

static int recover_segment(struct recovery *rec, size_t i)
{
	struct upload_log *l = rec->l;
	uint64_t number = rec->files[i].number, n_torn = 0;
	struct log_segment *s = NULL;
	int r;

	if (is_committed(rec, i))
		return log_retire_segment(l, number, false);
	r = log_segment_recover(&s, &l->files, number, l->durable, &n_torn);
	/* a crash while it was created */
	if (r == -ENODATA)
		return log_retire_segment(l, number, false);
	if (r == -EBADMSG) {
		log_report_damage(l, number, 1);
		return log_retire_segment(l, number, true);
	}
	if (r < 0)
		return r;
	metric_add(&l->metrics[LOG_TORN_BYTES], n_torn);
	if (!s)
		return log_retire_segment(l, number, false);
	if (s->n_damaged > 0)
		log_report_damage(l, number, s->n_damaged);
	s->n_reported = s->n_damaged;
	if (s->n_records > 0) {
		add_segment(l, s);
		return 0;
	}
	log_segment_free(s);
	return log_retire_segment(l, number, true);
}

static int recover_files(struct recovery *rec)
{
	struct upload_log *l = rec->l;
	int r;

	rec->marks = calloc(rec->n_files + 1, sizeof(*rec->marks));
	if (!rec->marks)
		return -ENOMEM;
	if (rec->n_files > 0)
		l->last_number = rec->files[rec->n_files - 1].number;
	r = recover_ids(rec);
	for (size_t i = rec->n_files; r == 0 && i-- > 0;) {
		if (rec->files[i].kind == LOG_FILE_SEGMENT)
			r = recover_segment(rec, i);
	}
	return r;
}

int log_recover(struct upload_log *l, struct err *err)
{
	struct recovery rec = {.l = l};
	int r = record_dir_list(&l->files, &rec.files, &rec.n_files);

	if (r == 0)
		r = recover_files(&rec);
	free(rec.files);
	free(rec.marks);
	if (r == -EPROTONOSUPPORT)
		return err_set(err, r, "the log of uploads in %s is of a newer release", l->dir);
	if (r < 0)
		return err_set(err, r, "read the log of uploads in %s: %s", l->dir, strerror(-r));
	return 0;
}
