/*
 * The segments of a spool.
 *
 * One file per profile would be simpler, but costs a block and a name for each of them, and
 * thousands of names to read at the start. One large file could not give space back from its
 * beginning. So there are segments of a few MiB, each removed as a whole; the price is that the
 * cap drops a segment at a time.
 *
 * Which profiles wait is known in memory only (some 24 bytes each) and read from the files at the
 * start. A mark that cannot be written, because the disk is full, costs a repetition after the next
 * start, which the receiver recognises by the profile's key.
 *
 * Profiles are taken out in the order in which they were written. One that is released goes back to
 * its place, and its turn comes when all after it have had theirs: a profile that cannot be sent
 * does not stop the others.
 */
#include "common/upload/spool_files.h"

#include <errno.h>
#include <fcntl.h>
#include <utlist.h>

#include "common/data/buf.h"
#include "common/data/hash.h"
#include "common/limits.h"
#include "common/system/fs.h"
#include "common/system/private_dir.h"
#include "common/upload/spool_record.h"
#include "common/upload/spool_segment.h"

#define DIR_NAME "profiles"
#define LOCK_FILE "lock"
#define SEGMENT_MIN_BYTES ((uint64_t)64 * 1024)
#define SEGMENT_MAX_BYTES (4 * MIB)
#define MAX_SEGMENTS 10000u
#define MAX_OPEN 8u

static const struct record_kind file_kinds[] = {
	[SPOOL_FILE] = {".spool", SPOOL_FILE_TYPE, SPOOL_FILE_VERSION},
};

struct spool_files {
	struct record_dir dir;
	int lock_fd; /* holds the lock of the directory */
	uint64_t max_bytes;
	uint64_t segment_bytes;
	struct spool_segment *segments; /* oldest first */
	size_t n_segments;
	struct spool_segment *current; /* the last one, if it takes more; NULL: none does */
	uint64_t next_number;
	uint64_t disk_bytes;       /* that found room when the disk was last full; 0: it has room */
	struct spool_place cursor; /* the next profile is taken from here on */
	struct spool_state state;
};

/* ---- segments ---- */

static void remove_segment(struct spool_files *f, struct spool_segment *s)
{
	if (record_dir_remove(&f->dir, s->number, SPOOL_FILE) < 0)
		f->state.n_errors++;
	if (s == f->current)
		f->current = NULL;
	DL_DELETE(f->segments, s);
	f->n_segments--;
	spool_segment_free(s);
}

static void add_segment(struct spool_files *f, struct spool_segment *s)
{
	DL_APPEND(f->segments, s);
	f->n_segments++;
	f->next_number = s->number + 1;
	f->state.n_dropped_damaged += s->n_damaged;
	s->n_damaged = 0;
}

static void drop_oldest(struct spool_files *f)
{
	struct spool_segment *oldest = f->segments;

	if (!oldest)
		return;
	/* those that are out are counted when they are released */
	f->state.n_dropped_full += oldest->n_idle;
	remove_segment(f, oldest);
}

static void limit_open(struct spool_files *f)
{
	struct spool_segment *s;
	size_t n = 0;

	DL_FOREACH (f->segments, s)
		n += s->file.fd >= 0;
	DL_FOREACH (f->segments, s) {
		if (n <= MAX_OPEN)
			return;
		if (s != f->current && s->file.fd >= 0) {
			spool_segment_close(s);
			n--;
		}
	}
}

static uint64_t total_bytes(const struct spool_files *f)
{
	const struct spool_segment *s;
	uint64_t n = 0;

	DL_FOREACH (f->segments, s)
		n += s->n_bytes;
	return n;
}

static struct spool_segment *find_segment(const struct spool_files *f, uint64_t number)
{
	struct spool_segment *s;

	DL_FOREACH (f->segments, s) {
		if (s->number == number)
			return s;
	}
	return NULL;
}

/* ---- opening ---- */

/*
 * The agent runs as root, and dir may be in a place where others can create names, such as /tmp. So
 * neither its last component nor what is below is followed if it is a symbolic link.
 */
static int lock_dir(struct spool_files *f, const char *dir, struct err *err)
{
	AUTO_CLOSE int parent = private_dir_open(
		AT_FDCWD, dir, PRIVATE_DIR_NO_LINK | PRIVATE_DIR_OURS_OR_ROOT, dir, err);
	char own[sizeof(err->msg)]; /* in errors */

	if (parent < 0)
		return parent;
	(void)snprintf(own, sizeof(own), "%s/" DIR_NAME, dir);
	f->dir.fd = private_dir_open(parent, DIR_NAME,
				     PRIVATE_DIR_NO_LINK | PRIVATE_DIR_OURS | PRIVATE_DIR_CLOSE,
				     own, err);
	if (f->dir.fd < 0)
		return f->dir.fd;
	f->lock_fd = private_dir_lock(f->dir.fd, LOCK_FILE, 0, NULL);
	if (f->lock_fd == -EBUSY)
		return err_set(err, -EBUSY, "%s is used by another process", dir);
	if (f->lock_fd < 0)
		return err_set(err, f->lock_fd, "lock %s/" LOCK_FILE ": %s", own,
			       strerror(-f->lock_fd));
	return 0;
}

/* What keeps us from reading any file, and passes by itself. */
static bool is_shortage(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

/* A file that may be read at a later start: by another version, or when the disk works. */
static void leave_alone(struct spool_files *f, uint64_t number, int r)
{
	f->state.n_left_alone++;
	if (r != -EPROTONOSUPPORT) {
		f->state.n_errors++;
		f->state.n_dropped_damaged++;
	}
	f->next_number = number + 1;
}

static int load(struct spool_files *f, uint64_t number)
{
	struct spool_segment *s = NULL;
	int r = spool_segment_load(&s, &f->dir, number);

	if (r == 0) {
		add_segment(f, s);
		if (s->n_idle == 0)
			remove_segment(f, s);
		return 0;
	}
	if (is_shortage(r))
		return r;
	if (r != -EBADMSG && r != -ENODATA) {
		leave_alone(f, number, r);
		return 0;
	}
	/* nothing of it can be read; -ENODATA: nothing was written */
	f->state.n_dropped_damaged += r == -EBADMSG;
	f->next_number = number + 1;
	return record_dir_remove(&f->dir, number, SPOOL_FILE);
}

static int load_all(struct spool_files *f, struct err *err)
{
	AUTO_FREE struct record_dir_file *files = NULL;
	size_t n = 0;
	int r = record_dir_list(&f->dir, &files, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = load(f, files[i].number);
	if (r < 0)
		return err_set(err, r, "read the spool: %s", strerror(-r));
	return 0;
}

static uint64_t default_segment_bytes(uint64_t max_bytes)
{
	uint64_t n = max_bytes / 16;

	if (n < SEGMENT_MIN_BYTES)
		return SEGMENT_MIN_BYTES;
	return n < SEGMENT_MAX_BYTES ? n : SEGMENT_MAX_BYTES;
}

int spool_files_open(struct spool_files **ret, const struct spool_files_config *cfg,
		     struct err *err)
{
	CLEANUP(spool_files_closep) struct spool_files *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->dir = (struct record_dir){
		.fd = -1, .kinds = file_kinds, .n_kinds = ARRAY_SIZE(file_kinds)};
	f->lock_fd = -1;
	f->max_bytes = cfg->max_bytes;
	f->segment_bytes =
		cfg->segment_bytes ? cfg->segment_bytes : default_segment_bytes(cfg->max_bytes);
	f->next_number = 1;
	f->state.is_usable = true;
	r = lock_dir(f, cfg->dir, err);
	if (r == 0)
		r = load_all(f, err);
	if (r < 0)
		return r;
	while (f->segments && total_bytes(f) > f->max_bytes)
		drop_oldest(f);
	*ret = TAKE_PTR(f);
	return 0;
}

void spool_files_close(struct spool_files *f)
{
	struct spool_segment *s, *next;

	if (!f)
		return;
	/* remove an empty segment now: the next start would read it in vain */
	if (f->current && f->current->n_idle + f->current->n_out == 0)
		remove_segment(f, f->current);
	DL_FOREACH_SAFE(f->segments, s, next)
	{
		DL_DELETE(f->segments, s);
		spool_segment_free(s);
	}
	closep(&f->dir.fd);
	closep(&f->lock_fd);
	free(f);
}

/* ---- writing ---- */

static int begin_segment(struct spool_files *f)
{
	struct spool_segment *s = NULL;
	int r = spool_segment_create(&s, &f->dir, f->next_number++);

	if (r < 0)
		return r;
	add_segment(f, s);
	f->current = s;
	limit_open(f);
	return 0;
}

/* A failed append has left bytes at its end that could not be cut off: nothing goes behind them. */
static void give_up_current(struct spool_files *f)
{
	struct spool_segment *s = f->current;

	f->current = NULL;
	if (s->n_idle + s->n_out == 0)
		remove_segment(f, s);
}

static int put(struct spool_files *f, const struct upload_item *item, const struct buf *payload)
{
	int r;

	if (f->current && f->current->n_bytes >= f->segment_bytes)
		f->current = NULL;
	if (!f->current) {
		r = begin_segment(f);
		if (r < 0)
			return r;
	}
	r = spool_segment_append(f->current, &f->dir, item->created_ns, payload);
	if (r < 0 && f->current->file.is_closed)
		give_up_current(f);
	return r;
}

static bool is_no_space(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

int spool_files_put(struct spool_files *f, const struct upload_item *item, struct spool_place *ret)
{
	CLEANUP(buf_fini) struct buf payload;
	uint64_t size;
	int r;

	buf_init(&payload, LIMIT_UPLOAD_BYTES + MIB);
	r = spool_profile_encode(&payload, item);
	size = RECORD_FILE_HEADER_BYTES + record_size(payload.len);
	if (r == 0 && size > f->max_bytes)
		r = -EFBIG;
	if (r < 0)
		return r;
	while (f->segments &&
	       (total_bytes(f) + size > f->max_bytes || f->n_segments >= MAX_SEGMENTS))
		drop_oldest(f);
	r = put(f, item, &payload);
	if (is_no_space(r))
		f->disk_bytes = total_bytes(f) + 1;
	/* the newest segment stays: to lose all for one would be too much */
	while (is_no_space(r) && f->n_segments > 1) {
		drop_oldest(f);
		r = put(f, item, &payload);
	}
	if (r < 0) {
		f->state.n_errors++;
		return r;
	}
	if (total_bytes(f) > f->disk_bytes)
		f->disk_bytes = 0;
	*ret = (struct spool_place){
		.segment = f->current->number,
		.offset = f->current->entries[f->current->n_entries - 1].offset,
	};
	return 0;
}

/* ---- taking out ---- */

/* The first idle profile at the cursor or after it. */
static struct spool_segment *seek(struct spool_files *f, struct spool_entry **ret)
{
	struct spool_segment *s;

	DL_FOREACH (f->segments, s) {
		if (s->number < f->cursor.segment)
			continue;
		*ret = spool_segment_next_idle(s, s->number == f->cursor.segment ? f->cursor.offset
										 : 0);
		if (*ret)
			return s;
	}
	return NULL;
}

static void remove_if_finished(struct spool_files *f, struct spool_segment *s)
{
	if (s->n_idle + s->n_out > 0)
		return;
	if (s != f->current || spool_segment_empty(s) < 0)
		remove_segment(f, s);
}

/* What cannot be read now or ever does not hold up the rest. */
static int take(struct spool_files *f, struct spool_segment *s, struct spool_entry *e,
		struct upload_item **ret)
{
	int r = spool_segment_read(s, &f->dir, e, ret);

	f->cursor = (struct spool_place){s->number, e->offset + 1};
	if (r == 0) {
		atomic_store(&(*ret)->is_in_doubt, e->is_in_doubt);
		spool_segment_set_state(s, e, SPOOL_ENTRY_OUT);
	} else if (r == -EBADMSG || r == -ENOENT) {
		f->state.n_dropped_damaged++;
		(void)spool_segment_finish(s, &f->dir, e);
		remove_if_finished(f, s);
		r = -EBADMSG;
	} else if (r != -ENOMEM) {
		f->state.n_errors++;
	}
	limit_open(f);
	return r;
}

int spool_files_take(struct spool_files *f, struct upload_item **ret, struct spool_place *ret_place)
{
	struct spool_segment *s;
	struct spool_entry *e;
	int r;

	do {
		s = seek(f, &e);
		if (!s) {
			f->cursor = (struct spool_place){0};
			s = seek(f, &e);
		}
		if (!s)
			return -ENODATA;
		*ret_place = (struct spool_place){s->number, e->offset};
		r = take(f, s, e, ret);
	} while (r == -EBADMSG);
	return r;
}

static struct spool_entry *find(const struct spool_files *f, const struct spool_place *p,
				struct spool_segment **ret)
{
	struct spool_entry *e;

	*ret = find_segment(f, p->segment);
	e = *ret ? spool_segment_find(*ret, p->offset) : NULL;
	return e && e->state == SPOOL_ENTRY_OUT ? e : NULL;
}

void spool_files_release(struct spool_files *f, const struct spool_place *p)
{
	struct spool_segment *s;
	struct spool_entry *e = find(f, p, &s);

	if (e) {
		spool_segment_set_state(s, e, SPOOL_ENTRY_IDLE);
		e->is_in_doubt = e->is_in_doubt || p->is_in_doubt;
	} else {
		f->state.n_dropped_full++;
	}
}

void spool_files_finish(struct spool_files *f, const struct spool_place *p)
{
	struct spool_segment *s;
	struct spool_entry *e = find(f, p, &s);

	if (!e)
		return;
	if (spool_segment_finish(s, &f->dir, e) < 0)
		f->state.n_errors++;
	remove_if_finished(f, s);
}

/* ---- notes ---- */

int spool_files_read_note(struct spool_files *f, const char *endpoint,
			  char ret[static SPOOL_NOTE_MAX_BYTES])
{
	char name[SPOOL_NOTE_NAME_BYTES];

	spool_note_name(endpoint, name);
	return spool_note_read(f->dir.fd, name, ret);
}

int spool_files_write_note(struct spool_files *f, const char *endpoint, const char *text)
{
	char name[SPOOL_NOTE_NAME_BYTES], old[SPOOL_NOTE_MAX_BYTES];
	int r;

	spool_note_name(endpoint, name);
	if (spool_note_read(f->dir.fd, name, old) == 0 && strcmp(old, text) == 0)
		return 0;
	r = spool_note_write(f->dir.fd, name, text);
	f->state.n_errors += r < 0;
	return r;
}

/* ---- state ---- */

/* The next profiles will make others be dropped. */
static bool is_full(const struct spool_files *f, uint64_t n_bytes)
{
	uint64_t max = f->disk_bytes > 0 ? f->disk_bytes : f->max_bytes;

	return n_bytes + f->segment_bytes > max;
}

void spool_files_state(const struct spool_files *f, struct spool_state *ret)
{
	const struct spool_segment *s;

	*ret = f->state;
	ret->n_bytes = total_bytes(f);
	ret->is_full = ret->n_bytes > 0 && is_full(f, ret->n_bytes);
	DL_FOREACH (f->segments, s) {
		for (size_t i = 0; ret->oldest_created_ns == 0 && i < s->n_entries; i++) {
			if (s->entries[i].state != SPOOL_ENTRY_DONE)
				ret->oldest_created_ns = s->entries[i].created_ns;
		}
		ret->n_idle += s->n_idle;
		ret->n_profiles += s->n_idle + s->n_out;
	}
}

/* ---- notes ---- */

#define TMP "receiver.new"

void spool_note_name(const char *endpoint, char ret[static SPOOL_NOTE_NAME_BYTES])
{
	uint64_t hash = fnv1a64(FNV1A64_INIT, endpoint, strlen(endpoint));

	snprintf(ret, SPOOL_NOTE_NAME_BYTES, "receiver-%016llx.json", (unsigned long long)hash);
}

int spool_note_read(int dir_fd, const char *name, char ret[static SPOOL_NOTE_MAX_BYTES])
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, SPOOL_NOTE_MAX_BYTES - 1);
	r = fs_read_at(dir_fd, name, &text);
	if (r == 0)
		snprintf(ret, SPOOL_NOTE_MAX_BYTES, "%s", text.data ?: "");
	return r;
}

static int write_and_sync(int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);

	if (n < 0)
		return -errno;
	if ((size_t)n != len)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

int spool_note_write(int dir_fd, const char *name, const char *text)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (strlen(text) >= SPOOL_NOTE_MAX_BYTES)
		return -EFBIG;
	fd = openat(dir_fd, TMP, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_and_sync(fd, text);
	if (r == 0 && renameat(dir_fd, TMP, dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, TMP, 0);
	return r;
}
