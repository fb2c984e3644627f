#ifndef TEST_LIB_START_TIME_H
#define TEST_LIB_START_TIME_H

#include <fcntl.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

/* When a process started, as the events of the kernel say it, to the clock tick. */
static inline uint64_t start_boottime_ns(pid_t pid)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(root, pid);
	struct proc_stat s;

	assert_int_equal(procfs_read_stat(fd, &s), 0);
	return s.start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

#endif /* TEST_LIB_START_TIME_H */
