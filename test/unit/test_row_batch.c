#include <errno.h>

#include "cluster-agent/store/row_batch.h"
#include "test/lib/unit.h"

static const struct row_text frames[] = {{"leaf a.c:1", 10}, {"root ", 5}};
static const struct stack_row stack = {{"/svc", 4}, 7, 9, frames, 2};
static const struct sample_row sample = {{"/svc", 4}, {"t", 1}, 1, 2, NULL, 0, 7, -1};
static const struct quality_row quality = {{"/svc", 4}, {"t", 1}, 1,    2, {"h", 1}, 3,
					   4,           5,        NULL, 0, 6};

static void encodes_columns_in_the_order_of_the_insert(void **state)
{
	static const char expected[] = "\x04/svc"
				       "\x07\0\0\0\0\0\0\0"
				       "\x09\0\0\0\0\0\0\0"
				       "\x02"
				       "\x0aleaf a.c:1"
				       "\x05root ";
	CLEANUP(row_batch_fini) struct row_batch b;

	(void)state;
	row_batch_init(&b, 1000);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	assert_int_equal(b.rows[STORE_STACKS].len, sizeof(expected) - 1);
	assert_memory_equal(b.rows[STORE_STACKS].data, expected, sizeof(expected) - 1);
}

static void a_row_that_does_not_fit_leaves_no_trace(void **state)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	size_t len;

	(void)state;
	row_batch_init(&b, 60);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	len = b.rows[STORE_STACKS].len;
	assert_int_equal(row_batch_add_stack(&b, &stack), -EFBIG);
	assert_int_equal(b.rows[STORE_STACKS].len, len);
	assert_int_equal(b.n_rows[STORE_STACKS], 1);
	assert_int_equal(row_batch_rows(&b), 1);
}

static void appending_concatenates_or_changes_nothing(void **state)
{
	CLEANUP(row_batch_fini) struct row_batch a, b;

	(void)state;
	row_batch_init(&a, 116); /* two rows of quality */
	row_batch_init(&b, 1000);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	assert_int_equal(row_batch_add_sample(&b, &sample), 0);
	assert_int_equal(row_batch_add_quality(&b, &quality), 0);

	assert_int_equal(row_batch_append(&a, &b), 0);
	assert_int_equal(row_batch_append(&a, &b), 0);
	assert_int_equal(row_batch_rows(&a), 6);
	assert_int_equal(row_batch_bytes(&a), 2 * row_batch_bytes(&b));
	/* samples would fit but quality does not: neither is kept */
	assert_int_equal(row_batch_append(&a, &b), -EFBIG);
	assert_int_equal(row_batch_rows(&a), 6);
	assert_int_equal(row_batch_bytes(&a), 2 * row_batch_bytes(&b));
}

static int add_all(void *arg)
{
	CLEANUP(row_batch_fini) struct row_batch a, b;
	int r;

	(void)arg;
	row_batch_init(&a, 1000);
	row_batch_init(&b, 1000);
	r = row_batch_add_stack(&b, &stack);
	if (r == 0)
		r = row_batch_add_sample(&b, &sample);
	if (r == 0)
		r = row_batch_add_quality(&b, &quality);
	return r < 0 ? r : row_batch_append(&a, &b);
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(add_all, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_columns_in_the_order_of_the_insert),
		cmocka_unit_test(a_row_that_does_not_fit_leaves_no_trace),
		cmocka_unit_test(appending_concatenates_or_changes_nothing),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
