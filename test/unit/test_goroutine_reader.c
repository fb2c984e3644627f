#include <elf.h>
#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/go/goroutine/goroutine_reader.h"
#include "node-agent/go/goroutine/goroutine_variables.h"
#include "node-agent/go/pclntab/go_frames.h"
#include "test/lib/elf_builder.h"
#include "test/lib/goroutine_image.h"
#include "test/lib/unit.h"

/* In the image, which leaves these free. */
#define LIST 0x100u /* runtime.allgs: address, length, capacity */
#define ARRAY 0x200u
#define REASONS 0x300u /* runtime.waitReasonStrings: address and length each */
#define TEXTS 0x400u
#define KNOWN_TEXT 0x4e0u
#define MODULE 0x500u

static struct goroutine_image im;
static const enum image_function parked[] = {IMAGE_PARK, IMAGE_CALLEE, IMAGE_WORKER, IMAGE_GOEXIT};

struct fixture {
	struct program_target target;
	struct byte_source file; /* without symbols */
	struct go_runtime rt;
	struct go_executable executable;
	struct elf_layout layout;
	struct buf out;
	struct goroutine_reading reading;
	struct arena arena;
	struct profile profile;
};

/* The text by which tables of reasons are recognised. */
static void put_known_reason(uint64_t table)
{
	static const char text[] = "GC assist marking";

	memcpy(im.data + KNOWN_TEXT, text, sizeof(text));
	image_put(&im, table + 16, KNOWN_TEXT, 8);
	image_put(&im, table + 24, sizeof(text) - 1, 8);
}

/* A process whose variables are all cached. */
static void begin(struct fixture *f, bool is_arm)
{
	memset(f, 0, sizeof(*f));
	goroutine_image_init(&im, is_arm);
	buf_init(&f->out, LIMIT_UPLOAD_BYTES);
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(go_frames_new(&f->executable.frames, 1u << 20), 0);
	f->executable.minor = 26;
	f->executable.searched = UINT32_MAX;
	f->executable.at[GO_ALL_GOROUTINES] = LIST;
	f->executable.at[GO_WAIT_REASONS] = REASONS;
	put_known_reason(REASONS);
	f->layout.machine = is_arm ? EM_AARCH64 : EM_X86_64;
	f->rt.executable = &f->executable;
	f->rt.deadline_ns = UINT64_MAX;
	f->rt.image = (struct go_image){.layout = &f->layout, .memory = &im.memory, .minor = 26};
	f->rt.target = &f->target;
	byte_source_from_memory(&f->file, NULL, 0);
	f->rt.image.file = &f->file;
	f->rt.modules[0] = im.module;
	f->rt.modules[0].address = MODULE;
	f->rt.n_modules = 1;
}

static void end(struct fixture *f)
{
	go_frames_free(f->executable.frames);
	buf_fini(&f->out);
	arena_fini(&f->arena);
}

static uint64_t add_parked(uint8_t reason)
{
	uint64_t g = image_add(&im, GOROUTINE_WAITING, IMAGE_WORKER);

	image_calls(&im, g, parked, ARRAY_SIZE(parked));
	image_put(&im, g + im.layout->wait_reason, reason, 1);
	return g;
}

/* All that were added, in the process's own list. */
static void put_list(void)
{
	for (size_t i = 0; i < im.n; i++)
		image_put(&im, ARRAY + i * 8, im.addresses[im.n - 1 - i], 8);
	image_put(&im, LIST, ARRAY, 8);
	image_put(&im, LIST + 8, im.n, 8);
	image_put(&im, LIST + 16, im.n, 8);
}

static void put_reason(unsigned i, const char *text, size_t len)
{
	uint64_t at = TEXTS + i * 0x10;

	memcpy(im.data + at, text, strlen(text));
	image_put(&im, REASONS + i * 16, at, 8);
	image_put(&im, REASONS + i * 16 + 8, len, 8);
}

static int read_it(struct fixture *f, bool wait_reasons)
{
	const struct goroutine_reader_config cfg = {wait_reasons, 5};

	return goroutine_reader_read(&f->rt, &cfg, &f->out, &f->reading);
}

static void decode(struct fixture *f)
{
	struct err err = {""};

	assert_int_equal(pprof_decode(&f->profile, &f->arena, f->out.data, f->out.len, &err), 0);
}

static const char *frame(const struct fixture *f, uint32_t sample, uint32_t i)
{
	const struct profile *p = &f->profile;
	uint32_t l = p->samples[sample].locations[i];

	return p->functions[p->locations[l].lines[0].function].name.data;
}

static void the_profile_has_stacks_and_their_numbers(bool is_arm)
{
	struct fixture f;

	begin(&f, is_arm);
	add_parked(0);
	add_parked(0);
	(void)image_add(&im, GOROUTINE_RUNNING, IMAGE_WORKER);
	put_list();
	assert_int_equal(read_it(&f, false), 0);
	assert_int_equal(f.reading.n_goroutines, 3);
	assert_int_equal(f.reading.n_running, 1);
	decode(&f);
	assert_string_equal(f.profile.types[0].type.data, "go:goroutine_goroutine:count");
	assert_int_equal(f.profile.duration_ns, 5);
	assert_int_equal(f.profile.n_samples, 2);
	assert_int_equal(f.profile.samples[0].values[0], 2);
	assert_int_equal(f.profile.samples[0].n_locations, 3); /* goexit says nothing */
	assert_string_equal(frame(&f, 0, 0), "runtime.gopark");
	assert_string_equal(frame(&f, 0, 2), "main.worker");
	assert_string_equal(frame(&f, 1, 0), "[running]");
	assert_string_equal(frame(&f, 1, 1), "main.worker");
	end(&f);
}

TEST(test_the_profile_has_stacks_and_their_counts)
{
	the_profile_has_stacks_and_their_numbers(false);
	the_profile_has_stacks_and_their_numbers(true);
}

TEST(test_the_wait_reason_is_the_leaf_on_request)
{
	struct fixture f;

	begin(&f, false);
	put_reason(2, "chan receive", 12);
	add_parked(2);
	put_list();
	assert_int_equal(read_it(&f, true), 0);
	decode(&f);
	assert_string_equal(frame(&f, 0, 0), "[chan receive]");
	assert_string_equal(frame(&f, 0, 1), "runtime.gopark");
	end(&f);
}

/* Too long, not text, nowhere, beyond the table, empty. */
TEST(test_an_unreadable_wait_reason_is_replaced_by_the_status)
{
	struct fixture f;

	begin(&f, false);
	put_reason(2, "long", GOROUTINE_REASON_BYTES);
	put_reason(3, "a\x01", 2);
	put_reason(4, "", 0);
	add_parked(2);
	add_parked(3);
	add_parked(4);
	add_parked(200);
	put_list();
	assert_int_equal(read_it(&f, true), 0);
	decode(&f);
	assert_int_equal(f.profile.n_samples, 1);
	assert_int_equal(f.profile.samples[0].values[0], 4);
	assert_string_equal(frame(&f, 0, 0), "[waiting]");
	end(&f);
}

TEST(test_an_incomplete_stack_is_marked)
{
	struct fixture f;
	uint64_t g, sp;

	begin(&f, false);
	add_parked(0);
	g = add_parked(0);
	memcpy(&sp, im.data + g + 56, sizeof(sp));
	image_put(&im, sp + image_frame_bytes(IMAGE_PARK), 0, 8); /* who called gopark */
	put_list();
	assert_int_equal(read_it(&f, false), 0);
	assert_int_equal(f.reading.n_goroutines, 2);
	assert_int_equal(f.reading.n_broken, 1);
	decode(&f);
	assert_int_equal(f.profile.n_samples, 2);
	assert_string_equal(frame(&f, 1, 0), "runtime.gopark");
	assert_string_equal(frame(&f, 1, 1), "[truncated]");
	end(&f);
}

TEST(test_count_and_text_cover_the_same_goroutines)
{
	struct fixture f;
	uint64_t n = 0;

	begin(&f, false);
	add_parked(0);
	add_parked(0);
	(void)image_add(&im, GOROUTINE_WAITING, IMAGE_SWEEPER);
	put_list();
	assert_int_equal(goroutine_reader_count(&f.rt, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(goroutine_reader_text(&f.rt, 1, &f.out, &f.reading), 0);
	assert_string_equal(f.out.data, "2 goroutines [waiting], e.g. id 1:\n"
					"    runtime.gopark\n"
					"    main.callee\n"
					"    main.worker\n");
	end(&f);
}

static void expect_list(uint64_t address, uint64_t n, uint64_t capacity, int error)
{
	struct fixture f;

	begin(&f, false);
	add_parked(0);
	put_list();
	image_put(&im, LIST, address, 8);
	image_put(&im, LIST + 8, n, 8);
	image_put(&im, LIST + 16, capacity, 8);
	assert_int_equal(read_it(&f, false), error);
	assert_int_equal(f.out.len > 0, error == 0);
	end(&f);
}

TEST(test_an_invalid_list_is_rejected)
{
	expect_list(ARRAY, 1, 1, 0);
	expect_list(ARRAY, 0, 0, -EBADMSG);
	expect_list(ARRAY, 2, 1, -EBADMSG);
	expect_list(ARRAY + 4, 1, 1, -EBADMSG);
	expect_list(ARRAY, 1, UINT64_MAX, -EBADMSG);
	expect_list(ARRAY, GOROUTINE_MAX + 1, GOROUTINE_MAX + 1, -E2BIG);
	expect_list(ARRAY, GOROUTINE_MAX, GOROUTINE_MAX, -EBADMSG); /* nothing behind the first */
	expect_list(0x7fff0000, 1, 1, -ENODATA);
	expect_list(MODULE, 1, 1, -EBADMSG); /* of a pointer to nothing */
}

/* The process's file has a symbol, in addition to the address cached from another process. */
static void put_symbol(struct fixture *f, struct elf_builder *elf, const char *name, uint64_t at)
{
	elf_builder_init(elf, EM_X86_64);
	elf_builder_segment(elf, PT_LOAD, PF_R | PF_W, 0, 0, 1);
	elf_builder_symbol(elf, name, STB_LOCAL, STT_OBJECT, at, 24);
	elf_builder_symbol_table(elf, SHT_SYMTAB);
	elf_builder_finish(elf);
	byte_source_from_memory(&f->file, elf->data, elf->len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->file), 0);
	f->rt.modules[0].data[0] = (struct go_range){at, at + 24};
}

TEST(test_a_wrong_cached_list_is_searched_again)
{
	struct elf_builder elf;
	struct fixture f;
	uint64_t n = 0;

	begin(&f, false);
	add_parked(0);
	put_list();
	put_symbol(&f, &elf, "runtime.allgs", LIST);
	f.executable.at[GO_ALL_GOROUTINES] = ARRAY;
	assert_int_equal(goroutine_reader_count(&f.rt, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(f.executable.at[GO_ALL_GOROUTINES], LIST);
	end(&f);
}

TEST(test_wrong_cached_reasons_are_searched_again)
{
	struct elf_builder elf;
	struct fixture f;

	begin(&f, false);
	put_reason(2, "chan receive", 12);
	add_parked(2);
	put_list();
	put_symbol(&f, &elf, "runtime.waitReasonStrings", REASONS);
	f.executable.at[GO_WAIT_REASONS] = REASONS + 16;
	assert_int_equal(read_it(&f, true), 0);
	decode(&f);
	assert_string_equal(frame(&f, 0, 0), "[chan receive]");
	end(&f);
}

TEST(test_unknown_releases_are_not_read)
{
	struct fixture f;
	uint64_t n = 0;

	begin(&f, false);
	add_parked(0);
	put_list();
	f.rt.image.minor = 28;
	assert_int_equal(read_it(&f, false), -ENOTSUP);
	assert_int_equal(goroutine_reader_count(&f.rt, &n), -ENOTSUP);
	end(&f);
}

TEST(test_a_process_that_exits_meanwhile_has_no_profile)
{
	struct fixture f;

	begin(&f, false);
	add_parked(0);
	put_list();
	f.rt.modules[0].address = GOROUTINE_IMAGE_BYTES;
	assert_int_equal(read_it(&f, false), -ENODATA);
	end(&f);
}

static int read_again(void *arg)
{
	struct fixture *f = arg;

	buf_fini(&f->out);
	return read_it(f, true);
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f, false);
	put_reason(2, "select", 6);
	add_parked(2);
	put_list();
	assert_int_equal(read_it(&f, true), 0); /* names are kept from now on */
	check_oom(read_again, &f);
	end(&f);
}
