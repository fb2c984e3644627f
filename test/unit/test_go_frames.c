#include <errno.h>

#include "node-agent/go/pclntab/go_frames.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define MAX_BYTES 262144u
#define BIAS 0x1000u

static const char *const names[] = {"main.a", "runtime.b", "internal/runtime/maps.c"};

struct fixture {
	struct go_image_builder image;
	struct go_module modules[2];
	struct go_frames *frames;
	struct frame_resolver resolver;
	struct frame_list list;
	uint64_t bias;
	uint64_t deadline_ns;
	pid_t pid;
};

static void next_process(struct fixture *f, size_t n_modules)
{
	const struct go_frames_process p = {f->modules, n_modules, f->pid,        7,
					    f->bias,    24,        f->deadline_ns};

	assert_int_equal(go_frames_begin(f->frames, &p), 0);
}

static void begin(struct fixture *f)
{
	go_image_build(&f->image, 24, names);
	assert_int_equal(
		go_module_parse(&f->modules[0], &f->image.memory, NULL, GO_IMAGE_MODULE, 24), 0);
	f->modules[0].in_file = true;
	assert_int_equal(go_frames_new(&f->frames, MAX_BYTES), 0);
	f->pid = 1;
	f->bias = BIAS;
	f->deadline_ns = UINT64_MAX;
	f->resolver = go_frames_resolver(f->frames);
	next_process(f, 1);
}

static void end(struct fixture *f)
{
	go_frames_free(f->frames);
}

static int resolve(struct fixture *f, uint64_t offset, bool all)
{
	return f->resolver.resolve(f->resolver.ctx, GO_IMAGE_TEXT + offset, all, &f->list);
}

/* What the program's tables say from now on. */
static void rename_first(struct fixture *f)
{
	f->image.data[GO_IMAGE_TABLE + GO_IMAGE_NAMES + 1] = 'M';
}

TEST(test_a_return_address_names_the_call_before_it)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_int_equal(f.list.n, 1);
	assert_string_equal(f.list.frames[0].function, "main.a");
	assert_int_equal(f.list.frames[0].line, 10);
	/* behind the last instruction of the program */
	assert_int_equal(resolve(&f, GO_IMAGE_TEXT_BYTES, true), 0);
	assert_string_equal(f.list.frames[0].function, "internal/runtime/maps.c");
	end(&f);
}

TEST(test_names_have_no_control_characters)
{
	struct fixture f;

	begin(&f);
	memcpy(f.image.data + GO_IMAGE_TABLE + GO_IMAGE_NAMES + 1, "\x1b]\xff", 3);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "?]?n.a");
	end(&f);
}

TEST(test_the_start_of_a_function_names_that_function)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(resolve(&f, 0, true), 0);
	assert_string_equal(f.list.frames[0].function, "main.a");
	assert_int_equal(resolve(&f, 0x100, true), 0);
	assert_string_equal(f.list.frames[0].function, "runtime.b");
	assert_int_equal(resolve(&f, 0x101, true), 0);
	assert_string_equal(f.list.frames[0].function, "runtime.b");
	end(&f);
}

TEST(test_inlined_calls_are_frames_on_request)
{
	struct fixture f;

	begin(&f);
	for (int turn = 0; turn < 2; turn++) { /* looked up, then cached */
		assert_int_equal(resolve(&f, 0x30, true), 0);
		assert_int_equal(f.list.n, 3);
		assert_string_equal(f.list.frames[0].function, "main.inner");
		assert_string_equal(f.list.frames[1].function, "main.middle");
		assert_string_equal(f.list.frames[2].function, "main.a");
		assert_string_equal(f.list.frames[2].file, "/src/a.go");
		assert_int_equal(f.list.frames[2].line, 10);
		assert_int_equal(resolve(&f, 0x30, false), 0);
		assert_int_equal(f.list.n, 1);
		assert_string_equal(f.list.frames[0].function, "main.inner");
	}
	end(&f);
}

TEST(test_a_circular_inline_tree_ends_at_the_limit_of_frames)
{
	struct fixture f;

	begin(&f);
	go_image_put_tree(&f.image, GOPCLNTAB_1_20, 1, 1, 0x28);
	assert_int_equal(resolve(&f, 0x30, true), 0);
	assert_int_equal(f.list.n, FRAMES_PER_ADDRESS_MAX);
	end(&f);
}

TEST(test_addresses_outside_of_code_are_unknown)
{
	static const uint64_t offsets[] = {(uint64_t)-1, GO_IMAGE_TEXT_BYTES + 1,
					   (uint64_t)-GO_IMAGE_TEXT, (uint64_t)-GO_IMAGE_TEXT - 1};
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		assert_int_equal(resolve(&f, offsets[i], true), 0);
		assert_int_equal(f.list.n, 1);
		assert_string_equal(f.list.frames[0].function, "[unknown]");
		assert_string_equal(f.list.frames[0].file, "");
		assert_false(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + offsets[i] - 1));
	}
	end(&f);
}

TEST(test_the_runtime_is_recognised_by_its_packages)
{
	struct fixture f;

	begin(&f);
	assert_false(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT));
	assert_true(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x100));
	assert_true(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x180));
	end(&f);
}

TEST(test_whether_an_address_is_in_the_runtime_is_cached)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(resolve(&f, 0x101, false), 0);
	assert_true(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x101));
	f.deadline_ns = 1; /* passed: nothing can be looked up */
	next_process(&f, 1);
	assert_true(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x101));
	assert_false(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x102));
	f.deadline_ns = UINT64_MAX;
	next_process(&f, 1);
	assert_true(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x102));
	/* of an address that is cached with all its frames only */
	assert_int_equal(resolve(&f, 0x103, true), 0);
	assert_true(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x103));
	f.deadline_ns = 1;
	next_process(&f, 1);
	assert_true(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x103));
	end(&f);
}

TEST(test_names_are_shared_with_the_next_process)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	rename_first(&f);
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "main.a"); /* not read again */
	assert_int_equal(resolve(&f, 0x11, false), 0);
	assert_string_equal(f.list.frames[0].function, "main.middle");
	assert_int_equal(resolve(&f, 0x50, true), 0);
	assert_string_equal(f.list.frames[0].function, "Main.a");
	end(&f);
}

TEST(test_names_are_shared_across_load_addresses)
{
	struct go_image_builder moved;
	struct fixture f;

	begin(&f);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	/* its code is 16 bytes further on in the next process */
	moved = f.image;
	rename_first(&f);
	f.modules[0].source = &moved.memory;
	f.modules[0].gofunc += 16;
	f.modules[0].text.start += 16;
	f.modules[0].text.end += 16;
	for (size_t i = 0; i < ARRAY_SIZE(f.modules[0].data); i++) {
		f.modules[0].data[i].start += 16;
		f.modules[0].data[i].end += 16;
	}
	f.modules[0].table.offset += 16;
	f.modules[0].table.text_start += 16;
	f.modules[0].table.first += 16;
	f.modules[0].table.end += 16;
	f.bias += 16;
	f.pid = 2;
	byte_source_from_memory(&moved.memory, moved.data, sizeof(moved.data));
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x20, true), 0);
	assert_string_equal(f.list.frames[0].function, "main.a");
	end(&f);
}

TEST(test_names_read_from_memory_are_not_shared)
{
	struct fixture f;

	begin(&f);
	f.modules[0].in_file = false;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "main.a");
	rename_first(&f);
	f.pid = 2;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "Main.a");
	f.modules[0].in_file = true;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "Main.a");
	f.modules[0].in_file = false;
	f.pid = 1;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "main.a");
	end(&f);
}

TEST(test_the_cache_is_emptied_after_too_many_origins)
{
	struct fixture f;

	begin(&f);
	f.modules[0].in_file = false;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	rename_first(&f);
	for (f.pid = 2; f.pid < (pid_t)GO_FRAMES_ORIGINS_MAX; f.pid++)
		next_process(&f, 1);
	f.pid = 1;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "main.a");
	for (f.pid = 2; f.pid <= (pid_t)GO_FRAMES_ORIGINS_MAX; f.pid++)
		next_process(&f, 1);
	f.pid = 1;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "Main.a");
	end(&f);
}

TEST(test_code_of_plugins_is_not_cached)
{
	struct fixture f;

	begin(&f);
	/* the same code, but behind another module */
	f.modules[1] = f.modules[0];
	f.modules[0].table.first = f.modules[0].table.end = GO_IMAGE_TEXT + 0x4000;
	next_process(&f, 2);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "main.a");
	rename_first(&f);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "Main.a");
	end(&f);
}

TEST(test_unreadable_addresses_are_not_cached_as_unknown)
{
	struct fixture f;

	begin(&f);
	byte_source_from_memory(&f.image.memory, f.image.data, GO_IMAGE_TREE);
	assert_int_equal(resolve(&f, 0x30, true), -ENODATA);
	byte_source_from_memory(&f.image.memory, f.image.data, sizeof(f.image.data));
	assert_int_equal(resolve(&f, 0x30, true), 0);
	assert_int_equal(f.list.n, 3);
	end(&f);
}

TEST(test_a_half_full_cache_is_emptied_between_processes)
{
	struct fixture f;
	size_t before;

	begin(&f);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	rename_first(&f);
	before = go_frames_bytes(f.frames);
	next_process(&f, 1);
	assert_int_equal(go_frames_bytes(f.frames), before);
	/* processes that would have their code elsewhere */
	for (f.bias = BIAS + 1; go_frames_bytes(f.frames) <= MAX_BYTES / 2; f.bias += 0x1000) {
		next_process(&f, 1);
		for (uint64_t at = 0x101; at < GO_IMAGE_TEXT_BYTES; at++)
			assert_int_equal(resolve(&f, at, true), 0);
	}
	before = go_frames_bytes(f.frames);
	f.bias = BIAS;
	next_process(&f, 1);
	assert_true(go_frames_bytes(f.frames) < before);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_string_equal(f.list.frames[0].function, "Main.a");
	end(&f);
}

TEST(test_after_the_deadline_only_cached_names_are_returned)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	f.deadline_ns = 1;
	next_process(&f, 1);
	assert_int_equal(resolve(&f, 0x10, true), 0);
	assert_int_equal(resolve(&f, 0x50, true), -ETIME);
	assert_false(f.resolver.is_runtime(f.resolver.ctx, GO_IMAGE_TEXT + 0x100));
	end(&f);
}

static int make(void *arg)
{
	CLEANUP(go_frames_freep) struct go_frames *frames = NULL;
	struct fixture *f = arg;
	const struct go_frames_process p = {f->modules, 1, 1, 7, 0, 24, UINT64_MAX};
	int r = go_frames_new(&frames, MAX_BYTES);

	if (r == 0)
		r = go_frames_begin(frames, &p);
	if (r == 0) {
		f->resolver = go_frames_resolver(frames);
		r = resolve(f, 0x30, true);
	}
	return r;
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f);
	check_oom(make, &f);
	end(&f);
}
