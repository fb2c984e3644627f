/*
 * Names of stripped files, from separate debug files in the roots of a process and of the host, and
 * from .gnu_debugdata; in a folder that looks like /proc.
 */
#include "node-agent/symbol/debug_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/symbol/symbol_metrics.h"
#include "node-agent/symbol/symbolizer.h"
#include "test/lib/elf_builder.h"
#include "test/lib/fake_proc.h"
#include "test/lib/unit.h"

#define PID 70u
#define START 123456u
#define TEXT 0x1000u
#define TEXT_BYTES 0x1000u
#define LOADED 0x7f0000000000u
#define BY_ID "/usr/lib/debug/.build-id/ab/cdef01.debug"

static const uint8_t build_id[] = {0xab, 0xcd, 0xef, 0x01};

struct fixture {
	struct fake_proc proc;
	struct symbolizer *symbolizer;
	struct elf_builder stripped;
	struct elf_builder debug;
	struct symbol_mapping mapping;
};

static void make_folders(struct fixture *f, const char *path)
{
	char part[256];

	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		if (part[0] && mkdirat(f->proc.root_fd, part, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

static void put(struct fixture *f, const char *path, const void *data, size_t len)
{
	AUTO_CLOSE int fd = -1;

	make_folders(f, path);
	fd = openat(f->proc.root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct symbolizer_config cfg = {0};

	assert_non_null(f);
	fake_proc_begin(&f->proc);
	cfg.proc_root = f->proc.root;
	fake_proc_start(&f->proc, PID, START, "exe");
	fake_proc_start(&f->proc, 1, FAKE_PROC_BEFORE, "init");
	make_folders(f, "70/root/");
	make_folders(f, "1/root/");
	assert_int_equal(symbolizer_new(&f->symbolizer, &cfg), 0);
	f->mapping.fd = -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	symbolizer_free(f->symbolizer);
	closep(&f->mapping.fd);
	fake_proc_end(&f->proc);
	free(f);
	return 0;
}

/* A file with a text segment, whose code has bytes if it is not a debug file. */
static void begin_elf(struct elf_builder *b, bool is_debug, const uint8_t *id, size_t id_bytes)
{
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[32];
	} note = {.head = {4, (Elf64_Word)id_bytes, NT_GNU_BUILD_ID}, .name = "GNU"};
	Elf64_Shdr *sh;

	elf_builder_init(b, EM_X86_64);
	sh = elf_builder_section(b, ".text", is_debug ? SHT_NOBITS : SHT_PROGBITS,
				 SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL, is_debug ? 0 : TEXT_BYTES);
	if (!is_debug)
		elf_builder_segment(b, PT_LOAD, PF_R | PF_X, sh->sh_offset, TEXT, TEXT_BYTES);
	if (id_bytes == 0)
		return;
	memcpy(note.id, id, id_bytes);
	sh = elf_builder_section(b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0x300, &note,
				 sizeof(note.head) + sizeof(note.name) + id_bytes);
	elf_builder_segment(b, PT_NOTE, PF_R, sh->sh_offset, 0x300, sh->sh_size);
}

/* Finishes the debug file with one function. */
static void finish_debug(struct elf_builder *b, const char *name)
{
	elf_builder_symbol(b, name, STB_LOCAL, STT_FUNC, TEXT + 0x100, 0x40);
	elf_builder_symbol_table(b, SHT_SYMTAB);
	elf_builder_finish(b);
}

/* Finishes the stripped file and maps it. */
static void map_stripped(struct fixture *f)
{
	static const char path[] = "70/root/opt/prog";
	struct file_version version;

	elf_builder_symbol(&f->stripped, "exported", STB_GLOBAL, STT_FUNC, TEXT, 0x40);
	elf_builder_symbol_table(&f->stripped, SHT_DYNSYM);
	elf_builder_finish(&f->stripped);
	put(f, path, f->stripped.data, f->stripped.len);
	closep(&f->mapping.fd);
	f->mapping = (struct symbol_mapping){
		.path = "/opt/prog",
		.fd = openat(f->proc.root_fd, path, O_RDONLY | O_CLOEXEC),
		.start = LOADED,
		.file_offset = f->stripped.sections[1].sh_offset,
		.pid = PID,
		.start_time = START,
	};
	assert_int_equal(file_version_read(f->mapping.fd, "", &version, NULL), 0);
	f->mapping.id = version.id;
}

static void expect(struct fixture *f, uint64_t vaddr, const char *name)
{
	const struct symbol_location *l = symbolizer_resolve_user(
		f->symbolizer, &f->mapping, LOADED + vaddr - TEXT, SYMBOL_ADDRESS_EXACT);
	struct symbol_file file;

	assert_string_equal(l->frames[0].function, name);
	assert_int_equal(symbolizer_find_file(f->symbolizer, &f->mapping, &file), 0);
	/* of code without a name the file says of which build it is, if that is known */
	assert_string_equal(l->frames[0].file,
			    strstr(name, "+0x") && file.build_id[0] ? "[prog@abcdef01]" : "[prog]");
}

static uint64_t counted(enum symbol_metric m)
{
	return metric_get(&symbol_metrics[m]);
}

TEST_FIXTURE(a_debug_file_in_the_root_of_the_process_has_names, set_up, tear_down)
{
	struct fixture *f = *state;

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	begin_elf(&f->debug, true, build_id, sizeof(build_id));
	finish_debug(&f->debug, "_Z5innerv");
	put(f, "70/root" BY_ID, f->debug.data, f->debug.len);
	map_stripped(f);
	expect(f, TEXT + 0x3f, "exported");
	expect(f, TEXT + 0x100, "inner()");
	expect(f, TEXT + 0x13f, "inner()");
	expect(f, TEXT + 0x140, "prog+0x1140"); /* a gap has no neighbour's name */
}

TEST_FIXTURE(a_debug_file_of_the_host_has_names, set_up, tear_down)
{
	struct fixture *f = *state;

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	begin_elf(&f->debug, true, build_id, sizeof(build_id));
	finish_debug(&f->debug, "of_host");
	put(f, "1/root" BY_ID, f->debug.data, f->debug.len);
	map_stripped(f);
	expect(f, TEXT + 0x100, "of_host");
}

/* Where no container has it, the agent's own root may, or the cache of debuginfod's client. */
TEST_FIXTURE(the_root_and_the_cache_of_the_agent_are_the_last_places, set_up, tear_down)
{
	static const struct {
		const char *name;
		const char *variable;
		const char *value; /* below the folder of the test */
		const char *path;
	} places[] = {
		{"of_agent", NULL, NULL, "self/root" BY_ID},
		{"of_own", "DEBUGINFOD_CACHE_PATH", "own", "own/abcdef01/debuginfo"},
		{"of_xdg", "XDG_CACHE_HOME", "xdg", "xdg/debuginfod_client/abcdef01/debuginfo"},
		{"of_home", "HOME", "home", "home/.cache/debuginfod_client/abcdef01/debuginfo"},
	};
	struct fixture *f = *state;
	char value[512];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		begin_elf(&f->stripped, false, build_id, sizeof(build_id));
		begin_elf(&f->debug, true, build_id, sizeof(build_id));
		finish_debug(&f->debug, places[i].name);
		put(f, places[i].path, f->debug.data, f->debug.len);
		snprintf(value, sizeof(value), "%s/%s", f->proc.root,
			 places[i].value ? places[i].value : "");
		if (places[i].variable)
			assert_int_equal(setenv(places[i].variable, value, 1), 0);
		map_stripped(f);
		f->mapping.id.ino += (uint64_t)(i + 1) << 32; /* another file */
		expect(f, TEXT + 0x100, places[i].name);
		assert_int_equal(unlinkat(f->proc.root_fd, places[i].path, 0), 0);
		if (places[i].variable)
			assert_int_equal(unsetenv(places[i].variable), 0);
	}
}

TEST_FIXTURE(a_file_with_another_build_id_is_refused, set_up, tear_down)
{
	static const uint8_t other[] = {0xab, 0xcd, 0xef, 0x02};
	struct fixture *f = *state;
	uint64_t none = counted(SYMBOL_METRIC_DEBUG_FILE_NONE);

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	begin_elf(&f->debug, true, other, sizeof(other));
	finish_debug(&f->debug, "wrong");
	put(f, "70/root" BY_ID, f->debug.data, f->debug.len);
	put(f, "1/root" BY_ID, f->stripped.data, 100);
	map_stripped(f);
	expect(f, TEXT + 0x100, "prog+0x1100");
	expect(f, TEXT + 0x104, "prog+0x1104");
	assert_int_equal(counted(SYMBOL_METRIC_DEBUG_FILE_NONE), none + 1); /* not per address */
}

TEST_FIXTURE(links_do_not_leave_the_root, set_up, tear_down)
{
	struct fixture *f = *state;
	char target[256];

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	begin_elf(&f->debug, true, build_id, sizeof(build_id));
	finish_debug(&f->debug, "linked");
	put(f, "outside.debug", f->debug.data, f->debug.len);
	make_folders(f, "70/root" BY_ID);
	snprintf(target, sizeof(target), "%s/outside.debug", f->proc.root);
	assert_int_equal(symlinkat(target, f->proc.root_fd, "70/root" BY_ID), 0);
	map_stripped(f);
	expect(f, TEXT + 0x100, "prog+0x1100");
	/* absolute links are the usual thing, and lead to a place in the root */
	symbolizer_free(f->symbolizer);
	assert_int_equal(symbolizer_new(&f->symbolizer,
					&(struct symbolizer_config){.proc_root = f->proc.root}),
			 0);
	assert_int_equal(unlinkat(f->proc.root_fd, "70/root" BY_ID, 0), 0);
	put(f, "70/root/store/x.debug", f->debug.data, f->debug.len);
	assert_int_equal(symlinkat("/store/x.debug", f->proc.root_fd, "70/root" BY_ID), 0);
	expect(f, TEXT + 0x100, "linked");
}

static void put_link(struct elf_builder *b, const char *name, uint32_t crc)
{
	char data[32] = {0};
	size_t len = (strlen(name) + 4) & ~(size_t)3;

	memcpy(data, name, strlen(name));
	memcpy(data + len, &crc, sizeof(crc));
	elf_builder_section(b, ".gnu_debuglink", SHT_PROGBITS, 0, 0, data, len + sizeof(crc));
}

TEST_FIXTURE(a_debug_link_is_followed_if_the_checksum_is_right, set_up, tear_down)
{
	static const char *const places[] = {"70/root/opt/prog.debug",
					     "70/root/opt/.debug/prog.debug",
					     "1/root/usr/lib/debug/opt/prog.debug"};
	struct fixture *f = *state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(places); i++) {
		bool right = i % 2 == 1;
		uint32_t crc;

		begin_elf(&f->debug, true, NULL, 0);
		finish_debug(&f->debug, "of_link");
		crc = libdeflate_crc32(0, f->debug.data, f->debug.len);
		begin_elf(&f->stripped, false, NULL, 0);
		put_link(&f->stripped, "prog.debug", right ? crc : ~crc);
		put(f, places[i / 2], f->debug.data, f->debug.len);
		map_stripped(f);
		f->mapping.id.ino += i << 32; /* another file, even where mtimes are coarse */
		expect(f, TEXT + 0x100, right ? "of_link" : "prog+0x1100");
		assert_int_equal(unlinkat(f->proc.root_fd, places[i / 2], 0), 0);
	}
}

/* The folder is the container's; on the host it may be anything. */
TEST_FIXTURE(a_folder_of_the_container_is_not_searched_on_the_host, set_up, tear_down)
{
	struct fixture *f = *state;

	begin_elf(&f->debug, true, NULL, 0);
	finish_debug(&f->debug, "of_link");
	begin_elf(&f->stripped, false, NULL, 0);
	put_link(&f->stripped, "prog.debug", libdeflate_crc32(0, f->debug.data, f->debug.len));
	put(f, "1/root/opt/prog.debug", f->debug.data, f->debug.len);
	put(f, "1/root/opt/.debug/prog.debug", f->debug.data, f->debug.len);
	map_stripped(f);
	expect(f, TEXT + 0x100, "prog+0x1100");
}

TEST_FIXTURE(a_process_that_has_exited_is_tried_again_with_another_one, set_up, tear_down)
{
	struct fixture *f = *state;

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	begin_elf(&f->debug, true, build_id, sizeof(build_id));
	finish_debug(&f->debug, "late");
	put(f, "70/root" BY_ID, f->debug.data, f->debug.len);
	map_stripped(f);
	f->mapping.start_time++;
	expect(f, TEXT + 0x100, "prog+0x1100");
	f->mapping.start_time--;
	expect(f, TEXT + 0x100, "prog+0x1100"); /* one search in a cycle */
	symbolizer_end_cycle(f->symbolizer);
	expect(f, TEXT + 0x100, "late");
}

static void put_debug_data(struct fixture *f, const struct elf_builder *debug)
{
	size_t cap = lzma_stream_buffer_bound(debug->len), len = 0;
	AUTO_FREE uint8_t *packed = malloc(cap);

	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, debug->data, debug->len,
						 packed, &len, cap),
			 LZMA_OK);
	elf_builder_section(&f->stripped, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, len);
}

TEST_FIXTURE(compressed_symbols_have_names, set_up, tear_down)
{
	struct fixture *f = *state;

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	begin_elf(&f->debug, true, NULL, 0);
	finish_debug(&f->debug, "compressed");
	put_debug_data(f, &f->debug);
	map_stripped(f);
	expect(f, TEXT + 0x100, "compressed");
	symbolizer_end_cycle(f->symbolizer);
	assert_true(counted(SYMBOL_METRIC_DEBUG_DATA_BYTES) > 0);
	symbolizer_end_cycle(f->symbolizer);
	assert_int_equal(counted(SYMBOL_METRIC_DEBUG_DATA_BYTES), 0);
	expect(f, TEXT + 0x101, "compressed"); /* decompressed again */
	expect(f, TEXT + 0x140, "prog+0x1140");
}

TEST_FIXTURE(broken_compressed_symbols_are_none, set_up, tear_down)
{
	struct fixture *f = *state;
	Elf64_Shdr *sh;

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	begin_elf(&f->debug, true, NULL, 0);
	finish_debug(&f->debug, "compressed");
	put_debug_data(f, &f->debug);
	sh = &f->stripped.sections[f->stripped.n_sections - 1];
	f->stripped.data[sh->sh_offset + sh->sh_size / 2] ^= 0xff;
	map_stripped(f);
	expect(f, TEXT + 0x100, "prog+0x1100");
	/* cut off */
	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	put_debug_data(f, &f->debug);
	f->stripped.sections[f->stripped.n_sections - 1].sh_size /= 2;
	map_stripped(f);
	f->mapping.id.ino += UINT64_C(1) << 32;
	expect(f, TEXT + 0x100, "prog+0x1100");
}

/* An index and descriptions of functions of 0x40 bytes at these addresses. */
static void put_exception_tables(struct elf_builder *b, const uint64_t *functions, uint32_t n)
{
	/* "zR": code and data alignment, return register, addresses relative to their place */
	static const uint8_t cie[20] = {16,  0,   0, 0, 0,    0,  0, 0,   1,
					'z', 'R', 0, 1, 0x78, 16, 1, 0x1b};
	const uint32_t at = 0x8000, fde_bytes = 20, frames = at + 12 + 8 * n;
	uint8_t data[512] = {1, 0x1b, 0x03, 0x3b};
	Elf64_Shdr *sh;

	memcpy(data + 8, &n, sizeof(n));
	memcpy(data + frames - at, cie, sizeof(cie));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t fde = frames + (uint32_t)sizeof(cie) + i * fde_bytes;
		uint32_t entry[2] = {(uint32_t)functions[i] - at, fde - at};
		uint32_t text[5] = {fde_bytes - 4, fde + 4 - frames,
				    (uint32_t)functions[i] - (fde + 8), 0x40, 0};

		memcpy(data + 12 + (size_t)8 * i, entry, sizeof(entry));
		memcpy(data + fde - at, text, sizeof(text));
	}
	sh = elf_builder_section(b, ".eh", SHT_PROGBITS, SHF_ALLOC, at, data, sizeof(data));
	elf_builder_segment(b, PT_LOAD, PF_R, sh->sh_offset, at, sizeof(data));
	elf_builder_segment(b, PT_GNU_EH_FRAME, PF_R, sh->sh_offset, at, 12 + 8 * n);
}

TEST_FIXTURE(a_label_does_not_reach_into_another_function, set_up, tear_down)
{
	static const uint64_t functions[] = {TEXT + 0x200, TEXT + 0x300, TEXT + 0x400};
	struct fixture *f = *state;

	begin_elf(&f->stripped, false, build_id, sizeof(build_id));
	put_exception_tables(&f->stripped, functions, ARRAY_SIZE(functions));
	elf_builder_symbol(&f->stripped, "label", STB_GLOBAL, STT_FUNC, TEXT + 0x210, 0);
	elf_builder_symbol(&f->stripped, "assembly", STB_GLOBAL, STT_FUNC, TEXT + 0x350, 0);
	elf_builder_symbol_table(&f->stripped, SHT_SYMTAB);
	map_stripped(f);
	expect(f, TEXT + 0x208, "prog+0x1200");
	expect(f, TEXT + 0x23f, "label");
	expect(f, TEXT + 0x240, "prog+0x1240"); /* behind its function */
	expect(f, TEXT + 0x308, "prog+0x1300"); /* in one without a name */
	expect(f, TEXT + 0x34f, "prog+0x134f");
	expect(f, TEXT + 0x3ff, "assembly"); /* which has no exception tables */
	expect(f, TEXT + 0x400, "prog+0x1400");
}
