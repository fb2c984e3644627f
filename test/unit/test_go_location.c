#include "node-agent/symbol/go_location.h"

#include <elf.h>
#include <errno.h>

#include "node-agent/gopclntab/gopclntab_module.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define RODATA GO_IMAGE_TABLE
#define RELOCATIONS 0x6000u

static const char *const names[] = {"main.a", "main.b", "main.c"};

/* A file whose offsets are its addresses. */
struct fixture {
	struct go_image_builder image;
	struct elf_layout layout;
	struct gopclntab table;
	struct frame_cache *cache;
	struct gopclntab_line line;
	uint64_t extra_bytes;
};

static void begin(struct fixture *f, unsigned minor)
{
	size_t gofunc = go_image_release_of(minor)->gofunc;

	memset(f, 0, sizeof(*f));
	go_image_build(&f->image, minor, names);
	if (gofunc)
		go_image_put_word(&f->image, GO_IMAGE_MODULE, gofunc - 1, RODATA);
	f->layout.machine = EM_X86_64;
	f->layout.n_segments = 1;
	f->layout.segments[0] = (struct elf_segment){
		.file_bytes = GO_IMAGE_BYTES, .memory_bytes = GO_IMAGE_BYTES, .writable = true};
	assert_int_equal(gopclntab_open_at(&f->table, &f->image.memory, GO_IMAGE_TABLE,
					   GO_IMAGE_TABLE_BYTES, GO_IMAGE_TEXT),
			 0);
	assert_int_equal(frame_cache_new(&f->cache, 65536, 64), 0);
}

static int find_gofunc(struct fixture *f, uint64_t *ret)
{
	return gopclntab_find_gofunc(&f->table, &f->layout, &f->image.memory, ret);
}

static const struct symbol_location *find(struct fixture *f, uint64_t offset)
{
	struct go_location_file file = {
		.table = &f->table,
		.layout = &f->layout,
		.src = &f->image.memory,
		.label = "[program]",
		.extra_bytes = &f->extra_bytes,
	};
	const struct symbol_location *l;

	assert_int_equal(find_gofunc(f, &file.gofunc), 0);
	assert_int_equal(go_location_find(f->cache, &file, GO_IMAGE_TEXT + offset, &f->line, &l),
			 0);
	return l;
}

static void expect(const struct symbol_frame *frame, const char *function, const char *file,
		   uint64_t line)
{
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->file, file);
	assert_int_equal(frame->line, line);
}

TEST(test_inlined_calls_are_in_front_of_their_function)
{
	for (unsigned minor = 13; minor <= 27; minor++) {
		const struct symbol_location *l;
		struct fixture f;

		begin(&f, minor);
		l = find(&f, 0x3f);
		assert_int_equal(l->n, 3);
		expect(&l->frames[0], "main.inner", "/src/b.go", 25);
		expect(&l->frames[1], "main.middle", "/src/b.go", 20);
		expect(&l->frames[2], "main.a", "/src/a.go", 10);
		/* another address of the line, and one of another line */
		assert_ptr_equal(find(&f, 0x3e), l);
		assert_ptr_not_equal(find(&f, 0xff), l);
		frame_cache_free(f.cache);
	}
}

TEST(test_blanks_in_paths_are_replaced)
{
	struct fixture f;
	uint8_t *path;

	begin(&f, 20);
	path = memmem(f.image.data, sizeof(f.image.data), "/src/b.go", 9);
	assert_non_null(path);
	path[2] = ' ';
	expect(&find(&f, 0x3f)->frames[0], "main.inner", "/s_c/b.go", 25);
	frame_cache_free(f.cache);
}

/* As an external linker leaves them in a position-independent file. */
static void relocate_module(struct fixture *f)
{
	struct elf_section *s = &f->layout.sections[ELF_SECTION_RELA_DYN];
	Elf64_Rela rela = {.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE)};
	uint64_t word;

	s->offset = RELOCATIONS;
	for (uint64_t at = GO_IMAGE_MODULE; at < GO_IMAGE_DATA; at += sizeof(word)) {
		memcpy(&word, f->image.data + at, sizeof(word));
		memset(f->image.data + at, 0, sizeof(word));
		if (word == 0)
			continue;
		rela.r_offset = at;
		rela.r_addend = (Elf64_Sxword)word;
		memcpy(f->image.data + s->offset + s->size_bytes, &rela, sizeof(rela));
		s->size_bytes += sizeof(rela);
	}
}

TEST(test_relocated_module_data_are_found)
{
	static const unsigned minors[] = {18, 20, 27};

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		struct fixture f;
		uint64_t gofunc;

		begin(&f, minors[i]);
		relocate_module(&f);
		assert_int_equal(find_gofunc(&f, &gofunc), 0);
		assert_int_equal(gofunc, GO_IMAGE_GOFUNC);
		frame_cache_free(f.cache);
	}
}

TEST(test_module_data_of_another_table_are_not_believed)
{
	static const size_t words[] = {0, 20, 21};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct fixture f;
		uint64_t gofunc;

		begin(&f, 22);
		go_image_put_word(&f.image, GO_IMAGE_MODULE, words[i], GO_IMAGE_TEXT + 1);
		assert_int_equal(find_gofunc(&f, &gofunc), -ENOENT);
		assert_int_equal(gofunc, 0);
		frame_cache_free(f.cache);
	}
}

/* The line of an inlined function would be shown as one of the function around it. */
TEST(test_without_module_data_lines_are_unknown)
{
	struct go_location_file file = {.label = "[program]"};
	const struct symbol_location *l;
	struct fixture f;

	begin(&f, 22);
	file.table = &f.table;
	file.layout = &f.layout;
	file.src = &f.image.memory;
	file.extra_bytes = &f.extra_bytes;
	assert_int_equal(go_location_find(f.cache, &file, GO_IMAGE_TEXT + 0xff, &f.line, &l),
			 -ENOENT);
	frame_cache_free(f.cache);
}

TEST(test_a_full_cache_is_no_broken_file)
{
	struct go_location_file file = {.label = "[program]", .gofunc = GO_IMAGE_GOFUNC};
	const struct symbol_location *l;
	struct fixture f;

	begin(&f, 22);
	frame_cache_free(f.cache);
	assert_int_equal(frame_cache_new(&f.cache, 16, 64), 0);
	file.table = &f.table;
	file.layout = &f.layout;
	file.src = &f.image.memory;
	file.extra_bytes = &f.extra_bytes;
	assert_int_equal(go_location_find(f.cache, &file, GO_IMAGE_TEXT, &f.line, &l), -ENOSPC);
	assert_int_equal(go_location_find(f.cache, &file, 1, &f.line, &l), -ENOENT);
	frame_cache_free(f.cache);
}

/* Of a hostile file: each address costs far more than those of real programs. */
TEST(test_calls_inlined_into_themselves_cost_little_in_all)
{
	struct go_location_file file = {.label = "[program]", .gofunc = GO_IMAGE_GOFUNC};
	const struct symbol_location *l;
	struct fixture f;
	int n = 0, r;

	begin(&f, 20);
	for (uint64_t i = 0; i < 2; i++) /* the calls' addresses: in the innermost function */
		go_image_put(&f.image, GO_IMAGE_TREE + i * 16 + 8, 0x30, sizeof(uint32_t));
	file.table = &f.table;
	file.layout = &f.layout;
	file.src = &f.image.memory;
	file.extra_bytes = &f.extra_bytes;
	assert_int_equal(go_location_find(f.cache, &file, GO_IMAGE_TEXT + 0x3f, &f.line, &l),
			 -EFBIG);
	f.extra_bytes = GO_LOCATION_MAX_BYTES;
	while ((r = go_location_find(f.cache, &file, GO_IMAGE_TEXT + 0x3f, &f.line, &l)) == 0) {
		assert_int_equal(l->n, SYMBOL_LOCATION_FRAMES_MAX);
		n++;
	}
	assert_int_equal(r, -EFBIG);
	assert_int_equal(f.extra_bytes, 0);
	assert_in_range(n, 2, 64);
	/* others are found as before */
	assert_int_equal(go_location_find(f.cache, &file, GO_IMAGE_TEXT + 0xff, &f.line, &l), 0);
	frame_cache_free(f.cache);
}
