#include "cluster-agent/operator/reconcile/reconcile_events.h"

#include <errno.h>

#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

/* 2026-11-23T02:30:00Z */
#define NOW_NS (INT64_C(1795401000) * 1000000000)

static json_t *condition(const char *type, bool is_true, const char *reason, const char *message)
{
	json_t *c = json_pack("{s:s s:s s:s s:s}", "type", type, "status",
			      is_true ? "True" : "False", "reason", reason, "message", message);

	assert_non_null(c);
	return c;
}

/* Takes the conditions over; b may be NULL. */
static json_t *status_of(json_t *a, json_t *b)
{
	return json_pack("{s:[o o*]}", "conditions", a, b);
}

/* Takes both over; before may be NULL. */
static json_t *make(json_t *before, json_t *status)
{
	json_t *events,
		*resource = json_pack("{s:{s:s s:s s:s} s:o*}", "metadata", "name", "main",
				      "namespace", "coroot", "uid", "u-1", "status", before);

	assert_int_equal(reconcile_events_make(&events, resource, status, NOW_NS), 0);
	json_decref(resource);
	json_decref(status);
	return events;
}

static void assert_event(const json_t *events, size_t i, const char *type, const char *reason,
			 const char *message)
{
	const json_t *e = json_array_get(events, i);

	assert_non_null(e);
	assert_string_equal(json_string_value(json_object_get(e, "type")), type);
	assert_string_equal(json_string_value(json_object_get(e, "reason")), reason);
	assert_string_equal(json_string_value(json_object_get(e, "message")), message);
}

static const char *name_of(const json_t *events)
{
	const json_t *m = json_object_get(json_array_get(events, 0), "metadata");

	return json_string_value(json_object_get(m, "name"));
}

TEST(an_event_is_about_the_resource)
{
	json_t *events = make(NULL, status_of(condition("Ready", true, "PodsReady", "all"), NULL));
	const json_t *e = json_array_get(events, 0);
	const json_t *about = json_object_get(e, "involvedObject");

	assert_int_equal(json_array_size(events), 1);
	assert_event(events, 0, "Normal", "PodsReady", "all");
	assert_string_equal(json_string_value(json_object_get(about, "kind")), "Coroot");
	assert_string_equal(json_string_value(json_object_get(about, "name")), "main");
	assert_string_equal(json_string_value(json_object_get(about, "uid")), "u-1");
	assert_string_equal(json_string_value(json_object_get(e, "lastTimestamp")),
			    "2026-11-23T02:30:00Z");
	json_decref(events);
}

TEST(what_is_as_before_is_no_event)
{
	json_t *events = make(status_of(condition("Ready", false, "PodsNotReady", "1 of 5"), NULL),
			      status_of(condition("Ready", false, "PodsNotReady", "2 of 5"), NULL));

	assert_int_equal(json_array_size(events), 0);
	json_decref(events);
	/* nor is what a new resource has like any other */
	events = make(NULL, status_of(condition("Degraded", false, "AsExpected", "a"),
				      condition("FieldsNotUsed", true, "NotAboutProfiling", "b")));
	assert_int_equal(json_array_size(events), 0);
	json_decref(events);
}

TEST(what_somebody_has_to_mend_is_a_warning)
{
	json_t *first, *again, *other;

	first = make(status_of(condition("Ready", false, "PodsNotReady", "0 of 1"), NULL),
		     status_of(condition("Ready", false, "PodsFailing", "0 of 1: no image"), NULL));
	assert_event(first, 0, "Warning", "PodsFailing", "0 of 1: no image");
	other = make(status_of(condition("Ready", false, "PodsFailing", "0 of 1: no image"), NULL),
		     status_of(condition("Ready", false, "PodsFailing", "0 of 1: exit 1"), NULL));
	assert_event(other, 0, "Warning", "PodsFailing", "0 of 1: exit 1");
	again = make(NULL, status_of(condition("Ready", false, "PodsFailing", "0 of 1: no image"),
				     condition("FieldsNotUsed", true, "VariablesUnknown", "A")));
	assert_int_equal(json_array_size(again), 2);
	assert_event(again, 1, "Warning", "VariablesUnknown", "A");
	/* one that comes back is the same object */
	assert_string_equal(name_of(first), name_of(again));
	assert_string_not_equal(name_of(first), name_of(other));
	json_decref(first);
	json_decref(again);
	json_decref(other);
}

TEST(conditions_with_one_message_are_one_event)
{
	json_t *events = make(status_of(condition("Ready", true, "PodsReady", "all"),
					condition("Progressing", false, "PodsUpToDate", "all")),
			      status_of(condition("Ready", false, "PodsNotReady", "0 of 1"),
					condition("Progressing", true, "PodsStarting", "0 of 1")));

	assert_int_equal(json_array_size(events), 1);
	json_decref(events);
}

TEST(a_long_message_is_cut_between_characters)
{
	char message[3001] = "";
	json_t *events;
	const char *got;

	for (size_t i = 0; i < 1000; i++)
		memcpy(message + 3 * i, "\xe2\x82\xac", 4);
	events = make(NULL, status_of(condition("Ready", false, "PodsFailing", message), NULL));
	got = json_string_value(json_object_get(json_array_get(events, 0), "message"));
	assert_non_null(got);
	assert_int_equal(strlen(got) % 3, 0);
	assert_true(strlen(got) > 1000 && strlen(got) < 1024);
	json_decref(events);
}

static int make_without_memory(void *arg)
{
	json_t *events, *resource = json_pack("{s:{s:s}}", "metadata", "name", "main");
	json_t *status = json_pack("{s:[{s:s s:s s:s s:s}]}", "conditions", "type", "Ready",
				   "status", "True", "reason", "PodsReady", "message", "all");
	int r = -ENOMEM;

	(void)arg;
	if (resource && status)
		r = reconcile_events_make(&events, resource, status, NOW_NS);
	json_decref(resource);
	json_decref(status);
	if (r == 0)
		json_decref(events);
	return r;
}

TEST(memory_may_be_short)
{
	json_oom_begin();
	check_oom(make_without_memory, NULL);
	json_oom_end();
}
