#include <errno.h>

#include "common/data/table.h"
#include "test/lib/unit.h"

struct entry {
	uint64_t key;
	UT_hash_handle hh;
};

static void free_all(struct entry **head)
{
	struct entry *e, *next;

	HASH_ITER(hh, *head, e, next)
	{
		HASH_DEL(*head, e);
		free(e);
	}
}

static struct entry *find(struct entry *head, uint64_t key)
{
	struct entry *e;

	HASH_FIND(hh, head, &key, sizeof(key), e);
	return e;
}

/* Enough elements for several expansions. */
static int fill(struct entry **head)
{
	for (uint64_t i = 0; i < 1000; i++) {
		struct entry *e = malloc(sizeof(*e));

		if (!e)
			return -ENOMEM;
		e->key = i * 4096;
		HASH_ADD(hh, *head, key, sizeof(e->key), e);
		if (!TABLE_ADDED(hh, e)) {
			free(e);
			/* what was in before still is, the new one is not */
			assert_null(find(*head, i * 4096));
			assert_int_equal(HASH_COUNT(*head), i);
			for (uint64_t j = 0; j < i; j++)
				assert_non_null(find(*head, j * 4096));
			return -ENOMEM;
		}
	}
	return 0;
}

static int fill_and_free(void *arg)
{
	CLEANUP(free_all) struct entry *head = NULL;

	(void)arg;
	return fill(&head);
}

TEST(a_failed_addition_leaves_the_table_as_it_was)
{
	check_oom(fill_and_free, NULL);
}

TEST(finds_what_was_added_in_order_of_addition)
{
	CLEANUP(free_all) struct entry *head = NULL;
	struct entry *e;
	uint64_t i = 0;

	assert_int_equal(fill(&head), 0);
	for (e = head; e; e = e->hh.next)
		assert_int_equal(e->key, 4096 * i++);
	assert_int_equal(i, 1000);
	assert_non_null(find(head, 999 * 4096));
	assert_null(find(head, 1));
}

TEST(hashes_are_seeded)
{
	assert_true(table_seed != 0);
	assert_true(table_hash("abc", 3) == (uint32_t)XXH3_64bits_withSeed("abc", 3, table_seed));
}
