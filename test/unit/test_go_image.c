/*
 * What of a loaded file is read from the file, and that nothing a process does to its own
 * memory changes the names of another one.
 */
#include <errno.h>

#include "node-agent/go/image/go_image.h"
#include "node-agent/go/image/go_runtime.h"
#include "test/lib/elf_builder.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define BIAS UINT64_C(0x7f0000000000)
#define TABLES 0x1000u /* a read-only segment: table and inline trees */
#define TABLES_BYTES 0x3000u
#define DATA_BYTES 0x800u /* of the segment that has the module */
#define INNER 0x30u       /* in a call that is inlined into main.a */
#define LAST 0x200u       /* in main.c */

static const char *const names[] = {"main.a", "main.b", "main.c"};

/* ---- the file, by addresses ---- */

static int read_at(struct go_image *image, uint64_t address, size_t len)
{
	struct byte_source src;
	uint8_t bytes[0x8000];

	byte_source_from_image(&src, image);
	memset(bytes, 0, sizeof(bytes));
	assert_true(len <= sizeof(bytes));
	if (byte_source_read(&src, address, bytes, len) < 0)
		return -1;
	for (size_t i = 1; i < len; i++)
		assert_int_equal(bytes[i], (uint8_t)(bytes[0] + i));
	return bytes[0];
}

TEST(test_constant_data_is_read_from_the_file)
{
	static uint8_t data[0x8000];
	struct elf_layout layout = {
		.segments =
			{
				{.vaddr = 0x10000, .offset = 0x40, .file_bytes = 0x100},
				{.vaddr = 0x20100,
				 .offset = 0x1100,
				 .file_bytes = 0xf80,
				 .memory_bytes = 0x5000,
				 .executable = true},
				{.vaddr = 0x30000,
				 .offset = 0x3000,
				 .file_bytes = 0x3000,
				 .memory_bytes = 0x4000,
				 .writable = true},
				{.vaddr = UINT64_MAX - 0x10, .offset = 0x50, .file_bytes = 0x10},
			},
		.n_segments = 4,
	};
	struct byte_source file, memory;
	struct go_image image = {&layout, &file, &memory, BIAS, 24};

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	byte_source_from_memory(&file, data, sizeof(data));
	byte_source_from_memory(&memory, NULL, 0);
	memory.size_bytes = UINT64_C(1) << 48;
	/* not rounded if it cannot be mapped by pages */
	assert_int_equal(read_at(&image, BIAS + 0x10000, 0x100), 0x40);
	assert_int_equal(read_at(&image, BIAS + 0x10010, 0x10), 0x50);
	assert_int_equal(read_at(&image, BIAS + 0x10010, 0x100), -1);
	assert_int_equal(read_at(&image, BIAS + 0x10000 - 1, 1), -1);
	/* whole pages, on both sides */
	assert_int_equal(read_at(&image, BIAS + 0x20101, 0x10), 0x01);
	assert_int_equal(read_at(&image, BIAS + 0x20000, 0x2000), 0);
	assert_int_equal(read_at(&image, BIAS + 0x20000 - 1, 1), -1);
	assert_int_equal(read_at(&image, BIAS + 0x22000, 1), -1);
	/* never writable data, but RELRO */
	assert_int_equal(read_at(&image, BIAS + 0x30000, 1), -1);
	layout.relro_start = 0x31000;
	layout.relro_end = 0x32000;
	assert_int_equal(read_at(&image, BIAS + 0x31000, 0x1000), 0);
	assert_int_equal(read_at(&image, BIAS + 0x31000 - 1, 1), -1);
	assert_int_equal(read_at(&image, BIAS + 0x32000, 1), -1);
	layout.relro_start = 0x32ff0; /* a piece of the last page, which is all its own */
	layout.relro_end = UINT64_MAX;
	assert_int_equal(read_at(&image, BIAS + 0x32010, 0x10), 0x10);
	assert_int_equal(read_at(&image, BIAS + 0x33000, 1), -1);
	/* other processes have it elsewhere */
	assert_int_equal(read_at(&image, 0x20101, 1), -1);
	image.bias = 0;
	assert_int_equal(read_at(&image, 0x20101, 1), 0x01);
	/* the file was cut */
	byte_source_from_memory(&file, data, 0x1800);
	assert_int_equal(read_at(&image, 0x20101, 0x100), 0x01);
	assert_int_equal(read_at(&image, 0x20800, 1), -1);
}

/* ---- processes of one file ---- */

struct process {
	struct go_image_builder image;
	struct program_target target;
};

struct fixture {
	struct elf_builder elf;
	struct go_executables *x;
	struct memory_windows *windows;
	struct process hostile, honest;
	char name[64]; /* the last */
};

static int read_memory(void *ctx, uint64_t address, void *to, size_t len)
{
	struct process *p = ctx;

	return byte_source_read(&p->image.memory, address - p->image.base, to, len);
}

static void start(struct process *p, unsigned minor, uint64_t bias, pid_t pid)
{
	p->target.pid = pid;
	p->target.bias = bias;
	go_image_build_tables(&p->image, minor, bias, names);
	go_image_put_module(&p->image, minor, GO_IMAGE_MODULE, 0);
	byte_source_from_reader(&p->target.memory, read_memory, p, UINT64_C(1) << 48);
}

static void put_part(struct fixture *f, const struct go_image_builder *image, uint64_t address,
		     size_t len, uint32_t flags)
{
	const Elf64_Shdr *sh = elf_builder_section(&f->elf, ".part", SHT_PROGBITS, SHF_ALLOC,
						   address, image->data + address, len);

	elf_builder_segment(&f->elf, PT_LOAD, flags, sh->sh_offset, address, len);
}

/* packed: its code and tables are made when it is started. */
static void build_file(struct fixture *f, unsigned minor, bool packed)
{
	uint8_t info[64] = "\xff Go buildinf:\x08\x02";
	struct go_image_builder image;

	info[32] = (uint8_t)snprintf((char *)info + 33, 16, "go1.%u", minor);
	go_image_build(&image, minor, names);
	if (packed)
		memset(image.data + TABLES, 0, TABLES_BYTES);
	elf_builder_init(&f->elf, EM_X86_64);
	elf_builder_section(&f->elf, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, 0x500000, info,
			    sizeof(info));
	put_part(f, &image, GO_IMAGE_TEXT, GO_IMAGE_TEXT_BYTES, PF_R | PF_X);
	put_part(f, &image, TABLES, TABLES_BYTES, PF_R);
	put_part(f, &image, GO_IMAGE_MODULE, DATA_BYTES, PF_R | PF_W);
	elf_builder_finish(&f->elf);
}

static void open_file(struct fixture *f, struct process *p)
{
	byte_source_from_memory(&p->target.file, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&p->target.layout, &p->target.file), 0);
}

static void begin(struct fixture *f, unsigned minor, uint64_t bias, bool packed)
{
	memset(f, 0, sizeof(*f));
	build_file(f, minor, packed);
	open_file(f, &f->hostile);
	open_file(f, &f->honest);
	start(&f->hostile, minor, bias, 1);
	start(&f->honest, minor, bias == 0 ? 0 : bias + 0x1000, 2);
	assert_int_equal(go_executables_new(&f->x), 0);
	assert_int_equal(memory_windows_new(&f->windows), 0);
}

static void end(struct fixture *f)
{
	go_executables_free(f->x);
	memory_windows_free(f->windows);
}

/*
 * f->name is the innermost function at this offset of the code. Results of opening and
 * resolving.
 */
static int look(struct fixture *f, struct process *p, uint64_t offset)
{
	CLEANUP(go_runtime_closep) struct go_runtime *rt = NULL;
	struct frame_resolver resolver;
	struct frame_list list;
	int r = go_runtime_open(&rt, &p->target, f->x, f->windows);

	if (r < 0)
		return r;
	assert_int_equal(go_runtime_resolver(rt, &resolver), 0);
	r = resolver.resolve(resolver.ctx, p->image.base + GO_IMAGE_TEXT + offset, true, &list);
	if (r == 0)
		snprintf(f->name, sizeof(f->name), "%s", list.frames[0].function);
	return r;
}

static void assert_named(struct fixture *f, struct process *p, uint64_t offset, const char *name)
{
	assert_int_equal(look(f, p, offset), 0);
	assert_string_equal(f->name, name);
}

/* All names of the program begin with an 'm'. */
static void rename_all(struct process *p)
{
	uint8_t *table = p->image.data + GO_IMAGE_TABLE;

	for (size_t i = GO_IMAGE_NAMES; i < GO_IMAGE_UNITS; i++) {
		if (table[i] == 'm' && table[i - 1] == '\0')
			table[i] = 'X';
	}
}

static bool has_relocated_tables(unsigned minor, uint64_t bias)
{
	return minor < 18 && bias != 0;
}

TEST(test_overwritten_names_do_not_reach_another_process)
{
	static const uint64_t biases[] = {0, BIAS};

	for (unsigned i = 0; i < 15 * ARRAY_SIZE(biases); i++) {
		unsigned minor = 13 + i % 15;
		uint64_t bias = biases[i / 15];
		bool own = has_relocated_tables(minor, bias);
		struct fixture f;

		begin(&f, minor, bias, false);
		rename_all(&f.hostile);
		assert_named(&f, &f.hostile, INNER, own ? "Xain.inner" : "main.inner");
		assert_named(&f, &f.hostile, LAST, own ? "Xain.c" : "main.c");
		assert_named(&f, &f.honest, INNER, "main.inner");
		assert_named(&f, &f.honest, LAST, "main.c");
		end(&f);
	}
}

TEST(test_tables_destroyed_in_memory_are_read_from_the_file)
{
	struct fixture f;

	begin(&f, 26, BIAS, false);
	memset(f.hostile.image.data + TABLES, 0xff, TABLES_BYTES);
	assert_named(&f, &f.hostile, INNER, "main.inner");
	assert_named(&f, &f.honest, INNER, "main.inner");
	end(&f);
}

TEST(test_names_of_a_packed_program_come_from_memory_and_are_not_shared)
{
	static const unsigned minors[] = {13, 17, 18, 27};

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		struct fixture f;

		begin(&f, minors[i], 0, true);
		rename_all(&f.hostile);
		assert_named(&f, &f.hostile, INNER, "Xain.inner");
		assert_named(&f, &f.honest, INNER, "main.inner");
		assert_named(&f, &f.hostile, LAST, "Xain.c");
		assert_named(&f, &f.honest, LAST, "main.c");
		end(&f);
	}
}

/* The places of the table, code and inline trees come from data of the process. */
TEST(test_a_process_that_moves_its_tables_affects_no_other)
{
	const struct go_image_release *r = go_image_release_of(24);
	struct fixture f;

	begin(&f, 24, BIAS, false);
	/* the tree begins with its second call */
	go_image_put_word(&f.hostile.image, GO_IMAGE_MODULE, r->gofunc,
			  BIAS + GO_IMAGE_GOFUNC + 16);
	assert_int_equal(look(&f, &f.hostile, 0x20), 0);
	assert_string_not_equal(f.name, "main.middle");
	assert_named(&f, &f.honest, 0x20, "main.middle");
	end(&f);

	begin(&f, 24, BIAS, false);
	/* all code is 128 bytes further on */
	for (size_t i = 0; i < 4; i++) {
		uint64_t edge = i % 2 ? GO_IMAGE_TEXT_BYTES : 0;

		go_image_put_word(&f.hostile.image, GO_IMAGE_MODULE, r->min_pc + i,
				  BIAS + GO_IMAGE_TEXT + edge + 0x80);
	}
	assert_named(&f, &f.hostile, 0x120, "main.a");
	assert_named(&f, &f.honest, 0x120, "main.b");
	end(&f);
}

TEST(test_inline_trees_outside_the_file_are_not_shared)
{
	const struct go_image_release *r = go_image_release_of(24);
	struct fixture f;

	begin(&f, 24, BIAS, false);
	go_image_put_word(&f.hostile.image, GO_IMAGE_MODULE, r->gofunc, BIAS + 0x10000);
	memcpy(f.hostile.image.data + 0x10000, f.hostile.image.data + GO_IMAGE_GOFUNC, 0x200);
	rename_all(&f.hostile);
	assert_named(&f, &f.hostile, INNER, "Xain.inner");
	assert_named(&f, &f.honest, INNER, "main.inner");
	end(&f);
}

/* It is found by its shape if no section or symbol leads to it. */
TEST(test_a_wrong_module_address_is_corrected_in_the_next_process)
{
	uint8_t *data;
	struct fixture f;

	begin(&f, 24, BIAS, false);
	data = f.hostile.image.data + GO_IMAGE_MODULE;
	memmove(data + 0x40, data, 0x400);
	memset(data, 0, 0x40);
	assert_named(&f, &f.hostile, INNER, "main.inner");
	assert_named(&f, &f.honest, INNER, "main.inner");
	assert_named(&f, &f.hostile, LAST, "main.c");
	end(&f);
}

/* Variables are found by code, and checked against the bounds of data in the module. */
TEST(test_variables_of_a_process_with_another_module_are_not_shared)
{
	const struct go_image_release *r = go_image_release_of(24);
	struct go_executable *x = NULL;
	struct fixture f;

	begin(&f, 24, BIAS, false);
	go_image_put_word(&f.hostile.image, GO_IMAGE_MODULE, r->min_pc + 4,
			  f.hostile.image.base + GO_IMAGE_DATA + 8);
	assert_named(&f, &f.hostile, LAST, "main.c");
	assert_int_equal(go_executables_get(f.x, &f.hostile.target, &x), 0);
	x->at[GO_MEMORY_RATE] = 8;
	x->searched |= 1u << GO_MEMORY_RATE;
	assert_named(&f, &f.hostile, LAST, "main.c");
	assert_int_equal(go_executables_get(f.x, &f.hostile.target, &x), 0);
	assert_int_equal(x->searched >> GO_MEMORY_RATE & 1, 1);
	assert_named(&f, &f.honest, LAST, "main.c");
	assert_int_equal(go_executables_get(f.x, &f.honest.target, &x), 0);
	assert_int_equal(x->searched, 1u << GO_MODULE_DATA);
	end(&f);
}

TEST(test_a_truncated_file_is_not_replaced_by_memory)
{
	struct fixture f;
	uint64_t tables;

	begin(&f, 24, BIAS, false);
	tables = f.hostile.target.layout.segments[1].offset;
	/* after it was opened: what finds the function can be read, the tree cannot */
	rename_all(&f.hostile);
	byte_source_from_memory(&f.hostile.target.file, f.elf.data,
				tables + GO_IMAGE_GOFUNC - TABLES + 8);
	assert_int_equal(look(&f, &f.hostile, INNER), -ENODATA);
	assert_named(&f, &f.honest, INNER, "main.inner");
	end(&f);
}

static int look_anew(void *arg)
{
	CLEANUP(go_executables_freep) struct go_executables *x = NULL;
	struct fixture *f = arg;
	int r = go_executables_new(&x);

	if (r < 0)
		return r;
	go_executables_free(f->x);
	f->x = TAKE_PTR(x);
	return look(f, &f->hostile, INNER);
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f, 24, BIAS, false);
	check_oom(look_anew, &f);
	end(&f);
}
