/*
 * The kubelet says of each container that it waits, runs or has terminated, with a reason; the
 * scheduler says in a condition of the pod why no node takes it. Containers that wait with one of
 * two reasons have not failed: they are being created.
 */
#include "cluster-agent/operator/objects/pod_status.h"

#include "cluster-agent/operator/objects/object_facts.h"
#include "common/text/utf8.h"

#define LINE_BYTES 400
#define EXIT_BYTES (LINE_BYTES + 120)

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

/*
 * The last line of a container's message that has something on it: the message is the end of its
 * log, and a program that gives up says at last why.
 */
static void last_line(char ret[LINE_BYTES], const char *message)
{
	size_t end = strlen(message), start;

	while (end > 0 && strchr(" \t\r\n", message[end - 1]))
		end--;
	for (start = end; start > 0 && message[start - 1] != '\n';)
		start--;
	snprintf(ret, LINE_BYTES, "%.*s", (int)(end - start), message + start);
}

/* "exit code 137 (OOMKilled)", and the line that the container left: "exit code 1 (Error): …" */
static void describe_exit(char ret[EXIT_BYTES], const json_t *terminated)
{
	long long code = json_integer_value(json_object_get(terminated, "exitCode"));
	const char *reason = text_of(terminated, "reason");
	char line[LINE_BYTES];

	last_line(line, text_of(terminated, "message"));
	snprintf(ret, EXIT_BYTES, "exit code %lld%s%.80s%s%s%s", code, *reason ? " (" : "", reason,
		 *reason ? ")" : "", *line ? ": " : "", line);
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
	char reason[256], ending[EXIT_BYTES], text[EXIT_BYTES + 40];

	snprintf(reason, sizeof(reason), "container %.63s: %.100s", text_of(c, "name"),
		 is(waiting, "reason", "") ? "waiting" : text_of(waiting, "reason"));
	/* the message says only how long the kubelet waits until the next restart */
	if (is(waiting, "reason", "CrashLoopBackOff") && last) {
		describe_exit(ending, last);
		snprintf(text, sizeof(text), "it ended with %s%s", ending,
			 *text_of(last, "message") ? "" : "; see its log");
		message = text;
	}
	say(ret, pod, reason, message);
	return is_being_created(waiting) ? POD_STARTING : POD_FAILING;
}

static enum pod_status read_ended(char ret[POD_STATUS_BYTES], const char *pod, const json_t *c)
{
	const json_t *ended = json_object_get(json_object_get(c, "state"), "terminated");
	char reason[EXIT_BYTES + 128], ending[EXIT_BYTES];

	describe_exit(ending, ended);
	snprintf(reason, sizeof(reason), "container %.63s: ended with %s", text_of(c, "name"),
		 ending);
	say(ret, pod, reason, "");
	return json_integer_value(json_object_get(ended, "exitCode")) == 0 ? POD_STARTING
									   : POD_FAILING;
}

static enum pod_status read_running(char ret[POD_STATUS_BYTES], const char *pod, const json_t *c)
{
	const json_t *last = json_object_get(json_object_get(c, "lastState"), "terminated");
	char reason[EXIT_BYTES + 128], ending[EXIT_BYTES] = "";

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

enum pod_status pod_status_read(char ret[POD_STATUS_BYTES], const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *status = json_object_get(pod, "status");
	const json_t *scheduled = object_condition(status, "PodScheduled");
	const char *name = text_of(metadata, "name");
	enum pod_status s;

	ret[0] = '\0';
	if (text_of(metadata, "deletionTimestamp")[0] ||
	    is(object_condition(status, "Ready"), "status", "True"))
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
