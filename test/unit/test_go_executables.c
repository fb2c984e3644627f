#include <errno.h>

#include "node-agent/go/image/go_executables.h"
#include "test/lib/elf_builder.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

static const char *const names[] = {"main.a", "main.b", "main.c"};

struct fixture {
	struct elf_builder elf;
	struct go_image_builder image;
	struct program_target target;
	struct go_executables *x;
	struct go_executable *found; /* the last */
};

static void build_file(struct fixture *f, const char *version)
{
	uint8_t info[64] = "\xff Go buildinf:\x08\x02";
	Elf64_Shdr *text;

	info[32] = (uint8_t)strlen(version);
	memcpy(info + 33, version, strlen(version));
	elf_builder_init(&f->elf, EM_X86_64);
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT, NULL, GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, text->sh_offset, GO_IMAGE_TEXT,
			    GO_IMAGE_TEXT_BYTES);
	elf_builder_section(&f->elf, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, 0x500000, info,
			    sizeof(info));
	elf_builder_symbol(&f->elf, "runtime.firstmoduledata", STB_LOCAL, STT_OBJECT,
			   GO_IMAGE_MODULE, 8);
	elf_builder_symbol_table(&f->elf, SHT_SYMTAB);
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->target.file, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->target.layout, &f->target.file), 0);
}

static void begin(struct fixture *f, const char *version)
{
	memset(f, 0, sizeof(*f));
	build_file(f, version);
	go_image_build(&f->image, 24, names);
	f->target.memory = f->image.memory;
	assert_int_equal(go_executables_new(&f->x), 0);
}

static void end(struct fixture *f)
{
	go_executables_free(f->x);
}

/* Distinguishes entries here. */
static int get(struct fixture *f, uint64_t entry)
{
	f->target.layout.entry = entry;
	return go_executables_get(f->x, &f->target, &f->found);
}

/* From here on only cached entries are found. */
static void break_memory(struct fixture *f)
{
	memset(f->image.data + GO_IMAGE_MODULE, 0, 0x400);
}

TEST(test_an_executable_is_examined_once)
{
	struct go_frames *frames;
	struct fixture f;

	begin(&f, "go1.24.3");
	assert_int_equal(get(&f, 1), 0);
	assert_int_equal(f.found->minor, 24);
	assert_int_equal(f.found->at[GO_MODULE_DATA], GO_IMAGE_MODULE);
	assert_int_equal(f.found->searched, 1u << GO_MODULE_DATA);
	f.found->at[GO_MEMORY_RATE] = 77;
	frames = f.found->frames;
	break_memory(&f);
	assert_int_equal(get(&f, 1), 0);
	assert_int_equal(f.found->at[GO_MEMORY_RATE], 77);
	assert_ptr_equal(f.found->frames, frames);
	end(&f);
}

TEST(test_a_file_of_another_shape_is_another_executable)
{
	struct fixture f;

	begin(&f, "go1.24.3");
	assert_int_equal(get(&f, 1), 0);
	break_memory(&f);
	assert_int_equal(get(&f, 2), -ENOENT);
	f.target.file.size_bytes--;
	assert_int_equal(get(&f, 1), -ENOENT);
	f.target.file.size_bytes++;
	f.target.layout.build_id[1]++;
	assert_int_equal(get(&f, 1), -ENOENT);
	f.target.layout.build_id[1]--;
	f.target.layout.segments[0].memory_bytes++;
	assert_int_equal(get(&f, 1), -ENOENT);
	f.target.layout.segments[0].memory_bytes--;
	assert_int_equal(get(&f, 1), 0);
	end(&f);
}

TEST(test_the_least_recently_used_is_evicted)
{
	struct fixture f;

	begin(&f, "go1.24.3");
	for (uint64_t i = 0; i < GO_EXECUTABLES_MAX; i++) {
		assert_int_equal(get(&f, i), 0);
		assert_int_equal(get(&f, 0), 0);
	}
	assert_int_equal(get(&f, GO_EXECUTABLES_MAX), 0);
	break_memory(&f);
	assert_int_equal(get(&f, 0), 0);
	assert_int_equal(get(&f, 1), -ENOENT);
	for (uint64_t i = 2; i <= GO_EXECUTABLES_MAX; i++)
		assert_int_equal(get(&f, i), 0);
	end(&f);
}

TEST(test_failures_are_not_cached)
{
	static const struct {
		const char *version;
		int result;
	} versions[] = {
		{"go1.12.17", -ENOTSUP}, {"go1.0", -ENOTSUP}, {"go2.1", -ENOENT},
		{"", -ENOENT},           {"devel", -ENOENT},  {"go1.9999", -ENOENT},
		{"go1.13", 0},           {"go1.99", 0},       {"devel go1.28-abc", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct fixture f;

		begin(&f, versions[i].version);
		if (i == 6)
			go_image_build(&f.image, 13, names);
		if (i > 6)
			go_image_build(&f.image, 27, names);
		assert_int_equal(get(&f, 1), versions[i].result);
		end(&f);
	}
	for (int turn = 0; turn < 2; turn++) {
		struct fixture f;

		begin(&f, "go1.24");
		break_memory(&f);
		assert_int_equal(get(&f, 1), -ENOENT);
		go_image_build(&f.image, 24, names); /* it is set up only now */
		assert_int_equal(get(&f, 1), 0);
		end(&f);
	}
}

static int make(void *arg)
{
	CLEANUP(go_executables_freep) struct go_executables *x = NULL;
	struct fixture *f = arg;
	struct go_executable *found;
	int r = go_executables_new(&x);

	if (r == 0)
		r = go_executables_get(x, &f->target, &found);
	return r == 0 ? go_executables_get(x, &f->target, &found) : r;
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f, "go1.24");
	check_oom(make, &f);
	end(&f);
}
