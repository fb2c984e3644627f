#include "cluster-agent/operator/reconcile/reconcile_events.h"

#include <errno.h>

#include "cluster-agent/operator/objects/object_facts.h"
#include "cluster-agent/operator/objects/object_requests.h"
#include "common/data/hash.h"
#include "common/text/rfc3339.h"
#include "common/text/utf8.h"

#define MESSAGE_BYTES 1024 /* with the NUL; what Kubernetes' own programs allow themselves */

static const char *text_of(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static bool is(const json_t *object, const char *key, const char *wanted)
{
	return strcmp(text_of(object, key), wanted) == 0;
}

static bool same(const json_t *a, const json_t *b, const char *key)
{
	return is(a, key, text_of(b, key));
}

/* Whether somebody has to do something. */
static bool is_warning(const json_t *condition)
{
	static const char *const reasons[] = {"PodsFailing", "ObjectsNotApplied", "FieldsWrong",
					      "VariablesUnknown"};

	if (is(condition, "type", "Ready") && is(condition, "status", "True"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (is(condition, "reason", reasons[i]))
			return true;
	return false;
}

/* Pods are counted in messages, so of those that only need time every change would be one. */
static bool is_news(const json_t *condition, const json_t *before)
{
	if (!before)
		return is_warning(condition) || is(condition, "type", "Ready");
	return !same(condition, before, "status") || !same(condition, before, "reason") ||
	       (is_warning(condition) && !same(condition, before, "message"));
}

/* Conditions that say the same thing are one event. */
static bool is_told(const json_t *events, const char *message)
{
	for (size_t i = 0; i < json_array_size(events); i++)
		if (is(json_array_get(events, i), "message", message))
			return true;
	return false;
}

static void cut_message(char ret[MESSAGE_BYTES], const json_t *condition)
{
	snprintf(ret, MESSAGE_BYTES, "%s", text_of(condition, "message"));
	ret[utf8_make_printable(ret, strlen(ret))] = '\0';
}

static uint64_t extend(uint64_t hash, const char *text)
{
	return fnv1a64(hash, text, strlen(text) + 1);
}

static json_t *make_event(const json_t *resource, const json_t *condition, const char *message,
			  const char *now)
{
	const json_t *m = json_object_get(resource, "metadata");
	const char *reason = text_of(condition, "reason"), *namespace = text_of(m, "namespace");
	uint64_t hash = extend(extend(extend(FNV1A64_INIT, text_of(m, "uid")), reason), message);
	char name[32];

	snprintf(name, sizeof(name), "coroot-%016llx", (unsigned long long)hash);
	return json_pack("{s:s s:s s:{s:s s:s} s:{s:s s:s s:s s:s s:s s:s} s:s s:s s:s s:{s:s} "
			 "s:s s:s s:i}",
			 "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
			 namespace, "involvedObject", "apiVersion", "coroot.com/v1", "kind",
			 "Coroot", "namespace", namespace, "name", text_of(m, "name"), "uid",
			 text_of(m, "uid"), "resourceVersion", text_of(m, "resourceVersion"),
			 "type", is_warning(condition) ? "Warning" : "Normal", "reason", reason,
			 "message", message, "source", "component", OBJECT_FIELD_MANAGER,
			 "firstTimestamp", now, "lastTimestamp", now, "count", 1);
}

static int add_event(json_t *events, const json_t *resource, const json_t *condition,
		     const char *now)
{
	char message[MESSAGE_BYTES];

	cut_message(message, condition);
	if (is_told(events, message))
		return 0;
	return json_array_append_new(events, make_event(resource, condition, message, now)) < 0
		       ? -ENOMEM
		       : 0;
}

int reconcile_events_make(json_t **ret, const json_t *resource, const json_t *status,
			  int64_t now_ns)
{
	const json_t *before = json_object_get(resource, "status"), *c;
	json_t *events = json_array();
	int r = events ? 0 : -ENOMEM;
	char now[32];
	size_t i;

	rfc3339_format_s(now_ns, now);
	*ret = NULL;
	json_array_foreach (json_object_get(status, "conditions"), i, c)
		if (r == 0 && is_news(c, object_condition(before, text_of(c, "type"))))
			r = add_event(events, resource, c, now);
	if (r < 0)
		json_decref(events);
	else
		*ret = events;
	return r;
}
