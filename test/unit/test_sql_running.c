#include "cluster-agent/sql/sql_running.h"
#include "test/lib/unit.h"

static void count(void *ctx)
{
	++*(int *)ctx;
}

TEST(cancels_by_id_what_is_listed)
{
	static const char *const ids[] = {"a", "b", "a", "c"};
	struct sql_running_query q[4] = {0};
	struct sql_running r;
	int n[4] = {0};

	sql_running_init(&r);
	sql_running_cancel(&r, "a");
	for (size_t i = 0; i < ARRAY_SIZE(q); i++) {
		snprintf(q[i].id, sizeof(q[i].id), "%s", ids[i]);
		q[i].cancel = count;
		q[i].ctx = &n[i];
		sql_running_add(&r, &q[i]);
	}
	sql_running_cancel(&r, "a");
	sql_running_cancel(&r, "none");
	assert_true(n[0] == 1 && n[1] == 0 && n[2] == 1 && n[3] == 0);

	/* in the middle, at both ends, and one that is not there */
	sql_running_remove(&r, &q[2]);
	sql_running_remove(&r, &q[2]);
	sql_running_cancel(&r, "a");
	assert_true(n[0] == 2 && n[2] == 1);
	sql_running_remove(&r, &q[3]);
	sql_running_remove(&r, &q[0]);
	sql_running_cancel(&r, "a");
	sql_running_cancel(&r, "c");
	sql_running_cancel(&r, "b");
	assert_true(n[0] == 2 && n[1] == 1 && n[3] == 0);
	sql_running_remove(&r, &q[1]);
	assert_null(r.first);
	sql_running_fini(&r);
}
