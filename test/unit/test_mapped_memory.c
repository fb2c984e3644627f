/* Executable memory that is mapped like a file: of this process, in its real file registry. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

#define MAP_BYTES 4096u

static struct process_seen seen_self(void)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(root, getpid());
	static struct proc_stat stat;

	assert_int_equal(procfs_read_stat(fd, &stat), 0);
	return (struct process_seen){
		.pid = getpid(),
		.start_boottime_ns = stat.start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)),
		.comm = stat.comm,
	};
}

static struct process_snapshot *get(struct process_table *t, uint64_t now_ns)
{
	struct process_seen seen = seen_self();
	struct process_snapshot *s = NULL;

	assert_int_equal(process_table_get(t, &seen, now_ns, &s), 0);
	assert_non_null(s);
	return s;
}

static uint64_t n_open(const struct process_table *t)
{
	struct process_table_stats s;

	process_table_read_stats(t, &s);
	return s.n_open_files;
}

/* Writes this program to a file and maps the beginning of it executable. */
static void *map_program(int fd)
{
	AUTO_CLOSE int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char chunk[65536];
	ssize_t n;
	void *p;

	while ((n = read(in, chunk, sizeof(chunk))) > 0)
		assert_int_equal(write(fd, chunk, (size_t)n), n);
	p = mmap(NULL, MAP_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void expect_program(const struct process_snapshot *s, const void *at, const char *path)
{
	const struct process_mapping *m = process_snapshot_find(s, (uintptr_t)at);
	char magic[4];

	assert_non_null(m);
	assert_int_equal(m->kind, PROCESS_MAPPING_FILE);
	assert_string_equal(m->file->path, path);
	assert_int_equal(pread(m->file->fd, magic, sizeof(magic), 0), sizeof(magic));
	assert_memory_equal(magic, "\177ELF", sizeof(magic));
}

TEST(memory_with_a_program_is_a_file)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	AUTO_CLOSE int memory = memfd_create("program", MFD_CLOEXEC);
	AUTO_CLOSE int shared = -1;
	struct process_snapshot *s;
	void *in_memory, *in_shared;
	char path[64];

	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, NULL), 0);
	snprintf(path, sizeof(path), "/dev/shm/test_mapped_memory_%d", getpid());
	shared = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	in_memory = map_program(memory);
	in_shared = map_program(shared);
	s = get(t, 1);
	expect_program(s, in_memory, "/memfd:program");
	expect_program(s, in_shared, path);
	munmap(in_memory, MAP_BYTES);
	munmap(in_shared, MAP_BYTES);
	unlink(path);
}

TEST(memory_with_jit_code_is_not_kept_open)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	AUTO_CLOSE int jit = memfd_create("jit", MFD_CLOEXEC);
	struct process_seen seen = seen_self();
	const struct process_mapping *m;
	uint64_t before;
	void *code;

	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, NULL), 0);
	get(t, 1);
	before = n_open(t);
	assert_int_equal(ftruncate(jit, 2 * (off_t)MAP_BYTES), 0);
	code = mmap(NULL, MAP_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, jit, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	for (uint64_t now_ns = 2; now_ns < 5; now_ns++) {
		process_table_exec(t, &(struct process_exec){
					      .pid = seen.pid,
					      .start_boottime_ns = seen.start_boottime_ns,
					      .path = "",
				      });
		m = process_snapshot_find(get(t, now_ns), (uintptr_t)code);
		assert_non_null(m);
		assert_int_equal(m->kind, PROCESS_MAPPING_ANONYMOUS);
		assert_null(m->file);
		assert_int_equal(n_open(t), before);
	}
	munmap(code, MAP_BYTES);
}

static void expect_generated(struct process_table *t, int fd)
{
	const struct process_mapping *m;
	void *code;

	assert_int_equal(ftruncate(fd, 2 * (off_t)MAP_BYTES), 0);
	code = mmap(NULL, MAP_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	m = process_snapshot_find(get(t, 1), (uintptr_t)code);
	assert_non_null(m);
	assert_int_equal(m->kind, PROCESS_MAPPING_ANONYMOUS);
	assert_null(m->file);
	munmap(code, MAP_BYTES);
}

TEST(memory_that_cannot_be_opened_is_generated_code)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	AUTO_CLOSE int jit = memfd_create("doublemapper", MFD_CLOEXEC);

	/* no file may be open */
	assert_int_equal(
		process_table_new(&t, &(struct process_table_config){.max_open_files = 1}, NULL),
		0);
	expect_generated(t, jit);
}

TEST(a_temporary_file_that_was_deleted_and_is_no_program_is_generated_code)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	char path[] = "/tmp/ffi-XXXXXX";
	AUTO_CLOSE int jit = mkostemp(path, O_CLOEXEC);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, NULL), 0);
	expect_generated(t, jit);
}

TEST(a_jitdump_is_one_file_however_it_grows)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *first = NULL;
	const struct process_snapshot *s;
	struct mapped_file *dump;
	char path[64];
	void *marker;
	int fd;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, MAP_BYTES), 0);
	marker = mmap(NULL, MAP_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(marker, MAP_FAILED);
	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, NULL), 0);
	first = process_snapshot_ref(get(t, 1));
	assert_non_null(first->jit_files);
	dump = jit_files_dump(first->jit_files);
	assert_non_null(dump);
	assert_int_equal(ftruncate(fd, 2 * (off_t)MAP_BYTES), 0);
	assert_int_equal(unlink(path), 0);
	process_table_reread(t, getpid());
	s = get(t, 2);
	assert_ptr_not_equal(s, first);
	assert_ptr_equal(jit_files_dump(s->jit_files), dump);
	assert_true(dump->fd >= 0);
	munmap(marker, MAP_BYTES);
	close(fd);
}
