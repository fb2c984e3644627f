#include <errno.h>

#include "cluster-agent/query/flame_json.h"
#include "common/flame/flame_tree.h"
#include "test/lib/unit.h"

#define MAX_FRAMES 16

static const struct flame_view_limits no_limits = {UINT32_MAX, UINT32_MAX, 0};

/* frames are root first, separated by ';'. */
static int add(struct flame_tree *t, const char *stack, int64_t value)
{
	struct flame_frame frames[MAX_FRAMES];
	size_t n = 0;

	for (const char *s = stack; *s;) {
		size_t len = strcspn(s, ";");

		n++;
		frames[MAX_FRAMES - n] = (struct flame_frame){s, len, 0};
		s += len + (s[len] == ';');
	}
	return flame_tree_add(t, &frames[MAX_FRAMES - n], n, (struct stack_value){value, 0});
}

/* expected has "depth name/file total self" per line. */
static void assert_tree(const struct flame_view *v, const char *expected)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 10000);
	for (uint32_t i = 0; i < v->n_nodes; i++)
		assert_int_equal(buf_addf(&b, "%u %s/%s %lld %lld\n", v->node_depth[i],
					  v->names[v->node_name[i]], v->files[v->node_file[i]],
					  (long long)v->node_total[i], (long long)v->node_self[i]),
				 0);
	assert_string_equal(b.data, expected);
}

static void assert_functions(const struct flame_view *v, const char *expected)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 10000);
	for (uint32_t i = 0; i < v->n_functions; i++)
		assert_int_equal(buf_addf(&b, "%s %lld %lld\n", v->names[v->functions[i].name],
					  (long long)v->functions[i].self,
					  (long long)v->functions[i].total),
				 0);
	assert_string_equal(b.data ? b.data : "", expected);
}

TEST(stacks_merge_by_name_and_file)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};

	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(add(t, "main m.c:1;work m.c:5", 10), 0);
	assert_int_equal(add(t, "main m.c:2;work m.c:9", 5), 0);
	assert_int_equal(add(t, "main m.c:2;work other.c:9", 3), 0);
	assert_int_equal(add(t, "main m.c:3", 2), 0);
	assert_int_equal(add(t, "", 1), 0);
	assert_int_equal(add(t, "ignored :0", 0), 0);
	assert_int_equal(add(t, "ignored :0", -4), 0);
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_tree(&v, "0 total/ 21 1\n"
			"1 main/m.c 20 2\n"
			"2 work/m.c 15 15\n"
			"2 work/other.c 3 3\n");
	assert_string_equal(v.files[0], "");
	assert_int_equal(v.other_nodes, 0);
}

/* A deployment with a newer library and toolchain is not a new program. */
TEST(functions_of_two_releases_are_the_same)
{
	static const char *const stacks[] = {
		"main.main /build/7/app/main.go:9;yaml.scan /mod/yaml@v1.3.0/scan.go:7;"
		"runtime.lock /go1.27/src/runtime/lock.go:1",
		"main.main /build/6/app/main.go:8;yaml.scan /mod/yaml@v1.2.9/scan.go:5;"
		"runtime.lock /go1.26/src/runtime/lock.go:3",
	};

	for (size_t first = 0; first < 2; first++) {
		CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
		CLEANUP(flame_view_fini) struct flame_view v = {0};

		assert_int_equal(flame_tree_new(&t, NULL), 0);
		assert_int_equal(add(t, stacks[first], 4), 0);
		assert_int_equal(add(t, stacks[1 - first], 6), 0);
		assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
		/* the same file, whichever comes first */
		assert_tree(&v, "0 total/ 10 0\n"
				"1 main.main//build/6/app/main.go 10 0\n"
				"2 yaml.scan//mod/yaml@v1.2.9/scan.go 10 0\n"
				"3 runtime.lock//go1.26/src/runtime/lock.go 10 10\n");
	}
}

/* Lines come with DWARF, which may be found in the middle of what is shown. */
TEST(a_function_with_and_without_a_line_is_one)
{
	static const char *const stacks[] = {
		"main [shop]:0;shop::spend(int) [shop]:0;step(int) [shop]:0",
		"main /src/shop/main.cc:9;shop::spend(int) /src/shop/price.cc:7;"
		"step(int) /usr/include/c++/12/bits/step.h:3:inlined",
	};

	for (size_t first = 0; first < 2; first++) {
		CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
		CLEANUP(flame_view_fini) struct flame_view v = {0};

		assert_int_equal(flame_tree_new(&t, NULL), 0);
		assert_int_equal(add(t, stacks[first], 4), 0);
		assert_int_equal(add(t, stacks[1 - first], 6), 0);
		assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
		assert_tree(&v, "0 total/ 10 0\n"
				"1 main//src/shop/main.cc 10 0\n"
				"2 shop::spend(int)//src/shop/price.cc 10 0\n"
				"3 step(int)//usr/include/c++/12/bits/step.h 10 10\n");
		assert_int_equal(v.n_inlined, 0);
	}
}

TEST(functions_that_only_share_a_name_stay_two)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};

	assert_int_equal(flame_tree_new(&t, NULL), 0);
	/* of two programs; static ones; of two languages; of the kernel */
	assert_int_equal(add(t, "main [a]:0", 1), 0);
	assert_int_equal(add(t, "main [b]:0", 2), 0);
	assert_int_equal(add(t, "main src/c.c:3", 3), 0);
	assert_int_equal(add(t, "init a.c:1", 1), 0);
	assert_int_equal(add(t, "init b.c:1", 2), 0);
	assert_int_equal(add(t, "init [a]:0", 3), 0);
	assert_int_equal(add(t, "run app.py:1", 1), 0);
	assert_int_equal(add(t, "run [python3]:0", 2), 0);
	assert_int_equal(add(t, "read [kernel]:0", 1), 0);
	assert_int_equal(add(t, "read read.c:4", 2), 0);
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_int_equal(v.n_nodes, 1 + 3 + 3 + 2 + 2);
}

TEST(children_are_sorted_by_name)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};

	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(add(t, "b :0;z :0", 1), 0);
	assert_int_equal(add(t, "aa :0", 1), 0);
	assert_int_equal(add(t, "b :0;c :0", 1), 0);
	assert_int_equal(add(t, "a :0", 1), 0);
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_tree(&v, "0 total/ 4 0\n"
			"1 a/ 1 1\n"
			"1 aa/ 1 1\n"
			"1 b/ 2 0\n"
			"2 c/ 1 1\n"
			"2 z/ 1 1\n");
}

TEST(recursion_counts_once_in_a_function)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};

	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(add(t, "main :0;fib :0;fib :0;fib :0", 10), 0);
	assert_int_equal(add(t, "main :0;fib :0", 5), 0);
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_functions(&v, "fib 15 15\n"
			     "main 0 15\n");
}

TEST(what_is_cut_is_called_other_and_not_lost)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	const struct flame_view_limits limits = {.max_nodes = 3, .max_functions = 2};

	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(add(t, "main :0;hot :0", 100), 0);
	assert_int_equal(add(t, "main :0;cold :0;deep :0", 7), 0);
	assert_int_equal(add(t, "main :0;cool :0", 5), 0);
	assert_int_equal(add(t, "rare :0", 1), 0);
	flame_tree_add_other(t, 40, (struct stack_value){12, 0});
	assert_int_equal(flame_tree_view(t, &limits, &v), 0);
	assert_tree(&v, "0 total/ 125 0\n"
			"1 main/ 112 0\n"
			"2 hot/ 100 100\n"
			"2 other/ 12 12\n"
			"1 other/ 13 13\n");
	assert_int_equal(v.other_nodes, 4 + 40);
	assert_int_equal(v.other_value, 25);
	/* totals of functions are exact although the tree is cut */
	assert_functions(&v, "hot 100 100\n"
			     "deep 7 7\n");
}

TEST(a_full_tree_keeps_its_total)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	const struct flame_tree_limits limits = {.max_nodes = 2, .max_text_bytes = 100};

	assert_int_equal(flame_tree_new(&t, &limits), 0);
	assert_int_equal(add(t, "main :0;a :0;b :0", 10), 0);
	assert_int_equal(add(t, "other_root :0", 3), 0);
	assert_int_equal(add(t, "main :0", 1), 0);
	/* a name that exceeds the limit by itself */
	assert_int_equal(add(t,
			     "main :0;"
			     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
			     2),
			 0);
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_tree(&v, "0 total/ 16 0\n"
			"1 main/ 13 1\n"
			"2 other/ 12 12\n"
			"1 other/ 3 3\n");
	assert_functions(&v, "b 10 10\n"
			     "other_root 3 3\n"
			     "main 1 13\n"
			     "a 0 10\n");
}

TEST(sums_stop_at_their_maximum)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};

	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(add(t, "a :0", INT64_MAX), 0);
	assert_int_equal(add(t, "a :0", INT64_MAX), 0);
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_true(v.node_total[0] == INT64_MAX && v.node_self[1] == INT64_MAX);
}

TEST(json_has_the_columns_of_the_contract)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	CLEANUP(buf_fini) struct buf b;
	const struct query_filter f = {.service = "/k8s/a/b",
				       .type = "ebpf:cpu:nanoseconds",
				       .from_ns = INT64_C(5000000000),
				       .to_ns = INT64_C(7000000000)};
	const struct stack_query_result r = {.n_stacks = 9,
					     .n_stacks_cut = 8,
					     .cut = {3, 0},
					     .quality = {.n_samples = 10,
							 .lost = {{{"ring_full", 4}}, 1, 4},
							 .runtimes = {{{"java:off", 2}}, 1, 2},
							 .unwinding = {{{"jit", 3}}, 1, 3}}};

	buf_init(&b, 10000);
	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(add(t, "m\xff x.c:1", 2), 0);
	flame_tree_add_other(t, 8, (struct stack_value){3, 0});
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_int_equal(flame_json_write(&b, &(struct flame_json_sides){.filter = &f}, &v, &r), 0);
	assert_string_equal(
		b.data,
		"{\"service\":\"/k8s/a/b\",\"type\":\"ebpf:cpu:nanoseconds\","
		"\"unit\":\"nanoseconds\",\"from\":5000,\"to\":7000,\"total\":5,"
		"\"quality\":{\"scope\":\"selection\",\"samples\":10,\"truncated\":0,\"lost\":4,"
		"\"lostReasons\":{\"ring_full\":4},\"runtimes\":{\"java:off\":2},"
		"\"unwinding\":{\"jit\":3}},"
		"\"names\":[\"total\",\"m\xef\xbf\xbd\",\"other\"],\"files\":[\"\",\"x.c\"],"
		"\"nodes\":{\"name\":[0,1,2],\"file\":[0,1,0],\"depth\":[0,1,1],"
		"\"total\":[5,2,3],\"self\":[0,2,3],\"inlined\":[]},\"other\":{\"nodes\":8,"
		"\"value\":3},"
		"\"functions\":{\"name\":[1],\"file\":[1],\"self\":[2],\"total\":[2]},"
		"\"functionsCut\":0,\"zoomed\":false,\"stacks\":9,\"stacksCut\":8,\"valueCut\":3}");
}

/* The number at a place in the columns of a block whose JSON ends at json_end. */
static double f64_at(const struct buf *b, size_t json_end, size_t at)
{
	double v;

	memcpy(&v, b->data + (json_end + 7) / 8 * 8 + at, sizeof(v));
	return v;
}

TEST(columns_are_bytes_behind_the_json)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	const struct query_filter f = {.service = "s", .type = "a:b:count", .to_ns = 1};
	const struct flame_json_sides sides = {.filter = &f, .columns = true};
	const struct stack_query_result r = {.n_stacks = 3};
	const char *found;
	uint32_t json_len;
	size_t end;

	buf_init(&b, 10000);
	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(add(t, "m x.c:1;n x.c:2;m x.c:3", 5), 0);
	flame_tree_add_other(t, 1, (struct stack_value){INT64_C(1) << 40, 0});
	assert_int_equal(flame_tree_view(t, &no_limits, &v), 0);
	assert_int_equal(flame_json_write(&b, &sides, &v, &r), 0);
	assert_memory_equal(b.data, "columns1", 8);
	memcpy(&json_len, b.data + 8, sizeof(json_len));
	end = 16 + json_len;
	assert_int_equal(b.data[end - 1], '}');
	assert_int_equal(b.data[b.len], '\0');
	/* total, m, n, m again, other: four functions */
	found = strstr(b.data + 16, "\"pairs\":{\"name\":{\"at\":0,\"type\":\"i32\",\"n\":4}");
	assert_non_null(found);
	found = strstr(b.data + 16, "\"total\":{\"at\":");
	assert_non_null(found);
	assert_true(f64_at(&b, end, strtoul(found + strlen("\"total\":{\"at\":"), NULL, 10)) ==
		    (double)v.node_total[0]);
	assert_int_equal(v.node_pair[1], v.node_pair[3]);
	assert_int_not_equal(v.node_pair[0], v.node_pair[4]);
	assert_int_equal((b.len - (end + 7) / 8 * 8) % 8, 0);
	buf_fini(&b);
	buf_init(&b, end + 10); /* room for the JSON alone */
	assert_int_equal(flame_json_write(&b, &sides, &v, &r), -EFBIG);
}

static int build_and_view(void *arg)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	int r = flame_tree_new(&t, NULL);

	(void)arg;
	for (int i = 0; r == 0 && i < 600; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main m.c:1;f%d m.c:2;g%d m.c:3", i % 30, i);
		r = add(t, stack, i + 1);
	}
	return r < 0 ? r : flame_tree_view(t, &no_limits, &v);
}

TEST(survives_every_failed_allocation)
{
	check_oom(build_and_view, NULL);
}
