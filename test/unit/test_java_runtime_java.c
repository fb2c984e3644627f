/* A real JVM from its discovery to the end of the agent: Debian's JDK 17. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/java/attach/jvm_place.h"
#include "node-agent/java/profile/java_profiler.h"
#include "node-agent/runtime/runtime_states.h"
#include "node-agent/runtime/runtime_worker.h"
#include "test/lib/java_process.h"
#include "test/lib/runtime_fixture.h"
#include "test/lib/unit.h"

#define LIBRARY "/../../libasyncProfiler.so" /* from the folder of this test */
#define INTERVAL_NS (1 * NS_PER_S)
#define PREFIX "coroot_node_agent_java_"

struct fixture {
	struct runtime_fixture rt;
	struct java_process java;
	struct java_profiler_config cfg;
	struct runtime_worker *worker;
	struct runtime_states *states;
	char library[PATH_MAX];
	const char *metric; /* that work() waits for */
	uint64_t least;
};

static void on_profile(void *ctx, const struct runtime_upload *u)
{
	(void)ctx;
	(void)u;
}

static void find_library(struct fixture *f)
{
	ssize_t n = readlink("/proc/self/exe", f->library, sizeof(f->library) - sizeof(LIBRARY));

	assert_true(n > 0);
	snprintf(strrchr(f->library, '/'), sizeof(LIBRARY), LIBRARY);
}

static void start_agent(struct fixture *f, bool enabled)
{
	const struct runtime_worker_config cfg = {
		.ops = &java_runtime_ops,
		.config = &f->cfg,
		.proc_root = f->rt.root,
		.processes = f->rt.processes,
		.interval_ns = INTERVAL_NS,
		.end_ns = 60 * NS_PER_S,
		.hang_ns = 300 * NS_PER_S,
		.states = f->states,
		.on_profile = on_profile,
	};
	struct err err = {""};

	f->cfg = (struct java_profiler_config){
		.plan = {.enabled = enabled, .interval_ns = INTERVAL_NS},
		.settings = {.cpu_interval_ns = 10000000,
			     .alloc_interval_bytes = 524288,
			     .lock_interval_ns = 10000000},
		.library = f->library,
	};
	assert_int_equal(runtime_fixture_start(&f->rt), 0);
	if (runtime_worker_new(&f->worker, f->rt.loop, f->rt.ms, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
}

static void stop_agent(struct fixture *f)
{
	runtime_worker_free(TAKE_PTR(f->worker));
	runtime_fixture_stop(&f->rt);
}

static void begin(struct fixture *f, const struct java_options *o)
{
	*f = (struct fixture){.worker = NULL};
	find_library(f);
	assert_int_equal(runtime_states_new(&f->states), 0);
	runtime_fixture_begin(&f->rt);
	java_process_start(&f->java, o);
	runtime_fixture_show(&f->rt, f->java.pid);
}

static void end(struct fixture *f)
{
	assert_true(java_process_is_silent(&f->java));
	java_process_end(&f->java);
	runtime_fixture_end(&f->rt);
	runtime_states_unref(f->states);
}

static bool has_enough(void *ctx)
{
	const struct fixture *f = ctx;

	return runtime_fixture_metric(&f->rt, f->metric) >= f->least;
}

static void wait_for(struct fixture *f, const char *metric, uint64_t least)
{
	f->metric = metric;
	f->least = least;
	if (!runtime_fixture_work(&f->rt, has_enough, f))
		fail_msg("no %" PRIu64 " of %s", least, metric);
}

static bool has_directory(const struct fixture *f)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/" JVM_PLACE_PREFIX "%d-%" PRIu64,
		 (int)f->java.pid, (int)f->java.pid, f->java.start_time);
	return access(path, F_OK) == 0;
}

/* Another agent follows, with all that the first one knew forgotten. */
TEST(test_profiled_and_left)
{
	struct fixture f;

	begin(&f, &(struct java_options){.uid = 23456, .gid = 34567, .pid_namespaces = 2});
	for (int i = 0; i < 2; i++) {
		start_agent(&f, true);
		wait_for(&f, PREFIX "recordings_read_total", 2);
		assert_int_equal(runtime_fixture_metric(&f.rt, "container_jvm_profiling_status"),
				 1);
		assert_int_equal(runtime_fixture_metric(&f.rt, PREFIX "recordings_broken_total"),
				 0);
		assert_int_equal(runtime_fixture_metric(&f.rt, PREFIX "recordings_started_total"),
				 1);
		assert_true(has_directory(&f));
		stop_agent(&f);
		assert_false(has_directory(&f));
	}
	end(&f);
}

/* Without the option nothing is done to the JVM, but its state is known. */
TEST(test_off)
{
	struct fixture f;

	begin(&f, &(struct java_options){.flag = NULL});
	start_agent(&f, false);
	wait_for(&f, "container_jvm_info", 1);
	assert_int_equal(runtime_fixture_metric(&f.rt, "container_jvm_profiling_status"), 0);
	assert_false(has_directory(&f));
	stop_agent(&f);
	end(&f);
}

/* end() checks that it has not warned of an agent, which JDK 21 does with this variable. */
TEST(test_no_warning)
{
	struct java_release r;
	struct fixture f;

	if (!java_release_find(&r, 21))
		skip();
	(void)setenv("JAVA_TOOL_OPTIONS",
		     "-XX:+EnableDynamicAgentLoading -Djava.security.manager=allow", 1);
	begin(&f, &(struct java_options){.release = &r});
	(void)unsetenv("JAVA_TOOL_OPTIONS");
	start_agent(&f, true);
	wait_for(&f, PREFIX "recordings_read_total", 1);
	stop_agent(&f);
	end(&f);
}

TEST(test_flag_that_forbids)
{
	struct fixture f;

	begin(&f, &(struct java_options){.flag = "-XX:+DisableAttachMechanism"});
	start_agent(&f, true);
	wait_for(&f, PREFIX "attempts_failed_total{reason=\"attach_disabled\"}", 1);
	assert_false(has_directory(&f));
	stop_agent(&f);
	end(&f);
}

/* The agent is killed: its successor finds what it left, and ends it. */
TEST(test_taken_over)
{
	struct fixture f;
	pid_t agent;
	int status;

	begin(&f, &(struct java_options){.flag = NULL});
	agent = fork();
	assert_true(agent >= 0);
	if (agent == 0) {
		start_agent(&f, true);
		wait_for(&f, PREFIX "recordings_read_total", 1);
		_exit(0); /* as by SIGKILL: nothing is cleaned up */
	}
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_int_equal(status, 0);
	assert_true(has_directory(&f));
	start_agent(&f, true);
	wait_for(&f, PREFIX "recordings_read_total", 2);
	assert_int_equal(runtime_fixture_metric(&f.rt, PREFIX "recordings_taken_over_total"), 1);
	stop_agent(&f);
	assert_false(has_directory(&f));
	end(&f);
}
