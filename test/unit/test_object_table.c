#include "cluster-agent/operator/objects/object_table.h"

#include <errno.h>

#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

static struct object_table table;
static char removed[256];

static int set_up(void **state)
{
	(void)state;
	table = (struct object_table){0};
	removed[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	object_table_fini(&table);
	return 0;
}

/* A DaemonSet in version, with so many pods in its spec and ready ones in its status. */
static json_t *daemon_set(const char *name, const char *version, int spec, int ready)
{
	json_t *o = json_pack("{s:{s:s s:s s:s s:s s:i s:{s:s s:s} s:[{s:s}]} s:{s:i} s:{s:i}}",
			      "metadata", "namespace", "ns", "name", name, "uid", name,
			      "resourceVersion", version, "generation", spec, "labels",
			      "app.kubernetes.io/managed-by", "coroot-operator",
			      "coroot.com/owner-uid", "u1", "managedFields", "time", version,
			      "spec", "pods", spec, "status", "numberReady", ready);

	assert_non_null(o);
	return o;
}

static int saw(const char *version, int spec, int ready)
{
	json_t *o = daemon_set("a", version, spec, ready);
	struct known_object *known;
	int r = object_table_saw(&table, OBJECT_DAEMON_SET, o, &known);

	assert_non_null(known);
	json_decref(o);
	return r;
}

static int wrote(const char *version, int spec, int ready)
{
	json_t *o = daemon_set("a", version, spec, ready);
	int r;

	json_object_set_new(o, "kind", json_string("DaemonSet"));
	json_object_set_new(o, "apiVersion", json_string("apps/v1"));
	r = object_table_wrote(&table, OBJECT_DAEMON_SET, o);
	json_decref(o);
	return r;
}

static struct known_object *known(void)
{
	return object_table_find(&table, OBJECT_DAEMON_SET, "ns", "a");
}

TEST_FIXTURE(our_own_writes_are_no_drift, set_up, tear_down)
{
	assert_int_equal(wrote("1", 1, 0), 1);
	assert_int_equal(saw("1", 1, 0), OBJECT_PROGRESSED); /* its status was not known */
	assert_int_equal(saw("2", 1, 0), OBJECT_UNCHANGED);
	assert_int_equal(wrote("2", 1, 0), 0);
	assert_int_equal(saw("3", 1, 4), OBJECT_PROGRESSED);
	assert_int_equal(wrote("4", 2, 4), 1);
	assert_int_equal(saw("4", 2, 4), OBJECT_UNCHANGED);
	assert_string_equal(known()->owner, "u1");
	assert_string_equal(known()->uid, "a");
}

TEST_FIXTURE(the_change_of_somebody_else_is_a_drift, set_up, tear_down)
{
	assert_int_equal(saw("1", 1, 0), OBJECT_APPEARED);
	assert_int_equal(wrote("1", 1, 0), 0);
	assert_int_equal(saw("2", 9, 0), OBJECT_DRIFTED);
	assert_int_equal(saw("3", 9, 1), OBJECT_PROGRESSED);
	/* which our next write repairs */
	assert_int_equal(wrote("4", 1, 1), 1);
	assert_int_equal(saw("4", 1, 1), OBJECT_UNCHANGED);
}

/* The event comes before the answer. */
TEST_FIXTURE(what_changes_while_the_owner_runs_is_judged_at_its_end, set_up, tear_down)
{
	assert_int_equal(wrote("1", 1, 0), 1);
	assert_int_equal(saw("2", 2, 0), OBJECT_DRIFTED);
	known()->unsettled = true;
	assert_int_equal(wrote("2", 2, 0), 1);
	assert_false(object_table_settle(&table, "u1"));
	assert_false(known()->unsettled);

	assert_int_equal(saw("3", 3, 0), OBJECT_DRIFTED);
	known()->unsettled = true;
	assert_int_equal(wrote("2", 2, 0), 1);
	assert_false(object_table_settle(&table, "u2"));
	assert_true(object_table_settle(&table, "u1"));
	assert_false(object_table_settle(&table, "u1"));
}

TEST_FIXTURE(an_object_that_is_made_again_is_another, set_up, tear_down)
{
	json_t *o = daemon_set("a", "7", 1, 0);
	struct known_object *k;

	assert_int_equal(wrote("1", 1, 0), 1);
	known()->leaving = true;
	assert_int_equal(saw("2", 5, 0), OBJECT_UNCHANGED);
	json_object_set_new(json_object_get(o, "metadata"), "uid", json_string("other"));
	assert_int_equal(object_table_saw(&table, OBJECT_DAEMON_SET, o, &k), OBJECT_APPEARED);
	assert_false(k->leaving);
	assert_int_equal(table.n, 1);
	json_decref(o);
}

static void note_removed(void *ctx, const char *owner)
{
	(void)ctx;
	snprintf(removed + strlen(removed), sizeof(removed) - strlen(removed), "%s ", owner);
}

TEST_FIXTURE(what_a_list_does_not_show_is_gone, set_up, tear_down)
{
	json_t *b = daemon_set("b", "1", 1, 0);
	struct known_object *k;

	assert_int_equal(saw("1", 1, 0), OBJECT_APPEARED);
	assert_int_equal(object_table_saw(&table, OBJECT_DAEMON_SET, b, &k), OBJECT_APPEARED);
	assert_int_equal(object_table_saw(&table, OBJECT_SERVICE, b, &k), OBJECT_APPEARED);
	json_decref(b);
	object_table_list_begin(&table, OBJECT_DAEMON_SET);
	assert_int_equal(saw("1", 1, 0), OBJECT_UNCHANGED);
	object_table_list_end(&table, OBJECT_DAEMON_SET, note_removed, NULL);
	assert_string_equal(removed, "u1 ");
	assert_int_equal(table.n, 2);
	assert_non_null(known());
	assert_non_null(object_table_find(&table, OBJECT_SERVICE, "ns", "b"));
	object_table_remove(&table, known());
	assert_null(known());
}

TEST(an_owner_reference_names_the_owner_too)
{
	json_t *o = json_pack("{s:{s:s s:s s:[{s:s s:s s:s} {s:s s:s s:s}]}}", "metadata", "name",
			      "x", "deletionTimestamp", "then", "ownerReferences", "kind", "Other",
			      "apiVersion", "coroot.com/v1", "uid", "u0", "kind", "Coroot",
			      "apiVersion", "coroot.com/v1", "uid", "u7");
	struct object_facts f;

	object_facts_read(&f, o);
	assert_string_equal(f.owner, "u7");
	assert_string_equal(f.name, "x");
	assert_string_equal(f.namespace, "");
	assert_true(f.deleting);
	assert_false(f.managed);
	json_decref(o);
	object_facts_read(&f, NULL);
	assert_string_equal(f.name, "");
}

TEST(pods_are_counted_by_kind)
{
	json_t *d = daemon_set("a", "1", 2, 3);
	json_t *s = json_pack("{s:{s:s s:i} s:{s:i} s:{s:i s:i s:i}}", "metadata", "name", "s",
			      "generation", 2, "spec", "replicas", 5, "status", "readyReplicas", 4,
			      "updatedReplicas", 3, "observedGeneration", 1);
	struct workload_state w;

	json_object_set_new(json_object_get(d, "status"), "desiredNumberScheduled",
			    json_integer(8));
	json_object_set_new(json_object_get(d, "status"), "observedGeneration", json_integer(2));
	assert_true(workload_state_read(&w, OBJECT_DAEMON_SET, d));
	assert_int_equal(w.wanted, 8);
	assert_int_equal(w.ready, 3);
	assert_true(w.observed);
	assert_false(w.nowhere);
	json_object_del(json_object_get(d, "status"), "desiredNumberScheduled");
	json_object_set_new(json_object_get(d, "status"), "numberReady", json_integer(0));
	assert_true(workload_state_read(&w, OBJECT_DAEMON_SET, d));
	assert_true(w.nowhere);
	assert_false(workload_is_ready(&w));
	assert_true(workload_state_read(&w, OBJECT_STATEFUL_SET, s));
	assert_string_equal(w.name, "s");
	assert_int_equal(w.wanted, 5);
	assert_int_equal(w.ready, 4);
	assert_int_equal(w.updated, 3);
	assert_false(w.observed);
	assert_false(workload_state_read(&w, OBJECT_SERVICE, s));
	json_decref(d);
	json_decref(s);
}

static int see_and_write(void *arg)
{
	struct known_object *k;
	json_t *o = json_pack("{s:{s:s s:s} s:{s:i}}", "metadata", "name", "a", "uid", "u", "spec",
			      "n", 1);
	int r = o ? 0 : -ENOMEM;

	(void)arg;
	object_table_fini(&table);
	if (r == 0)
		r = object_table_saw(&table, OBJECT_SERVICE, o, &k);
	if (r >= 0)
		r = object_table_wrote(&table, OBJECT_DEPLOYMENT, o);
	json_decref(o);
	return r > 0 ? 0 : r;
}

TEST_FIXTURE(memory_may_be_short, set_up, tear_down)
{
	json_oom_begin();
	check_oom(see_and_write, NULL);
	json_oom_end();
	assert_int_equal(table.n, 2);
}
