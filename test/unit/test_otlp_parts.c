#include <errno.h>

#include "cluster-agent/otlp/otlp_parts.h"
#include "common/limits.h"
#include "common/protobuf/json_message.h"
#include "common/system/clock.h"
#include "proto/otlp_profiles.pb-c.h"
#include "test/lib/unit.h"

#define NOW_NS INT64_C(1800000000000000000)
#define WEEK_NS INT64_C(604800000000000)
#define TIME "\"timeUnixNano\":\"1799999990000000000\",\"durationNano\":\"5000000000\""

/* stacks: 1 main ← work, inlined ← libc without a name; 2 main ← kernel; 3 a Python function */
#define STRINGS                                                                                    \
	"\"stringTable\":[\"\",\"cpu\",\"nanoseconds\",\"samples\",\"count\",\"work\",\"main\","   \
	"\"/src/my app.c\",\"/usr/lib/libc.so.6\",\"profile.frame.type\",\"kernel\","              \
	"\"sys_read\",\"process.executable.build_id.gnu\",\"abc123\",\"app.py\",\"inlined\","      \
	"\"service.name\",\"shop\",\"process.executable.name\",\"nginx\",\"coroot.profile.type\"," \
	"\"go_runtime:heap_inuse_space:bytes\",\"/usr/bin/app\",\"pprof.profile.comment\","        \
	"\"lost:map_full=3\",\"alloc_space\",\"bytes\",\"pprof::base\"]"
#define DICTIONARY                                                                                \
	"\"dictionary\":{" STRINGS ",\"attributeTable\":[{},"                                     \
	"{\"keyStrindex\":9,\"value\":{\"stringValue\":\"kernel\"}},"                             \
	"{\"keyStrindex\":12,\"value\":{\"stringValueStrindex\":13}},"                            \
	"{\"keyStrindex\":16,\"value\":{\"stringValue\":\"shop\"}},"                              \
	"{\"keyStrindex\":18,\"value\":{\"stringValue\":\"nginx\"}},"                             \
	"{\"keyStrindex\":20,\"value\":{\"stringValue\":\"go_runtime:heap_inuse_space:bytes\"}}," \
	"{\"keyStrindex\":23,\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":"            \
	"\"lost:map_full=3\"}]}}},"                                                               \
	"{\"keyStrindex\":27,\"value\":{\"stringValue\":\"true\"}},"                              \
	"{\"keyStrindex\":27,\"value\":{\"stringValue\":\"false\"}}],"                            \
	"\"mappingTable\":[{},{\"memoryStart\":\"65536\",\"memoryLimit\":\"131072\","             \
	"\"fileOffset\":\"4096\",\"filenameStrindex\":8,\"attributeIndices\":[2]},"               \
	"{\"filenameStrindex\":22}],"                                                             \
	"\"functionTable\":[{},{\"nameStrindex\":5,\"filenameStrindex\":7},{\"nameStrindex\":6}," \
	"{\"nameStrindex\":11},{\"nameStrindex\":5,\"filenameStrindex\":14},"                     \
	"{\"nameStrindex\":15,\"filenameStrindex\":7}],"                                          \
	"\"locationTable\":[{},{\"mappingIndex\":1,\"address\":\"65792\"},"                       \
	"{\"lines\":[{\"functionIndex\":5,\"line\":7},{\"functionIndex\":1,\"line\":42}]},"       \
	"{\"mappingIndex\":2,\"address\":16,\"lines\":[{\"functionIndex\":2}]},"                  \
	"{\"attributeIndices\":[1],\"lines\":[{\"functionIndex\":3}]},"                           \
	"{\"lines\":[{\"functionIndex\":4,\"line\":3}]}],"                                        \
	"\"stackTable\":[{},{\"locationIndices\":[1,2,3]},{\"locationIndices\":[4,3]},"           \
	"{\"locationIndices\":[5]}]}"
#define SHOP                                                                                  \
	"\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":" \
	"\"shop\"}}]}"
#define CPU "\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2}"

/* A request of one resource and profiles. */
#define REQUEST(resource, profiles)                                                        \
	"{\"resourceProfiles\":[{" resource ",\"scopeProfiles\":[{\"profiles\":[" profiles \
	"]}]}]," DICTIONARY "}"

struct fixture {
	struct arena arena;
	struct buf request;
	struct upload_parts parts;
	struct otlp_parts_report report;
	struct err err;
};

static struct fixture fx;

static void encode(const char *json)
{
	buf_truncate(&fx.request, 0);
	fx.err.msg[0] = '\0';
	if (json_message_encode(&otlp__export_profiles_service_request__descriptor, json,
				strlen(json), &fx.request, &fx.err) < 0)
		fail_msg("%s: %s", fx.err.msg, json);
}

static int decode_bytes(const void *data, size_t len)
{
	const struct otlp_parts_config cfg = {.now_ns = NOW_NS, .max_age_ns = WEEK_NS};

	arena_fini(&fx.arena);
	return otlp_parts_decode(&fx.parts, &fx.report, &fx.arena, &cfg,
				 (struct otlp_bytes){data, len}, &fx.err);
}

static int decode(const char *json)
{
	encode(json);
	return decode_bytes(fx.request.data, fx.request.len);
}

static void accept(const char *json)
{
	int e = decode(json);

	if (e < 0)
		fail_msg("%d: %s", e, fx.err.msg);
}

static const struct profile *part(size_t i)
{
	assert_true(i < fx.parts.n);
	return &fx.parts.items[i].profile;
}

static void check_service(size_t i, const char *service)
{
	const struct row_text *t = &fx.parts.items[i].service;

	assert_true(i < fx.parts.n);
	if (t->len != strlen(service) || memcmp(t->data, service, t->len) != 0)
		fail_msg("%.*s is not %s", (int)t->len, t->data, service);
}

/* "name file:line", frame by frame, leaf first, separated by " < " */
static void check_stack(size_t i, uint32_t sample, const char *expected)
{
	const struct profile *p = part(i);
	const struct profile_sample *s = &p->samples[sample];
	char text[1024] = "";
	size_t n = 0;

	assert_true(sample < p->n_samples);
	for (uint32_t l = 0; l < s->n_locations; l++) {
		const struct profile_location *loc = &p->locations[s->locations[l]];

		for (uint32_t j = 0; j < loc->n_lines; j++) {
			const struct profile_function *f = &p->functions[loc->lines[j].function];

			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s %.*s:%lld",
					      n ? " < " : "", (int)f->name.len, f->name.data,
					      (int)f->file.len, f->file.data,
					      (long long)loc->lines[j].line);
		}
	}
	assert_string_equal(text, expected);
}

static const char *label(size_t i, const char *name)
{
	static char value[64];
	const struct upload_part *p = &fx.parts.items[i];

	for (size_t l = 0; l < p->n_labels; l++) {
		if (p->labels[l].name.len != strlen(name) ||
		    memcmp(p->labels[l].name.data, name, strlen(name)) != 0)
			continue;
		snprintf(value, sizeof(value), "%.*s", (int)p->labels[l].value.len,
			 p->labels[l].value.data);
		return value;
	}
	return NULL;
}

TEST(frames_are_those_of_our_own_agent)
{
	accept(REQUEST(SHOP, "{" CPU "," TIME ",\"samples\":[{\"stackIndex\":1,\"values\":[5]},"
			     "{\"stackIndex\":2,\"values\":[\"7\"]},"
			     "{\"stackIndex\":3,\"values\":[1,2]},"
			     "{\"stackIndex\":1,\"values\":[10]}]}"));
	assert_int_equal(fx.parts.n, 1);
	check_service(0, "shop");
	assert_int_equal(part(0)->n_samples, 3);
	check_stack(0, 0,
		    "libc.so.6+0x1100 [libc.so.6:abc123]:0 < inlined /src/my_app.c:7 < "
		    "work /src/my_app.c:42 < main [app]:0");
	check_stack(0, 1, "sys_read [kernel]:0 < main [app]:0");
	check_stack(0, 2, "work app.py:3");
	/* equal stacks are added up, and so are the values of a sample */
	assert_int_equal(part(0)->samples[0].values[0], 15);
	assert_int_equal(part(0)->samples[1].values[0], 7);
	assert_int_equal(part(0)->samples[2].values[0], 3);
	/* what the other stacks of the dictionary use is not in the profile */
	assert_int_equal(part(0)->n_locations, 5);
	assert_true(part(0)->time_ns == INT64_C(1799999995000000000));
	assert_true(part(0)->duration_ns == INT64_C(5000000000));
	assert_int_equal(fx.report.n_profiles, 1);
	assert_int_equal(fx.report.n_rejected, 0);
}

TEST(samples_without_values_count_their_timestamps)
{
	/* 20 Hz, as profilers of whole machines send it */
	accept("{\"resourceProfiles\":[{" SHOP ",\"scopeProfiles\":[{\"profiles\":["
	       "{\"sampleType\":{\"typeStrindex\":3,\"unitStrindex\":4},"
	       "\"periodType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"period\":\"50000000\","
	       "\"samples\":[{\"stackIndex\":3,\"timestampsUnixNano\":[\"1799999990000000000\","
	       "\"1799999991000000000\",\"1799999994000000000\"]}]}],"
	       "\"scope\":{\"name\":\"go.opentelemetry.io/ebpf-profiler\"}}]}]," DICTIONARY "}");
	assert_int_equal(fx.parts.n, 1);
	assert_int_equal(part(0)->samples[0].values[0], 150000000);
	assert_string_equal(part(0)->types[0].type.data, "ebpf:cpu:nanoseconds");
	/* and without times of the profile, these are its times */
	assert_true(part(0)->time_ns == INT64_C(1799999994000000000));
	assert_true(part(0)->duration_ns == INT64_C(4000000000));
}

/* Requests as the OpenTelemetry eBPF profiler builds them: reporter/internal/pdata/generate.go. */
#define EBPF_STRINGS                                                                              \
	"\"stringTable\":[\"\",\"cpu\",\"nanoseconds\",\"samples\",\"count\",\"off_cpu\","        \
	"\"events\","                                                                             \
	"\"profile.frame.type\",\"/usr/bin/python3.11\",\"handle\",\"/srv/app.py\",\"vfs_read\"," \
	"\"process.executable.build_id.gnu\",\"thread.name\",\"thread.id\",\"alloc_space\","      \
	"\"bytes\"]"
#define EBPF_TEXT(key, value) "{\"keyStrindex\":" #key ",\"value\":{\"stringValue\":\"" value "\"}}"
/* stacks: 1 native < Python, 2 kernel < native, 3 Python only; types are attributes 1 to 3 */
#define EBPF_DICTIONARY(native, kernel)                                                            \
	"\"dictionary\":{" EBPF_STRINGS                                                            \
	",\"attributeTable\":[{}," EBPF_TEXT(7, native) "," EBPF_TEXT(7, "cpython") "," EBPF_TEXT( \
		7,                                                                                 \
		kernel) "," EBPF_TEXT(12,                                                          \
				      "abc") "," EBPF_TEXT(13,                                     \
							   "worker") ",{\"keyStrindex\":14,"       \
								     "\"value\":{\"intValue\":"    \
								     "\"17\"}}],"                  \
								     "\"mappingTable\":[{},{"      \
								     "\"memoryStart\":\"4096\","   \
								     "\"memoryLimit\":\"8192\","   \
								     "\"filenameStrindex\":8,"     \
								     "\"attributeIndices\":[4]}]," \
								     "\"functionTable\":[{},{"     \
								     "\"nameStrindex\":9,"         \
								     "\"filenameStrindex\":10},{"  \
								     "\"nameStrindex\":11}],"      \
								     "\"locationTable\":[{},{"     \
								     "\"mappingIndex\":1,"         \
								     "\"address\":\"5000\","       \
								     "\"attributeIndices\":[1]},"  \
								     "{\"address\":\"3\","         \
								     "\"lines\":[{"                \
								     "\"functionIndex\":1,"        \
								     "\"line\":\"12\"}],"          \
								     "\"attributeIndices\":[2]},"  \
								     "{\"lines\":[{"               \
								     "\"functionIndex\":2}],"      \
								     "\"attributeIndices\":[3]}]," \
								     "\"stackTable\":[{},{"        \
								     "\"locationIndices\":[1,2]}," \
								     "{\"locationIndices\":[3,1]}" \
								     ","                           \
								     "{\"locationIndices\":[2]}]," \
								     "\"linkTable\":[{}]}"
#define EBPF_SAMPLE(stack, rest)                                              \
	"\"samples\":[{\"stackIndex\":" #stack ",\"attributeIndices\":[5,6]," \
	"\"timestampsUnixNano\":[\"1799999990000000000\",\"1799999991000000000\"]" rest "}]"
#define EBPF_CPU(stack)                                                \
	"{\"sampleType\":{\"typeStrindex\":3,\"unitStrindex\":4},"     \
	"\"periodType\":{\"typeStrindex\":1,\"unitStrindex\":2}," TIME \
	",\"period\":\"50000000\"," EBPF_SAMPLE(stack, "") "}"
#define EBPF_OTHER(type, unit, values)                                                  \
	"{\"sampleType\":{\"typeStrindex\":" #type ",\"unitStrindex\":" #unit "}," TIME \
	"," EBPF_SAMPLE(3, values) "}"
#define EBPF_RESOURCE(attribute)                                                          \
	"\"resource\":{\"attributes\":[{\"key\":\"process.pid\",\"value\":{\"intValue\":" \
	"\"4242\"}},{\"key\":\"process.executable.name\",\"value\":{\"stringValue\":"     \
	"\"python3.11\"}}" attribute "]}"
#define EBPF_REQUEST(scope, attribute, dictionary, profiles)                                    \
	"{\"resourceProfiles\":[{" EBPF_RESOURCE(                                               \
		attribute) ",\"scopeProfiles\":[{\"scope\":{\"name\":\"" scope                  \
			   "\",\"version\":\"v1\"},\"profiles\":[" profiles "]}]}]," dictionary \
			   "}"
#define ATTRIBUTE(key, value) ",{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"

static void types_are(const char *json, size_t n, const char *const *types)
{
	accept(json);
	assert_int_equal(fx.parts.n, n);
	for (size_t i = 0; i < n; i++) {
		check_service(i, "python3.11");
		assert_int_equal(part(i)->n_types, 1);
		assert_string_equal(part(i)->types[0].type.data, types[i]);
	}
}

TEST(a_process_seen_by_an_ebpf_profiler_has_one_type)
{
	static const char *const types[] = {"ebpf:cpu:nanoseconds", "ebpf:cpu:nanoseconds",
					    "ebpf:cpu:nanoseconds", "ebpf:off_cpu:nanoseconds",
					    "ebpf:events:count"};
#define ALL                                             \
	EBPF_CPU(1)                                     \
	"," EBPF_CPU(2) "," EBPF_CPU(3) "," EBPF_OTHER( \
		5, 2, ",\"values\":[\"70\",\"7\"]") "," EBPF_OTHER(6, 4, "")
#define MIXED EBPF_DICTIONARY("native", "kernel")
	types_are(EBPF_REQUEST("go.opentelemetry.io/ebpf-profiler", "", MIXED, ALL), 5, types);
	assert_int_equal(part(0)->samples[0].values[0], 2 * 50000000);
	assert_int_equal(part(3)->samples[0].values[0], 77);
	assert_int_equal(part(4)->samples[0].values[0], 2);
	/* the stand-alone profiler names its scope as its program is called */
	types_are(EBPF_REQUEST("/opt/profiler", "", MIXED, ALL), 5, types);
	types_are(EBPF_REQUEST("", "", MIXED, ALL), 5, types);
	types_are(EBPF_REQUEST("Grafana eBPF", "", EBPF_DICTIONARY("cpython", "cpython"), ALL), 5,
		  types);
	types_are(EBPF_REQUEST("", ATTRIBUTE("telemetry.distro.name", "opentelemetry-ebpf"),
			       EBPF_DICTIONARY("cpython", "cpython"), ALL),
		  5, types);
	/* the language of the process is not that of the profiler */
	types_are(EBPF_REQUEST("ebpf-profiler", ATTRIBUTE("telemetry.sdk.language", "python"),
			       MIXED, ALL),
		  5, types);
	types_are(EBPF_REQUEST("/opt/profiler", ATTRIBUTE("telemetry.sdk.language", "python"),
			       MIXED, EBPF_CPU(3)),
		  1, types);
}

TEST(profiles_of_an_sdk_keep_their_language)
{
	static const char *const types[] = {"python:cpu:nanoseconds"};
	static const char *const heap[] = {"python:heap_alloc_space:bytes"};

	types_are(EBPF_REQUEST("sdk", "", EBPF_DICTIONARY("cpython", "cpython"), EBPF_CPU(3)), 1,
		  types);
	types_are(EBPF_REQUEST("sdk", ATTRIBUTE("telemetry.sdk.language", "python"), MIXED,
			       EBPF_OTHER(1, 2, ",\"values\":[5]")),
		  1, types);
	types_are(EBPF_REQUEST("sdk", "", MIXED, EBPF_OTHER(15, 16, ",\"values\":[5]")), 1, heap);
}

TEST(profiles_of_our_agents_keep_their_type_and_comments)
{
	accept(REQUEST(SHOP, "{\"sampleType\":{\"typeStrindex\":25,\"unitStrindex\":26}," TIME
			     ",\"attributeIndices\":[5,6],"
			     "\"samples\":[{\"stackIndex\":3,\"values\":[4096]}]}"));
	assert_string_equal(part(0)->types[0].type.data, "go_runtime:heap_inuse_space:bytes");
	assert_int_equal(part(0)->n_comments, 1);
	assert_memory_equal(part(0)->comments[0].data, "lost:map_full=3", 15);
}

TEST(resources_become_services_and_labels)
{
	accept(REQUEST(
		"\"resource\":{\"attributes\":["
		"{\"key\":\"k8s.namespace.name\",\"value\":{\"stringValue\":\"web\"}},"
		"{\"key\":\"k8s.pod.name\",\"value\":{\"stringValue\":\"cart-5d8f9c7b6-x2x4z\"}},"
		"{\"key\":\"k8s.deployment.name\",\"value\":{\"stringValue\":\"cart\"}},"
		"{\"key\":\"host.name\",\"value\":{\"stringValue\":\"n1\"}},"
		"{\"key\":\"container.id\",\"value\":{\"stringValue\":\"c0ffee\"}},"
		"{\"key\":\"service.name\",\"value\":{\"stringValue\":\"unknown_service:x\"}},"
		"{\"key\":\"process.pid\",\"value\":{\"intValue\":17}},"
		"{\"key\":\"telemetry.sdk.language\",\"value\":{\"stringValue\":\"go\"}},"
		"{\"key\":\"process.command_line\",\"value\":{\"stringValue\":\"--key=1\"}}]}",
		"{" CPU "," TIME ",\"samples\":[{\"stackIndex\":3,\"values\":[1]}]}"));
	check_service(0, "/k8s/web/cart");
	assert_string_equal(label(0, "container.id"), "c0ffee");
	assert_string_equal(label(0, "k8s.pod.name"), "cart-5d8f9c7b6-x2x4z");
	assert_string_equal(label(0, "process.pid"), "17");
	assert_null(label(0, "process.command_line"));
	assert_null(label(0, "telemetry.sdk.language"));
	assert_memory_equal(fx.parts.items[0].host.data, "n1", 2);
	assert_string_equal(part(0)->types[0].type.data, "go:profile_cpu:nanoseconds");
}

#define KUBE(pod, more)                                                         \
	"\"resource\":{\"attributes\":["                                        \
	"{\"key\":\"k8s.namespace.name\",\"value\":{\"stringValue\":\"web\"}}," \
	"{\"key\":\"k8s.pod.name\",\"value\":{\"stringValue\":\"" pod "\"}}" more "]}"
#define OWNER(kind, name) \
	",{\"key\":\"k8s." kind ".name\",\"value\":{\"stringValue\":\"" name "\"}}"

TEST(pods_are_of_the_controller_that_is_named)
{
	static const struct {
		const char *resource, *want;
	} cases[] = {
		{KUBE("shop-db-x2x4z", ""), "/k8s/web/shop-db"},
		{KUBE("web-2", ""), "/k8s/web/web"},
		{KUBE("web-2", OWNER("daemonset", "web-2")), "/k8s/web/web-2"},
		{KUBE("report-1-x2x4z", OWNER("job", "report-1")), "/k8s/web/report-1"},
		{KUBE("hello-28283967-khz2f", OWNER("job", "hello-28283967")), "/k8s/web/hello"},
	};
	char request[8192];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(request, sizeof(request),
			 REQUEST("%s", "{" CPU "," TIME
				       ",\"samples\":[{\"stackIndex\":3,\"values\":[1]}]}"),
			 cases[i].resource);
		accept(request);
		check_service(0, cases[i].want);
	}
}

TEST(without_a_name_of_the_resource_samples_say_it)
{
	accept(REQUEST("\"resource\":{}",
		       "{" CPU "," TIME
		       ",\"samples\":[{\"stackIndex\":3,\"values\":[1],\"attributeIndices\":[4]},"
		       "{\"stackIndex\":2,\"values\":[2]},"
		       "{\"stackIndex\":3,\"values\":[4],\"attributeIndices\":[4,3]},"
		       "{\"stackIndex\":3,\"values\":[8],\"attributeIndices\":[4]}]}"));
	assert_int_equal(fx.parts.n, 3);
	check_service(0, "unknown_service");
	check_service(1, "shop");
	check_service(2, "nginx");
	assert_int_equal(part(0)->samples[0].values[0], 2);
	assert_int_equal(part(1)->samples[0].values[0], 4);
	assert_int_equal(part(2)->samples[0].values[0], 9);
	check_stack(2, 0, "work app.py:3");
}

/* Whoever stores them decides: profile_rows.h. */
TEST(any_time_is_passed_on)
{
	static const struct {
		const char *time, *duration;
		int64_t end_ns, duration_ns;
	} cases[] = {
		{"1", "0", 1, 0},
		{"1900000000000000000", "5", 1900000000000000005, 5},
		{"18446744073709551615", "0", INT64_MAX, 0},
		{"9223372036854775807", "7", INT64_MAX, 7},
	};
	char json[8192];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(json, sizeof(json),
			 "{\"resourceProfiles\":[{" SHOP ",\"scopeProfiles\":[{\"profiles\":[{" CPU
			 ",\"timeUnixNano\":\"%s\",\"durationNano\":\"%s\",\"samples\":[{"
			 "\"stackIndex\":3,\"values\":[1]}]}]}]}]," DICTIONARY "}",
			 cases[i].time, cases[i].duration);
		accept(json);
		assert_int_equal(fx.parts.n, 1);
		assert_true(part(0)->time_ns == cases[i].end_ns);
		assert_true(part(0)->duration_ns == cases[i].duration_ns);
	}
}

TEST(profiles_that_cannot_be_stored_are_left_out_and_counted)
{
	static const struct {
		const char *profile, *reason;
	} cases[] = {
		{"{" TIME ",\"samples\":[{\"stackIndex\":3,\"values\":[1]}]}", "no sample_type"},
		{"{" CPU "," TIME ",\"samples\":[{\"stackIndex\":3}]}",
		 "neither values nor timestamps"},
		{"{" CPU "," TIME ",\"samples\":[{\"stackIndex\":3,\"values\":[1]},"
		 "{\"stackIndex\":2,\"attributeIndices\":[7],\"values\":[-1]}]}",
		 "difference of two profiles"},
	};
	char json[8192];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(json, sizeof(json),
			 "{\"resourceProfiles\":[{" SHOP ",\"scopeProfiles\":[{\"profiles\":[%s,"
			 "{" CPU "," TIME
			 ",\"samples\":[{\"stackIndex\":1,\"values\":[1]}]}]}]}]," DICTIONARY "}",
			 cases[i].profile);
		accept(json);
		assert_int_equal(fx.parts.n, 1);
		assert_int_equal(fx.report.n_profiles, 2);
		assert_int_equal(fx.report.n_rejected, 1);
		if (!strstr(fx.report.reason.msg, cases[i].reason))
			fail_msg("%s is not %s", fx.report.reason.msg, cases[i].reason);
		/* nothing else: invalid */
		snprintf(json, sizeof(json),
			 "{\"resourceProfiles\":[{" SHOP
			 ",\"scopeProfiles\":[{\"profiles\":[%s]}]}]," DICTIONARY "}",
			 cases[i].profile);
		assert_int_equal(decode(json), -EBADMSG);
	}
}

/* A profile of 3 stacks with these values, beside one that has nothing odd. */
static void accept_values(const char *samples, uint64_t n_negative, uint64_t n_clamped)
{
	char json[8192];

	snprintf(json, sizeof(json),
		 REQUEST(SHOP, "{" CPU "," TIME ",\"samples\":[%s]},{" CPU "," TIME
			       ",\"samples\":[{\"stackIndex\":1,\"values\":[7]}]}"),
		 samples);
	accept(json);
	assert_int_equal(fx.report.n_rejected, 0);
	assert_int_equal(fx.parts.n, 2);
	assert_int_equal(fx.parts.losses.n[PROFILE_LOSS_NEGATIVE_VALUES], n_negative);
	assert_int_equal(fx.parts.losses.n[PROFILE_LOSS_CLAMPED_VALUES], n_clamped);
	assert_int_equal(part(1)->samples[0].values[0], 7);
}

TEST(negative_values_count_as_0)
{
	accept_values("{\"stackIndex\":3,\"values\":[-1]},{\"stackIndex\":2,\"values\":[5]}", 1, 0);
	assert_int_equal(part(0)->n_samples, 2);
	assert_int_equal(part(0)->samples[0].values[0], 0);
	assert_int_equal(part(0)->samples[1].values[0], 5);
	accept_values("{\"stackIndex\":3,\"values\":[-1,4,-2]},{\"stackIndex\":3,\"values\":[5]},"
		      "{\"stackIndex\":3,\"values\":[\"-9223372036854775808\"]}",
		      3, 0);
	assert_int_equal(part(0)->samples[0].values[0], 9);
	/* what is not "true" is no difference */
	accept_values("{\"stackIndex\":3,\"attributeIndices\":[8],\"values\":[-1]}", 1, 0);
}

TEST(values_and_sums_beyond_63_bits_are_the_largest_number)
{
	accept_values("{\"stackIndex\":3,\"values\":[\"9223372036854775807\",\"1\"]}", 0, 1);
	assert_true(part(0)->samples[0].values[0] == INT64_MAX);
	accept_values("{\"stackIndex\":3,\"values\":[\"9223372036854775807\"]},"
		      "{\"stackIndex\":3,\"values\":[1]}",
		      0, 1);
	assert_true(part(0)->samples[0].values[0] == INT64_MAX);
	/* the sum of all stacks is made, and cut, where rows are made */
	accept_values("{\"stackIndex\":3,\"values\":[\"9223372036854775807\"]},"
		      "{\"stackIndex\":2,\"values\":[1]}",
		      0, 0);
	assert_int_equal(part(0)->samples[1].values[0], 1);
}

TEST(references_to_nothing_make_the_request_invalid)
{
	static const char *const cases[] = {
		"{\"dictionary\":{\"stringTable\":[\"x\"]}}",
		"{\"dictionary\":{\"stringTable\":[\"\"],\"functionTable\":[{},{\"nameStrindex\":1}"
		"]}}",
		"{\"dictionary\":{\"stringTable\":[\"\"],\"functionTable\":[{},{\"nameStrindex\":-"
		"1}]}}",
		"{\"dictionary\":{\"locationTable\":[{},{\"mappingIndex\":1}]}}",
		"{\"dictionary\":{\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]}]}}",
		"{\"dictionary\":{\"locationTable\":[{},{\"attributeIndices\":[0]}]}}",
		"{\"dictionary\":{\"locationTable\":[{\"address\":1}]}}",
		"{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":1}]}}",
		"{\"dictionary\":{\"stackTable\":[{},{\"locationIndices\":[1]}]}}",
		"{\"dictionary\":{\"attributeTable\":[{\"keyStrindex\":1}]}}",
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{"
		"\"stackIndex\":1,\"values\":[1]}]}]}]}]}",
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{"
		"\"values\":[1],\"attributeIndices\":[1]}]}]}]}]}",
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"attributeIndices\":["
		"1]}]}]}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (decode(cases[i]) != -EBADMSG || fx.err.msg[0] == '\0')
			fail_msg("accepted: %s", cases[i]);
	}
}

TEST(cut_requests_are_refused_or_whole)
{
	char *copy;
	size_t len;

	encode(REQUEST(SHOP, "{" CPU "," TIME ",\"samples\":[{\"stackIndex\":1,\"values\":[5]}]}"));
	len = fx.request.len;
	for (size_t i = 0; i < len; i++) {
		/* a block of exactly that size, so that ASan sees reads beyond it */
		copy = malloc(i + 1);
		assert_non_null(copy);
		memcpy(copy, fx.request.data, i);
		copy = realloc(copy, i ? i : 1);
		if (decode_bytes(copy, i) == 0)
			assert_true(fx.parts.n <= 1);
		else
			assert_true(fx.err.msg[0] != '\0');
		free(copy);
	}
}

TEST(a_small_request_cannot_cost_hours)
{
	CLEANUP(buf_fini) struct buf json;
	int e;

	buf_init(&json, 64 * MIB);
	/* 4,000 locations of 60 KB each in one stack, of which every profile has all */
	e = buf_addf(&json,
		     "{\"dictionary\":{\"stringTable\":[\"\",\"cpu\",\"ns\",\"%060000d\"],"
		     "\"functionTable\":[{},{\"nameStrindex\":3}],"
		     "\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]}],"
		     "\"stackTable\":[{},{\"locationIndices\":[1",
		     1);
	for (unsigned i = 1; i < 4000 && e == 0; i++)
		e = buf_addf(&json, ",1");
	assert_int_equal(e, 0);
	assert_int_equal(buf_addf(&json, "]}]},\"resourceProfiles\":[{\"scopeProfiles\":[{"
					 "\"profiles\":["),
			 0);
	for (unsigned i = 0; i < 4000 && e == 0; i++)
		e = buf_addf(&json,
			     "%s{" CPU "," TIME ",\"samples\":[{\"stackIndex\":1,\"values\":[1]}]}",
			     i ? "," : "");
	assert_int_equal(e, 0);
	assert_int_equal(buf_addf(&json, "]}]}]}"), 0);
	assert_int_equal(decode(json.data), -EFBIG);
}

static int decode_again(void *arg)
{
	(void)arg;
	return decode_bytes(fx.request.data, fx.request.len);
}

TEST(survives_failing_allocations)
{
	encode(REQUEST("\"resource\":{}",
		       "{" CPU "," TIME ",\"attributeIndices\":[6],\"samples\":[{\"stackIndex\":1,"
		       "\"values\":[5],\"attributeIndices\":[4]}]}"));
	check_oom(decode_again, NULL);
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&fx.arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&fx.request, 64 * MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&fx.arena);
	buf_fini(&fx.request);
	return 0;
}

GROUP_FIXTURE(set_up, tear_down)
