/* PDBs of test/data/dotnet, beside the assembly and in it, as a process has loaded that. */
#include "node-agent/files/pdb_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/thread/deadline_call.h"
#include "node-agent/interpreter/process/loaded_pdbs.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

#define FILE_MAX_BYTES 32768u
#define NS_1S UINT64_C(1000000000)

static struct fixture {
	struct deadline_caller *caller;
	char dll[256], pdb[256]; /* paths */
	struct process_snapshot process;
	uint8_t bytes[FILE_MAX_BYTES];
	struct byte_source src;
	struct pe_image pe;
	struct pe_debug debug;
} t;

static size_t read_file(const char *path, uint8_t *to)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(to, 1, FILE_MAX_BYTES, f);
	(void)fclose(f);
	return n;
}

static void copy_file(const char *from, const char *to)
{
	static uint8_t bytes[FILE_MAX_BYTES];
	size_t n = read_file(from, bytes);
	FILE *f = fopen(to, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	(void)fclose(f);
}

static void use_assembly(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "test/data/dotnet/%s", name);
	byte_source_from_memory(&t.src, t.bytes, read_file(path, t.bytes));
	assert_int_equal(pe_image_parse(&t.pe, &t.src, PE_LAYOUT_FILE), 0);
	assert_int_equal(pe_debug_read(&t.debug, &t.pe, &t.src), 0);
}

static int set_up(void **state)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(root, getpid());
	const char *dir = temp_dir();
	struct proc_stat stat;

	(void)state;
	assert_int_equal(procfs_read_stat(fd, &stat), 0);
	t.process = (struct process_snapshot){.pid = getpid(), .start_time = stat.start_time};
	t.process.exe = t.dll;
	(void)snprintf(t.dll, sizeof(t.dll), "%s/KnownChains.dll", dir);
	(void)snprintf(t.pdb, sizeof(t.pdb), "%s/KnownChains.pdb", dir);
	copy_file("test/data/dotnet/KnownChains.dll", t.dll);
	copy_file("test/data/dotnet/KnownChains.pdb", t.pdb);
	use_assembly("KnownChains.dll");
	return deadline_caller_new(&t.caller, 60 * NS_1S, NS_1S);
}

static int tear_down(void **state)
{
	(void)state;
	deadline_caller_free(t.caller);
	return 0;
}

static int open_pdb(struct pdb_file *ret, size_t max_bytes)
{
	const struct pdb_query q = {
		.proc_root = "/proc",
		.pid = t.process.pid,
		.start_time = t.process.start_time,
		.path = t.dll,
		.pe = &t.pe,
		.image = &t.src,
		.debug = &t.debug,
		.max_bytes = max_bytes,
	};

	return pdb_file_open(ret, t.caller, &q);
}

static void expect_lines(const struct portable_pdb *pdb, const struct byte_source *src)
{
	struct pdb_line l;

	assert_int_equal(portable_pdb_find(pdb, src, 12, 0, &l), 0);
	assert_true(l.line > 0);
	assert_string_equal(l.file, "/src/KnownChains.cs");
}

TEST_FIXTURE(the_file_beside_an_assembly_is_used_if_it_is_that_of_this_build, set_up, tear_down)
{
	struct pdb_file f;

	assert_int_equal(open_pdb(&f, 0), 0);
	expect_lines(&f.pdb, &f.src);
	pdb_file_fini(&f);
	t.debug.id[0] ^= 1;
	assert_int_equal(open_pdb(&f, 0), -ESTALE);
	assert_int_equal(truncate(t.pdb, 100), 0);
	assert_int_equal(open_pdb(&f, 0), -EBADMSG);
	assert_int_equal(unlink(t.pdb), 0);
	assert_int_equal(open_pdb(&f, 0), -ENOENT);
	assert_int_equal(mkfifo(t.pdb, 0600), 0); /* opening it must not wait for a writer */
	assert_int_equal(open_pdb(&f, 0), -ENOENT);
	t.debug.name[0] = '\0';
	assert_int_equal(open_pdb(&f, 0), -ENOENT);
	t.process.start_time++; /* another process by now */
	(void)snprintf(t.debug.name, sizeof(t.debug.name), "KnownChains.pdb");
	assert_int_equal(open_pdb(&f, 0), -ESRCH);
}

TEST_FIXTURE(an_embedded_one_needs_no_file, set_up, tear_down)
{
	struct pdb_file f;

	use_assembly("azmcp.dll");
	assert_int_equal(open_pdb(&f, 65536), 0);
	assert_int_equal(f.n_bytes, t.debug.embedded_bytes);
	expect_lines(&f.pdb, &f.src);
	pdb_file_fini(&f);
	assert_int_equal(open_pdb(&f, t.debug.embedded_bytes - 1), -EFBIG);
	t.debug.embedded_bytes--; /* it is larger than it says */
	assert_int_equal(open_pdb(&f, 65536), -EBADMSG);
}

TEST_FIXTURE(a_process_says_where_its_assemblies_are, set_up, tear_down)
{
	CLEANUP(loaded_pdbs_freep) struct loaded_pdbs *p = NULL;
	AUTO_CLOSE int fd = open(t.dll, O_RDONLY | O_CLOEXEC);
	void *image = mmap(NULL, FILE_MAX_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	struct loaded_assembly assembly = {(uintptr_t)image, &t.pe, &t.src, &t.debug};
	char exe[16];
	struct assembly_pdbs *of;
	struct assembly_pdb pdb;
	struct metric counts[PDB_RESULTS] = {0};

	assert_ptr_not_equal(image, MAP_FAILED);
	(void)snprintf(exe, sizeof(exe), "/bin/sh");
	t.process.exe = exe;
	assert_int_equal(loaded_pdbs_new(&p, "/proc", t.caller, counts), 0);
	of = loaded_pdbs_of(p, &t.process);
	assert_int_equal(of->find(of, &assembly, &pdb), 0);
	expect_lines(pdb.pdb, pdb.src);
	assert_int_equal(unlink(t.pdb), 0); /* it is open */
	assert_int_equal(of->find(of, &assembly, &pdb), 0);
	expect_lines(pdb.pdb, pdb.src);
	assembly.base = 8; /* nothing is mapped there, so the executable's folder counts */
	assert_int_equal(of->find(of, &assembly, &pdb), -ENOENT);
	assert_int_equal(metric_get(&counts[PDB_READ]), 1);
	assert_int_equal(metric_get(&counts[PDB_NONE]), 1);
	assert_int_equal(munmap(image, FILE_MAX_BYTES), 0);
}

TEST_FIXTURE(many_assemblies_do_not_need_more_files, set_up, tear_down)
{
	CLEANUP(loaded_pdbs_freep) struct loaded_pdbs *p = NULL;
	struct loaded_assembly assembly = {8, &t.pe, &t.src, &t.debug};
	struct assembly_pdbs *of;
	struct assembly_pdb pdb;
	struct metric counts[PDB_RESULTS] = {0};

	assert_int_equal(loaded_pdbs_new(&p, "/proc", t.caller, counts), 0);
	of = loaded_pdbs_of(p, &t.process);
	for (unsigned i = 0; i < 2 * LOADED_PDBS_OPEN_MAX; i++) {
		assembly.base = 8 * (uint64_t)(i + 1);
		assert_int_equal(of->find(of, &assembly, &pdb), 0);
		expect_lines(pdb.pdb, pdb.src);
	}
	assert_int_equal(unlink(t.pdb), 0);
	assert_int_equal(of->find(of, &assembly, &pdb), 0); /* the last one */
	assembly.base = 8;
	assert_int_equal(of->find(of, &assembly, &pdb), -ENOENT); /* the first one was closed */
}
