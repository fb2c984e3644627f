#include <errno.h>

#include "node-agent/go/image/go_refs.h"
#include "node-agent/go/image/go_runtime.h"
#include "test/lib/elf_builder.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define BIAS 0x40u
#define DATA (GO_IMAGE_DATA + 0x100u) /* a variable */
#define OUTSIDE 0xc000u               /* no data of the module */

static const char *const names[] = {"runtime.a", "runtime.b", "runtime.c"};

struct fixture {
	struct elf_builder elf;
	struct byte_source file;
	struct elf_layout layout;
	struct go_image_builder image;
	struct go_executable executable;
	struct go_runtime rt;
};

/* The value of the next fixture's symbol "runtime.v"; 0 if it has none. */
static void begin(struct fixture *f, uint64_t symbol)
{
	Elf64_Shdr *text;

	memset(f, 0, sizeof(*f));
	go_image_build(&f->image, 24, names);
	elf_builder_init(&f->elf, EM_X86_64);
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT - BIAS, NULL, GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, text->sh_offset, GO_IMAGE_TEXT - BIAS,
			    GO_IMAGE_TEXT_BYTES);
	if (symbol != 0) {
		elf_builder_symbol(&f->elf, "runtime.v", STB_LOCAL, STT_OBJECT, symbol - BIAS, 8);
		elf_builder_symbol_table(&f->elf, SHT_SYMTAB);
	}
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->file, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->file), 0);
	f->rt.image = (struct go_image){&f->layout, &f->file, &f->image.memory, BIAS, 24};
	f->rt.executable = &f->executable;
	f->rt.n_modules = 1;
	assert_int_equal(
		go_module_parse(&f->rt.modules[0], &f->image.memory, NULL, GO_IMAGE_MODULE, 24), 0);
}

static unsigned n_sought;
static uint64_t in_code_address;
static int in_code_result;

static int in_code(struct go_runtime *rt, uint64_t *ret)
{
	(void)rt;
	n_sought++;
	if (in_code_result == 0)
		*ret = in_code_address;
	return in_code_result;
}

static int find(struct fixture *f, const char *symbol, uint64_t *ret)
{
	*ret = 0;
	return go_runtime_find(&f->rt, GO_MEMORY_RATE, symbol, in_code, ret);
}

TEST(test_a_variable_is_found_by_its_symbol)
{
	struct fixture f;
	uint64_t at;

	n_sought = 0;
	begin(&f, DATA);
	assert_int_equal(find(&f, "runtime.v", &at), 0);
	assert_int_equal(at, DATA);
	assert_int_equal(f.executable.at[GO_MEMORY_RATE], DATA - BIAS);
	assert_int_equal(n_sought, 0);
}

TEST(test_without_a_symbol_it_is_found_in_code_and_cached)
{
	struct fixture f;
	uint64_t at;

	n_sought = 0;
	in_code_result = 0;
	in_code_address = DATA;
	begin(&f, 0);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(find(&f, "runtime.v", &at), 0);
		assert_int_equal(at, DATA);
	}
	assert_int_equal(n_sought, 1);
	/* cached from another process, which has it elsewhere */
	f.rt.image.bias = 0x1040;
	assert_int_equal(find(&f, "runtime.v", &at), 0);
	assert_int_equal(at, DATA + 0x1000);
	/* unless this very process is searched; that result is not cached */
	in_code_address = DATA + 8;
	f.rt.uncached = true;
	assert_int_equal(find(&f, NULL, &at), 0);
	assert_int_equal(at, DATA + 8);
	f.rt.uncached = false;
	assert_int_equal(find(&f, NULL, &at), 0);
	assert_int_equal(at, DATA + 0x1000);
	assert_int_equal(n_sought, 2);
}

TEST(test_a_symbol_outside_the_data_is_rejected)
{
	struct fixture f;
	uint64_t at;

	in_code_result = 0;
	in_code_address = DATA;
	begin(&f, OUTSIDE);
	assert_int_equal(find(&f, "runtime.v", &at), 0);
	assert_int_equal(at, DATA);
	begin(&f, OUTSIDE);
	assert_int_equal(go_runtime_find(&f.rt, GO_MEMORY_RATE, "runtime.v", NULL, &at), -ENOENT);
}

TEST(test_that_it_cannot_be_found_is_cached_too)
{
	struct fixture f;
	uint64_t at;

	n_sought = 0;
	in_code_result = -ENOENT;
	begin(&f, 0);
	for (int turn = 0; turn < 3; turn++)
		assert_int_equal(find(&f, "runtime.v", &at), -ENOENT);
	assert_int_equal(n_sought, 1);
	assert_int_equal(at, 0);
}

TEST(test_a_failed_read_is_not_cached)
{
	static const int errors[] = {-EIO, -ENODATA, -ENOMEM, -EFBIG};
	struct fixture f;
	uint64_t at;

	begin(&f, 0);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		in_code_result = errors[i];
		assert_int_equal(find(&f, "runtime.v", &at), errors[i]);
		assert_int_equal(f.executable.searched, 0);
	}
	in_code_result = 0;
	in_code_address = DATA;
	assert_int_equal(find(&f, "runtime.v", &at), 0);
}

TEST(test_data_lies_completely_within_a_range_of_the_module)
{
	uint64_t end = GO_IMAGE_DATA + 0x4000;
	struct fixture f;

	begin(&f, 0);
	assert_true(go_runtime_is_data(&f.rt, GO_IMAGE_DATA, 8));
	assert_true(go_runtime_is_data(&f.rt, end - 8, 8));
	assert_false(go_runtime_is_data(&f.rt, end - 7, 8));
	assert_false(go_runtime_is_data(&f.rt, GO_IMAGE_DATA - 1, 8));
	assert_false(go_runtime_is_data(&f.rt, GO_IMAGE_DATA, SIZE_MAX));
	assert_false(go_runtime_is_data(&f.rt, UINT64_MAX, 1));
	/* ranges that are broken have nothing */
	f.rt.modules[0].data[1] = (struct go_range){UINT64_MAX - 8, 0};
	assert_false(go_runtime_is_data(&f.rt, UINT64_MAX - 4, 8));
}

/* mov off(%rip),%rax at this offset of the code, to an address. */
static void put_load(struct fixture *f, uint64_t at, uint64_t target)
{
	static const uint8_t load[] = {0x48, 0x8b, 0x05};

	memcpy(f->image.data + GO_IMAGE_TEXT + at, load, sizeof(load));
	go_image_put(&f->image, GO_IMAGE_TEXT + at + 3, target - (GO_IMAGE_TEXT + at + 7), 4);
}

TEST(test_references_of_a_function_to_data_are_kept_in_order)
{
	struct go_ref refs[8];
	struct fixture f;

	begin(&f, 0);
	put_load(&f, 0x10, DATA);           /* the function before */
	put_load(&f, 0x100, DATA + 16);     /* runtime.b */
	put_load(&f, 0x110, OUTSIDE);       /* not a variable */
	put_load(&f, 0x120, GO_IMAGE_TEXT); /* code */
	put_load(&f, 0x130, DATA + 8);
	put_load(&f, 0x180, DATA + 24); /* the next one */
	assert_int_equal(go_runtime_refs(&f.rt, "runtime.b", refs, 8), 2);
	assert_int_equal(refs[0].target, DATA + 16);
	assert_int_equal(refs[1].target, DATA + 8);
	assert_int_equal(go_runtime_refs(&f.rt, "runtime.b", refs, 1), 1);
	assert_int_equal(go_runtime_refs(&f.rt, "runtime.d", refs, 8), -ENOENT);
	assert_int_equal(go_runtime_refs(&f.rt, "untime.b", refs, 8), -ENOENT);
	byte_source_from_memory(&f.image.memory, f.image.data, GO_IMAGE_TEXT + 0x170);
	assert_int_equal(go_runtime_refs(&f.rt, "runtime.b", refs, 8), -ENODATA);
}

TEST(test_callers_are_read_if_a_function_was_inlined)
{
	static const char *const functions[] = {"runtime.d", "runtime.b", "main.a", NULL},
				 *const none[] = {"runtime.d", NULL};
	struct go_ref refs[8];
	struct fixture f;

	begin(&f, 0);
	put_load(&f, 0x10, DATA);
	put_load(&f, 0x100, DATA + 16); /* runtime.b */
	assert_int_equal(go_runtime_refs_any(&f.rt, functions, refs, 8), 1);
	assert_int_equal(refs[0].target, DATA + 16);
	assert_int_equal(go_runtime_refs_any(&f.rt, none, refs, 8), -ENOENT);
}

TEST(test_a_function_that_is_too_large_is_not_read)
{
	struct go_ref refs[8];
	struct fixture f;

	begin(&f, 0);
	/* the third one ends where its successor begins */
	go_image_put_table(&f.image, 0x100 + 3 * 8, 0x180 + 65537, 4);
	assert_int_equal(go_runtime_refs(&f.rt, "runtime.c", refs, 8), -ENOENT);
	go_image_put_table(&f.image, 0x100 + 3 * 8, 0x100, 4); /* before it begins */
	assert_int_equal(go_runtime_refs(&f.rt, "runtime.c", refs, 8), -ENOENT);
}

static int look_up_refs(void *arg)
{
	struct fixture *f = arg;
	struct go_ref refs[8];
	int r = go_runtime_refs(&f->rt, "runtime.b", refs, 8);

	return r < 0 ? r : 0;
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f, 0);
	put_load(&f, 0x100, DATA);
	check_oom(look_up_refs, &f);
}
