/*
 * A table is written under another name, synced and renamed, so that a file with the name of a
 * build id is whole. Files are never written again: whoever uses one that is replaced or removed
 * has it open.
 */
#include "cluster-agent/symbols/symbol_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/system/private_dir.h"
#include "common/telemetry/log.h"

#define SUFFIX ".symbols"
#define NEW_NAME "new.tmp" /* the lock is held while it exists */
#define NAME_BYTES (2 * SYMBOL_BUILD_ID_MAX_BYTES + sizeof(SUFFIX))
/* A table that is used again within this time is not touched: it would be a write per query. */
#define TOUCH_NS (3600 * NS_PER_S)

enum {
	TABLES,
	BYTES,
	STORED,
	REPLACED,
	KNOWN,
	EVICTED,
	BROKEN,
	NAMED,
	NO_TABLE,
	NO_FUNCTION,
	NO_OFFSETS,
	UNREADABLE,
	NO_ROOM,
	N_METRICS,
};

#define PUTS(result)                                                                  \
	"coroot_cluster_agent_symbol_tables_received_total", "result=\"" result "\"", \
		"Valid tables of names of functions that were received, by what became of them"
#define REMOVED(reason)                                                                           \
	"coroot_cluster_agent_symbol_tables_removed_total", "reason=\"" reason "\"",              \
		"Tables of names of functions that were removed: because others needed the room " \
		"(space), or because they could not be read (broken)"

#define FRAMES(result)                                                                             \
	"coroot_cluster_agent_symbol_frames_total", "result=\"" result "\"",                       \
		"Distinct frames without a name for which queries asked for one, by result: "      \
		"named, "                                                                          \
		"no table of the build (no_table), no function there (no_function), a table that " \
		"knows no offsets in the file (no_offsets), a table that cannot be read "          \
		"(unreadable)"

static const struct metric_def metric_defs[N_METRICS] = {
	[TABLES] = {.name = "coroot_cluster_agent_symbol_tables",
		    .help = "Builds of programs and libraries whose functions have names here",
		    .kind = METRIC_GAUGE},
	[BYTES] = {.name = "coroot_cluster_agent_symbol_bytes",
		   .help = "Bytes of their tables on disk",
		   .kind = METRIC_GAUGE},
	[STORED] = {PUTS("stored")},
	[REPLACED] = {PUTS("replaced")},
	[KNOWN] = {PUTS("known")},
	[EVICTED] = {REMOVED("space")},
	[BROKEN] = {REMOVED("broken")},
	[NAMED] = {FRAMES("named")},
	[NO_TABLE] = {FRAMES("no_table")},
	[NO_FUNCTION] = {FRAMES("no_function")},
	[NO_OFFSETS] = {FRAMES("no_offsets")},
	[UNREADABLE] = {FRAMES("unreadable")},
	[NO_ROOM] = {.name = "coroot_cluster_agent_symbol_frames_without_room_total",
		     .help = "Distinct frames that have a name in a table and are shown without "
			     "it, because the texts of an answer are at their limit"},
};
METRIC_TABLE(metric_table, metric_defs);

/* One that is in use stays although the store removes it. */
struct symbol_table {
	atomic_uint n_users;
	int fd;
	struct symbol_file *file;
};

struct entry {
	struct build_key key;
	uint64_t n_bytes;
	uint64_t used_ns;           /* realtime */
	uint64_t touched_ns;        /* as used_ns, on disk */
	struct symbol_table *table; /* NULL: not open */
	UT_hash_handle hh;
};

struct symbol_store {
	pthread_mutex_t lock;
	int dir_fd, lock_fd;
	struct debuginfod *debuginfod;
	uint64_t max_bytes;
	uint64_t n_bytes;
	_Atomic uint64_t generation;
	unsigned n_open;
	struct entry *entries;
	struct metric metrics[N_METRICS];
};

/* ---- open tables ---- */

static void table_close(struct symbol_table *t)
{
	symbol_file_free(t->file);
	closep(&t->fd);
	free(t);
}

static void table_release(struct symbol_table *t)
{
	if (atomic_fetch_sub(&t->n_users, 1) == 1)
		table_close(t);
}
DEFINE_CLEANUP(struct symbol_table *, table_release);

static int table_open(struct symbol_table **ret, int dir_fd, const char *name, struct err *err)
{
	CLEANUP(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_file_source src = {.data = NULL};
	struct symbol_table *t;
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int r;

	fd = fs_open_regular(dir_fd, name, O_RDONLY, &st);
	if (fd < 0)
		return fd;
	src.fd = fd;
	src.n_bytes = (uint64_t)st.st_size;
	r = symbol_file_open(&file, &src, err);
	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct symbol_table){.n_users = 1, .fd = TAKE_FD(fd), .file = TAKE_PTR(file)};
	*ret = t;
	return 0;
}

/* ---- entries ---- */

static void name_of(const struct build_key *k, char ret[static NAME_BYTES])
{
	char id[BUILD_KEY_TEXT_BYTES];

	build_key_text(k, id);
	snprintf(ret, NAME_BYTES, "%s" SUFFIX, id);
}

static struct entry *find(struct symbol_store *s, const struct build_key *k)
{
	struct entry *e;

	HASH_FIND(hh, s->entries, k, sizeof(*k), e);
	return e;
}

static void show(struct symbol_store *s)
{
	metric_set(&s->metrics[TABLES], HASH_COUNT(s->entries));
	metric_set(&s->metrics[BYTES], s->n_bytes);
}

static void close_entry(struct symbol_store *s, struct entry *e)
{
	if (!e->table)
		return;
	table_release(TAKE_PTR(e->table));
	s->n_open--;
}

/* The file stays. */
static void drop_entry(struct symbol_store *s, struct entry *e)
{
	close_entry(s, e);
	s->n_bytes -= e->n_bytes;
	HASH_DEL(s->entries, e);
	free(e);
	show(s);
}

static void remove_entry(struct symbol_store *s, struct entry *e, int reason)
{
	char name[NAME_BYTES];

	name_of(&e->key, name);
	if (unlinkat(s->dir_fd, name, 0) < 0 && errno != ENOENT)
		log_warn_limited("cannot remove a table of symbols", "name=%s error=\"%s\"", name,
				 strerror(errno));
	metric_add(&s->metrics[reason], 1);
	drop_entry(s, e);
}

static struct entry *add_entry(struct symbol_store *s, const struct build_key *k, uint64_t n_bytes,
			       uint64_t used_ns)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->key = *k;
	e->n_bytes = n_bytes;
	e->used_ns = e->touched_ns = used_ns;
	HASH_ADD(hh, s->entries, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e)) {
		free(e);
		return NULL;
	}
	s->n_bytes += n_bytes;
	atomic_fetch_add(&s->generation, 1);
	show(s);
	return e;
}

/* Makes room for one more table of n_bytes. */
static void evict(struct symbol_store *s, uint64_t n_bytes)
{
	while (s->entries && (s->n_bytes + n_bytes > s->max_bytes ||
			      HASH_COUNT(s->entries) >= SYMBOL_STORE_TABLES_MAX)) {
		struct entry *oldest = s->entries;

		for (struct entry *e = s->entries; e; e = e->hh.next)
			if (e->used_ns < oldest->used_ns)
				oldest = e;
		remove_entry(s, oldest, EVICTED);
	}
}

/* ---- the directory ---- */

static int add_file(void *ctx, const char *name)
{
	struct symbol_store *s = ctx;
	size_t len = strlen(name), suffix = strlen(SUFFIX);
	struct build_key k;
	struct stat st;

	if (strcmp(name, NEW_NAME) == 0 && unlinkat(s->dir_fd, name, 0) == 0)
		return 0;
	if (len <= suffix || strcmp(name + len - suffix, SUFFIX) != 0)
		return 0;
	if (!build_key_parse(&k, name, len - suffix) ||
	    fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return add_entry(s, &k, (uint64_t)st.st_size,
			 (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec)
		       ? 0
		       : -ENOMEM;
}

static int lock_dir(struct symbol_store *s, const struct symbol_store_config *cfg, struct err *err)
{
	uint64_t owner = 0;

	s->dir_fd = private_dir_open(AT_FDCWD, cfg->dir, PRIVATE_DIR_CLOSE | PRIVATE_DIR_DURABLE,
				     cfg->dir, err);
	if (s->dir_fd < 0)
		return s->dir_fd;
	s->lock_fd = private_dir_lock(s->dir_fd, "LOCK", cfg->lock_wait_ns, &owner);
	if (s->lock_fd == -EBUSY)
		return err_set(err, -EBUSY, "the symbols in %s are in use by process %llu",
			       cfg->dir, (unsigned long long)owner);
	if (s->lock_fd < 0)
		return err_set(err, s->lock_fd, "lock %s: %s", cfg->dir, strerror(-s->lock_fd));
	return 0;
}

int symbol_store_open(struct symbol_store **ret, const struct symbol_store_config *cfg,
		      struct err *err)
{
	CLEANUP(symbol_store_closep) struct symbol_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->max_bytes = cfg->max_bytes;
	s->dir_fd = s->lock_fd = -1;
	r = lock_dir(s, cfg, err);
	if (r < 0)
		return r;
	r = fs_each_name(s->dir_fd, add_file, s);
	if (r < 0)
		return err_set(err, r, "read %s: %s", cfg->dir, strerror(-r));
	evict(s, 0);
	*ret = TAKE_PTR(s);
	return 0;
}

void symbol_store_close(struct symbol_store *s)
{
	if (!s)
		return;
	while (s->entries)
		drop_entry(s, s->entries);
	closep(&s->dir_fd);
	closep(&s->lock_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int symbol_store_register(struct symbol_store *s, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, s->metrics, NULL);
}

/* ---- use ---- */

static void touch(const struct symbol_store *s, struct entry *e, const char *name)
{
	e->used_ns = clock_realtime_ns();
	if (e->used_ns < e->touched_ns + TOUCH_NS)
		return;
	e->touched_ns = e->used_ns;
	if (utimensat(s->dir_fd, name, NULL, AT_SYMLINK_NOFOLLOW) < 0)
		log_debug("cannot touch a table of symbols", "name=%s", name);
}

static void limit_open(struct symbol_store *s)
{
	struct entry *oldest = NULL;

	if (s->n_open < SYMBOL_STORE_OPEN_MAX)
		return;
	for (struct entry *e = s->entries; e; e = e->hh.next)
		if (e->table && (!oldest || e->used_ns < oldest->used_ns))
			oldest = e;
	if (oldest)
		close_entry(s, oldest);
}

/* Opens the table of an entry, and removes one that cannot be read. */
static struct symbol_table *open_entry(struct symbol_store *s, struct entry *e)
{
	struct symbol_table *opened = NULL;
	struct err err = {.msg = ""};
	char name[NAME_BYTES];
	int r;

	name_of(&e->key, name);
	if (!e->table) {
		limit_open(s);
		r = table_open(&opened, s->dir_fd, name, &err);
		if (r == -EBADMSG || r == -ENODATA || r == -EIO || r == -ENOENT) {
			log_warn_limited("removing a table of symbols that cannot be read",
					 "name=%s error=%s", name,
					 LOG_QUOTED(err.msg[0] ? err.msg : strerror(-r)));
			remove_entry(s, e, BROKEN);
		}
		if (r < 0)
			return NULL;
		e->table = opened;
		s->n_open++;
	}
	touch(s, e, name);
	return e->table;
}

/* The table of a build, which the caller releases, or NULL. */
static struct symbol_table *get_table(struct symbol_store *s, const struct profile_string *build_id)
{
	struct symbol_table *t = NULL;
	struct build_key k;
	struct entry *e;

	if (!build_key_parse(&k, build_id->data, build_id->len))
		return NULL;
	pthread_mutex_lock(&s->lock);
	e = find(s, &k);
	if (e)
		t = open_entry(s, e);
	if (t)
		atomic_fetch_add(&t->n_users, 1);
	pthread_mutex_unlock(&s->lock);
	return t;
}

bool symbol_store_has(struct symbol_store *s, const struct build_key *k, bool needs_offsets)
{
	const struct symbol_table *t = NULL;
	struct entry *e;
	bool has;

	pthread_mutex_lock(&s->lock);
	e = find(s, k);
	if (e && needs_offsets)
		t = open_entry(s, e);
	has = needs_offsets ? t && symbol_file_header(t->file)->n_segments > 0 : e != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

int symbol_store_dir(const struct symbol_store *s)
{
	return s->dir_fd;
}

void symbol_store_set_debuginfod(struct symbol_store *s, struct debuginfod *d)
{
	s->debuginfod = d;
}

struct debuginfod *symbol_store_debuginfod(const struct symbol_store *s)
{
	return s->debuginfod;
}

uint64_t symbol_store_generation(struct symbol_store *s)
{
	return atomic_load(&s->generation);
}

static int find_name(const struct symbol_file *f, const struct code_place_text *place,
		     struct symbol_name *ret)
{
	uint64_t vaddr = place->number;

	if (place->kind == CODE_FILE_OFFSET) {
		if (symbol_file_header(f)->n_segments == 0)
			return -ENODATA;
		if (symbol_file_address(f, place->number, &vaddr) < 0)
			return -ENOENT;
	}
	return symbol_file_find(f, vaddr, ret);
}

int symbol_store_find(struct symbol_store *s, const struct code_place_text *place,
		      struct symbol_name *ret)
{
	CLEANUP(table_releasep) struct symbol_table *t = get_table(s, &place->build_id);
	int r = t ? find_name(t->file, place, ret) : -ENOENT;

	metric_add(&s->metrics[r == 0          ? NAMED
			       : !t            ? NO_TABLE
			       : r == -ENOENT  ? NO_FUNCTION
			       : r == -ENODATA ? NO_OFFSETS
					       : UNREADABLE],
		   1);
	return r;
}

void symbol_store_count_without_room(struct symbol_store *s, uint64_t n)
{
	metric_add(&s->metrics[NO_ROOM], n);
}

/* ---- new tables ---- */

static int write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_file(const struct symbol_store *s, const char *name, const void *table, size_t len)
{
	AUTO_CLOSE int fd = openat(s->dir_fd, NEW_NAME,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : write_all(fd, table, len);

	if (r == 0 && renameat(s->dir_fd, NEW_NAME, s->dir_fd, name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(s->dir_fd, NEW_NAME, 0);
		return r;
	}
	return fsync(s->dir_fd) < 0 ? -errno : 0;
}

/* Whether the table of an entry says all that the other one says. */
static bool is_known(struct symbol_store *s, struct entry *e, const struct symbol_file_header *h)
{
	const struct symbol_table *t = open_entry(s, e);
	const struct symbol_file_header *own = t ? symbol_file_header(t->file) : NULL;

	if (!own || own->n_functions < h->n_functions)
		return false;
	return own->n_functions > h->n_functions || own->checksum == h->checksum ||
	       (own->n_segments > 0 && h->n_segments == 0);
}

static int put(struct symbol_store *s, const struct symbol_file_header *h, const void *table,
	       size_t len, enum symbol_put *ret)
{
	struct build_key k = {.n_bytes = (uint8_t)h->build_id_bytes};
	char name[NAME_BYTES];
	struct entry *e;
	int r;

	memcpy(k.id, h->build_id, h->build_id_bytes);
	name_of(&k, name);
	e = find(s, &k);
	*ret = e ? SYMBOL_PUT_REPLACED : SYMBOL_PUT_STORED;
	if (e && is_known(s, e, h)) {
		*ret = SYMBOL_PUT_KNOWN;
		return 0;
	}
	evict(s, len);
	r = write_file(s, name, table, len);
	if (r < 0)
		return r;
	/* if it was not removed: it was broken, or there was no room for both */
	e = find(s, &k);
	if (e)
		drop_entry(s, e);
	return add_entry(s, &k, len, clock_realtime_ns()) ? 0 : -ENOMEM;
}

int symbol_store_put(struct symbol_store *s, const void *table, size_t len, enum symbol_put *ret,
		     struct err *err)
{
	const struct symbol_file_source src = {.data = table, .fd = -1, .n_bytes = len};
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	static const int counters[] = {[SYMBOL_PUT_STORED] = STORED,
				       [SYMBOL_PUT_REPLACED] = REPLACED,
				       [SYMBOL_PUT_KNOWN] = KNOWN};
	int r = symbol_file_open(&f, &src, err);

	if (r == 0)
		r = symbol_file_check(f, err);
	if (r < 0)
		return r;
	if (len > s->max_bytes)
		return err_set(err, -EFBIG, "the table has more bytes than --max-symbols-size");
	pthread_mutex_lock(&s->lock);
	r = put(s, symbol_file_header(f), table, len, ret);
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		metric_add(&s->metrics[counters[*ret]], 1);
	return r;
}
