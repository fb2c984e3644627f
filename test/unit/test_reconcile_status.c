#include "cluster-agent/operator/reconcile/reconcile_status.h"

#include <errno.h>

#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

/* 2026-11-23T02:30:00Z */
#define NOW_NS (INT64_C(1795401000) * 1000000000)

static struct spec_problems problems, failed;
static size_t n_kept;
static struct workload_state workloads[] = {
	{OBJECT_DAEMON_SET, "coroot-node-agent", 5, 5, 5, .observed = true},
	{OBJECT_STATEFUL_SET, "coroot-coroot", 1, 1, 1, .observed = true},
};

static int tear_down(void **state)
{
	(void)state;
	spec_problems_fini(&problems);
	spec_problems_fini(&failed);
	problems = failed = (struct spec_problems){0};
	n_kept = 0;
	workloads[0] = (struct workload_state){OBJECT_DAEMON_SET, "coroot-node-agent", 5, 5, 5,
					       .observed = true};
	return 0;
}

/* Takes the status over, which may be NULL. */
static json_t *resource(int generation, json_t *status)
{
	json_t *r =
		json_pack("{s:{s:i} s:o*}", "metadata", "generation", generation, "status", status);

	assert_non_null(r);
	return r;
}

/* The new status, or NULL if it is as before. */
static json_t *make(const json_t *of, int64_t now_ns)
{
	const struct reconcile_status_input in = {
		.resource = of,
		.wrong = &problems.wrong,
		.unused = &problems.unused,
		.failed = &failed.wrong,
		.workloads = workloads,
		.n_workloads = ARRAY_SIZE(workloads),
		.n_kept = n_kept,
		.now_ns = now_ns,
	};
	json_t *status;

	assert_int_equal(reconcile_status_make(&status, &in), 0);
	return status;
}

static const char *of_condition(const json_t *status, const char *type, const char *key)
{
	const json_t *c;
	size_t i;

	json_array_foreach (json_object_get(status, "conditions"), i, c)
		if (strcmp(json_string_value(json_object_get(c, "type")), type) == 0)
			return json_string_value(json_object_get(c, key));
	fail_msg("there is no condition %s", type);
	return NULL;
}

static void assert_condition(const json_t *status, const char *type, const char *value,
			     const char *reason, const char *message)
{
	assert_string_equal(of_condition(status, type, "status"), value);
	assert_string_equal(of_condition(status, type, "reason"), reason);
	assert_string_equal(of_condition(status, type, "message"), message);
}

TEST_FIXTURE(all_is_well, NULL, tear_down)
{
	json_t *r = resource(7, NULL), *status = make(r, NOW_NS);

	assert_condition(status, "Ready", "True", "PodsReady", "all pods are ready");
	assert_condition(status, "Progressing", "False", "PodsUpToDate",
			 "all pods are of the latest version");
	assert_condition(status, "Degraded", "False", "AsExpected", "all objects are applied");
	assert_condition(status, "FieldsNotUsed", "False", "AllUsed", "all fields have an effect");
	assert_string_equal(of_condition(status, "Ready", "lastTransitionTime"),
			    "2026-11-23T02:30:00Z");
	assert_int_equal(json_integer_value(json_object_get(status, "observedGeneration")), 7);
	assert_string_equal(json_string_value(json_object_get(status, "status")), "OK");
	assert_int_equal(json_array_size(json_object_get(status, "errors")), 0);
	json_decref(r);
	json_decref(status);
}

TEST_FIXTURE(a_daemon_set_that_no_node_matches_is_not_ready, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	workloads[0] = (struct workload_state){OBJECT_DAEMON_SET, "coroot-node-agent",
					       .observed = true, .nowhere = true};
	status = make(r, NOW_NS);
	assert_condition(status, "Ready", "False", "PodsNotReady",
			 "DaemonSet coroot-node-agent: no node matches its nodeSelector, "
			 "affinity and tolerations");
	assert_string_equal(of_condition(status, "Progressing", "status"), "True");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(pods_that_start_are_counted, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	workloads[0].ready = 3;
	workloads[0].updated = 4;
	status = make(r, NOW_NS);
	assert_condition(status, "Ready", "False", "PodsNotReady",
			 "DaemonSet coroot-node-agent: 3 of 5 pods ready");
	assert_condition(status, "Progressing", "True", "PodsStarting",
			 "DaemonSet coroot-node-agent: 3 of 5 pods ready");
	assert_condition(status, "Degraded", "False", "AsExpected", "all objects are applied");
	json_decref(status);

	workloads[0].ready = 5;
	status = make(r, NOW_NS);
	assert_condition(status, "Ready", "True", "PodsReady", "all pods are ready");
	assert_condition(status, "Progressing", "True", "PodsStarting",
			 "DaemonSet coroot-node-agent: 4 of 5 pods are of the latest version");
	json_decref(status);

	workloads[0].observed = false;
	status = make(r, NOW_NS);
	assert_condition(
		status, "Ready", "False", "PodsNotReady",
		"DaemonSet coroot-node-agent: its controller has not seen the last change");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(problems_are_told_with_their_paths, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	assert_int_equal(spec_problems_wrong(&problems, "spec.clickhouse.shards",
					     "must be a whole number from 1; 1 is used"),
			 0);
	assert_int_equal(spec_problems_unused(&problems, "spec.cacheTTL", NULL), 0);
	assert_int_equal(spec_problems_unused(&problems, "spec.prometheus", NULL), 0);
	status = make(r, NOW_NS);
	assert_condition(status, "Degraded", "True", "FieldsWrong",
			 "spec.clickhouse.shards: must be a whole number from 1; 1 is used");
	assert_condition(status, "FieldsNotUsed", "True", "NotAboutProfiling",
			 "spec.cacheTTL; spec.prometheus");
	assert_condition(status, "Ready", "True", "FieldsWrong",
			 "all pods are ready, without the fields that are wrong: see Degraded");
	assert_string_equal(json_string_value(json_object_get(status, "status")), "Misconfigured");
	assert_string_equal(json_string_value(json_array_get(json_object_get(status, "errors"), 0)),
			    "spec.clickhouse.shards: must be a whole number from 1; 1 is used");
	json_decref(status);

	assert_int_equal(spec_problems_wrong(&failed, "Service coroot-coroot", "is foreign"), 0);
	status = make(r, NOW_NS);
	assert_condition(status, "Degraded", "True", "ObjectsNotApplied",
			 "spec.clickhouse.shards: must be a whole number from 1; 1 is used; "
			 "Service coroot-coroot: is foreign");
	assert_condition(status, "Ready", "False", "ObjectsNotApplied",
			 "some objects are not applied: see Degraded");
	assert_int_equal(json_array_size(json_object_get(status, "errors")), 2);
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(a_variable_that_the_agent_does_not_know_is_told, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	assert_int_equal(spec_problems_unused(&problems, "spec.cacheTTL", NULL), 0);
	assert_int_equal(spec_problems_unused(&problems, "spec.env[0]", "A is no option"), 0);
	status = make(r, NOW_NS);
	assert_condition(status, "FieldsNotUsed", "True", "VariablesUnknown",
			 "spec.cacheTTL; spec.env[0]: A is no option");
	assert_condition(status, "Degraded", "False", "AsExpected", "all objects are applied");
	assert_string_equal(json_string_value(json_object_get(status, "status")), "OK");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(a_workload_says_why_its_pods_are_not_ready, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	workloads[0].ready = 4;
	snprintf(workloads[0].why, sizeof(workloads[0].why),
		 "pod coroot-node-agent-x: container node-agent: ImagePullBackOff");
	status = make(r, NOW_NS);
	assert_condition(status, "Ready", "False", "PodsNotReady",
			 "DaemonSet coroot-node-agent: 4 of 5 pods ready: pod "
			 "coroot-node-agent-x: container node-agent: ImagePullBackOff");
	json_decref(status);
	workloads[0].failing = true;
	status = make(r, NOW_NS);
	assert_string_equal(of_condition(status, "Ready", "reason"), "PodsFailing");
	json_decref(status);
	/* it was, and the pods are there */
	workloads[0].ready = 5;
	status = make(r, NOW_NS);
	assert_string_equal(of_condition(status, "Ready", "reason"), "PodsReady");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(an_object_that_is_refused_is_waited_for, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	assert_int_equal(spec_problems_wrong(&failed, "Service coroot-coroot", "is foreign"), 0);
	status = make(r, NOW_NS);
	assert_condition(status, "Progressing", "True", "ObjectsNotApplied",
			 "Service coroot-coroot: not applied yet, see Degraded");
	assert_condition(status, "Ready", "False", "ObjectsNotApplied",
			 "some objects are not applied: see Degraded");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(pods_that_somebody_has_to_delete_are_told, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	workloads[0].updated = 3;
	workloads[0].by_hand = true;
	status = make(r, NOW_NS);
	assert_condition(status, "Progressing", "True", "PodsStarting",
			 "DaemonSet coroot-node-agent: 3 of 5 pods are of the latest version: its "
			 "strategy is OnDelete, so delete the others");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(what_is_not_deleted_because_of_an_error_is_counted, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;

	assert_int_equal(spec_problems_wrong(&problems, "spec.a", "unknown field"), 0);
	n_kept = 1;
	status = make(r, NOW_NS);
	assert_condition(status, "Degraded", "True", "FieldsWrong",
			 "spec.a: unknown field; until this is corrected, 1 object that is no "
			 "longer asked for stays");
	json_decref(status);
	n_kept = 3;
	status = make(r, NOW_NS);
	assert_condition(status, "Degraded", "True", "FieldsWrong",
			 "spec.a: unknown field; until this is corrected, 3 objects that are no "
			 "longer asked for stay");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(what_stays_keeps_its_time_and_is_not_written, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *first = make(r, NOW_NS), *second;

	json_decref(r);
	r = resource(1, json_deep_copy(first));
	assert_null(make(r, NOW_NS + INT64_C(60000000000)));

	workloads[0].ready = 0;
	second = make(r, NOW_NS + INT64_C(60000000000));
	assert_string_equal(of_condition(second, "Ready", "lastTransitionTime"),
			    "2026-11-23T02:31:00Z");
	assert_string_equal(of_condition(second, "Degraded", "lastTransitionTime"),
			    "2026-11-23T02:30:00Z");
	json_decref(second);
	json_decref(r);

	/* a new generation is one that we have seen */
	workloads[0].ready = 5;
	r = resource(2, first);
	second = make(r, NOW_NS + INT64_C(60000000000));
	assert_non_null(second);
	assert_string_equal(of_condition(second, "Ready", "lastTransitionTime"),
			    "2026-11-23T02:30:00Z");
	json_decref(second);
	json_decref(r);
}

TEST_FIXTURE(a_status_of_any_form_is_replaced, NULL, tear_down)
{
	json_t *r = resource(1, json_pack("{s:[i {s:i} {s:s s:i}]}", "conditions", 7, "type", 1,
					  "type", "Ready", "status", 2));
	json_t *status = make(r, NOW_NS);

	assert_condition(status, "Ready", "True", "PodsReady", "all pods are ready");
	json_decref(status);
	json_decref(r);
}

TEST_FIXTURE(a_long_message_is_cut_between_characters, NULL, tear_down)
{
	json_t *r = resource(1, NULL), *status;
	char path[32], text[256] = "";
	const char *message;

	for (unsigned i = 0; i < 80; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\xe2\x82\xac");
	for (unsigned i = 0; i < 70; i++) {
		snprintf(path, sizeof(path), "spec.a%u", i);
		assert_int_equal(spec_problems_wrong(&problems, path, "%s", text), 0);
	}
	status = make(r, NOW_NS);
	message = of_condition(status, "Degraded", "message");
	assert_true(strlen(message) > 4000 && strlen(message) < 4096);
	assert_string_equal(message + strlen(message) - 3, "...");
	json_decref(status);
	json_decref(r);
}

static int make_without_memory(void *arg)
{
	const struct reconcile_status_input in = {
		.resource = arg,
		.wrong = &problems.wrong,
		.unused = &problems.unused,
		.failed = &failed.wrong,
		.workloads = workloads,
		.n_workloads = ARRAY_SIZE(workloads),
		.n_kept = n_kept,
		.now_ns = NOW_NS,
	};
	json_t *status;
	int r = reconcile_status_make(&status, &in);

	json_decref(status);
	return r;
}

TEST_FIXTURE(memory_may_be_short, NULL, tear_down)
{
	assert_int_equal(spec_problems_wrong(&problems, "spec.a", "is wrong"), 0);
	workloads[0].ready = 0;
	json_oom_begin();
	check_oom(make_without_memory, NULL);
	json_oom_end();
}
