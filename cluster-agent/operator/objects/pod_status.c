/*
 * The kubelet says of each container that it waits, runs or has terminated, with a reason; the
 * scheduler says in a condition of the pod why no node takes it. Containers that wait with one of
 * two reasons have not failed: they are being created.
 */
#include "cluster-agent/operator/objects/pod_status.h"

#include "common/text/utf8.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static bool is(const json_t *object, const char *key, const char *wanted)
{
	return strcmp(text_of(object, key), wanted) == 0;
}

/* Ends the text on one line, between two characters. */
static void finish(char *text)
{
	text[utf8_make_printable(text, strlen(text))] = '\0';
}

static void say(char *ret, const char *pod, const char *reason, const char *message)
{
	snprintf(ret, POD_STATUS_BYTES, "pod %.253s: %s%s%s", pod, reason, *message ? ": " : "",
		 message);
	finish(ret);
}

/* ---- containers ---- */

/* "exit code 137 (OOMKilled)" */
static void describe_exit(char ret[128], const json_t *terminated)
{
	long long code = json_integer_value(json_object_get(terminated, "exitCode"));
	const char *reason = text_of(terminated, "reason");

	snprintf(ret, 128, *reason ? "exit code %lld (%.80s)" : "exit code %lld", code, reason);
}

static bool is_being_created(const json_t *waiting)
{
	return is(waiting, "reason", "ContainerCreating") ||
	       is(waiting, "reason", "PodInitializing") || is(waiting, "reason", "");
}

static enum pod_status read_waiting(char ret[POD_STATUS_BYTES], const char *pod, const json_t *c)
{
	const json_t *waiting = json_object_get(json_object_get(c, "state"), "waiting");
	const json_t *last = json_object_get(json_object_get(c, "lastState"), "terminated");
	const char *message = text_of(waiting, "message");
	char reason[256], ending[128], text[160];

	snprintf(reason, sizeof(reason), "container %.63s: %.100s", text_of(c, "name"),
		 is(waiting, "reason", "") ? "waiting" : text_of(waiting, "reason"));
	/* the message says only how long the kubelet waits until the next restart */
	if (is(waiting, "reason", "CrashLoopBackOff") && last) {
		describe_exit(ending, last);
		snprintf(text, sizeof(text), "it ended with %s; see its log", ending);
		message = text;
	}
	say(ret, pod, reason, message);
	return is_being_created(waiting) ? POD_STARTING : POD_FAILING;
}

static enum pod_status read_ended(char ret[POD_STATUS_BYTES], const char *pod, const json_t *c)
{
	const json_t *ended = json_object_get(json_object_get(c, "state"), "terminated");
	char reason[256], ending[128];

	describe_exit(ending, ended);
	snprintf(reason, sizeof(reason), "container %.63s: ended with %s", text_of(c, "name"),
		 ending);
	say(ret, pod, reason, text_of(ended, "message"));
	return json_integer_value(json_object_get(ended, "exitCode")) == 0 ? POD_STARTING
									   : POD_FAILING;
}

static enum pod_status read_running(char ret[POD_STATUS_BYTES], const char *pod, const json_t *c)
{
	const json_t *last = json_object_get(json_object_get(c, "lastState"), "terminated");
	char reason[256], ending[128] = "";

	if (last)
		describe_exit(ending, last);
	snprintf(reason, sizeof(reason), "container %.63s: runs, but is not ready%s%s",
		 text_of(c, "name"), last ? "; before, it ended with " : "", ending);
	say(ret, pod, reason, "");
	return last ? POD_FAILING : POD_STARTING;
}

/* Containers that are as they should be: POD_READY. is_init: those have ended then. */
static enum pod_status read_container(char ret[POD_STATUS_BYTES], const char *pod, const json_t *c,
				      bool is_init)
{
	const json_t *state = json_object_get(c, "state");
	const json_t *ended = json_object_get(state, "terminated");

	if (json_is_true(json_object_get(c, "ready")))
		return POD_READY;
	if (ended && is_init && json_integer_value(json_object_get(ended, "exitCode")) == 0)
		return POD_READY;
	if (ended)
		return read_ended(ret, pod, c);
	if (json_object_get(state, "running"))
		return read_running(ret, pod, c);
	return read_waiting(ret, pod, c);
}

/* The first container that fails, or else the first that starts. */
static enum pod_status read_containers(char ret[POD_STATUS_BYTES], const char *pod,
				       const json_t *list, bool is_init)
{
	enum pod_status worst = POD_READY;
	const json_t *c;
	size_t i;

	json_array_foreach (list, i, c) {
		char text[POD_STATUS_BYTES];
		enum pod_status s = read_container(text, pod, c, is_init);

		if (s <= worst)
			continue;
		worst = s;
		memcpy(ret, text, sizeof(text));
	}
	return worst;
}

/* ---- pods ---- */

static const json_t *find_condition(const json_t *status, const char *type)
{
	const json_t *c;
	size_t i;

	json_array_foreach (json_object_get(status, "conditions"), i, c)
		if (is(c, "type", type))
			return c;
	return NULL;
}

enum pod_status pod_status_read(char ret[POD_STATUS_BYTES], const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *status = json_object_get(pod, "status");
	const json_t *scheduled = find_condition(status, "PodScheduled");
	const char *name = text_of(metadata, "name");
	enum pod_status s;

	ret[0] = '\0';
	if (text_of(metadata, "deletionTimestamp")[0] ||
	    is(find_condition(status, "Ready"), "status", "True"))
		return POD_READY;
	if (is(status, "phase", "Failed")) {
		say(ret, name, is(status, "reason", "") ? "failed" : text_of(status, "reason"),
		    text_of(status, "message"));
		return POD_FAILING;
	}
	if (is(scheduled, "status", "False")) {
		say(ret, name, text_of(scheduled, "reason"), text_of(scheduled, "message"));
		return POD_FAILING;
	}
	s = read_containers(ret, name, json_object_get(status, "initContainerStatuses"), true);
	if (s == POD_READY)
		s = read_containers(ret, name, json_object_get(status, "containerStatuses"), false);
	if (s != POD_READY)
		return s;
	if (json_array_size(json_object_get(status, "containerStatuses")) > 0) {
		say(ret, name, "not ready, but its containers are: its node may be down", "");
		return POD_FAILING;
	}
	say(ret, name,
	    scheduled ? "its containers have not been created yet" : "no node has been chosen yet",
	    "");
	return POD_STARTING;
}

bool pod_status_of_event(char ret[POD_STATUS_BYTES], const json_t *event)
{
	const char *message = text_of(event, "message");

	snprintf(ret, POD_STATUS_BYTES, "no pod can be created: %s", message);
	finish(ret);
	return *message != '\0';
}
