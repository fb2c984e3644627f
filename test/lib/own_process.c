#include "test/lib/own_process.h"

#include <sys/prctl.h>

#include "common/system/clock.h"
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
