#include <fcntl.h>

#include "node-agent/process/local_fs.h"
#include "test/lib/unit.h"

static void memory_is_local_and_proc_is_not_known(void **state)
{
	AUTO_CLOSE int shm = open("/dev/shm", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int proc = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(shm >= 0 && proc >= 0);
	assert_true(local_fs_has(shm));
	assert_false(local_fs_has(proc));
	assert_int_equal(local_fs_kind(proc), FS_OTHER);
	assert_false(local_fs_has(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_local_and_proc_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
