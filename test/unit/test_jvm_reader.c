/*
 * Real JVMs: the machine's JDK 17 with several options, and, if test/java/jdks.sh has them or can
 * fetch them, JDK 8, 11, 21 and 25.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/java/vm/foreign_profiler.h"
#include "node-agent/java/vm/jvm_reader.h"
#include "node-agent/java/vm/jvm_readiness.h"
#include "test/lib/elf_builder.h"
#include "test/lib/java_process.h"
#include "test/lib/unit.h"

#define OPTIONS "JAVA_TOOL_OPTIONS" /* read by JVMs */
#define PATIENCE_NS (60 * NS_PER_S)

struct fixture {
	struct jvm_reader *reader;
	struct java_process java;
	struct program_id id;
	struct jvm_opened *jvm;
	struct jvm_flags flags;
	struct hsperfdata perf;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	*state = &f;
	return jvm_reader_new(&f.reader, NULL);
}

static void end_jvm(struct fixture *f)
{
	jvm_opened_close(TAKE_PTR(f->jvm));
	if (f->java.child > 0)
		java_process_end(&f->java);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	(void)unsetenv(OPTIONS);
	end_jvm(f);
	jvm_reader_free(f->reader);
	return 0;
}

/* Returns 0, -ENOEXEC if neither the executable nor a library is a JVM, or another error. */
static int find_jvm(struct jvm_reader *reader, pid_t pid, struct program_id *ret)
{
	static struct file_id ids[1024];
	int n, r = program_id_read(jvm_reader_root(reader), pid, ret);

	if (r == 0)
		r = jvm_reader_detect(reader, ret);
	if (r != 0)
		return r < 0 ? r : 0;
	n = jvm_reader_libraries(reader, ret, ids, ARRAY_SIZE(ids));
	for (int i = 0; r == 0 && i < n; i++) {
		ret->library = ids[i];
		r = jvm_reader_detect(reader, ret);
	}
	if (n < 0 || r < 0)
		return n < 0 ? n : r;
	return r > 0 ? 0 : -ENOEXEC;
}

static void start(struct fixture *f, const struct java_options *o)
{
	java_process_start(&f->java, o);
	assert_int_equal(find_jvm(f->reader, f->java.pid, &f->id), 0);
	assert_int_equal(f->id.start_time, f->java.start_time);
	assert_int_not_equal(f->id.library.ino, 0);
	assert_int_equal(jvm_reader_open(f->reader, &f->id, &f->jvm), 0);
	assert_int_equal(f->jvm->kind, JVM_HOTSPOT);
	assert_int_equal(jvm_opened_flags(f->jvm, &f->flags), 0);
}

static bool has(const struct fixture *f, enum jvm_flag flag)
{
	assert_true(jvm_flags_known(&f->flags, flag));
	return jvm_flags_get(&f->flags, flag, false);
}

static int readiness(const struct fixture *f)
{
	return jvm_readiness_check(f->jvm->target.proc_fd, false);
}

static void check_perf(struct fixture *f, const char *version)
{
	const struct hsperfdata *h = &f->perf;

	assert_int_equal(jvm_opened_perf(f->jvm, &f->perf), 0);
	assert_int_equal(strncmp(h->java_version, version, strlen(version)), 0);
	assert_non_null(strstr(h->command, "sun.rmi.registry.RegistryImpl"));
	assert_true(h->is_initialized && h->has_heap && h->has_safepoints);
	assert_true(h->heap_used_bytes <= h->heap_size_bytes);
	assert_in_range(h->heap_size_bytes, 1, 65u << 20); /* -Xmx64m, and what G1 adds */
	assert_in_range(h->n_collectors, 1, 3);
}

/* Every way to set a flag is seen, and the performance data need no file. */
TEST_FIXTURE(reads_flags_wherever_they_were_set, set_up, tear_down)
{
	const struct java_options o = {.flag = "-XX:+DisableAttachMechanism"};
	struct fixture *f = *state;

	(void)setenv(OPTIONS, "-XX:+UseShenandoahGC -XX:+PerfDisableSharedMem", 1);
	start(f, &o);
	assert_true(has(f, JVM_FLAG_DISABLE_ATTACH_MECHANISM));
	assert_true(has(f, JVM_FLAG_PERF_DISABLE_SHARED_MEM));
	assert_false(has(f, JVM_FLAG_REDUCE_SIGNAL_USAGE));
	assert_true(has(f, JVM_FLAG_USE_PERF_DATA));
	assert_false(f->flags.agent_loading_warns);
	assert_int_equal(f->flags.feature, 17);
	assert_int_equal(strncmp(f->flags.release, "17.0.", 5), 0);
	check_perf(f, "17.0.");
	assert_non_null(strstr(f->perf.collectors[0].name, "Shenandoah"));
}

/* SIGQUIT would end this one; and it publishes nothing. */
TEST_FIXTURE(jvms_that_leave_signals_alone_never_become_ready, set_up, tear_down)
{
	const struct java_options o = {.flag = "-Xrs"};
	struct fixture *f = *state;

	(void)setenv(OPTIONS, "-XX:+UseParallelGC -XX:-UsePerfData", 1);
	start(f, &o);
	assert_true(has(f, JVM_FLAG_REDUCE_SIGNAL_USAGE));
	assert_int_equal(jvm_opened_perf(f->jvm, &f->perf), -ENOENT);
	assert_int_equal(readiness(f), JVM_STARTING);
	assert_int_equal(jvm_readiness_check(f->jvm->target.proc_fd, true), JVM_STARTING);
}

static void wait_for(const struct fixture *f, int wanted)
{
	const struct timespec pause = {.tv_nsec = 10 * (long)NS_PER_MS};
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	while (readiness(f) != wanted && clock_monotonic_ns() < end)
		(void)nanosleep(&pause, NULL);
	assert_int_equal(readiness(f), wanted);
}

TEST_FIXTURE(readiness_follows_the_process, set_up, tear_down)
{
	const struct java_options o = {.flag = "-XX:+UseG1GC"};
	struct fixture *f = *state;

	start(f, &o);
	check_perf(f, "17.0.");
	assert_int_equal(readiness(f), JVM_READY);
	assert_int_equal(kill(f->java.pid, SIGSTOP), 0);
	wait_for(f, JVM_STOPPED);
	assert_int_equal(kill(f->java.pid, SIGCONT), 0);
	wait_for(f, JVM_READY);
	assert_int_equal(kill(f->java.pid, SIGKILL), 0);
	wait_for(f, JVM_EXITING);
	assert_int_equal(waitpid(f->java.child, NULL, 0), f->java.child);
	assert_int_equal(readiness(f), -ESRCH);
	assert_int_equal(jvm_opened_flags(f->jvm, &f->flags), -ESRCH);
	assert_int_equal(jvm_opened_perf(f->jvm, &f->perf), -ESRCH);
	assert_int_equal(find_jvm(f->reader, f->java.pid, &f->id), -ESRCH);
	f->java.child = 0;
}

TEST_FIXTURE(reads_every_release, set_up, tear_down)
{
	static const struct {
		unsigned feature;
		const char *flag, *version, *options;
	} releases[] = {
		{8, "-XX:+UseConcMarkSweepGC", "1.8.0_", ""},
		{11, "-XX:+UseSerialGC", "11.", ""},
		{21, "-XX:+UseZGC", "21.",
		 "-XX:+EnableDynamicAgentLoading -Djava.security.manager=allow"},
		{25, "-XX:+UseG1GC", "25.", ""},
	};
	struct fixture *f = *state;
	struct java_release r;

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct java_options o = {.release = &r, .flag = releases[i].flag};

		if (!java_release_find(&r, releases[i].feature))
			skip();
		if (releases[i].feature == 8)
			o.uid = o.gid = 1234;
		(void)setenv(OPTIONS, releases[i].options, 1);
		start(f, &o);
		assert_int_equal(f->flags.feature, releases[i].feature);
		assert_false(has(f, JVM_FLAG_DISABLE_ATTACH_MECHANISM));
		assert_true(jvm_flags_get(&f->flags, JVM_FLAG_ENABLE_DYNAMIC_AGENT_LOADING, true));
		assert_int_equal(f->flags.agent_loading_warns, *releases[i].options != '\0');
		check_perf(f, releases[i].version);
		assert_int_equal(readiness(f), JVM_READY);
		end_jvm(f);
	}
}

TEST_FIXTURE(other_programs_are_no_jvms, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(find_jvm(f->reader, getpid(), &f->id), -ENOEXEC);
	assert_int_equal(jvm_reader_open(f->reader, &f->id, &f->jvm), -ENOEXEC);
	/* nor are threads of the kernel */
	assert_int_equal(find_jvm(f->reader, 2, &f->id), -ENOENT);
}

/* Maps a library that exports that symbol, if dynamic, or has it in its symbol table only. */
static void *map_library(const char *symbol, bool dynamic)
{
	static struct elf_builder b;
	AUTO_CLOSE int fd = memfd_create("library", MFD_CLOEXEC);
	void *map;

	elf_builder_init(&b, EM_X86_64);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0, 0, 4096);
	elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x400, NULL, 64);
	elf_builder_symbol(&b, symbol, STB_GLOBAL, STT_OBJECT, 0x400, 8);
	elf_builder_symbol_table(&b, dynamic ? SHT_DYNSYM : SHT_SYMTAB);
	elf_builder_finish(&b);
	assert_int_equal(write(fd, b.data, b.len), b.len);
	map = mmap(NULL, b.len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	return map;
}

TEST_FIXTURE(libraries_are_known_by_what_they_export, set_up, tear_down)
{
	static const struct {
		const char *symbol;
		bool dynamic;
		int kind;
	} cases[] = {
		{"gHotSpotVMStructs", true, JVM_HOTSPOT},
		{"gHotSpotVMStructs", false, JVM_NONE},
		{"J9_CreateJavaVM", true, JVM_OPENJ9},
		{"JNI_CreateJavaVM", true, JVM_NONE}, /* a GraalVM native image */
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		void *map = map_library(cases[i].symbol, cases[i].dynamic);
		int r = find_jvm(f->reader, getpid(), &f->id);

		assert_int_equal(r, cases[i].kind == JVM_NONE ? -ENOEXEC : 0);
		if (r == 0) {
			assert_int_equal(jvm_reader_detect(f->reader, &f->id), cases[i].kind);
			assert_int_equal(jvm_reader_open(f->reader, &f->id, &f->jvm), 0);
			assert_int_equal(f->jvm->kind, cases[i].kind);
			/* it is OpenJ9, or lacks what HotSpot has */
			r = jvm_opened_flags(f->jvm, &f->flags);
			assert_int_equal(r, cases[i].kind == JVM_OPENJ9 ? -ENOTSUP : -ENOENT);
			jvm_opened_close(TAKE_PTR(f->jvm));
		}
		assert_int_equal(munmap(map, 4096), 0);
	}
}

static bool is_ours(const char *path, size_t len)
{
	return memmem(path, len, "/ours/", strlen("/ours/")) != NULL;
}

static const char *product(const char *path)
{
	return foreign_profiler_name(path, strlen(path)) ?: "";
}

TEST(profilers_are_known_by_name)
{
	assert_string_equal(product("/app/lib/libasyncProfiler.so"), "async-profiler");
	assert_string_equal(product("/tmp/idea_libasyncProfiler-1.so"), "async-profiler");
	assert_string_equal(product("/tmp/libjavaProfiler-dd-12.so"), "Datadog");
	assert_string_equal(product("/opt/yourkit/libyjpagent.so"), "YourKit");
	assert_string_equal(product("/asyncProfiler/libc.so.6"), "");
	assert_string_equal(product(""), "");
}

/* A library that was deleted is still there. */
TEST(finds_the_profilers_of_others_in_mappings)
{
	const char *name = NULL;
	AUTO_CLOSE int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;
	void *map;

	assert_int_equal(foreign_profiler_find(proc_fd, is_ours, &name), 0);
	fd = memfd_create("libjavaProfiler.so", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 4096), 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(foreign_profiler_find(proc_fd, is_ours, &name), 1);
	assert_string_equal(name, "Datadog");
	assert_int_equal(munmap(map, 4096), 0);
	closep(&fd);
	fd = memfd_create("/ours/libasyncProfiler.so", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 4096), 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(foreign_profiler_find(proc_fd, is_ours, &name), 0);
	assert_int_equal(foreign_profiler_find(proc_fd, NULL, &name), 1);
	assert_int_equal(munmap(map, 4096), 0);
}
