/* Made-up /proc folders; test_jvm_reader.c has real JVMs. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "node-agent/java/vm/jvm_readiness.h"
#include "test/lib/fake_proc.h"
#include "test/lib/unit.h"

#define CAUGHT "SigCgt:\t2000000101005ccd\n"
#define NOT_CAUGHT "SigCgt:\t2000000101005cc9\n"
#define RECEIVES "SigBlk:\t0000000000000000\n"
#define BLOCKS "SigBlk:\t0000000000000004\n"

static int check(const char *process, const char *const threads[2], bool is_initialized)
{
	struct fake_proc f;
	int r;

	fake_proc_begin(&f);
	fake_proc_put_file(&f, "status", process);
	assert_int_equal(mkdirat(f.root_fd, "task", 0700), 0);
	for (size_t i = 0; i < 2; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "task/%zu", i + 1);
		assert_int_equal(mkdirat(f.root_fd, name, 0700), 0);
		(void)snprintf(name, sizeof(name), "task/%zu/status", i + 1);
		if (threads[i]) /* else it has just ended */
			fake_proc_put_file(&f, name, threads[i]);
	}
	r = jvm_readiness_check(f.root_fd, is_initialized);
	fake_proc_end(&f);
	return r;
}

#define MAIN "Name:\tjava\nState:\tS (sleeping)\n"
#define DISPATCHER "Name:\tSignal Dispatch\nState:\tS (sleeping)\n"

TEST(says_why_a_process_is_not_ready)
{
	static const struct {
		const char *process;
		const char *threads[2];
		bool is_initialized;
		int want;
	} cases[] = {
		{MAIN CAUGHT RECEIVES,
		 {MAIN CAUGHT RECEIVES, DISPATCHER CAUGHT BLOCKS},
		 false,
		 JVM_READY},
		{MAIN CAUGHT RECEIVES, {NULL, DISPATCHER CAUGHT RECEIVES}, false, JVM_READY},
		/* no thread has the name, as in old updates of JDK 8 */
		{MAIN CAUGHT RECEIVES, {MAIN CAUGHT RECEIVES, NULL}, false, JVM_STARTING},
		{MAIN CAUGHT RECEIVES, {MAIN CAUGHT RECEIVES, NULL}, true, JVM_READY},
		{MAIN NOT_CAUGHT RECEIVES,
		 {MAIN NOT_CAUGHT RECEIVES, DISPATCHER NOT_CAUGHT RECEIVES},
		 true,
		 JVM_STARTING},
		{MAIN CAUGHT BLOCKS,
		 {MAIN CAUGHT BLOCKS, DISPATCHER CAUGHT BLOCKS},
		 true,
		 JVM_SIGNAL_BLOCKED},
		{"Name:\tjava\nState:\tT (stopped)\n" CAUGHT RECEIVES, {NULL}, true, JVM_STOPPED},
		{"Name:\tjava\nState:\tt (tracing stop)\n" CAUGHT RECEIVES,
		 {NULL},
		 true,
		 JVM_STOPPED},
		{"Name:\tjava\nState:\tZ (zombie)\n" CAUGHT RECEIVES, {NULL}, true, JVM_EXITING},
		/* names that look like other lines */
		{"Name:\tSigCgt:\tffff\nState:\tS (sleeping)\n" NOT_CAUGHT RECEIVES,
		 {NULL},
		 true,
		 JVM_STARTING},
		{MAIN CAUGHT RECEIVES,
		 {"Name:\tSignal Dispatcher\nState:\tS\n" CAUGHT RECEIVES,
		  "Name:\tSignal\nState:\tS\n" CAUGHT RECEIVES},
		 false,
		 JVM_STARTING},
		{MAIN, {NULL}, true, -EBADMSG},
		{"", {NULL}, true, -EBADMSG},
		{MAIN "SigCgt:\tx\n" RECEIVES, {NULL}, true, -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(check(cases[i].process, cases[i].threads, cases[i].is_initialized),
				 cases[i].want);
}

TEST(a_process_that_has_exited_is_gone)
{
	struct fake_proc f;

	fake_proc_begin(&f);
	assert_int_equal(jvm_readiness_check(f.root_fd, true), -ESRCH);
	fake_proc_end(&f);
}
