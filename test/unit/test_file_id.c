#include "node-agent/procfs/file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

static char path[] = "/tmp/test_file_id.XXXXXX";

static void read_version(struct file_version *ret)
{
	bool regular = false;

	assert_int_equal(file_version_read(AT_FDCWD, path, ret, &regular), 0);
	assert_true(regular);
}

TEST(test_attributes_are_those_of_stat)
{
	struct file_version v;
	struct stat st;

	read_version(&v);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(v.id.dev, st.st_dev);
	assert_int_equal(v.id.ino, st.st_ino);
	assert_int_equal(v.id.size_bytes, st.st_size);
	assert_int_equal(v.id.mtime_ns,
			 (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec);
}

TEST(test_a_descriptor_and_a_path_give_the_same_id)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct file_version by_fd, by_path;

	assert_int_equal(file_version_read(fd, "", &by_fd, NULL), 0);
	read_version(&by_path);
	assert_true(file_id_equal(&by_fd.id, &by_path.id));
	assert_int_equal(by_fd.ctime_ns, by_path.ctime_ns);
}

TEST(test_other_content_is_another_id_of_the_same_file)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	struct file_version before, after;

	read_version(&before);
	assert_int_equal(write(fd, "more", 4), 4);
	read_version(&after);
	assert_false(file_id_equal(&before.id, &after.id));
	assert_true(file_id_same_file(&before.id, &after.id));
}

TEST(test_a_restored_mtime_is_noticed_by_the_version_alone)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct file_version before, after;
	struct timespec times[2];
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	read_version(&before);
	do { /* the clock of file systems has ticks of some milliseconds */
		assert_int_equal(pwrite(fd, "x", 1, 0), 1);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		assert_int_equal(futimens(fd, times), 0);
		read_version(&after);
		assert_true(file_id_equal(&before.id, &after.id));
	} while (after.ctime_ns == before.ctime_ns);
}

TEST(test_what_is_no_regular_file_is_reported)
{
	struct file_version v;
	bool regular = true;

	assert_int_equal(file_version_read(AT_FDCWD, "/tmp", &v, &regular), 0);
	assert_false(regular);
	assert_int_equal(file_version_read(AT_FDCWD, "/nonexistent", &v, NULL), -ENOENT);
}

int main(void)
{
	int fd = mkstemp(path), r;

	if (fd < 0)
		return 1;
	close(fd);
	r = unit_run(NULL, NULL);
	unlink(path);
	return r;
}
