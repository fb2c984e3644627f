#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/go/goroutine/goroutine_text.h"
#include "test/lib/unit.h"

#define MAX_BYTES 4096u
#define NOW_NS (10000 * NS_PER_S)

/* 900 says nothing, 300 a wrapper, at 200 a leaf is inlined into another function. */
static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	(void)ctx;
	(void)all;
	if (address == 5000)
		return -EIO;
	ret->frames[0] = (struct frame){"main.wait", "/src/main.go", 12, 0, FRAME_PLAIN};
	ret->n = address != 900;
	if (address == 300)
		ret->frames[0].role = FRAME_WRAPPER;
	if (address == 400)
		ret->frames[0] = (struct frame){"[unknown]", "", 0, 0, FRAME_PLAIN};
	if (address == 200)
		ret->frames[ret->n++] =
			(struct frame){"main.outer", "/src/main.go", 20, 0, FRAME_PLAIN};
	return 0;
}

static const struct frame_resolver resolver = {.resolve = resolve};

static struct goroutine_group make_group(const uint64_t *pcs, size_t n_pcs, uint64_t n)
{
	return (struct goroutine_group){
		.place = {.status = GOROUTINE_RUNNABLE, .pcs = pcs, .n_pcs = n_pcs},
		.n = n,
		.id = 7,
	};
}

static void expect(const struct goroutine_group *a, const struct goroutine_group *b,
		   const char *text)
{
	const struct goroutine_group *groups[] = {a, b};
	CLEANUP(buf_fini) struct buf out;
	struct goroutine_names names;

	buf_init(&out, MAX_BYTES);
	goroutine_names_init(&names, NULL);
	assert_int_equal(goroutine_text_append(&out, &names, &resolver, groups, b ? 2 : 1, NOW_NS),
			 0);
	assert_string_equal(out.data, text);
}

TEST(test_a_group_is_a_line_and_its_calls)
{
	const uint64_t pcs[] = {200, 300, 400, 900};
	const struct goroutine_group many = make_group(pcs, 4, 12), one = make_group(pcs, 1, 1);

	expect(&many, &one,
	       "12 goroutines [runnable], e.g. id 7:\n"
	       "    main.wait /src/main.go:12\n"
	       "    main.outer /src/main.go:20\n"
	       "    [unknown]\n"
	       "\n"
	       "1 goroutine [runnable], id 7:\n"
	       "    main.wait /src/main.go:12\n"
	       "    main.outer /src/main.go:20\n");
}

TEST(test_a_recursion_is_one_line)
{
	const uint64_t pcs[] = {100, 100, 100, 200, 900};
	const struct goroutine_group g = make_group(pcs, 5, 1);

	expect(&g, NULL,
	       "1 goroutine [runnable], id 7:\n"
	       "    main.wait /src/main.go:12 (4 times)\n"
	       "    main.outer /src/main.go:20\n");
}

TEST(test_missing_callers_are_a_frame)
{
	const uint64_t pcs[] = {100};
	struct goroutine_group g = make_group(pcs, 1, 1);

	g.place.truncated = true;
	expect(&g, NULL,
	       "1 goroutine [runnable], id 7:\n"
	       "    main.wait /src/main.go:12\n"
	       "    [truncated]\n");
}

TEST(test_without_a_stack_the_start_function_is_shown)
{
	const uint64_t pcs[] = {100};
	struct goroutine_group g = make_group(pcs, 1, 3);

	g.place.no_stack = true;
	g.place.status = GOROUTINE_RUNNING;
	expect(&g, NULL,
	       "3 goroutines [running], e.g. id 7, started with:\n"
	       "    main.wait /src/main.go:12\n");
}

static void expect_wait(uint64_t wait_ns, const char *text)
{
	struct goroutine_group g = make_group(NULL, 0, 1);
	const struct goroutine_group *groups[] = {&g};
	CLEANUP(buf_fini) struct buf out;
	struct goroutine_names names;

	buf_init(&out, MAX_BYTES);
	goroutine_names_init(&names, NULL);
	g.wait_since_ns = NOW_NS - wait_ns;
	assert_int_equal(goroutine_text_append(&out, &names, &resolver, groups, 1, NOW_NS), 0);
	assert_non_null(strstr(out.data, text));
}

TEST(test_the_wait_is_shown_in_two_units)
{
	expect_wait(59 * NS_PER_S, ", for at least 59s, id");
	expect_wait(200 * NS_PER_S, ", for at least 3m20s, id");
	expect_wait(7300 * NS_PER_S, ", for at least 2h1m, id");
	expect_wait(NOW_NS - 1, ", for at least 2h46m, id");
	expect_wait(NOW_NS, "[runnable], id");
	expect_wait(-(uint64_t)(60 * NS_PER_S), "[runnable], id"); /* of another clock */
}

TEST(test_errors_are_passed_on)
{
	const uint64_t pcs[] = {5000};
	const struct goroutine_group g = make_group(pcs, 1, 1);
	const struct goroutine_group *groups[] = {&g};
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(buf_fini) struct buf small;
	struct goroutine_names names;

	buf_init(&out, MAX_BYTES);
	goroutine_names_init(&names, NULL);
	assert_int_equal(goroutine_text_append(&out, &names, &resolver, groups, 1, NOW_NS), -EIO);
	buf_init(&small, 8);
	assert_int_equal(goroutine_text_append(&small, &names, &resolver, groups, 1, NOW_NS),
			 -EFBIG);
}

static int append(void *arg)
{
	const uint64_t pcs[] = {200, 900};
	const struct goroutine_group g = make_group(pcs, 2, 1);
	const struct goroutine_group *groups[] = {&g};
	CLEANUP(buf_fini) struct buf out;
	struct goroutine_names names;

	(void)arg;
	buf_init(&out, MAX_BYTES);
	goroutine_names_init(&names, NULL);
	return goroutine_text_append(&out, &names, &resolver, groups, 1, NOW_NS);
}

TEST(test_failed_allocations_are_survived)
{
	check_oom(append, NULL);
}
