#include <fcntl.h>

#include "node-agent/files/file_finder.h"
#include "test/lib/unit.h"

TEST(memory_is_local_and_proc_is_not_known)
{
	AUTO_CLOSE int shm = open("/dev/shm", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int proc = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	assert_true(shm >= 0 && proc >= 0);
	assert_true(local_fs_has(shm));
	assert_false(local_fs_has(proc));
	assert_int_equal(local_fs_kind(proc), FS_OTHER);
	assert_false(local_fs_has(-1));
}
