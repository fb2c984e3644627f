/*
 * On the DWARF of this program, and on copies of it that are broken on purpose. The program that
 * reads it is this one, executed with the agent's command.
 */
#include "node-agent/lines/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "common/data/buf.h"
#include "common/elf/elf_layout.h"
#include "common/system/clock.h"
#include "node-agent/lines/line_helper.h"
#include "node-agent/symbol/symbol_metrics.h"
#include "node-agent/symbol/symbolizer.h"
#include "test/lib/elf_builder.h"
#include "test/lib/slow_symbols.h"
#include "test/lib/unit.h"

#define CPU_MS 10000u
/* As much time as a slow machine needs. */
#define PATIENCE_NS (60 * NS_PER_S)

static volatile unsigned sink;
static char own_path[PATH_MAX]; /* /proc/self/exe would be valgrind's */

/* The lines of the three functions below. */
static unsigned inner_line, middle_line, outer_line;
static uintptr_t inner_address;

/* An address within the line that reads it. */
#if defined(__x86_64__)
#define READ_ADDRESS(to) __asm__ volatile("lea 0(%%rip), %0" : "=r"(to))
#define INSTRUCTION_END 1u
#else
#define INSTRUCTION_END 0u
#define READ_ADDRESS(to) __asm__ volatile("adr %0, ." : "=r"(to))
#endif

static inline __attribute__((always_inline)) void inner(unsigned n)
{
	sink += n;
	inner_line = __LINE__ + 1;
	READ_ADDRESS(inner_address);
}

static inline __attribute__((always_inline)) void middle(unsigned n)
{
	middle_line = __LINE__ + 1;
	inner(n);
}

static __attribute__((noinline)) void outer(unsigned n)
{
	outer_line = __LINE__ + 1;
	middle(n);
	sink++;
}

/* Not known to the compiler, which would make another function for the only call. */
static void (*volatile call_outer)(unsigned n) = outer;

/* The address that this program is loaded at. */
static int note_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uintptr_t *)ctx = info->dlpi_addr;
	return 1;
}

static uintptr_t base(void)
{
	uintptr_t at = 0;

	dl_iterate_phdr(note_base, &at);
	return at;
}

/* The last byte of the instruction that reads its address; the address itself may be behind it. */
static uint64_t vaddr(void)
{
	return inner_address - base() - INSTRUCTION_END;
}

static uint64_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

static struct line_reader *new_reader(void)
{
	struct line_reader *r = NULL;

	assert_int_equal(line_reader_new(&r, own_path), 0);
	return r;
}

static int ask(struct line_reader *r, uint32_t number, const char *path, uint64_t vaddr,
	       uint32_t cpu_ms)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct line_question q = {number, fd, size_of(fd), vaddr, cpu_ms, -1};

	return line_reader_ask(r, &q);
}

static int find(struct line_reader *r, uint32_t number, const char *path, uint64_t vaddr,
		struct line_answer *ret)
{
	int result = ask(r, number, path, vaddr, CPU_MS);

	return result == 0 ? line_reader_wait(r, PATIENCE_NS, ret) : result;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void expect_frame(const struct line_frame *f, const char *function, unsigned line)
{
	assert_string_equal(f->function, function);
	assert_string_equal(base_name(f->file), "test_line_reader.c");
	assert_int_equal(f->line, line);
}

TEST(inlined_calls_have_lines)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	struct line_answer a;

	call_outer(1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(find(r, 1, own_path, vaddr(), &a), 0);
		assert_int_equal(a.n, 3);
		expect_frame(&a.frames[0], "inner", inner_line);
		expect_frame(&a.frames[1], "middle", middle_line);
		expect_frame(&a.frames[2], "outer", outer_line);
	}
	assert_int_equal(find(r, 1, own_path, 1, &a), -ENOENT);
}

/*
 * Units of DWARF as other compilers write them: rustc and clang have functions in namespaces, some
 * compilers have functions in others, and some say of no unit where its code is.
 */
#define SECTION(name) ".pushsection " name ",\"\",%progbits\n"
#define UNIT(name, entries)                                                \
	SECTION(".debug_info")                                             \
	".4byte " name "_end - " name "_begin\n" name "_begin: .2byte 4\n" \
	".4byte foreign_abbrev\n.byte 8\n" entries ".byte 0\n" name "_end: .popsection\n"
#define NAME(text) ".asciz \"" text "\"\n"
#define FUNCTION(abbrev, name) ".byte " abbrev "\n" NAME(name) ".8byte " name "\n.8byte 16\n"
#define BLOCK(abbrev) ".byte " abbrev "\n.8byte with_blocks\n.8byte 16\n"
#define CODE(name) ".globl " name "\n" name ": .skip 16\n"

/* clang-format off */
__asm__(".pushsection .text\n"
	CODE("in_namespace") CODE("around_nested") ".skip 16\n"
	CODE("nested") CODE("without_unit_ranges") CODE("with_blocks")
	".popsection\n"
	SECTION(".debug_abbrev")
	"foreign_abbrev:\n"
	".byte 1,0x11,1, 0x11,1, 0x12,7, 0,0\n"        /* unit: low and high pc */
	".byte 2,0x11,1, 0x3,8, 0,0\n"                 /* unit: name */
	".byte 3,0x39,1, 0x3,8, 0,0\n"                 /* namespace: name */
	".byte 4,0x2e,0, 0x3,8, 0x11,1, 0x12,7, 0,0\n" /* function: name, low and high pc */
	".byte 5,0x2e,1, 0x3,8, 0x11,1, 0x12,7, 0,0\n" /* the same with others in it */
	".byte 6,0xb,1, 0x11,1, 0x12,7, 0,0\n"         /* block: low and high pc */
	".byte 7,0x1d,0, 0x3,8, 0x11,1, 0x12,7, 0,0\n" /* inlined: name, low and high pc */
	".byte 0\n"
	".popsection\n"
	UNIT("foreign_unit", ".byte 1\n.8byte in_namespace\n.8byte 80\n"
	     ".byte 3\n" NAME("a") ".byte 3\n" NAME("b") FUNCTION("4", "in_namespace") ".byte 0,0\n"
	     FUNCTION("5", "around_nested") FUNCTION("4", "nested") ".byte 0\n")
	UNIT("rangeless_unit", ".byte 2\n" NAME("x") FUNCTION("4", "without_unit_ranges"))
	UNIT("blocks_unit", ".byte 1\n.8byte with_blocks\n.8byte 16\n" FUNCTION("5", "with_blocks")
	     BLOCK("6") ".byte 0\n" BLOCK("6") ".byte 7\n" NAME("in_block")
	     ".8byte with_blocks\n.8byte 8\n.byte 0,0\n"));
/* clang-format on */

extern const char in_namespace[], around_nested[], nested[], without_unit_ranges[], with_blocks[];

static void expect_function(struct line_reader *r, const char *code, const char *name)
{
	struct line_answer a;

	for (unsigned offset = 0; offset < 16; offset += 15) {
		assert_int_equal(find(r, 1, own_path, (uintptr_t)code + offset - base(), &a), 0);
		assert_int_equal(a.n, 1);
		assert_string_equal(a.frames[0].function, name);
	}
}

TEST(functions_in_namespaces_are_found)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();

	expect_function(r, in_namespace, "in_namespace");
}

TEST(functions_in_other_functions_are_found_wherever_their_code_is)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	struct line_answer a;

	expect_function(r, around_nested, "around_nested");
	expect_function(r, nested, "nested");
	/* between both, the unit has code that is of no function */
	assert_int_equal(find(r, 1, own_path, (uintptr_t)around_nested + 16 - base(), &a), -ENOENT);
}

TEST(functions_of_a_unit_that_does_not_say_where_its_code_is_are_found)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();

	expect_function(r, without_unit_ranges, "without_unit_ranges");
}

TEST(an_inlined_call_is_found_beside_a_block_that_has_its_address)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	struct line_answer a;

	assert_int_equal(find(r, 1, own_path, (uintptr_t)with_blocks - base(), &a), 0);
	assert_int_equal(a.n, 2);
	assert_string_equal(a.frames[0].function, "in_block");
	assert_string_equal(a.frames[1].function, "with_blocks");
}

TEST(a_file_without_dwarf_is_no_error)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	const struct line_question large = {
		.file = 4, .size_bytes = LINE_READER_FILE_MAX_BYTES + 1, .vaddr = 1};
	struct line_answer a;

	assert_int_equal(find(r, 1, "/bin/cat", 0x4000, &a), -ENOENT);
	assert_int_equal(find(r, 2, "/etc/passwd", 0x4000, &a), -ENOENT);
	assert_int_equal(find(r, 3, own_path, vaddr(), &a), 0);
	assert_int_equal(line_reader_ask(r, &large), -EFBIG);
}

/* Appends the bytes of a section to the file as zstd packs them, and changes its header. */
static void pack_section(struct buf *file, size_t header_at)
{
	Elf64_Chdr packed = {.ch_type = 2, .ch_addralign = 1};
	Elf64_Shdr h;
	size_t room, n;

	memcpy(&h, file->data + header_at, sizeof(h));
	packed.ch_size = h.sh_size;
	room = ZSTD_compressBound(h.sh_size);
	assert_int_equal(buf_reserve(file, sizeof(packed) + room), 0);
	memcpy(file->data + file->len, &packed, sizeof(packed));
	n = ZSTD_compress(file->data + file->len + sizeof(packed), room, file->data + h.sh_offset,
			  h.sh_size, 1);
	assert_false(ZSTD_isError(n));
	memset(file->data + h.sh_offset, 0, h.sh_size);
	h.sh_offset = file->len;
	h.sh_size = sizeof(packed) + n;
	h.sh_flags |= SHF_COMPRESSED;
	memcpy(file->data + header_at, &h, sizeof(h));
	file->len += h.sh_size;
}

/* Returns a copy of this program whose DWARF is compressed. */
static int packed_file(void)
{
	AUTO_CLOSE int own = open(own_path, O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("packed", MFD_CLOEXEC);
	CLEANUP(buf_fini) struct buf file;
	Elf64_Shdr names, h;
	unsigned n_packed = 0;
	Elf64_Ehdr eh;

	buf_init(&file, SIZE_MAX / 2);
	assert_int_equal(buf_reserve(&file, size_of(own)), 0);
	file.len = size_of(own);
	assert_int_equal(pread(own, file.data, file.len, 0), (ssize_t)file.len);
	memcpy(&eh, file.data, sizeof(eh));
	memcpy(&names, file.data + eh.e_shoff + eh.e_shstrndx * sizeof(names), sizeof(names));
	for (size_t i = 0; i < eh.e_shnum; i++) {
		memcpy(&h, file.data + eh.e_shoff + i * sizeof(h), sizeof(h));
		if (strncmp(file.data + names.sh_offset + h.sh_name, ".debug_", 7) == 0) {
			pack_section(&file, eh.e_shoff + i * sizeof(h));
			n_packed++;
		}
	}
	assert_true(n_packed > 3);
	assert_int_equal(write(fd, file.data, file.len), (ssize_t)file.len);
	return fd;
}

TEST(dwarf_that_zstd_has_compressed_is_read)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	AUTO_CLOSE int fd = packed_file();
	const struct line_question q = {1, fd, size_of(fd), vaddr(), CPU_MS, -1};
	struct line_answer a;

	call_outer(1);
	assert_int_equal(line_reader_ask(r, &q), 0);
	assert_int_equal(line_reader_wait(r, PATIENCE_NS, &a), 0);
	assert_int_equal(a.n, 3);
	expect_frame(&a.frames[0], "inner", inner_line);
	expect_frame(&a.frames[2], "outer", outer_line);
}

TEST(a_file_that_is_truncated_costs_the_process_that_reads_it)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to = -1;
	char path[] = "/tmp/test_line_reader_XXXXXX";
	struct line_answer a;
	char chunk[65536];
	ssize_t n;

	to = mkostemp(path, O_CLOEXEC);
	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		assert_int_equal(write(to, chunk, (size_t)n), n);
	assert_int_equal(find(r, 1, path, vaddr(), &a), 0);
	/* what it has mapped is gone: SIGBUS */
	assert_int_equal(ftruncate(to, 4096), 0);
	assert_int_equal(find(r, 1, path, (uintptr_t)base_name - base(), &a), -EIO);
	assert_int_equal(find(r, 2, own_path, vaddr(), &a), 0);
	unlink(path);
}

static size_t read_proc(pid_t pid, const char *name, char *to, size_t size)
{
	AUTO_CLOSE int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, to, size - 1);
	assert_true(n >= 0);
	to[n] = '\0';
	return (size_t)n;
}

/* The value of a line of /proc/<pid>/status. */
static const char *status_of(pid_t pid, const char *name)
{
	static char text[16384];
	const char *line;

	(void)read_proc(pid, "status", text, sizeof(text));
	line = strstr(text, name);
	assert_non_null(line);
	return line + strlen(name) + 1;
}

TEST(the_program_has_nothing_of_the_agent)
{
	CLEANUP(line_reader_freep) struct line_reader *r = NULL;
	struct line_answer a;
	char text[4096];
	pid_t pid;

	assert_int_equal(setenv("API_KEY", "a secret", 1), 0);
	r = new_reader();
	/* it answers, so it has given up all that it gives up */
	assert_int_equal(find(r, 1, own_path, vaddr(), &a), 0);
	pid = slow_symbols_helper();
	assert_true(pid > 0);
	(void)read_proc(pid, "environ", text, sizeof(text));
	assert_null(strstr(text, "API_KEY"));
	(void)read_proc(pid, "cmdline", text, sizeof(text));
	assert_string_equal(text, "coroot-node-agent");
	assert_string_equal(text + strlen(text) + 1, LINE_HELPER_COMMAND);
	assert_int_equal(strtoull(status_of(pid, "CapEff:"), NULL, 16), 0);
	assert_int_equal(strtoull(status_of(pid, "CapPrm:"), NULL, 16), 0);
	assert_int_equal(strtoull(status_of(pid, "NoNewPrivs:"), NULL, 10), 1);
	assert_int_equal(unsetenv("API_KEY"), 0);
}

/* A file of 60 KiB with 3 million ranges: each unit has the same long list of empty ones. */
static int slow_file(void)
{
	static const uint8_t abbreviations[] = {1, 0x11, 0, 0x55, 0x17, 0, 0, 0};
	static const uint8_t unit[] = {12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0};
	static uint8_t units[1500][sizeof(unit)];
	static uint64_t ranges[2048][2];
	static struct elf_builder b;
	int fd = memfd_create("slow", MFD_CLOEXEC);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		memcpy(units[i], unit, sizeof(unit));
	for (size_t i = 0; i < ARRAY_SIZE(ranges) - 1; i++)
		ranges[i][0] = ranges[i][1] = 1;
	elf_builder_init(&b, EM_X86_64);
	b.data[EI_VERSION] = EV_CURRENT;
	elf_builder_section(&b, ".debug_abbrev", SHT_PROGBITS, 0, 0, abbreviations,
			    sizeof(abbreviations));
	elf_builder_section(&b, ".debug_info", SHT_PROGBITS, 0, 0, units, sizeof(units));
	elf_builder_section(&b, ".debug_ranges", SHT_PROGBITS, 0, 0, ranges, sizeof(ranges));
	elf_builder_finish(&b);
	assert_int_equal(write(fd, b.data, b.len), (ssize_t)b.len);
	return fd;
}

TEST(a_file_that_takes_too_long_costs_one_answer)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	AUTO_CLOSE int fd = slow_file();
	struct line_question q = {1, fd, size_of(fd), 1, 1, -1};
	struct line_answer a;

	assert_int_equal(line_reader_ask(r, &q), 0);
	assert_int_equal(line_reader_wait(r, PATIENCE_NS, &a), -ETIMEDOUT);
	assert_int_equal(find(r, 2, own_path, vaddr(), &a), 0);
	/* with time enough, it has nothing to say */
	q.cpu_ms = 60000;
	assert_int_equal(line_reader_ask(r, &q), 0);
	assert_int_equal(line_reader_ask(r, &q), -EBUSY);
	assert_int_equal(line_reader_wait(r, PATIENCE_NS, &a), -ENOENT);
}

TEST(a_process_that_is_killed_comes_back)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	struct line_answer a;

	for (unsigned i = 0; i < 2; i++) {
		int result = 0;
		pid_t helper = 0;

		eventually((helper = slow_symbols_helper()) > 0);
		assert_int_equal(kill(helper, SIGKILL), 0);
		/* until its keeper has noticed */
		eventually((result = find(r, 1, own_path, vaddr(), &a)) != 0);
		assert_int_equal(result, -ECONNRESET);
		assert_int_equal(find(r, 1, own_path, vaddr(), &a), 0);
	}
}

TEST(the_end_of_both_processes_is_noticed)
{
	CLEANUP(line_reader_freep) struct line_reader *r = new_reader();
	struct line_answer a;
	int result = 0;

	assert_int_equal(kill(-slow_symbols_child(getpid()), SIGKILL), 0);
	/* until the socket is closed */
	eventually((result = find(r, 1, own_path, vaddr(), &a)) != 0);
	assert_int_equal(result, -EPIPE);
	assert_int_equal(find(r, 1, own_path, 1, &a), -EPIPE);
}

/* The whole way: the name of the symbol table, and lines of DWARF. */
TEST(the_symbolizer_has_lines)
{
	const struct symbolizer_config cfg = {.line_numbers = true, .line_program = own_path};
	CLEANUP(symbolizer_freep) struct symbolizer *s = NULL;
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbol_mapping m = {.path = "/x/test_line_reader", .fd = fd, .pid = getpid()};
	const struct symbol_location *l;
	struct file_version version;
	struct elf_layout layout;
	struct byte_source src;

	assert_int_equal(file_version_read(fd, "", &version, NULL), 0);
	m.id = version.id;
	byte_source_from_fd(&src, fd, m.id.size_bytes);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	assert_int_equal(elf_layout_offset(&layout, vaddr(), &m.file_offset), 0);
	m.start = base() + vaddr();
	assert_int_equal(symbolizer_new(&s, &cfg), 0);
	/* a slow machine has them when the first profile is done */
	l = symbolizer_resolve_user(s, &m, m.start, SYMBOL_ADDRESS_EXACT);
	assert_string_equal(symbol_location_outermost(l)->function, "outer");
	symbolizer_end_profile(s);
	symbolizer_end_cycle(s);
	while (symbolizer_work(s, PATIENCE_NS))
		;
	l = symbolizer_resolve_user(s, &m, m.start, SYMBOL_ADDRESS_EXACT);
	assert_int_equal(l->n, 3);
	assert_string_equal(l->frames[0].function, "inner");
	assert_int_equal(l->frames[0].line, inner_line);
	assert_string_equal(l->frames[2].function, "outer");
	assert_int_equal(l->frames[2].line, outer_line);
	assert_string_equal(base_name(l->frames[1].file), "test_line_reader.c");
	assert_true(metric_get(&symbol_metrics[SYMBOL_METRIC_LINES_FOUND]) > 0);
}

TEST(answers_survive_the_message_and_garbage_does_not)
{
	static uint8_t message[LINE_ANSWER_MESSAGE_MAX_BYTES];
	static struct line_answer a, b;
	char longest[LINE_ANSWER_TEXT_BYTES];
	size_t len;

	line_answer_clear(&a);
	assert_true(line_answer_add(&a, "f", "/a/b.c", 7));
	assert_true(line_answer_add(&a, NULL, NULL, 0));
	len = line_answer_encode(&a, message);
	assert_int_equal(line_answer_parse(&b, message, len), 0);
	assert_int_equal(b.n, 2);
	assert_string_equal(b.frames[0].function, "f");
	assert_string_equal(b.frames[0].file, "/a/b.c");
	assert_int_equal(b.frames[0].line, 7);
	assert_string_equal(b.frames[1].function, "");
	assert_int_equal(line_answer_parse(&b, message, len - 1), -EBADMSG);
	message[4] = 0xff; /* a text beyond the end */
	assert_int_equal(line_answer_parse(&b, message, len), -EBADMSG);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(line_answer_add(&a, longest, "", 1));
	for (unsigned i = 0; i < 2 * LINE_ANSWER_FRAMES_MAX; i++)
		(void)line_answer_add(&a, "g", "h", i);
	assert_int_equal(a.n, LINE_ANSWER_FRAMES_MAX);
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	if (argc == 2 && strcmp(argv[1], LINE_HELPER_COMMAND) == 0)
		return line_helper_run(NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	assert_true(n > 0);
	return unit_run(NULL, NULL);
}
