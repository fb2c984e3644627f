/* Processes without an interpreter, and one that has mapped what cannot be read. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/interpreter/process/interpreter_files.h"
#include "node-agent/interpreter/process/interpreter_names.h"
#include "node-agent/interpreter/process/process_memory.h"
#include "test/lib/elf_builder.h"
#include "test/lib/own_process.h"
#include "test/lib/silent_file.h"
#include "test/lib/unit.h"

#define PYTHON "/usr/bin/python3"

struct fixture {
	struct process_table *table;
	struct process_snapshot *self;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = {""};

	assert_non_null(f);
	assert_int_equal(process_table_new(&f->table, &(struct process_table_config){0}, &err), 0);
	f->self = own_process_snapshot(f->table);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_snapshot_unref(f->self);
	process_table_free(f->table);
	free(f);
	return 0;
}

TEST_FIXTURE(what_is_seen_is_read_once, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(interpreter_names_freep) struct interpreter_names *n = NULL;
	const struct chain_entry chain[] = {chain_entry(0x1000, 8, 1, 5),
					    chain_entry(0x2000, 8, 2, 5)};
	const struct interpreter_frame seen = {.code = 0x1000, .check = 5, .at = 8},
				       other = {.code = 0x1000, .check = 5, .at = 9};
	struct interpreter_name name;

	assert_int_equal(interpreter_names_new(&n, &(struct interpreter_names_config){0}), 0);
	for (int i = 0; i < 3; i++)
		interpreter_names_see(n, f->self, chain, ARRAY_SIZE(chain), 0);
	interpreter_names_wait(n, UINT64_MAX);
	/* this process has no interpreter */
	assert_int_equal(interpreter_names_find(n, f->self, &seen, &name), -ENOENT);
	assert_int_equal(interpreter_names_find(n, f->self, &other, &name), -EINPROGRESS);
	interpreter_names_end_cycle(n);
}

TEST_FIXTURE(who_has_a_reference_may_ask_after_the_end, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct chain_entry chain = chain_entry(0x1000, 8, 1, 5);
	const struct interpreter_frame seen = {.code = 0x1000, .check = 5, .at = 8};
	struct interpreter_names *n, *other;
	struct interpreter_name name;

	assert_int_equal(interpreter_names_new(&n, &(struct interpreter_names_config){0}), 0);
	interpreter_names_see(n, f->self, &chain, 1, 0);
	interpreter_names_wait(n, UINT64_MAX);
	other = interpreter_names_ref(n);
	interpreter_names_free(n);
	assert_int_equal(interpreter_names_find(other, f->self, &seen, &name), -ENOENT);
	interpreter_names_wait(other, 1);
	interpreter_names_end_cycle(other);
	interpreter_names_unref(other);
}

TEST_FIXTURE(a_program_without_an_interpreter_has_no_layout, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(interpreter_files_freep) struct interpreter_files *files = NULL;
	struct interpreter_process process;
	struct chain_layout layout;

	assert_int_equal(interpreter_files_new(&files, NULL, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(interpreter_files_find(files, f->self, &process), -ENOENT);
		assert_int_equal(interpreter_files_layout(files, f->self, &layout), -ENOENT);
	}
}

/* A file that has Erlang's compiler, and nothing else that is known. */
static struct mapped_file *make_unknown(ino_t number)
{
	static struct elf_builder elf;
	struct file_id id = {.dev = 1, .ino = number};
	struct mapped_file *ret;
	int fd = memfd_create("beam.smp", MFD_CLOEXEC);

	elf_builder_init(&elf, EM_X86_64);
	elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, NULL, 256);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, 1024);
	elf_builder_symbol(&elf, "etp_beamasm", STB_GLOBAL, STT_OBJECT, 64, 4);
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_builder_finish(&elf);
	assert_true(fd >= 0 && write(fd, elf.data, elf.len) == (ssize_t)elf.len);
	id.size_bytes = elf.len;
	assert_int_equal(mapped_file_new(&ret, &id, fd, "/opt/beam.smp", 13), 0);
	return ret;
}

TEST_FIXTURE(a_release_that_is_not_known_is_said_by_file_and_language, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(interpreter_files_freep) struct interpreter_files *files = NULL;
	CLEANUP(mapped_file_unrefp) struct mapped_file *m = make_unknown(1);
	CLEANUP(mapped_file_unrefp) struct mapped_file *known = make_unknown(3);
	struct process_mapping mappings[] = {{.start = 4096, .end = 8192, .file = m},
					     {.start = 16384, .end = 20480, .file = known}};
	struct process_snapshot s = *f->self;
	struct interpreter_process process;
	struct chain_layout layout;

	s.mappings = mappings;
	s.n_mappings = 1;
	assert_int_equal(interpreter_files_new(&files, NULL, NULL), 0);
	assert_null(interpreter_files_unknown(&s)); /* yet */
	assert_int_equal(interpreter_files_find(files, &s, &process), -ENOTSUP);
	assert_ptr_equal(interpreter_files_unknown(&s), m);
	assert_int_equal(m->unknown_interpreter, INTERPRETER_ERLANG);
	assert_int_equal(interpreter_files_layout(files, &s, &layout), -ENOTSUP);
	assert_int_equal(layout.language, INTERPRETER_ERLANG);
	/* another one that the process has is */
	atomic_store(&known->has_interpreter, true);
	s.n_mappings = 2;
	assert_null(interpreter_files_unknown(&s));
}

TEST_FIXTURE(a_file_that_is_not_known_is_in_one_line_of_the_log, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(interpreter_files_freep) struct interpreter_files *files = NULL;
	CLEANUP(mapped_file_unrefp) struct mapped_file *m = make_unknown(2);
	struct process_mapping mapping = {.start = 4096, .end = 8192, .file = m};
	struct process_snapshot s = *f->self;
	struct chain_layout layout;
	char said[1024] = "";
	int log[2];

	s.mappings = &mapping;
	s.n_mappings = 1;
	assert_int_equal(interpreter_files_new(&files, NULL, NULL), 0);
	assert_int_equal(pipe2(log, O_CLOEXEC | O_NONBLOCK), 0);
	log_set_fd(log[1]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(interpreter_files_layout(files, &s, &layout), -ENOTSUP);
	log_set_fd(STDERR_FILENO);
	assert_true(read(log[0], said, sizeof(said) - 1) > 0);
	assert_string_equal(
		said, "level=warn msg=\"an interpreter is of a release that is not known; its "
		      "functions are not shown\" language=erlang file=\"/opt/beam.smp\"\n");
	assert_int_equal(read(log[0], said, sizeof(said)), -1);
	close(log[0]);
	close(log[1]);
}

static const char text[] = "in the memory of a process";

static int read_text(struct process_memory *m, const struct process_snapshot *s)
{
	char copy[sizeof(text)];
	struct interpreter_memory memory;
	int r = process_memory_get(m, s, &memory);

	if (r == 0)
		r = interpreter_read(&memory, (uint64_t)(uintptr_t)text, copy, sizeof(copy));
	if (r == 0)
		assert_string_equal(copy, text);
	return r;
}

TEST_FIXTURE(memory_is_that_of_the_process_that_is_meant, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(process_memory_freep) struct process_memory *m = NULL;
	struct process_snapshot other = *f->self;
	struct interpreter_memory memory;
	char byte;

	assert_int_equal(process_memory_new(&m, "/proc"), 0);
	assert_int_equal(read_text(m, f->self), 0);
	assert_int_equal(read_text(m, f->self), 0);
	assert_int_equal(process_memory_get(m, f->self, &memory), 0);
	assert_int_equal(interpreter_read(&memory, 8, &byte, 1), -EFAULT);
	assert_int_equal(interpreter_read(&memory, UINT64_MAX - 2, &byte, 1), -EFAULT);
	other.start_time++; /* its pid is another one's by now */
	assert_int_equal(read_text(m, &other), -ESRCH);
	other = *f->self;
	other.start_stack = 16; /* it executes another program by now */
	assert_int_equal(read_text(m, &other), -ESRCH);
}

TEST_FIXTURE(a_process_that_has_exited_has_no_memory, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(process_memory_freep) struct process_memory *m = NULL;
	struct process_snapshot child = *f->self;
	struct proc_stat st;
	int proc_fd;

	assert_int_equal(process_memory_new(&m, "/proc"), 0);
	child.pid = fork();
	if (child.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc_fd >= 0);
	{
		AUTO_CLOSE int fd = procfs_open_process(proc_fd, child.pid);

		assert_int_equal(procfs_read_stat(fd, &st), 0);
	}
	close(proc_fd);
	child.start_time = st.start_time;
	assert_int_equal(read_text(m, &child), 0);
	(void)kill(child.pid, SIGKILL);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_int_equal(read_text(m, &child), -ESRCH);
	child.start_stack++; /* which is not open yet */
	assert_int_equal(read_text(m, &child), -ESRCH);
}

/* ---- memory that does not answer ---- */

static const char mapping_script[] = "import mmap, os, sys, time\n"
				     "m = mmap.mmap(int(sys.argv[1]), 16384, prot=mmap.PROT_READ)\n"
				     "os.write(1, b'mapped')\n"
				     "time.sleep(3600)\n";

/* A Python that has mapped the file; it has done so on return. */
static pid_t start_mapping_child(const struct silent_file *f)
{
	char number[16], said[16] = "";
	int out[2];
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)snprintf(number, sizeof(number), "%d", dup(f->fd));
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execl(PYTHON, "python3", "-c", mapping_script, number, (char *)NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	close(out[1]);
	assert_true(read(out[0], said, sizeof(said) - 1) > 0);
	close(out[0]);
	return pid;
}

/* Where it is mapped: a mapping of its size that is shared and has a file. */
static uint64_t address_of_mapping(pid_t pid)
{
	char path[32], line[512];
	FILE *maps;
	uint64_t found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		char *end;
		uint64_t start = strtoull(line, &end, 16), to = strtoull(end + 1, NULL, 16);

		if (to - start == SILENT_FILE_BYTES && strstr(line, " r--s "))
			found = start;
	}
	(void)fclose(maps);
	assert_true(found > 0);
	return found;
}

static struct process_snapshot *snapshot_of(struct process_table *t, pid_t pid)
{
	AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(proc, pid);
	struct process_snapshot *s;
	struct proc_stat st;
	struct process_seen seen = {.pid = pid, .comm = "python3"};

	assert_int_equal(procfs_read_stat(fd, &st), 0);
	seen.start_boottime_ns = st.start_time * NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	assert_int_equal(process_table_get(t, &seen, clock_monotonic_ns(), &s), 0);
	return process_snapshot_ref(s);
}

static void see_one(struct interpreter_names *n, struct process_snapshot *s, uint64_t code)
{
	const struct chain_entry e = chain_entry(code, 8, 0, 0);

	interpreter_names_see(n, s, &e, 1, 0);
}

/* What comes of reading this frame; asks again and again, as samples do. */
static int read_name(struct interpreter_names *n, struct process_snapshot *s, uint64_t code)
{
	const struct interpreter_frame f = {.code = code, .at = 8};
	struct interpreter_name name;
	int r;

	for (;;) {
		r = interpreter_names_find(n, s, &f, &name);
		if (r != -EINPROGRESS)
			break;
		see_one(n, s, code);
		(void)usleep(10000);
	}
	return r;
}

static uint64_t metric_value(struct metrics *ms, const char *name)
{
	CLEANUP(buf_fini) struct buf said;
	const char *p;

	buf_init(&said, 1 << 20);
	assert_int_equal(metrics_write(ms, &said), 0);
	assert_int_equal(buf_add(&said, "", 1), 0);
	p = strstr(said.data, name);
	assert_non_null(p);
	return strtoull(p + strlen(name), NULL, 10);
}

static uint64_t n_late(struct metrics *ms)
{
	return metric_value(ms, "coroot_node_agent_interpreter_frames_total{result=\"late\"} ");
}

static uint64_t n_stuck(struct metrics *ms)
{
	return metric_value(ms, "\ncoroot_node_agent_interpreter_stuck_threads ");
}

/* While the thread hangs: who waits for a name goes on without it. */
static void check_late(struct interpreter_names *n, struct process_snapshot *s, struct metrics *ms)
{
	const struct chain_entry e = chain_entry(0x2000, 8, 0, 0);
	const struct interpreter_frame f = {.code = 0x2000, .at = 8};
	uint64_t from_ns = clock_monotonic_ns();
	struct interpreter_name name;

	interpreter_names_see(n, s, &e, 1, 0);
	assert_int_equal(n_late(ms), 0);
	interpreter_names_wait(n, NS_PER_S / 100);
	assert_true(clock_monotonic_ns() - from_ns >= NS_PER_S / 100);
	assert_int_equal(interpreter_names_find(n, s, &f, &name), -EINPROGRESS);
	assert_int_equal(n_late(ms), 1);
}

TEST(a_process_whose_memory_does_not_answer_has_no_names_and_others_do)
{
	const struct interpreter_names_config cfg = {.hang_ns = NS_PER_S};
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *self = NULL, *silent = NULL;
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct silent_file *file = silent_file_new();
	struct interpreter_names *n = NULL;
	struct chain_entry hangs;
	struct err err = {""};
	uint64_t code;
	pid_t child;

	if (!file || access(PYTHON, X_OK) < 0) {
		silent_file_free(file);
		skip();
	}
	child = start_mapping_child(file);
	silent_file_silence(file);
	code = address_of_mapping(child);
	hangs = chain_entry(code, 8, 0, 0);
	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, &err), 0);
	self = own_process_snapshot(t);
	silent = snapshot_of(t, child);
	assert_int_equal(interpreter_names_new(&n, &cfg), 0);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(interpreter_names_register_metrics(n, ms), 0);
	interpreter_names_see(n, silent, &hangs, 1, 0);
	eventually(silent_file_is_waited_for(file));
	check_late(n, self, ms);
	/* this program has no interpreter; that is found out once the thread is replaced */
	assert_int_equal(read_name(n, self, 0x1000), -ENOENT);
	assert_int_equal(read_name(n, silent, code + 64), -ETIMEDOUT);
	silent_file_free(file); /* the thread that hung returns, and frees what it has */
	interpreter_names_free(n);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

#define STUCK_MAX 4

/* A file server that was away for some minutes costs names only while it is away. */
TEST(names_are_read_again_once_the_memory_of_many_processes_answers)
{
	const struct interpreter_names_config cfg = {.hang_ns = NS_PER_S,
						     .hung_pause_ns = NS_PER_MS};
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *self = NULL;
	struct process_snapshot *silent[STUCK_MAX];
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct silent_file *file = silent_file_new();
	struct interpreter_names *n = NULL;
	uint64_t code[STUCK_MAX];
	pid_t children[STUCK_MAX];
	struct err err = {""};

	if (!file || access(PYTHON, X_OK) < 0) {
		silent_file_free(file);
		skip();
	}
	for (size_t i = 0; i < STUCK_MAX; i++)
		children[i] = start_mapping_child(file);
	silent_file_silence(file);
	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, &err), 0);
	self = own_process_snapshot(t);
	assert_int_equal(interpreter_names_new(&n, &cfg), 0);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(interpreter_names_register_metrics(n, ms), 0);
	for (size_t i = 0; i < STUCK_MAX; i++) {
		code[i] = address_of_mapping(children[i]);
		silent[i] = snapshot_of(t, children[i]);
		assert_int_equal(n_stuck(ms), i);
		do {
			see_one(n, silent[i], code[i]);
			(void)usleep(10000);
		} while (n_stuck(ms) == i);
	}
	silent_file_free(file); /* all reads end with an error */
	eventually(n_stuck(ms) == 0);
	assert_int_equal(read_name(n, self, 0x1000), -ENOENT);
	assert_int_not_equal(read_name(n, silent[0], code[0] + 128), -ETIMEDOUT);
	interpreter_names_free(n);
	for (size_t i = 0; i < STUCK_MAX; i++) {
		process_snapshot_unref(silent[i]);
		(void)kill(children[i], SIGKILL);
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	}
}
