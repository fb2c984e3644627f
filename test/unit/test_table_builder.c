/*
 * Tables of stripped files whose call frame information is in a separate debug file, in a folder
 * that looks like /proc.
 */
#include "node-agent/unwind/table_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/thread/deadline_call.h"
#include "test/lib/elf_builder.h"
#include "test/lib/fake_proc.h"
#include "test/lib/unit.h"
#include "test/lib/unwind_plain.h"

#define PID 70u
#define START 123456u
#define TEXT 0x401000u
#define TEXT_BYTES 0x1000u
#define FUNCTION (TEXT + 0x100)
#define BY_ID "/usr/lib/debug/.build-id/ab/cdef01.debug"
#define COMPRESS_NONE 0
#define COMPRESS_ZLIB 1
#define COMPRESS_ZSTD 2

static const uint8_t build_id[] = {0xab, 0xcd, 0xef, 0x01};

struct fixture {
	struct fake_proc proc;
	struct unwind_plain plain;
	struct unwind_slabs *slabs;
	struct deadline_caller *caller;
	struct elf_builder elf;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct unwind_slabs_config slabs = {.max_bytes = 16 * MIB, .grace_ns = 1};

	assert_non_null(f);
	unwind_plain_init(&f->plain);
	slabs.make_slab = f->plain.memory.make_slab;
	slabs.free_slab = f->plain.memory.free_slab;
	slabs.ctx = f->plain.memory.ctx;
	assert_int_equal(unwind_slabs_new(&f->slabs, &slabs), 0);
	assert_int_equal(deadline_caller_new(&f->caller, 60 * NS_PER_S, NS_PER_S), 0);
	fake_proc_begin(&f->proc);
	fake_proc_start(&f->proc, PID, START, "exe");
	fake_proc_start(&f->proc, 1, FAKE_PROC_BEFORE, "init");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	fake_proc_end(&f->proc);
	unwind_slabs_free(f->slabs);
	deadline_caller_free(f->caller);
	free(f);
	return 0;
}

static void put(struct fixture *f, const char *path)
{
	AUTO_CLOSE int fd = -1;
	char part[256];

	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		if (part[0] && mkdirat(f->proc.root_fd, part, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
	fd = openat(f->proc.root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, f->elf.data, f->elf.len), (ssize_t)f->elf.len);
}

static void add_build_id(struct elf_builder *b)
{
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[sizeof(build_id)];
	} note = {.head = {4, sizeof(build_id), NT_GNU_BUILD_ID}, .name = "GNU"};
	const Elf64_Shdr *sh;

	memcpy(note.id, build_id, sizeof(build_id));
	sh = elf_builder_section(b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0x300, &note,
				 sizeof(note));
	elf_builder_segment(b, PT_NOTE, PF_R, sh->sh_offset, 0x300, sizeof(note));
}

/* Code without a description. */
static void make_stripped(struct elf_builder *b)
{
	const Elf64_Shdr *sh;

	elf_builder_init(b, EM_X86_64);
	sh = elf_builder_section(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL,
				 TEXT_BYTES);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, sh->sh_offset, TEXT, TEXT_BYTES);
	add_build_id(b);
	elf_builder_finish(b);
}

/* The description of one function that pushes a register after its first byte. */
static size_t make_frames(uint8_t *to)
{
	static const uint8_t cie[] = {
		20,   0, 0, 0,    0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 0x10, /* return address */
		0x0c, 7, 8, 0x90, 1, /* at the stack pointer + 8 */
		0,    0, 0, 0,    0,    0,
	};
	/* the function has 64 bytes; after the first one, the stack pointer + 16 */
	static const uint8_t fde[] = {
		28, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x11, 0x40, 0, 0, 0, 0, 0,
		64, 0, 0, 0, 0, 0, 0, 0, 0x41, 0x0e, 16,   0, 0, 0, 0, 0,
	};

	_Static_assert(sizeof(cie) == 24 && sizeof(fde) == 32, "as their lengths say");
	_Static_assert(FUNCTION == 0x401100, "in the description");
	memcpy(to, cie, sizeof(cie));
	memcpy(to + sizeof(cie), fde, sizeof(fde));
	return sizeof(cie) + sizeof(fde);
}

static void make_debug(struct elf_builder *b, uint32_t compression)
{
	uint8_t frames[256], packed[512];
	Elf64_Chdr head = {.ch_type = compression, .ch_addralign = 8};
	size_t len = make_frames(frames), packed_len = 0;
	uLongf zlib_len = sizeof(packed) - sizeof(head);

	head.ch_size = len;
	memcpy(packed, &head, sizeof(head));
	if (compression == COMPRESS_ZLIB) {
		assert_int_equal(compress(packed + sizeof(head), &zlib_len, frames, len), Z_OK);
		packed_len = sizeof(head) + zlib_len;
	} else if (compression == COMPRESS_ZSTD) {
		packed_len = sizeof(head) +
			     ZSTD_compress(packed + sizeof(head), zlib_len, frames, len, 1);
	}
	elf_builder_init(b, EM_X86_64);
	elf_builder_section(b, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL, 0);
	add_build_id(b);
	elf_builder_section(b, ".debug_frame", SHT_PROGBITS, compression ? SHF_COMPRESSED : 0, 0,
			    compression ? packed : frames, compression ? packed_len : len);
	elf_builder_finish(b);
}

/* Returns how many rows the table of the stripped file has. */
static uint64_t build(struct fixture *f, pid_t pid)
{
	const struct debug_cfi_query debug = {
		.caller = f->caller,
		.proc_root = f->proc.root,
		.path = "/opt/prog",
		.pid = pid,
		.start_time = START,
	};
	const struct table_builder b = {.slabs = f->slabs, .max_table_bytes = MIB, .debug = &debug};
	struct built_table table;
	struct byte_source src;
	uint64_t n;

	make_stripped(&f->elf);
	byte_source_from_memory(&src, f->elf.data, f->elf.len);
	assert_int_equal(table_builder_build(&b, &src, NULL, &table), 0);
	n = table.n_rows;
	built_table_discard(&table, f->slabs);
	return n;
}

TEST_FIXTURE(a_debug_file_describes_code_in_every_compression, set_up, tear_down)
{
	static const uint32_t compressions[] = {COMPRESS_NONE, COMPRESS_ZLIB, COMPRESS_ZSTD};
	struct fixture *f = *state;
	uint64_t bare;

	bare = build(f, PID);
	for (size_t i = 0; i < ARRAY_SIZE(compressions); i++) {
		make_debug(&f->elf, compressions[i]);
		put(f, "70/root" BY_ID);
		/* before the function, its two rows, and what is behind */
		assert_int_equal(build(f, PID), bare + 3);
		assert_int_equal(build(f, 0), bare);
	}
}

TEST_FIXTURE(the_hosts_debug_file_is_as_good, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t bare = build(f, PID);

	make_debug(&f->elf, COMPRESS_ZSTD);
	put(f, "1/root" BY_ID);
	assert_int_equal(build(f, PID), bare + 3);
	assert_int_equal(build(f, 0), bare + 3);
}

TEST_FIXTURE(a_broken_debug_file_changes_nothing, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t bare = build(f, PID);

	make_debug(&f->elf, COMPRESS_ZSTD);
	for (size_t i = 0; i < f->elf.n_sections; i++) {
		if (f->elf.sections[i].sh_flags & SHF_COMPRESSED)
			memset(f->elf.data + f->elf.sections[i].sh_offset + sizeof(Elf64_Chdr),
			       0xee, 8);
	}
	put(f, "70/root" BY_ID);
	assert_int_equal(build(f, PID), bare);
}
