/* On the real /proc: a child with tens of thousands of mappings, told to change some of them. */
#include "node-agent/process/mapping_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/elf/elf_layout.h"
#include "common/system/clock.h"
#include "node-agent/process/process_reader.h"
#include "node-agent/process/process_table.h"
#include "test/lib/start_time.h"
#include "test/lib/unit.h"

#define MANY 60000 /* the kernel allows 65,530 unless it is told otherwise */
#define SOME 2000
#define TELL_MAP_CODE 'x'   /* the answer is its address */
#define TELL_REPLACE_IT 'd' /* what was mapped last; likewise */
/* The program's code once more, elsewhere; the answer is the address of what is in no file. */
#define TELL_MOVE_TEXT 'm' /* from the second page on up to the last one */
#define TELL_MOVE_ALL 'a'  /* without code that is left in the file */
#define TELL_GENERATE 'g'  /* other code instead */

struct child {
	pid_t pid;
	int to, from;
	struct process_seen seen;
};

static uint64_t map_executable(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	return at == MAP_FAILED ? 0 : (uintptr_t)at;
}

static uint64_t page_down(uint64_t n)
{
	return n & ~(uint64_t)4095;
}

static void *map_at(uint64_t at, uint64_t len, int prot, int fd, uint64_t offset)
{
	return mmap((void *)(uintptr_t)at, len, prot, MAP_PRIVATE | MAP_FIXED, fd, (off_t)offset);
}

/* As programs do it: a copy, then mremap(2). */
static void replace(uint64_t start, uint64_t len, bool generate)
{
	uint8_t *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, (void *)(uintptr_t)start, len);
	for (uint64_t i = 0; generate && i < len; i++)
		copy[i] = (uint8_t)(i * 31 >> 3);
	mprotect(copy, len, PROT_READ | PROT_EXEC);
	(void)mremap(copy, len, len, MREMAP_FIXED | MREMAP_MAYMOVE, (void *)(uintptr_t)start);
}

static uint64_t map_text(char command)
{
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_segment text = {.file_bytes = 0};
	struct elf_layout layout;
	struct byte_source src;
	uint64_t base, start, len;

	byte_source_from_fd(&src, fd, UINT32_MAX);
	if (elf_layout_parse(&layout, &src) < 0)
		return 0;
	for (uint32_t i = 0; i < layout.n_segments; i++)
		text = layout.segments[i].executable ? layout.segments[i] : text;
	base = (uintptr_t)mmap(NULL, layout.text_end + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	start = base + page_down(text.vaddr);
	len = page_down(base + text.vaddr + text.file_bytes - start + 4095);
	map_at(base, 4096, PROT_READ, fd, 0);
	map_at(start, len, PROT_READ | PROT_EXEC, fd, page_down(text.offset));
	if (command != TELL_MOVE_ALL) {
		start += 4096;
		len -= 8192;
	}
	replace(start, len, command == TELL_GENERATE);
	return start;
}

static void obey(unsigned n, int from, int to)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint64_t at = 1;
	char command;

	/* neighbours of one kind would become one mapping */
	for (unsigned i = 0; i < n && at != 0; i++) {
		int prot = i & 1 ? PROT_READ : PROT_READ | PROT_WRITE;

		at = mmap(NULL, 4096, prot, flags, -1, 0) == MAP_FAILED ? 0 : 1;
	}
	while (write(to, &at, sizeof(at)) == sizeof(at) && read(from, &command, 1) == 1) {
		if (command == TELL_MAP_CODE)
			at = map_executable();
		else if (command != TELL_REPLACE_IT)
			at = map_text(command);
		else if (mmap((void *)(uintptr_t)at, 4096, PROT_READ, flags | MAP_FIXED, -1, 0) ==
			 MAP_FAILED)
			at = 0;
	}
	_exit(0);
}

static uint64_t read_address(struct child *c)
{
	uint64_t at = 0;

	assert_int_equal(read(c->from, &at, sizeof(at)), sizeof(at));
	assert_int_not_equal(at, 0);
	return at;
}

static uint64_t tell(struct child *c, char command)
{
	assert_int_equal(write(c->to, &command, 1), 1);
	return read_address(c);
}

static void start_child(struct child *c, unsigned n)
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	c->pid = fork();
	if (c->pid == 0) {
		close(to[1]);
		close(from[0]);
		obey(n, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	c->to = to[1];
	c->from = from[0];
	(void)read_address(c);
	c->seen = (struct process_seen){.pid = c->pid,
					.start_boottime_ns = start_boottime_ns(c->pid),
					.comm = "test_mapping_re"};
}

static void stop_child(struct child *c)
{
	close(c->to);
	close(c->from);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static struct process_table *new_table(const char *proc_root)
{
	struct process_table *t = NULL;

	assert_int_equal(
		process_table_new(&t, &(struct process_table_config){.proc_root = proc_root}, NULL),
		0);
	return t;
}

/* A reference. */
static struct process_snapshot *get(struct process_table *t, struct child *c, uint64_t addr,
				    uint64_t now_ns)
{
	struct process_snapshot *s = NULL;

	c->seen.addrs = &addr;
	c->seen.n_addrs = addr != 0;
	assert_int_equal(process_table_get(t, &c->seen, now_ns, &s), 0);
	c->seen.addrs = NULL;
	c->seen.n_addrs = 0;
	return process_snapshot_ref(s);
}

static struct process_snapshot *read_all(struct process_table *t, struct child *c, uint64_t now_ns)
{
	process_table_reread(t, c->pid);
	return get(t, c, 0, now_ns);
}

static uint64_t n_asked(const struct process_table *t)
{
	struct process_table_stats s;

	process_table_read_stats(t, &s);
	return s.asked;
}

static bool kernel_can_be_asked(void)
{
	AUTO_CLOSE int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char name[PROCFS_MAP_NAME_BYTES];
	struct proc_map m;
	int r = procfs_query_map(fd, (uintptr_t)kernel_can_be_asked, name, &m);

	assert_true(r == 0 || r == -ENOTTY);
	return r == 0;
}

TEST(code_mapped_later_is_found_without_reading_all)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *first = NULL, *asked = NULL;
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *all = NULL;
	CLEANUP(process_table_freep) struct process_table *t = new_table(NULL);
	const struct process_mapping *m;
	struct child c;
	uint64_t at;

	start_child(&c, MANY);
	first = get(t, &c, 0, NS_PER_S);
	assert_true(first->n_maps > MANY);
	at = tell(&c, TELL_MAP_CODE);
	assert_null(process_snapshot_find(first, at));
	asked = get(t, &c, at, NS_PER_S);
	m = process_snapshot_find(asked, at);
	assert_non_null(m);
	assert_int_equal(m->kind, PROCESS_MAPPING_FILE);
	assert_string_equal(m->file->path, first->exe);
	assert_int_equal(n_asked(t), kernel_can_be_asked());
	all = read_all(t, &c, NS_PER_S);
	assert_int_equal(n_asked(t), kernel_can_be_asked());
	assert_int_equal(asked->n_mappings, first->n_mappings + 1);
	assert_true(process_snapshots_equal(asked, all));
	stop_child(&c);
}

TEST(garbage_changes_nothing_and_is_asked_about_once_a_second)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *first = NULL, *later = NULL;
	CLEANUP(process_table_freep) struct process_table *t = new_table(NULL);
	uint64_t now_ns = NS_PER_S;
	struct child c;

	start_child(&c, SOME);
	first = get(t, &c, 0, now_ns);
	for (int i = 0; i < 3; i++, now_ns += 10 * NS_PER_S) {
		process_snapshot_unref(later);
		later = get(t, &c, 4096, now_ns);
		assert_ptr_equal(later, first);
	}
	/* after that many times, all would be read again only some seconds later */
	if (kernel_can_be_asked())
		assert_int_equal(n_asked(t), 3);
	process_snapshot_unref(later);
	later = get(t, &c, tell(&c, TELL_MAP_CODE), now_ns);
	assert_int_equal(later->n_mappings, first->n_mappings + 1);
	stop_child(&c);
}

TEST(a_file_that_is_gone_makes_it_read_all)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *first = NULL, *later = NULL;
	CLEANUP(process_table_freep) struct process_table *t = new_table(NULL);
	struct child c;
	uint64_t at;

	start_child(&c, SOME);
	at = tell(&c, TELL_MAP_CODE);
	first = get(t, &c, 0, NS_PER_S);
	assert_non_null(process_snapshot_find(first, at));
	assert_int_equal(tell(&c, TELL_REPLACE_IT), at);
	later = get(t, &c, 4096, NS_PER_S);
	assert_null(process_snapshot_find(later, at));
	assert_int_equal(later->n_mappings, first->n_mappings - 1);
	assert_int_equal(n_asked(t), 0);
	stop_child(&c);
}

TEST(a_process_with_few_mappings_is_read_whole)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *first = NULL, *later = NULL;
	CLEANUP(process_table_freep) struct process_table *t = new_table(NULL);
	struct child c;

	start_child(&c, 10);
	first = get(t, &c, 0, NS_PER_S);
	later = get(t, &c, tell(&c, TELL_MAP_CODE), NS_PER_S);
	assert_int_equal(later->n_mappings, first->n_mappings + 1);
	if (first->n_maps < 1000) /* sanitizers have many */
		assert_int_equal(n_asked(t), 0);
	stop_child(&c);
}

/* ---- text in memory of the process's own ---- */

/* As far from the bytes before it, which are in the file, as it is there. */
static void expect_moved_text(const struct process_snapshot *s, uint64_t at, bool is_whole)
{
	const struct process_mapping *m = process_snapshot_find(s, at);

	assert_non_null(m);
	assert_int_equal(m->start, at);
	assert_int_equal(m->kind, PROCESS_MAPPING_FILE);
	assert_string_equal(m->file->path, s->exe);
	if (is_whole)
		return;
	assert_ptr_equal(m[-1].file, m->file);
	assert_int_equal(m->file_offset - m[-1].file_offset, m->start - m[-1].start);
	assert_int_equal(m[1].file_offset - m->file_offset, m[1].start - m->start);
}

TEST(text_that_was_moved_is_that_of_its_file)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *first = NULL, *asked = NULL;
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *all = NULL;
	CLEANUP(process_table_freep) struct process_table *t = new_table(NULL);
	uint64_t part, whole, later;
	struct child c;

	start_child(&c, SOME);
	part = tell(&c, TELL_MOVE_TEXT);
	whole = tell(&c, TELL_MOVE_ALL);
	first = get(t, &c, 0, NS_PER_S);
	expect_moved_text(first, part, false);
	expect_moved_text(first, whole, true);
	/* and still is when only the kernel is asked about what is new */
	later = tell(&c, TELL_MAP_CODE);
	asked = get(t, &c, later, NS_PER_S);
	assert_int_equal(n_asked(t), kernel_can_be_asked());
	assert_non_null(process_snapshot_find(asked, later));
	all = read_all(t, &c, NS_PER_S);
	assert_true(process_snapshots_equal(asked, all));
	expect_moved_text(all, part, false);
	stop_child(&c);
}

TEST(generated_code_in_the_place_of_text_is_in_no_file)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *s = NULL;
	CLEANUP(process_table_freep) struct process_table *t = new_table(NULL);
	const struct process_mapping *m;
	struct child c;
	uint64_t at;

	start_child(&c, 10);
	at = tell(&c, TELL_GENERATE);
	s = get(t, &c, 0, NS_PER_S);
	m = process_snapshot_find(s, at);
	assert_non_null(m);
	assert_int_equal(m->start, at);
	assert_int_equal(m->kind, PROCESS_MAPPING_ANONYMOUS);
	assert_null(m->file);
	stop_child(&c);
}

/* ---- a kernel that cannot be asked ---- */

static void copy_maps(const struct child *c, const char *to)
{
	char command[400];

	snprintf(command, sizeof(command), "cp /proc/%d/maps %s", (int)c->pid, to);
	assert_int_equal(system(command), 0);
}

/* A folder of the process in which maps is an ordinary file, which no ioctl is for. */
static void make_proc(const struct child *c, const char *root, char *maps, size_t size)
{
	static const char *const links[] = {"stat", "root", "exe", "cgroup", "map_files"};
	char from[256], to[256];

	snprintf(to, sizeof(to), "%s/%d", root, (int)c->pid);
	assert_int_equal(mkdir(to, 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(from, sizeof(from), "/proc/%d/%s", (int)c->pid, links[i]);
		snprintf(to, sizeof(to), "%s/%d/%s", root, (int)c->pid, links[i]);
		assert_int_equal(symlink(from, to), 0);
	}
	snprintf(maps, size, "%s/%d/maps", root, (int)c->pid);
	copy_maps(c, maps);
}

TEST(a_kernel_that_cannot_be_asked_is_read)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *first = NULL, *later = NULL;
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	const char *root = temp_dir();
	char maps[256];
	struct child c;
	uint64_t at;

	start_child(&c, SOME);
	make_proc(&c, root, maps, sizeof(maps));
	t = new_table(root);
	first = get(t, &c, 0, NS_PER_S);
	assert_true(first->n_maps > SOME);
	at = tell(&c, TELL_MAP_CODE);
	copy_maps(&c, maps);
	later = get(t, &c, at, NS_PER_S);
	assert_non_null(process_snapshot_find(later, at));
	assert_int_equal(later->n_mappings, first->n_mappings + 1);
	assert_int_equal(n_asked(t), 0);
	stop_child(&c);
}

/* ---- one mapping ---- */

TEST(a_name_is_the_same_as_in_the_text)
{
	char path[] = "/tmp/test mapping\nreader\n.XXXXXX", name[PROCFS_MAP_NAME_BYTES];
	AUTO_CLOSE int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int fd = mkstemp(path);
	struct proc_map m;
	char escaped[128];
	void *at;

	if (!kernel_can_be_asked())
		return;
	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(procfs_query_map(maps, (uintptr_t)at + 7, name, &m), 0);
	snprintf(escaped, sizeof(escaped), "/tmp/test mapping\\012reader\\012.%s",
		 path + strlen(path) - 6);
	assert_int_equal(m.path_len, strlen(escaped));
	assert_memory_equal(m.path, escaped, m.path_len);
	assert_true(m.deleted);
	assert_int_equal(m.start, (uintptr_t)at);
	assert_int_equal(m.end, (uintptr_t)at + 4096);
	assert_int_equal(mprotect(at, 4096, PROT_READ), 0);
	assert_int_equal(procfs_query_map(maps, (uintptr_t)at, name, &m), -ENOENT);
	munmap(at, 4096);
}

/* ---- without memory ---- */

static int ask_in_new_table(void *arg)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	struct child *c = arg;
	struct process_snapshot *s;
	const uint64_t addr = 4096;
	int r;

	r = process_table_new(&t, &(struct process_table_config){.max_open_files = 100}, NULL);
	if (r == 0)
		r = process_table_get(t, &c->seen, NS_PER_S, &s);
	if (r < 0)
		return r;
	c->seen.addrs = &addr;
	c->seen.n_addrs = 1;
	r = process_table_get(t, &c->seen, NS_PER_S, &s);
	c->seen.addrs = NULL;
	c->seen.n_addrs = 0;
	assert_true(r < 0 || n_asked(t) == kernel_can_be_asked());
	return r;
}

TEST(survives_every_failed_allocation)
{
	struct child c;

	start_child(&c, SOME);
	check_oom(ask_in_new_table, &c);
	stop_child(&c);
}
