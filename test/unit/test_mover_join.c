#include "cluster-agent/query/read/mover_join.h"

#include "test/lib/unit.h"

static const struct mover all[] = {
	{"/b", "t", "main", "a.c", 1, 1, 1, 1},
	/* one function of two releases */
	{"/a", "t", "scan", "/go/pkg/mod/x/yaml@v1.2/scan.go", 10, 0, 3, 0},
	{"/a", "t", "scan", "/go/pkg/mod/x/yaml@v1.3/scan.go", INT64_MAX, 2, 0, 1},
	/* the source is known in one range */
	{"/a", "t", "malloc", "malloc.c", 0, 4, 0, 2},
	{"/a", "t", "malloc", "[libc.so.6]", 5, 0, 7, 0},
	/* of one of two libraries, and nobody knows which */
	{"/a", "t", "free", "[libc.so.6]", 1, 0, 1, 0},
	{"/a", "t", "free", "free.c", 1, 0, 1, 0},
	{"/a", "t", "free", "[libjemalloc.so]", 1, 0, 1, 0},
	/* no native code */
	{"/a", "t", "run", "app.py", 1, 0, 1, 0},
	{"/a", "t", "run", "[app]", 1, 0, 1, 0},
};

static const struct mover *find(const struct mover_list *l, const char *name, size_t nth)
{
	for (size_t i = 0; i < l->n_items; i++)
		if (strcmp(l->items[i].name, name) == 0 && nth-- == 0)
			return &l->items[i];
	return NULL;
}

TEST(movers_are_joined_as_frames_of_a_flame_graph_are)
{
	struct mover items[ARRAY_SIZE(all)];
	struct mover_list l = {.items = items, .n_items = ARRAY_SIZE(items)};
	const struct mover *m;

	memcpy(items, all, sizeof(all));
	assert_int_equal(mover_list_join(&l), 0);
	assert_int_equal(l.n_items, 8);
	m = find(&l, "scan", 0);
	assert_true(m->self == INT64_MAX && m->base_self == 2);
	assert_true(m->cores == 3 && m->base_cores == 1);
	assert_null(find(&l, "scan", 1));
	m = find(&l, "malloc", 0);
	assert_string_equal(m->file, "malloc.c");
	assert_true(m->self == 5 && m->base_self == 4 && m->cores == 7 && m->base_cores == 2);
	assert_null(find(&l, "malloc", 1));
	assert_non_null(find(&l, "free", 2));
	assert_non_null(find(&l, "run", 1));
	assert_string_equal(l.items[7].service, "/b");
}

TEST(none_are_none)
{
	struct mover_list l = {.items = NULL};

	assert_int_equal(mover_list_join(&l), 0);
	assert_int_equal(l.n_items, 0);
}
