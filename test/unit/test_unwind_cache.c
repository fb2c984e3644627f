#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "node-agent/unwind/cfi/table_file.h"
#include "node-agent/unwind/unwind_cache.h"
#include "test/lib/unit.h"

#define PAGES 3u
#define RULES 4u

static const struct unwind_row rows[PAGES][3] = {
	{{0, 0}, {100, 1}, {200, 2}},
	{{0, 2}, {5, 3}, {6, 0}},
	{{0, 3}, {32767, 1}, {0, 0}},
};
static const uint32_t n_rows[PAGES] = {3, 3, 2};
static struct unwind_rule rules[RULES] = {
	{.base = UNWIND_CFA_UNKNOWN},
	{.base = UNWIND_CFA_SP, .cfa = 1},
	{.base = UNWIND_CFA_SP, .cfa = 2, .how = UNWIND_FP_AT_CFA, .fp = -2},
	{.base = UNWIND_CFA_END},
};
static const struct cfi_table table = {
	.extent = {.first_page = 128, .n_pages = PAGES},
	.origin = CFI_ORIGIN_DEBUG_FRAME,
	.rules = rules,
	.n_rules = RULES,
	.n_rows = 8,
	.n_functions = 11,
	.n_unknown_rows = 1,
};
static const struct table_file_key key = {{1, 2, 3, 4, 5, 6}};

struct fixture {
	const char *dir;
	struct unwind_cache *cache;
	uint32_t n_pages;
	int stop;
};

static int check_page(void *ctx, uint32_t page, const struct unwind_row *got, uint32_t n)
{
	struct fixture *f = ctx;

	assert_int_equal(page, f->n_pages++);
	assert_int_equal(n, n_rows[page]);
	assert_memory_equal(got, rows[page], n * sizeof(*got));
	return f->stop;
}

/* ---- the file ---- */

static int write_to_buf(void *ctx, bool at_start, const void *data, size_t len)
{
	struct buf *b = ctx;

	if (!at_start)
		return buf_add(b, data, len);
	assert_true(len <= b->len);
	memcpy(b->data, data, len);
	return 0;
}

static int write_file(void *ctx)
{
	CLEANUP(table_file_writer_freep) struct table_file_writer *w = NULL;
	int r = table_file_writer_new(&w, write_to_buf, ctx);

	for (uint32_t i = 0; r == 0 && i < PAGES; i++)
		r = table_file_writer_page(w, rows[i], n_rows[i]);
	return r == 0 ? table_file_writer_finish(w, &key, &table) : r;
}

static int read_file(const void *data, size_t len, const struct table_file_key *k,
		     struct cfi_table *ret)
{
	struct fixture f = {.n_pages = 0};
	struct byte_source src;

	byte_source_from_memory(&src, data, len);
	return table_file_read(ret, &src, k, check_page, &f);
}

TEST(a_table_is_read_as_it_was_written)
{
	CLEANUP(buf_fini) struct buf b;
	struct cfi_table got;

	buf_init(&b, 65536);
	assert_int_equal(write_file(&b), 0);
	assert_int_equal(read_file(b.data, b.len, &key, &got), 0);
	assert_memory_equal(got.rules, rules, sizeof(rules));
	cfi_table_fini(&got);
	got.rules = rules;
	assert_memory_equal(&got, &table, sizeof(got));
}

TEST(a_byte_that_changed_makes_a_file_damaged)
{
	CLEANUP(buf_fini) struct buf b;
	struct table_file_key other = key;
	struct cfi_table got;

	buf_init(&b, 65536);
	assert_int_equal(write_file(&b), 0);
	for (size_t i = 0; i < b.len; i++) {
		((uint8_t *)b.data)[i] ^= 0x10;
		assert_int_equal(read_file(b.data, b.len, &key, &got), -EBADMSG);
		((uint8_t *)b.data)[i] ^= 0x10;
		assert_int_equal(read_file(b.data, i, &key, &got), -EBADMSG);
	}
	other.words[5]++;
	assert_int_equal(read_file(b.data, b.len, &other, &got), -EBADMSG);
}

/* ---- the directory ---- */

static int make_dir(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->dir = temp_dir();
	*state = f;
	return unwind_cache_open(&f->cache, f->dir, 1 << 20);
}

static unsigned count_files(const struct fixture *f)
{
	DIR *dir = opendir(f->dir);
	const struct dirent *e;
	unsigned n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* Calls fn with the path of each file. */
static void each_path(const struct fixture *f, void (*fn)(const char *path))
{
	DIR *dir = opendir(f->dir);
	const struct dirent *e;
	char path[512];

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", f->dir, e->d_name);
		fn(path);
	}
	closedir(dir);
}

static void remove_path(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static int remove_dir(void **state)
{
	struct fixture *f = *state;

	unwind_cache_free(f->cache);
	each_path(f, remove_path);
	free(f);
	return 0;
}

static void store(struct fixture *f, const struct table_file_key *k)
{
	struct unwind_cache_file *file;

	assert_int_equal(unwind_cache_begin(f->cache, &file), 0);
	for (uint32_t i = 0; i < PAGES; i++)
		unwind_cache_page(file, rows[i], n_rows[i]);
	unwind_cache_finish(file, k, &table);
}

static int load(struct fixture *f, const struct table_file_key *k)
{
	struct cfi_table got;
	int r;

	f->n_pages = 0;
	r = unwind_cache_load(f->cache, k, &got, check_page, f);
	if (r == 0) {
		assert_int_equal(f->n_pages, PAGES);
		cfi_table_fini(&got);
	}
	return r;
}

TEST_FIXTURE(what_was_stored_is_found_by_the_next_agent, make_dir, remove_dir)
{
	struct fixture *f = *state;
	struct unwind_cache_stats stats;

	assert_int_equal(load(f, &key), -ENOENT);
	store(f, &key);
	store(f, &key);
	unwind_cache_free(TAKE_PTR(f->cache));
	assert_int_equal(unwind_cache_open(&f->cache, f->dir, 1 << 20), 0);
	assert_int_equal(load(f, &key), 0);
	unwind_cache_read_stats(f->cache, &stats);
	assert_int_equal(stats.n_files, 1);
	assert_int_equal(stats.hits, 1);
	assert_int_equal(count_files(f), 1);
	f->stop = -ENOSPC;
	assert_int_equal(load(f, &key), -ENOSPC);
}

TEST_FIXTURE(a_build_without_a_table_is_known_to_have_none, make_dir, remove_dir)
{
	struct fixture *f = *state;
	const uint64_t other[2] = {key.words[0], key.words[1] + 1};

	assert_false(unwind_cache_may_have(f->cache, key.words));
	store(f, &key);
	assert_true(unwind_cache_may_have(f->cache, key.words));
	assert_false(unwind_cache_may_have(f->cache, other));
	/* the next agent knows it by the name of the file */
	unwind_cache_free(TAKE_PTR(f->cache));
	assert_int_equal(unwind_cache_open(&f->cache, f->dir, 1 << 20), 0);
	assert_true(unwind_cache_may_have(f->cache, key.words));
	assert_false(unwind_cache_may_have(f->cache, other));
}

static void damage_path(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "x", 1, 200), 1);
}

TEST_FIXTURE(a_damaged_file_is_removed, make_dir, remove_dir)
{
	struct fixture *f = *state;
	struct unwind_cache_stats stats;

	store(f, &key);
	each_path(f, damage_path);
	assert_int_equal(load(f, &key), -ENOENT);
	assert_int_equal(count_files(f), 0);
	unwind_cache_read_stats(f->cache, &stats);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(stats.n_files, 0);
	assert_int_equal(stats.bytes, 0);
}

static void open_to_others(const char *path)
{
	assert_int_equal(chmod(path, 0666), 0);
}

TEST_FIXTURE(files_and_directories_of_others_are_refused, make_dir, remove_dir)
{
	struct fixture *f = *state;
	struct unwind_cache *other;
	char link[96];

	store(f, &key);
	each_path(f, open_to_others);
	assert_int_equal(load(f, &key), -ENOENT);
	assert_int_equal(chmod(f->dir, 0777), 0);
	assert_int_equal(unwind_cache_open(&other, f->dir, 1 << 20), -EPERM);
	assert_int_equal(chmod(f->dir, 0700), 0);
	snprintf(link, sizeof(link), "%s-link", f->dir);
	assert_int_equal(symlink(f->dir, link), 0);
	assert_true(unwind_cache_open(&other, link, 1 << 20) < 0);
	unlink(link);
}

TEST_FIXTURE(a_file_that_is_given_up_leaves_nothing, make_dir, remove_dir)
{
	struct fixture *f = *state;
	struct unwind_cache_file *file;
	AUTO_CLOSE int left = -1;
	char path[96];

	assert_int_equal(unwind_cache_begin(f->cache, &file), 0);
	unwind_cache_page(file, rows[0], n_rows[0]);
	assert_int_equal(count_files(f), 1);
	unwind_cache_file_free(file);
	assert_int_equal(count_files(f), 0);
	/* nor does one of an agent that was killed */
	snprintf(path, sizeof(path), "%s/new-1-1", f->dir);
	left = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(left >= 0);
	unwind_cache_free(TAKE_PTR(f->cache));
	assert_int_equal(unwind_cache_open(&f->cache, f->dir, 1 << 20), 0);
	assert_int_equal(count_files(f), 0);
}

static struct timespec next_time;

/* Files that are written at once may have one time; here, each is newer than the one before. */
static void set_time(const char *path)
{
	const struct timespec times[2] = {next_time, next_time};
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	if (st.st_mtim.tv_sec > 1000000)
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST_FIXTURE(the_least_recently_used_make_room, make_dir, remove_dir)
{
	struct fixture *f = *state;
	struct unwind_cache_stats stats;
	struct table_file_key k = key;
	uint64_t file_bytes;

	store(f, &k);
	unwind_cache_read_stats(f->cache, &stats);
	file_bytes = stats.bytes;
	unwind_cache_free(TAKE_PTR(f->cache));
	assert_int_equal(unwind_cache_open(&f->cache, f->dir, 8 * file_bytes), 0);
	for (uint64_t i = 1; i <= 8; i++) {
		next_time.tv_sec = (time_t)i;
		each_path(f, set_time);
		k.words[0] = 100 + i;
		store(f, &k);
	}
	/* the ninth was too much: three quarters of eight are left */
	assert_int_equal(count_files(f), 6);
	assert_int_equal(load(f, &key), -ENOENT);
	k.words[0] = 102;
	assert_int_equal(load(f, &k), -ENOENT);
	k.words[0] = 103;
	assert_int_equal(load(f, &k), 0);
	unwind_cache_read_stats(f->cache, &stats);
	assert_int_equal(stats.evicted, 3);
	assert_int_equal(stats.bytes, 6 * file_bytes);
}
