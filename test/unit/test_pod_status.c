#include "cluster-agent/operator/objects/pod_status.h"

#include "test/lib/unit.h"

/* status: a Pod's, as JSON. */
static void assert_status(const char *status, enum pod_status wanted, const char *text)
{
	json_error_t error;
	json_t *s = json_loads(status, 0, &error), *pod;
	char got[POD_STATUS_BYTES];

	if (!s)
		fail_msg("%s in %s", error.text, status);
	pod = json_pack("{s:{s:s} s:o}", "metadata", "name", "web-0", "status", s);
	assert_non_null(pod);
	assert_int_equal(pod_status_read(got, pod), wanted);
	assert_string_equal(got, text);
	json_decref(pod);
}

#define SCHEDULED "'conditions':[{'type':'PodScheduled','status':'True'}]"

/* JSON in which ' stands for ". */
static void check(const char *status, enum pod_status wanted, const char *text)
{
	char quoted[2048];
	size_t i;

	for (i = 0; status[i] && i < sizeof(quoted) - 1; i++)
		quoted[i] = status[i];
	quoted[i] = '\0';
	for (char *c = quoted; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	assert_status(quoted, wanted, text);
}

TEST(a_pod_that_is_ready_or_leaves_says_nothing)
{
	json_t *leaving =
		json_pack("{s:{s:s s:s} s:{s:s}}", "metadata", "name", "a", "deletionTimestamp",
			  "2026-11-23T02:30:00Z", "status", "phase", "Failed");
	char text[POD_STATUS_BYTES];

	check("{'conditions':[{'type':'Ready','status':'True'}]}", POD_READY, "");
	assert_int_equal(pod_status_read(text, leaving), POD_READY);
	json_decref(leaving);
}

TEST(a_pod_that_needs_time_says_for_what)
{
	check("{}", POD_STARTING, "pod web-0: no node has been chosen yet");
	check("{" SCHEDULED "}", POD_STARTING,
	      "pod web-0: its containers have not been created yet");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,'state':"
	      "{'waiting':{'reason':'ContainerCreating'}}}]}",
	      POD_STARTING, "pod web-0: container web: ContainerCreating");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,'state':"
	      "{'running':{}}}]}",
	      POD_STARTING, "pod web-0: container web: runs, but is not ready");
}

TEST(what_fails_is_told_with_its_reason)
{
	check("{'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
	      "'message':'0/3 nodes are available'}]}",
	      POD_FAILING, "pod web-0: Unschedulable: 0/3 nodes are available");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,'state':{'waiting':"
	      "{'reason':'ImagePullBackOff','message':'Back-off pulling\\nimage'}}}]}",
	      POD_FAILING, "pod web-0: container web: ImagePullBackOff: Back-off pulling?image");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,"
	      "'lastState':{'terminated':{'exitCode':1,'reason':'Error'}},"
	      "'state':{'waiting':{'reason':'CrashLoopBackOff','message':'back-off 5m0s'}}}]}",
	      POD_FAILING,
	      "pod web-0: container web: CrashLoopBackOff: it ended with exit code 1 (Error); see "
	      "its log");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,"
	      "'lastState':{'terminated':{'exitCode':1,'reason':'Error','message':'level=info "
	      "msg=start\\nagent: --go-heap-profiler: forced is not one of disabled\\n \\n'}},"
	      "'state':{'waiting':{'reason':'CrashLoopBackOff','message':'back-off 5m0s'}}}]}",
	      POD_FAILING,
	      "pod web-0: container web: CrashLoopBackOff: it ended with exit code 1 (Error): "
	      "agent: --go-heap-profiler: forced is not one of disabled");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,"
	      "'lastState':{'terminated':{'exitCode':1,'message':'\\n'}},"
	      "'state':{'running':{}}}]}",
	      POD_FAILING,
	      "pod web-0: container web: runs, but is not ready; before, it ended with exit code "
	      "1");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,"
	      "'lastState':{'terminated':{'exitCode':2,'message':'no\\nsuch option'}},"
	      "'state':{'running':{}}}]}",
	      POD_FAILING,
	      "pod web-0: container web: runs, but is not ready; before, it ended with exit code "
	      "2: "
	      "such option");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,"
	      "'lastState':{'terminated':{'exitCode':137,'reason':'OOMKilled'}},"
	      "'state':{'running':{}}}]}",
	      POD_FAILING,
	      "pod web-0: container web: runs, but is not ready; before, it ended with exit code "
	      "137 (OOMKilled)");
	check("{" SCHEDULED ",'containerStatuses':[{'name':'web','ready':false,'state':"
	      "{'terminated':{'exitCode':2,'message':'no such option'}}}]}",
	      POD_FAILING, "pod web-0: container web: ended with exit code 2: no such option");
	check("{'phase':'Failed','reason':'Evicted','message':'The node was low on memory'}",
	      POD_FAILING, "pod web-0: Evicted: The node was low on memory");
	check("{'conditions':[{'type':'PodScheduled','status':'True'},"
	      "{'type':'Ready','status':'False'}],"
	      "'containerStatuses':[{'name':'web','ready':true,'state':{'running':{}}}]}",
	      POD_FAILING, "pod web-0: not ready, but its containers are: its node may be down");
}

TEST(a_container_that_fails_comes_before_one_that_starts)
{
	check("{" SCHEDULED ",'containerStatuses':["
	      "{'name':'a','ready':false,'state':{'waiting':{'reason':'PodInitializing'}}},"
	      "{'name':'b','ready':false,'state':{'waiting':{'reason':'ErrImagePull'}}}]}",
	      POD_FAILING, "pod web-0: container b: ErrImagePull");
	/* those that prepare a pod come first, unless they have done so */
	check("{" SCHEDULED ",'initContainerStatuses':["
	      "{'name':'i','ready':false,'state':{'terminated':{'exitCode':0}}}],"
	      "'containerStatuses':["
	      "{'name':'a','ready':false,'state':{'waiting':{'reason':'PodInitializing'}}}]}",
	      POD_STARTING, "pod web-0: container a: PodInitializing");
	check("{" SCHEDULED ",'initContainerStatuses':["
	      "{'name':'i','ready':false,'state':{'terminated':{'exitCode':3}}}],"
	      "'containerStatuses':["
	      "{'name':'a','ready':false,'state':{'waiting':{'reason':'PodInitializing'}}}]}",
	      POD_FAILING, "pod web-0: container i: ended with exit code 3");
}

TEST(a_long_message_is_cut)
{
	char message[2000], got[POD_STATUS_BYTES];
	json_t *event;

	for (size_t i = 0; i + 3 < sizeof(message); i += 3)
		snprintf(message + i, 4, "\xe2\x82\xac");
	event = json_pack("{s:s}", "message", message);
	assert_non_null(event);
	assert_true(pod_status_of_event(got, event));
	assert_true(strlen(got) > POD_STATUS_BYTES - 5);
	assert_non_null(strstr(got, "no pod can be created: \xe2\x82\xac"));
	assert_string_equal(got + strlen(got) - 3, "\xe2\x82\xac");
	json_decref(event);
	event = json_object();
	assert_false(pod_status_of_event(got, event));
	json_decref(event);
}
