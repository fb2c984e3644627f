/*
 * Mappings of real processes, this test and children of it, with tables of the real files, in
 * memory that is read as a walk would.
 */
#include "node-agent/unwind/process_mappings.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "node-agent/process/process_table.h"
#include "node-agent/unwind/unwind_cache.h"
#include "test/lib/large_text.h"
#include "test/lib/unit.h"
#include "test/lib/unwind_plain.h"

#define GRACE_NS 10u

struct fixture {
	struct unwind_plain plain;
	struct unwind_slabs *slabs;
	struct deadline_caller *caller;
	struct file_tables *tables;
	struct process_mappings *processes;
	struct process_table *table;
	int proc_fd;
	uint64_t now_ns;
};

static struct mapped_file *find_file(void *ctx, uint32_t table)
{
	const struct fixture *f = ctx;

	return process_mappings_find_file(f->processes, table);
}

static int find_no_chain(void *ctx, const struct process_snapshot *s, struct chain_layout *ret)
{
	(void)ctx;
	(void)s;
	*ret = (struct chain_layout){.language = 3};
	return -ENOTSUP;
}

static void begin_with(struct fixture *f, uint64_t max_bytes, uint64_t open_functions,
		       struct unwind_cache *cache)
{
	struct process_table_config none = {0};
	struct unwind_slabs_config slabs = {.max_bytes = max_bytes, .grace_ns = GRACE_NS};
	struct file_tables_config tables = {
		.max_table_bytes = max_bytes,
		.open_functions = open_functions,
		.cache = cache,
		.grace_ns = GRACE_NS,
		.find_file = find_file,
	};
	struct process_mappings_config processes = {.find_chain = find_no_chain};

	*f = (struct fixture){.now_ns = clock_monotonic_ns()};
	unwind_plain_init(&f->plain);
	f->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->proc_fd >= 0);
	slabs.make_slab = f->plain.memory.make_slab;
	slabs.free_slab = f->plain.memory.free_slab;
	slabs.ctx = f->plain.memory.ctx;
	assert_int_equal(unwind_slabs_new(&f->slabs, &slabs), 0);
	assert_int_equal(deadline_caller_new(&f->caller, 10 * NS_PER_S, NS_PER_S), 0);
	tables.memory = processes.memory = &f->plain.memory;
	tables.slabs = processes.slabs = f->slabs;
	tables.caller = f->caller;
	tables.ctx = f;
	assert_int_equal(file_tables_new(&f->tables, &tables), 0);
	processes.tables = f->tables;
	processes.proc_fd = f->proc_fd;
	assert_int_equal(process_mappings_new(&f->processes, &processes), 0);
	assert_int_equal(process_table_new(&f->table, &none, NULL), 0);
}

static void begin(struct fixture *f, uint64_t max_bytes)
{
	begin_with(f, max_bytes, 0, NULL);
}

static void end(struct fixture *f)
{
	struct unwind_slabs_stats stats;

	process_mappings_free(f->processes);
	file_tables_free(f->tables);
	unwind_slabs_read_stats(f->slabs, &stats);
	assert_int_equal(stats.used_bytes, 0);
	unwind_slabs_free(f->slabs);
	deadline_caller_free(f->caller);
	process_table_free(f->table);
	close(f->proc_fd);
}

/* As if walks had come to code of all tables that are not built. */
static void want_missing_tables(struct fixture *f)
{
	for (uint32_t i = UNWIND_TABLE_FIRST; i < UNWIND_TABLES; i++) {
		if (f->plain.tables[i].n_pages == 0)
			f->plain.used[i] = f->now_ns >> UNWIND_USED_SHIFT;
	}
}

static void build_wanted(struct fixture *f)
{
	file_tables_find_wanted(f->tables);
	while (file_tables_build_next(f->tables, f->now_ns))
		;
}

static void build_all(struct fixture *f)
{
	want_missing_tables(f);
	build_wanted(f);
}

static struct proc_stat stat_of(const struct fixture *f, pid_t pid)
{
	AUTO_CLOSE int fd = procfs_open_process(f->proc_fd, pid);
	struct proc_stat st;

	assert_int_equal(procfs_read_stat(fd, &st), 0);
	return st;
}

static uint64_t start_ns(const struct fixture *f, pid_t pid)
{
	return stat_of(f, pid).start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* As after a sample. The reference is the table's. */
static struct process_snapshot *read_process(struct fixture *f, pid_t pid)
{
	const struct proc_stat st = stat_of(f, pid);
	const struct process_seen seen = {
		.pid = pid, .start_boottime_ns = start_ns(f, pid), .comm = st.comm};
	struct process_snapshot *s;

	process_table_reread(f->table, pid);
	f->now_ns += NS_PER_S;
	assert_int_equal(process_table_get(f->table, &seen, f->now_ns, &s), 0);
	assert_true(s->n_mappings > 0);
	return s;
}

static void put(struct fixture *f, pid_t pid)
{
	process_mappings_put(f->processes, read_process(f, pid), f->now_ns);
}

static struct process_mappings_stats stats_of(const struct fixture *f)
{
	struct process_mappings_stats stats;

	process_mappings_read_stats(f->processes, &stats);
	return stats;
}

static struct file_tables_stats table_stats(const struct fixture *f)
{
	struct file_tables_stats stats;

	file_tables_read_stats(f->tables, &stats);
	return stats;
}

/* The addresses of some functions that are in this program and in libraries, where they begin. */
static const void *const functions[] = {(const void *)clock_monotonic_ns, (const void *)dlopen};

TEST(test_functions_of_this_program_have_rules)
{
	static struct fixture f;
	const struct unwind_process *p;
	uint64_t here = (uintptr_t)functions[0];

	begin(&f, 64 * MIB);
	put(&f, getpid());
	assert_null(unwind_plain_rule(&f.plain, getpid(), here));
	build_wanted(&f); /* that of the executable */
	assert_non_null(unwind_plain_rule(&f.plain, getpid(), here));
	assert_int_equal(table_stats(&f).built, 1);
	build_all(&f);
	p = unwind_plain_process(&f.plain, getpid());
	assert_non_null(p);
	assert_int_equal(p->tgid, getpid());
	assert_int_equal(p->start_boottime_ns, start_ns(&f, getpid()));
	assert_int_equal(p->flags, 0);
	assert_non_null(unwind_plain_rule(&f.plain, getpid(), here));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct unwind_rule *rule =
			unwind_plain_rule(&f.plain, getpid(), (uintptr_t)functions[i]);

		assert_non_null(rule);
#ifdef __x86_64__
		assert_int_equal(rule->base, UNWIND_CFA_SP);
		assert_int_equal(rule->cfa, 1);
#endif
	}
	end(&f);
}

/* A file with too much code to analyse all of it, mapped here. */
static const uint8_t *map_large_text(size_t text_bytes)
{
	uint8_t *file = large_text_new(text_bytes);
	size_t bytes = LARGE_TEXT_OFFSET + text_bytes;
	AUTO_CLOSE int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	void *code;

	assert_non_null(file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, file, bytes), bytes);
	free(file);
	code = mmap(NULL, text_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, LARGE_TEXT_OFFSET);
	assert_true(code != MAP_FAILED);
	return code;
}

TEST(test_code_of_a_large_file_has_rules_once_samples_come_to_it)
{
	static struct fixture f;
	const uint8_t *code = map_large_text(12 * MIB);
	uint64_t addresses[] = {1, (uintptr_t)code + 9 * MIB + LARGE_TEXT_CALL, UINT64_MAX / 2};
	uint64_t other = (uintptr_t)code + MIB + LARGE_TEXT_CALL;
	uint64_t start;

	begin(&f, 64 * MIB);
	put(&f, getpid());
	build_all(&f);
	start = read_process(&f, getpid())->start_boottime_ns;
	assert_int_equal(table_stats(&f).n_deferred, 1);
	assert_int_equal(unwind_plain_rule(&f.plain, getpid(), addresses[1])->base,
			 UNWIND_CFA_UNKNOWN);
	for (unsigned i = 0; i < 10; i++) {
		process_mappings_note_sample(f.processes, getpid(), start + 1, addresses, 3);
		process_mappings_note_sample(f.processes, getpid() + 1, start, addresses, 3);
	}
	assert_false(file_tables_build_next(f.tables, f.now_ns)); /* they are of other processes */
	for (unsigned i = 0; i < 10; i++)
		process_mappings_note_sample(f.processes, getpid(), start, addresses, 3);
	assert_true(file_tables_build_next(f.tables, f.now_ns));
	assert_false(file_tables_build_next(f.tables, f.now_ns));
	assert_int_equal(table_stats(&f).built_parts, 1);
	assert_int_equal(unwind_plain_rule(&f.plain, getpid(), addresses[1])->base, UNWIND_CFA_FP);
	assert_int_equal(unwind_plain_rule(&f.plain, getpid(), other)->base, UNWIND_CFA_UNKNOWN);
	process_mappings_remove(f.processes, getpid(), read_process(&f, getpid())->start_time,
				f.now_ns);
	(void)munmap((void *)(uintptr_t)code, 12 * MIB);
	end(&f);
}

static bool has_rule(const struct fixture *f, const void *function)
{
	return unwind_plain_rule(&f->plain, getpid(), (uintptr_t)function) != NULL;
}

TEST(test_the_table_of_many_functions_has_those_first_that_samples_come_to)
{
	static struct fixture f;
	uint64_t address = (uintptr_t)functions[0], start;

	begin_with(&f, 64 * MIB, 100, NULL);
	put(&f, getpid());
	start = read_process(&f, getpid())->start_boottime_ns;
	assert_false(file_tables_wants_samples(f.tables));
	assert_true(file_tables_build_next(f.tables, f.now_ns)); /* that of the executable */
	assert_int_equal(table_stats(&f).built, 1);
	assert_true(file_tables_wants_samples(f.tables));
	assert_false(has_rule(&f, functions[0]));
	process_mappings_note_sample(f.processes, getpid(), start, &address, 1);
	assert_true(file_tables_build_next(f.tables, f.now_ns));
	assert_int_equal(table_stats(&f).built_parts, 1);
	assert_true(has_rule(&f, functions[0]));
	build_wanted(&f);
	assert_int_equal(table_stats(&f).n_deferred, 0);
	assert_false(file_tables_wants_samples(f.tables));
	build_all(&f);
	assert_true(has_rule(&f, functions[1]));
	assert_int_equal(table_stats(&f).n_deferred, 0);
	end(&f);
}

/* Also those of many functions, once they have all parts. */
TEST(test_tables_on_disk_are_there_before_walks_ask)
{
	static const void *const in_libc = (const void *)getpagesize; /* not in ASan's */
	static struct fixture f;
	char dir[] = "/tmp/test_process_mappings.XXXXXX", command[128];
	struct unwind_cache_stats stats;
	struct unwind_cache *cache;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(unwind_cache_open(&cache, dir, 64 * MIB), 0);
	begin_with(&f, 64 * MIB, 100, cache);
	put(&f, getpid());
	build_wanted(&f);
	assert_false(has_rule(&f, in_libc));
	build_all(&f);
	assert_true(table_stats(&f).built_parts > 0);
	unwind_cache_read_stats(cache, &stats);
	assert_true(stats.n_files >= 2);
	end(&f);

	begin_with(&f, 64 * MIB, 100, cache);
	put(&f, getpid());
	build_wanted(&f);
	unwind_cache_read_stats(cache, &stats);
	assert_true(stats.hits >= 2);
	assert_int_equal(table_stats(&f).built_parts, 0);
	assert_true(has_rule(&f, functions[0]));
	assert_true(has_rule(&f, in_libc));
	end(&f);
	unwind_cache_free(cache);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

/* That of a small library does not wait for a large one. */
TEST(test_of_one_owner_small_files_are_first)
{
	static struct fixture f;
	const struct process_snapshot *s;
	uint64_t bias, largest = 0, bytes;
	uint32_t large = 0;

	begin(&f, 64 * MIB);
	s = read_process(&f, getpid());
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct mapped_file *file = s->mappings[i].file;
		uint32_t table;

		if (!file)
			continue;
		table = file_tables_get(f.tables, &s->mappings[i], 1, &bias);
		if (table < UNWIND_TABLE_FIRST)
			continue;
		file_tables_want(f.tables, table, s->mappings[i].file);
		bytes = file->id.size_bytes;
		large = bytes > largest ? table : large;
		largest = bytes > largest ? bytes : largest;
	}
	assert_true(table_stats(&f).n_waiting > 2);
	while (table_stats(&f).n_waiting > 1) {
		assert_true(file_tables_build_next(f.tables, f.now_ns));
		assert_int_equal(f.plain.tables[large].n_pages, 0);
	}
	end(&f);
}

TEST(test_memory_without_a_file_is_anonymous)
{
	static struct fixture f;
	const struct unwind_mapping *m;
	void *code =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(code != MAP_FAILED);
	begin(&f, 64 * MIB);
	put(&f, getpid());
	m = unwind_plain_mapping(&f.plain, getpid(), (uintptr_t)code + 4096);
	assert_non_null(m);
	assert_int_equal(m->table, UNWIND_TABLE_ANONYMOUS);
	assert_null(unwind_plain_mapping(&f.plain, getpid(), (uintptr_t)&f)); /* not executable */
	/* [vsyscall], whose address the search in BPF takes for a negative one */
	assert_null(unwind_plain_mapping(&f.plain, getpid(), 0xffffffffff600000));
	end(&f);
	(void)munmap(code, 3 * 4096);
}

/* Each a mapping of its own, because what lies between them is not executable. */
static void *map_code(size_t n)
{
	char *p = mmap(NULL, n * 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(mprotect(p + i * 8192, 4096, PROT_READ | PROT_EXEC), 0);
	return p;
}

TEST(test_files_have_room_beside_generated_code)
{
	const size_t n = UNWIND_MAPPINGS + 100;
	const struct unwind_mapping *m;
	static struct fixture f;
	void *code = map_code(n);

	begin(&f, 64 * MIB);
	put(&f, getpid());
	assert_int_equal(unwind_plain_process(&f.plain, getpid())->flags, UNWIND_PROCESS_OPEN);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		m = unwind_plain_mapping(&f.plain, getpid(), (uintptr_t)functions[i]);
		assert_non_null(m);
		assert_true(m->table >= UNWIND_TABLE_FIRST);
	}
	assert_int_equal(stats_of(&f).lost_mappings, 0);
	(void)munmap(code, n * 8192);
	put(&f, getpid());
	assert_int_equal(unwind_plain_process(&f.plain, getpid())->flags, 0);
	end(&f);
}

TEST(test_a_change_replaces_the_record)
{
	static struct fixture f;
	struct process_mappings_stats before;
	void *code;

	begin(&f, 64 * MIB);
	put(&f, getpid());
	before = stats_of(&f);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_null(unwind_plain_mapping(&f.plain, getpid(), (uintptr_t)code));
	for (unsigned i = 0; i < 100; i++)
		put(&f, getpid());
	assert_non_null(unwind_plain_mapping(&f.plain, getpid(), (uintptr_t)code));
	assert_int_equal(stats_of(&f).n_processes, 1);
	assert_true(stats_of(&f).bytes <= before.bytes + 3 * UNWIND_UNIT_BYTES);
	(void)munmap(code, 4096);
	end(&f);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void stop_child(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(test_processes_share_tables_which_outlive_them)
{
	static struct fixture f;
	uint64_t here = (uintptr_t)__builtin_return_address(0), built;
	pid_t child = start_child();

	begin(&f, 64 * MIB);
	put(&f, getpid());
	build_all(&f);
	built = table_stats(&f).built;
	put(&f, child);
	build_all(&f);
	assert_int_equal(table_stats(&f).built, built);
	assert_non_null(unwind_plain_rule(&f.plain, child, here));
	assert_int_equal(unwind_plain_mapping(&f.plain, child, here)->table,
			 unwind_plain_mapping(&f.plain, getpid(), here)->table);
	process_mappings_remove(f.processes, getpid(), read_process(&f, getpid())->start_time,
				f.now_ns);
	process_mappings_remove(f.processes, child, 0, f.now_ns); /* another process */
	assert_null(unwind_plain_process(&f.plain, getpid()));
	assert_non_null(unwind_plain_process(&f.plain, child));
	assert_int_equal(stats_of(&f).n_processes, 1);
	process_mappings_remove(f.processes, child, read_process(&f, child)->start_time, f.now_ns);
	assert_int_equal(stats_of(&f).n_processes, 0);
	assert_int_equal(stats_of(&f).bytes, 0);
	assert_int_equal(table_stats(&f).n_tables, built);
	stop_child(child);
	end(&f);
}

TEST(test_processes_with_an_interpreter_that_is_not_known_are_counted_by_language)
{
	static struct fixture f;
	pid_t child = start_child();

	begin(&f, 64 * MIB);
	put(&f, getpid());
	put(&f, child);
	put(&f, child);
	assert_int_equal(stats_of(&f).n_unknown[3], 2);
	assert_int_equal(stats_of(&f).n_chains, 0);
	process_mappings_remove(f.processes, child, read_process(&f, child)->start_time, f.now_ns);
	assert_int_equal(stats_of(&f).n_unknown[3], 1);
	stop_child(child);
	end(&f);
}

TEST(test_a_process_that_has_exited_gets_no_record)
{
	static struct fixture f;
	pid_t child = start_child();
	struct process_snapshot *s;

	begin(&f, 64 * MIB);
	s = read_process(&f, child);
	stop_child(child);
	process_mappings_put(f.processes, s, f.now_ns);
	assert_null(unwind_plain_process(&f.plain, child));
	assert_int_equal(stats_of(&f).n_processes, 0);
	end(&f);
}

/* A shell that writes a byte and executes itself when it is told to; that one writes a byte too. */
static pid_t start_shell(int *ret_socket)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fds[0], STDIN_FILENO);
		(void)dup2(fds[0], STDOUT_FILENO);
		(void)execl("/bin/sh", "sh", "-c",
			    "printf 1; read x; exec /bin/sh -c 'printf 2; read y'", (char *)NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	close(fds[0]);
	*ret_socket = fds[1];
	return pid;
}

static void wait_for_shell(int socket, char want)
{
	char byte = 0;

	assert_int_equal(read(socket, &byte, 1), 1);
	assert_int_equal(byte, want);
}

TEST(test_a_program_that_executes_itself_loses_its_record)
{
	static struct fixture f;
	struct process_snapshot *s;
	pid_t child;
	int socket;

	begin(&f, 64 * MIB);
	child = start_shell(&socket);
	wait_for_shell(socket, '1');
	s = read_process(&f, child);
	process_mappings_put(f.processes, s, f.now_ns);
	assert_non_null(unwind_plain_process(&f.plain, child));
	assert_int_equal(write(socket, "\n", 1), 1);
	wait_for_shell(socket, '2');
	process_mappings_put(f.processes, s, f.now_ns);
	assert_null(unwind_plain_process(&f.plain, child));
	stop_child(child);
	close(socket);
	end(&f);
}

TEST(test_a_sweep_drops_what_the_kernel_removed)
{
	static struct fixture f;

	begin(&f, 64 * MIB);
	put(&f, getpid());
	process_mappings_sweep(f.processes, f.now_ns);
	assert_int_equal(stats_of(&f).n_processes, 1);
	assert_int_equal(f.plain.memory.remove_process(&f.plain, getpid()), 0);
	process_mappings_sweep(f.processes, f.now_ns);
	assert_int_equal(stats_of(&f).n_processes, 0);
	end(&f);
}

TEST(test_a_process_without_room_in_the_map_is_counted)
{
	static struct fixture f;

	begin(&f, 64 * MIB);
	f.plain.max_processes = 0;
	put(&f, getpid());
	assert_int_equal(stats_of(&f).lost_processes, 1);
	assert_int_equal(stats_of(&f).n_processes, 0);
	assert_int_equal(stats_of(&f).bytes, 0);
	end(&f);
}

static void run_for(struct fixture *f, uint64_t seconds)
{
	for (uint64_t i = 0; i < seconds; i++) {
		f->now_ns += NS_PER_S;
		unwind_slabs_tick(f->slabs, f->now_ns);
		file_tables_tick(f->tables, f->now_ns);
		build_wanted(f);
	}
}

/* The tables of this program and its libraries exceed the least budget. */
TEST(test_unused_tables_make_room_for_wanted_ones)
{
	static struct fixture f;
	uint64_t built;

	begin(&f, MIB);
	put(&f, getpid());
	build_all(&f);
	built = table_stats(&f).n_tables;
	assert_true(built > 0);
	assert_true(table_stats(&f).lost_budget > 0);
	run_for(&f, 200);
	assert_int_equal(table_stats(&f).evicted, 0);
	/* a table may fit at the second attempt, which begins to search for room elsewhere */
	assert_true(table_stats(&f).n_tables >= built);
	built = table_stats(&f).built;
	want_missing_tables(&f);
	run_for(&f, 70);
	assert_true(table_stats(&f).evicted > 0);
	assert_true(table_stats(&f).built > built);
	end(&f);
}

/* Whether it has been used lately decides which ones go. */
TEST(test_a_table_in_use_is_not_evicted)
{
	static struct fixture f;

	begin(&f, MIB);
	put(&f, getpid());
	build_all(&f);
	for (unsigned i = 0; i < 200; i++) {
		for (uint32_t t = UNWIND_TABLE_FIRST; t < UNWIND_TABLES; t++)
			f.plain.used[t] = f.now_ns >> UNWIND_USED_SHIFT;
		run_for(&f, 1);
	}
	assert_true(table_stats(&f).lost_budget > 0);
	assert_int_equal(table_stats(&f).evicted, 0);
	end(&f);
}

/* Walks come to those that wait each second, and to the others now and then. */
TEST(test_a_table_that_is_used_more_gets_room)
{
	static struct fixture f;
	uint64_t built;

	begin(&f, MIB);
	put(&f, getpid());
	build_all(&f);
	assert_true(table_stats(&f).lost_budget > 0);
	run_for(&f, 10);
	built = table_stats(&f).built;
	for (unsigned i = 0; i < 100; i++) {
		for (uint32_t t = UNWIND_TABLE_FIRST; t < UNWIND_TABLES && i % 20 == 0; t++) {
			if (f.plain.tables[t].n_pages > 0)
				f.plain.used[t] = f.now_ns >> UNWIND_USED_SHIFT;
		}
		want_missing_tables(&f);
		run_for(&f, 1);
	}
	assert_true(table_stats(&f).evicted > 0);
	assert_true(table_stats(&f).built > built);
	end(&f);
}

/* Parts of tables go that samples do not come to. */
TEST(test_cold_parts_make_room)
{
	static struct fixture f;
	uint64_t address = (uintptr_t)functions[0], start;

	begin_with(&f, MIB, 100, NULL);
	put(&f, getpid());
	build_all(&f);
	assert_int_equal(file_tables_wants_samples(f.tables), FILE_TABLES_ANY_SAMPLES);
	start = read_process(&f, getpid())->start_boottime_ns;
	for (unsigned i = 0; i < 100; i++) {
		process_mappings_note_sample(f.processes, getpid(), start, &address, 1);
		run_for(&f, 1);
	}
	assert_true(table_stats(&f).dropped_bytes > 0);
	assert_true(table_stats(&f).bytes < MIB / 16 * 13);
	assert_true(has_rule(&f, functions[0]));
	end(&f);
}

/* However many tables somebody else wants who came first. */
TEST(test_who_had_nothing_built_is_next)
{
	static struct fixture f;
	const struct process_snapshot *s;
	uint32_t tables[3], n = 0;
	uint64_t bias;

	begin(&f, 64 * MIB);
	s = read_process(&f, getpid());
	for (size_t i = 0; i < s->n_mappings && n < ARRAY_SIZE(tables); i++) {
		uint32_t owner = n + 1 < ARRAY_SIZE(tables) ? 1 : 2;

		if (!s->mappings[i].file)
			continue;
		tables[n] = file_tables_get(f.tables, &s->mappings[i], owner, &bias);
		if (tables[n] < UNWIND_TABLE_FIRST)
			continue;
		file_tables_want(f.tables, tables[n++], s->mappings[i].file);
	}
	assert_int_equal(n, ARRAY_SIZE(tables));
	assert_int_equal(table_stats(&f).n_waiting, n);
	assert_true(file_tables_build_next(f.tables, f.now_ns));
	assert_true(file_tables_build_next(f.tables, f.now_ns));
	assert_true(f.plain.tables[tables[2]].n_pages > 0);
	assert_int_equal(table_stats(&f).n_waiting, 1);
	assert_true(file_tables_build_next(f.tables, f.now_ns));
	assert_true(f.plain.tables[tables[0]].n_pages > 0);
	assert_true(f.plain.tables[tables[1]].n_pages > 0);
	end(&f);
}
