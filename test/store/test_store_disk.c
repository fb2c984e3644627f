/*
 * The embedded store on a disk that is full or read-only; a small tmpfs, so root only. The
 * environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define DISK_BYTES ((size_t)48 << 20)
#define FILLER "filler"
#define N_ROWS 200000u /* of numbers that do not compress: some megabytes */
#define T(s) ((struct row_text){s, sizeof(s) - 1})

static const char *dir;
static char data_dir[80];

/* The mount is in a namespace of its own, so it ends with the test. */
static int mount_disk(void **state)
{
	char options[50];

	(void)state;
	snprintf(options, sizeof(options), "size=%zu", DISK_BYTES);
	dir = temp_dir();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, options) < 0)
		return -1;
	snprintf(data_dir, sizeof(data_dir), "%s/data", dir);
	return 0;
}

static int unmount_disk(void **state)
{
	(void)state;
	return umount2(dir, MNT_DETACH) < 0 ? -1 : rmdir(dir);
}

static int open_store(struct store **ret, struct err *err)
{
	const struct store_chdb_config cfg = {data_dir, UINT64_C(86400) * NS_PER_S,
					      getenv("CHDB_LIBRARY")};

	*err = (struct err){0};
	return store_chdb_open(ret, &cfg, err);
}

/* Leaves so many bytes free. */
static void fill_disk(size_t leave)
{
	char path[100];
	static const char block[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/" FILLER, dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
		;
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - (off_t)leave), 0);
	close(fd);
}

static void empty_disk(void)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/" FILLER, dir);
	assert_int_equal(unlink(path), 0);
}

static uint64_t count_rows(struct store *s)
{
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {.sql = "SELECT toString(count()) FROM profiling_samples",
				      .format = "TSV"};

	buf_init(&out, 100);
	assert_int_equal(store_query(s, &q, &out, NULL), 0);
	return strtoull(out.data, NULL, 10);
}

TEST_FIXTURE(an_insert_waits_while_the_disk_is_full, mount_disk, unmount_disk)
{
	const int64_t now = (int64_t)clock_realtime_ns();
	CLEANUP(row_batch_fini) struct row_batch b;
	const struct store_frame *frames;
	uint64_t random = 1;
	struct store *s;
	struct err err;
	size_t n;

	row_batch_init(&b, (size_t)64 << 20, (size_t)64 << 20);
	for (uint32_t i = 0; i < N_ROWS; i++) {
		struct sample_row row = {T("/svc"), T("a:b:c"), now - 1, now, NULL, 0, 0, 1};

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		row.stack_hash = random;
		row.value = (int64_t)(random >> 1);
		assert_int_equal(row_batch_add_sample(&b, &row), 0);
	}
	assert_int_equal(row_batch_finish(&b), 0);
	frames = row_batch_frames(&b, STORE_SAMPLES, &n);

	assert_int_equal(open_store(&s, &err), 0);
	fill_disk((size_t)300 << 10);
	assert_int_equal(store_insert(s, STORE_SAMPLES, "00ff", frames, n, &err), -EAGAIN);
	assert_int_equal(store_insert(s, STORE_SAMPLES, "00ff", frames, n, &err), -EAGAIN);
	assert_true(err.msg[0] != '\0');
	assert_int_equal(count_rows(s), 0);
	empty_disk();
	assert_int_equal(store_insert(s, STORE_SAMPLES, "00ff", frames, n, &err), 0);
	assert_int_equal(count_rows(s), N_ROWS);
	store_close(s);
}

TEST_FIXTURE(a_read_only_disk_is_named, mount_disk, unmount_disk)
{
	struct store *s;
	struct err err;

	assert_int_equal(open_store(&s, &err), 0);
	store_close(s);
	assert_int_equal(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_int_equal(open_store(&s, &err), -EROFS);
	assert_non_null(strstr(err.msg, data_dir));
	assert_non_null(strstr(err.msg, "Read-only file system"));
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(NULL, NULL);
}
