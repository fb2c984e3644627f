#include "cluster-agent/wal/committed_ids.h"

#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/wal/upload_record.h"

/* A file is replaced at this size; one commit may exceed it. */
#define FILE_BYTES (4u << 20)
#define MAX_LOAD_BYTES ((size_t)RECORD_MAX_BYTES + FILE_BYTES)

struct ids_file {
	uint64_t number;
	size_t n_ids;
};

struct committed_ids {
	struct committed_ids_config cfg;
	struct record_file file; /* the newest; its fd is -1 if one must be begun */
	struct ids_file *files;  /* oldest first */
	size_t n_files;
	size_t n_ids;
	struct committed_ids_counts counts;
};

static int add_file(struct committed_ids *c, uint64_t number)
{
	struct ids_file *files = realloc(c->files, (c->n_files + 1) * sizeof(*files));

	if (!files)
		return -ENOMEM;
	c->files = files;
	c->files[c->n_files++] = (struct ids_file){.number = number};
	return 0;
}

/* The removal of the segments that the file calls committed must be durable before its own. */
static int remove_oldest(struct committed_ids *c)
{
	int r = record_dir_sync(c->cfg.dir->fd);

	if (r == 0)
		r = record_dir_remove(c->cfg.dir, c->files[0].number, LOG_FILE_IDS);
	if (r < 0)
		return r;
	c->n_ids -= c->files[0].n_ids;
	memmove(c->files, c->files + 1, --c->n_files * sizeof(*c->files));
	return 0;
}

static void prune(struct committed_ids *c)
{
	while (c->n_files > 1 && c->n_ids - c->files[0].n_ids >= c->cfg.max_ids) {
		if (remove_oldest(c) < 0)
			return;
	}
}

/* A commit frees space, so it must not need any on a disk that is full. */
static void reserve(const struct record_file *f)
{
	(void)fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, FILE_BYTES);
}

static int begin_file(struct committed_ids *c)
{
	uint64_t number = atomic_fetch_add(c->cfg.last_number, 1) + 1;
	struct record_file f;
	int r;

	r = record_dir_create(&f, c->cfg.dir, number, LOG_FILE_IDS);
	if (r < 0)
		return r;
	r = add_file(c, number);
	if (r < 0) {
		record_file_close(&f);
		return r;
	}
	reserve(&f);
	record_file_close(&c->file);
	c->file = f;
	prune(c);
	return 0;
}

/* ---- at the start ---- */

static void read_record(struct committed_ids *c, const struct record *rec)
{
	struct ids_record ids;

	if (rec->kind != IDS_RECORD_KIND || ids_record_parse(&ids, rec->payload, rec->len) < 0) {
		c->counts.n_damaged++;
		return;
	}
	c->cfg.segment(c->cfg.ctx, ids.number, ids.segment_id);
	for (size_t i = 0; i < ids.n_ids; i++)
		c->cfg.id(c->cfg.ctx, ids_record_id(&ids, i));
	c->files[c->n_files - 1].n_ids += ids.n_ids;
	c->n_ids += ids.n_ids;
}

static int load_file(struct committed_ids *c, uint64_t number, uint64_t *ret_end)
{
	AUTO_FREE char *data = NULL;
	struct record_cursor cursor;
	struct record rec;
	int r = record_dir_load(c->cfg.dir, number, LOG_FILE_IDS, MAX_LOAD_BYTES, &data, &cursor);

	*ret_end = 0;
	if (r == -ENODATA)
		return record_dir_remove(c->cfg.dir, number, LOG_FILE_IDS);
	if (r == -EBADMSG) {
		c->counts.n_damaged++;
		return record_dir_rename(c->cfg.dir, number, LOG_FILE_IDS, LOG_FILE_DAMAGED);
	}
	if (r == 0)
		r = add_file(c, number);
	if (r < 0)
		return r;
	while (record_cursor_read(&cursor, &rec))
		read_record(c, &rec);
	c->counts.n_damaged += cursor.n_damaged;
	*ret_end = record_boundary(cursor.offset);
	return 0;
}

/* Continues the newest file if it can be. */
static void reopen(struct committed_ids *c, uint64_t end)
{
	struct record_file f = RECORD_FILE_NONE;

	if (end == 0 || end >= FILE_BYTES)
		return;
	if (record_dir_open(&f, c->cfg.dir, c->files[c->n_files - 1].number, LOG_FILE_IDS) == 0 &&
	    (f.end == end || record_file_cut(&f, end) == 0)) {
		reserve(&f);
		c->file = f;
	} else {
		record_file_close(&f);
	}
}

int committed_ids_open(struct committed_ids **ret, const struct committed_ids_config *cfg,
		       const struct record_dir_file *files, size_t n_files)
{
	CLEANUP(committed_ids_closep) struct committed_ids *c = calloc(1, sizeof(*c));
	uint64_t end = 0;

	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	c->file.fd = -1;
	for (size_t i = 0; i < n_files; i++) {
		int r = 0;

		if (files[i].kind == LOG_FILE_IDS)
			r = load_file(c, files[i].number, &end);
		if (r < 0)
			return r;
	}
	reopen(c, end);
	/* if it fails, the first commit tries again */
	if (c->file.fd < 0)
		(void)!begin_file(c);
	*ret = TAKE_PTR(c);
	return 0;
}

void committed_ids_close(struct committed_ids *c)
{
	if (!c)
		return;
	record_file_close(&c->file);
	free(c->files);
	free(c);
}

/* ---- commits ---- */

static int append(struct committed_ids *c, const void *payload, size_t len)
{
	uint64_t before = c->file.end;
	int r = record_file_add(&c->file, IDS_RECORD_KIND, payload, len);

	if (r == 0)
		r = record_file_sync(&c->file);
	if (r == 0)
		return 0;
	/* unless there was no space, what is durable of this file is unknown: begin another one */
	if (record_file_cut(&c->file, before) < 0 || r != -ENOSPC)
		record_file_close(&c->file);
	return r;
}

int committed_ids_add(struct committed_ids *c, uint64_t number, const uint8_t segment_id[16],
		      const struct upload_id *ids, size_t n_ids)
{
	size_t len = ids_record_size(n_ids);
	AUTO_FREE uint8_t *payload = NULL;
	int r = 0;

	if (len > RECORD_MAX_BYTES)
		return -EFBIG;
	payload = malloc(len);
	if (!payload)
		return -ENOMEM;
	ids_record_encode(payload, number, segment_id, ids, n_ids);
	if (c->file.fd < 0 || c->file.is_closed || c->file.end >= FILE_BYTES)
		r = begin_file(c);
	/* a file that has become too large still serves while there is no space for another one */
	if (r < 0 && c->file.fd < 0)
		return r;
	r = append(c, payload, len);
	/* to forget the oldest ids is better than never to free the segments of a full disk */
	if (r == -ENOSPC && c->n_files > 1 && remove_oldest(c) == 0)
		r = append(c, payload, len);
	if (r < 0)
		return r;
	c->files[c->n_files - 1].n_ids += n_ids;
	c->n_ids += n_ids;
	return 0;
}

void committed_ids_counts(const struct committed_ids *c, struct committed_ids_counts *ret)
{
	*ret = c->counts;
}
