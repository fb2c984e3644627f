/*
 * When a file was last used is its time of modification, which is set when it is read: times of
 * access are rarely kept. Evicting goes through the directory once and frees a quarter of it, so
 * that it is not repeated for each file that is added.
 *
 * Names begin with a hash of how keys begin, which is with the build id of a file. So of most
 * builds without a table it is known, without a search, that there is none.
 *
 * Nothing is synced to the disk. After a crash of the machine a file may be empty or torn, and then
 * its checksum is wrong.
 */
#include "node-agent/unwind/unwind_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/data/word_sort.h"
#include "common/elf/byte_source.h"
#include "common/system/fs.h"
#include "common/system/private_dir.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NAME_BYTES 64u
#define BUILDS 65536u /* a power of two */
#define BUILD_BITS 8u
#define SUFFIX ".table"
#define NEW_PREFIX "new-"

struct unwind_cache {
	int dir_fd;
	uint64_t max_bytes;
	uint64_t n_begun;
	struct unwind_cache_stats stats;
	uint8_t builds[BUILDS / BUILD_BITS]; /* bits: how keys begin, of tables that are there */
};

struct unwind_cache_file {
	struct unwind_cache *cache;
	struct table_file_writer *writer;
	int fd;
	int error; /* the first one */
	uint64_t bytes;
	char name[NAME_BYTES];
};

static unsigned build_of(const uint64_t first[2])
{
	return (unsigned)(XXH3_64bits(first, 2 * sizeof(first[0])) % BUILDS);
}

static void name_of(const struct table_file_key *key, char *ret)
{
	XXH128_hash_t h = XXH3_128bits(key, sizeof(*key));

	snprintf(ret, NAME_BYTES, "%04x-%016llx%016llx" SUFFIX, build_of(key->words),
		 (unsigned long long)h.high64, (unsigned long long)h.low64);
}

static void note_build(struct unwind_cache *c, unsigned build)
{
	c->builds[build / BUILD_BITS] |= (uint8_t)(1u << build % BUILD_BITS);
}

bool unwind_cache_may_have(const struct unwind_cache *c, const uint64_t first[2])
{
	unsigned build = build_of(first);

	return c->builds[build / BUILD_BITS] >> build % BUILD_BITS & 1;
}

/* ---- the directory ---- */

struct item {
	uint64_t used_ns; /* the key of the sort */
	uint64_t bytes;
	uint64_t inode;
};

typedef void item_fn(void *ctx, const char *name, const struct stat *st);

struct each_file {
	int dir_fd;
	item_fn *fn;
	void *ctx;
};

static int see_name(void *ctx, const char *name)
{
	const struct each_file *e = ctx;
	struct stat st;

	if (fstatat(e->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		e->fn(e->ctx, name, &st);
	return 0;
}

/* Calls fn for every regular file. */
static int each_file(const struct unwind_cache *c, item_fn *fn, void *ctx)
{
	struct each_file e = {.dir_fd = c->dir_fd, .fn = fn, .ctx = ctx};

	return fs_each_name(c->dir_fd, see_name, &e);
}

static bool is_table(const char *name)
{
	size_t len = strlen(name), suffix = sizeof(SUFFIX) - 1;

	return len > suffix && strcmp(name + len - suffix, SUFFIX) == 0;
}

/* Counts tables, and removes what an agent that was killed left. */
static void count(void *ctx, const char *name, const struct stat *st)
{
	struct unwind_cache *c = ctx;

	if (strncmp(name, NEW_PREFIX, sizeof(NEW_PREFIX) - 1) == 0) {
		unlinkat(c->dir_fd, name, 0);
	} else if (is_table(name)) {
		c->stats.n_files++;
		c->stats.bytes += (uint64_t)st->st_size;
		note_build(c, (unsigned)strtoul(name, NULL, 16) % BUILDS);
	}
}

struct eviction {
	struct unwind_cache *cache;
	struct item *items;
	uint64_t n, max;
	uint64_t last_ns; /* files that were used until then are removed */
};

static uint64_t used_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)st->st_mtim.tv_nsec;
}

static void collect(void *ctx, const char *name, const struct stat *st)
{
	struct eviction *e = ctx;

	if (is_table(name) && e->n < e->max)
		e->items[e->n++] = (struct item){
			.used_ns = used_ns(st),
			.bytes = (uint64_t)st->st_size,
			.inode = st->st_ino,
		};
}

static void remove_old(void *ctx, const char *name, const struct stat *st)
{
	struct eviction *e = ctx;
	struct unwind_cache_stats *stats = &e->cache->stats;

	if (!is_table(name) || used_ns(st) > e->last_ns || unlinkat(e->cache->dir_fd, name, 0) < 0)
		return;
	stats->evicted++;
	stats->n_files -= stats->n_files > 0;
	stats->bytes -= (uint64_t)st->st_size < stats->bytes ? (uint64_t)st->st_size : stats->bytes;
}

/* Removes the files that were used longest ago, until a quarter of the limits is free. */
static void evict(struct unwind_cache *c)
{
	struct eviction e = {.cache = c, .max = c->stats.n_files + 64};
	uint64_t bytes = c->stats.bytes, n = c->stats.n_files;
	AUTO_FREE struct item *items = calloc(e.max, sizeof(*items));

	if (!items)
		return;
	e.items = items;
	if (each_file(c, collect, &e) < 0)
		return;
	word_sort(items, e.n, sizeof(*items));
	for (uint64_t i = 0; i < e.n; i++) {
		if (bytes <= c->max_bytes / 4 * 3 && n <= UNWIND_CACHE_FILES_MAX / 4 * 3)
			break;
		e.last_ns = items[i].used_ns;
		bytes -= items[i].bytes < bytes ? items[i].bytes : bytes;
		n -= n > 0;
	}
	if (each_file(c, remove_old, &e) < 0)
		return;
}

int unwind_cache_open(struct unwind_cache **ret, const char *path, uint64_t max_bytes)
{
	CLEANUP(unwind_cache_freep) struct unwind_cache *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->max_bytes = max_bytes;
	c->dir_fd = private_dir_open(AT_FDCWD, path,
				     PRIVATE_DIR_NO_LINK | PRIVATE_DIR_OURS | PRIVATE_DIR_UNSHARED,
				     path, NULL);
	if (c->dir_fd < 0)
		return c->dir_fd;
	r = each_file(c, count, c);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void unwind_cache_free(struct unwind_cache *c)
{
	if (!c)
		return;
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	free(c);
}

void unwind_cache_read_stats(const struct unwind_cache *c, struct unwind_cache_stats *ret)
{
	*ret = c->stats;
}

/* ---- reading ---- */

/* Opens a file of ours for reading. Returns it, -ENOENT, -EBADMSG if it is not ours, or -errno. */
static int open_table(const struct unwind_cache *c, const char *name, struct stat *st)
{
	AUTO_CLOSE int fd = openat(c->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() || (st->st_mode & (S_IWGRP | S_IWOTH)))
		return -EBADMSG;
	return TAKE_FD(fd);
}

int unwind_cache_load(struct unwind_cache *c, const struct table_file_key *key,
		      struct cfi_table *ret, cfi_page_fn *on_page, void *ctx)
{
	AUTO_CLOSE int fd = -1;
	struct byte_source src;
	char name[NAME_BYTES];
	struct stat st;
	int r;

	name_of(key, name);
	fd = open_table(c, name, &st);
	r = fd < 0 ? fd : 0;
	if (r == 0) {
		byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
		r = table_file_read(ret, &src, key, on_page, ctx);
	}
	if (r == -EBADMSG) {
		c->stats.damaged++;
		if (unlinkat(c->dir_fd, name, 0) == 0 && fd >= 0) {
			c->stats.n_files -= c->stats.n_files > 0;
			c->stats.bytes -= (uint64_t)st.st_size < c->stats.bytes
						  ? (uint64_t)st.st_size
						  : c->stats.bytes;
		}
		r = -ENOENT;
	}
	if (r == -ENOENT)
		c->stats.misses++;
	if (r == 0) {
		c->stats.hits++;
		(void)!futimens(fd, NULL); /* without it, the table is only evicted earlier */
	}
	return r;
}

/* ---- writing ---- */

static int write_at_end(void *ctx, bool at_start, const void *data, size_t len)
{
	struct unwind_cache_file *f = ctx;
	uint64_t offset = at_start ? 0 : f->bytes;
	const char *p = data;

	while (len > 0) {
		ssize_t n = pwrite(f->fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	if (!at_start)
		f->bytes = offset;
	return 0;
}

int unwind_cache_begin(struct unwind_cache *c, struct unwind_cache_file **ret)
{
	CLEANUP(unwind_cache_file_freep) struct unwind_cache_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->cache = c;
	snprintf(f->name, sizeof(f->name), NEW_PREFIX "%d-%llu", (int)getpid(),
		 (unsigned long long)++c->n_begun);
	f->fd = openat(c->dir_fd, f->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (f->fd < 0) {
		c->stats.failed++;
		return -errno;
	}
	r = table_file_writer_new(&f->writer, write_at_end, f);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void unwind_cache_page(struct unwind_cache_file *f, const struct unwind_row *rows, uint32_t n)
{
	if (f && f->error == 0)
		f->error = table_file_writer_page(f->writer, rows, n);
}

void unwind_cache_finish(struct unwind_cache_file *file, const struct table_file_key *key,
			 const struct cfi_table *table)
{
	CLEANUP(unwind_cache_file_freep) struct unwind_cache_file *f = file;
	char name[NAME_BYTES];
	struct unwind_cache *c;
	struct stat old;

	if (!f)
		return;
	c = f->cache;
	name_of(key, name);
	if (f->error == 0)
		f->error = table_file_writer_finish(f->writer, key, table);
	if (f->error == 0 && f->bytes > c->max_bytes)
		f->error = -EFBIG;
	if (f->error == 0 && fstatat(c->dir_fd, name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
		c->stats.n_files -= c->stats.n_files > 0;
		c->stats.bytes -= (uint64_t)old.st_size < c->stats.bytes ? (uint64_t)old.st_size
									 : c->stats.bytes;
	}
	if (f->error != 0 || renameat(c->dir_fd, f->name, c->dir_fd, name) < 0) {
		c->stats.failed++;
		return;
	}
	f->name[0] = '\0';
	note_build(c, build_of(key->words));
	c->stats.n_files++;
	c->stats.bytes += f->bytes;
	if (c->stats.bytes > c->max_bytes || c->stats.n_files > UNWIND_CACHE_FILES_MAX)
		evict(c);
}

void unwind_cache_file_free(struct unwind_cache_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0) {
		close(f->fd);
		if (f->name[0])
			unlinkat(f->cache->dir_fd, f->name, 0);
	}
	table_file_writer_free(f->writer);
	free(f);
}
