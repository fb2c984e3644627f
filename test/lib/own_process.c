#include "test/lib/own_process.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include "common/system/clock.h"
#include "common/thread/deadline_call.h"
#include "test/lib/unit.h"

/* Field 22 of /proc/self/stat, in nanoseconds. The name in field 2 has no blank here. */
static uint64_t start_boottime_ns(void)
{
	unsigned long long ticks = 0;
	FILE *f = fopen("/proc/self/stat", "re");

	assert_non_null(f);
	for (int field = 1; field < 22; field++)
		assert_true(fscanf(f, "%*s") >= 0);
	assert_int_equal(fscanf(f, "%llu", &ticks), 1);
	fclose(f);
	return ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

struct process_snapshot *own_process_snapshot(struct process_table *t)
{
	const struct process_seen seen = {
		.pid = getpid(),
		.start_boottime_ns = start_boottime_ns(),
		.comm = OWN_PROCESS_COMM,
	};
	struct process_snapshot *s;

	/* a process is only read if it still has the name of the sample */
	assert_int_equal(prctl(PR_SET_NAME, OWN_PROCESS_COMM), 0);
	assert_int_equal(process_table_get(t, &seen, clock_monotonic_ns(), &s), 0);
	assert_false(s->unreadable);
	return process_snapshot_ref(s);
}

struct jit_files *own_jit_files(const char *map)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *caller = NULL;
	AUTO_CLOSE int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct jit_files *files;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(map, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(deadline_caller_new(&caller, 60 * NS_PER_S, NS_PER_S), 0);
	assert_int_equal(jit_files_new(&files, proc_fd, NULL, caller), 0);
	assert_int_equal(unlink(path), 0);
	return files;
}
