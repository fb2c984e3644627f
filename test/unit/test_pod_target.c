#include "cluster-agent/discover/pod_target.h"

#include <errno.h>

#include "cluster-agent/discover/pod_annotations.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

static const bool cpu_and_heap[PROFILE_KIND_MAX] = {
	[PROFILE_KIND_CPU] = true, [PROFILE_KIND_HEAP] = true};

#define NOW_S (INT64_C(28283967) * 60)

static const char spec_of_two[] =
	"'nodeName':'n1','containers':["
	"{'name':'app','ports':[{'name':'http','containerPort':8080,'protocol':'TCP'},"
	"{'name':'dns','containerPort':53,'protocol':'UDP'}]},"
	"{'name':'proxy','ports':[{'name':'admin','containerPort':9901},{'containerPort':1}]}],"
	"'initContainers':[{'name':'set-up','ports':[{'name':'early','containerPort':7}]},"
	"{'name':'mesh','restartPolicy':'Always','ports':["
	"{'name':'mesh-metrics','containerPort':15020}]}]";

struct case_pod {
	const char *name;        /* NULL: web-2 */
	const char *annotations; /* without braces; quotes are ' */
	const char *metadata;    /* more of it; begins with a comma */
	const char *spec;        /* NULL: spec_of_two */
	const char *status;      /* NULL: runs at 10.0.0.1 */
};

static json_t *make_pod(const struct case_pod *c)
{
	char text[8192];
	json_t *pod;

	snprintf(text, sizeof(text),
		 "{'metadata':{'name':'%s','namespace':'shop','uid':'u-1','annotations':{%s}%s},"
		 "'spec':{%s},'status':{%s}}",
		 c->name ? c->name : "web-2", c->annotations ? c->annotations : "",
		 c->metadata ? c->metadata : "", c->spec ? c->spec : spec_of_two,
		 c->status ? c->status : "'phase':'Running','podIP':'10.0.0.1'");
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	pod = json_loads(text, JSON_ALLOW_NUL, NULL);
	if (!pod)
		fail_msg("no JSON: %s", text);
	return pod;
}

static int make(struct scrape_target *t, struct arena *arena, const struct case_pod *c)
{
	json_t *pod = make_pod(c);
	int r;

	arena_init(arena, POD_TARGET_ARENA_BYTES);
	r = pod_target_make(t, arena, pod, cpu_and_heap, NOW_S);
	/* the target borrows nothing from the pod */
	json_decref(pod);
	return r;
}

/* "cpu http:8080/debug/pprof/profile" for each endpoint, in lines, and the problem in '!'. */
static void describe(const struct scrape_target *t, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < t->n_endpoints && used < size; i++) {
		const struct scrape_endpoint *e = &t->endpoints[i];

		used += (size_t)snprintf(text + used, size - used, "%s %s:%u%s\n",
					 profile_kind_name(e->kind), e->https ? "https" : "http",
					 e->port, e->path);
	}
	if (t->problem[0] && used < size)
		snprintf(text + used, size - used, "! %s\n", t->problem);
}

static void check(const char *annotations, const char *want)
{
	const struct case_pod c = {.annotations = annotations};
	struct scrape_target t;
	struct arena arena;
	char text[4096];
	int r = make(&t, &arena, &c);

	if (r != (want != NULL))
		fail_msg("%s: %d", annotations, r);
	if (want) {
		describe(&t, text, sizeof(text));
		if (strcmp(text, want) != 0)
			fail_msg("%s:\n%s and not\n%s", annotations, text, want);
	}
	arena_fini(&arena);
}

TEST(pods_without_annotations_are_not_targets)
{
	check("", NULL);
	check("'pyroscope.io/scrape':'false','pyroscope.io/port':'80'", NULL);
	check("'profiles.grafana.com/cpu.scrape':'false','profiles.grafana.com/cpu.port':'80'",
	      NULL);
	/* of others, or not about scraping */
	check("'coroot.com/ebpf-profiling':'disabled','example.com/profile-scrape':'true',"
	      "'pyroscope.io/service_name':'cart','pyroscope.io/application-name':'cart',"
	      "'profiles.grafana.com/service_repository':'https://example.com/cart'",
	      NULL);
	check("'coroot.com/profile-scrape':'false','pyroscope.io/scrape':'true',"
	      "'profiles.grafana.com/cpu.scrape':'true','pyroscope.io/port':'80'",
	      NULL);
}

TEST(coroot_annotations_are_understood)
{
	check("'coroot.com/profile-scrape':'true','coroot.com/profile-port':'8080'",
	      "cpu http:8080/debug/pprof/profile\nheap http:8080/debug/pprof/heap\n");
	check("'coroot.com/profile-scrape':'true','coroot.com/profile-port':' 80, 81,80',"
	      "'coroot.com/profile-types':'goroutine, memory','coroot.com/profile-scheme':'https',"
	      "'coroot.com/profile-path-prefix':'/in/ner/'",
	      "heap https:80/in/ner/debug/pprof/heap\nheap https:81/in/ner/debug/pprof/heap\n"
	      "goroutine https:80/in/ner/debug/pprof/goroutine\n"
	      "goroutine https:81/in/ner/debug/pprof/goroutine\n");
	check("'coroot.com/profile-scrape':'true','coroot.com/profile-port':'1',"
	      "'coroot.com/profile-port-name':'admin,mesh-metrics','coroot.com/"
	      "profile-types':'mutex',"
	      "'coroot.com/profile-path-prefix':'/'",
	      "mutex http:1/debug/pprof/mutex\nmutex http:9901/debug/pprof/mutex\n"
	      "mutex http:15020/debug/pprof/mutex\n");
	/* Coroot's fallback for the port alone */
	check("'coroot.com/profile-scrape':'true','pyroscope.io/port':'77'",
	      "cpu http:77/debug/pprof/profile\nheap http:77/debug/pprof/heap\n");
}

TEST(grafana_annotations_are_understood_type_by_type)
{
	check("'profiles.grafana.com/cpu.scrape':'true','profiles.grafana.com/cpu.port':'6060',"
	      "'profiles.grafana.com/memory.scrape':'true',"
	      "'profiles.grafana.com/memory.port_name':'http',"
	      "'profiles.grafana.com/memory.scheme':'https',"
	      "'profiles.grafana.com/memory.path':'/heap.pb',"
	      "'profiles.grafana.com/mutex.scrape':'false','profiles.grafana.com/mutex.port':'1',"
	      "'profiles.grafana.com/block.scrape':'true'",
	      "cpu http:6060/debug/pprof/profile\nheap https:8080/heap.pb\n"
	      "block http:15020/debug/pprof/block\n");
}

TEST(pyroscope_annotations_are_understood)
{
	check("'pyroscope.io/scrape':'true','pyroscope.io/port':'6060'",
	      "cpu http:6060/debug/pprof/profile\nheap http:6060/debug/pprof/heap\n");
	check("'pyroscope.io/scrape':'true','coroot.com/profile-port':'6061',"
	      "'pyroscope.io/scheme':'https','pyroscope.io/profile-mem-enabled':'false',"
	      "'pyroscope.io/profile-cpu-enabled':'true'",
	      "cpu https:6061/debug/pprof/profile\n");
}

TEST(the_first_family_that_asks_wins)
{
	static const char all[] =
		"'pyroscope.io/scrape':'true','pyroscope.io/port':'3',"
		"'profiles.grafana.com/block.scrape':'true','profiles.grafana.com/block.port':'2'";
	char with_coroot[512];

	check(all, "block http:2/debug/pprof/block\n");
	snprintf(with_coroot, sizeof(with_coroot),
		 "%s,'coroot.com/profile-scrape':'true','coroot.com/profile-port':'1',"
		 "'coroot.com/profile-types':'cpu'",
		 all);
	check(with_coroot, "cpu http:1/debug/pprof/profile\n");
}

#define ON "'coroot.com/profile-scrape':'true','coroot.com/profile-types':'cpu',"
#define CPU_AT_80 "cpu http:80/debug/pprof/profile\n"

TEST(mistakes_are_reported_and_do_not_affect_the_rest)
{
	static const struct {
		const char *annotations, *want;
	} cases[] = {
		{"'coroot.com/profile-scrape':'yes','coroot.com/profile-port':'80'",
		 "! annotation coroot.com/profile-scrape is \"yes\", not true or false\n"},
		{"'coroot.com/profile-scrape':'true'",
		 "! annotation coroot.com/profile-port is missing\n"},
		{ON "'coroot.com/profile-port':'80x'",
		 "! annotation coroot.com/profile-port: \"80x\" is not a port\n"},
		{ON "'coroot.com/profile-port':''",
		 "! annotation coroot.com/profile-port is missing\n"},
		{ON "'coroot.com/profile-port':'0'",
		 "! annotation coroot.com/profile-port: \"0\" is not a port\n"},
		{ON "'coroot.com/profile-port':'80,65536,+1'",
		 CPU_AT_80 "! annotation coroot.com/profile-port: \"65536\" is not a port; "
			   "annotation coroot.com/profile-port: \"+1\" is not a port\n"},
		{ON "'coroot.com/profile-port':'80\\u0000'",
		 "! annotation coroot.com/profile-port: \"80?\" is not a port\n"},
		{ON "'coroot.com/profile-port':'1,2,3,4,5,6,7,8,9'",
		 "cpu http:1/debug/pprof/profile\ncpu http:2/debug/pprof/profile\n"
		 "cpu http:3/debug/pprof/profile\ncpu http:4/debug/pprof/profile\n"
		 "cpu http:5/debug/pprof/profile\ncpu http:6/debug/pprof/profile\n"
		 "cpu http:7/debug/pprof/profile\ncpu http:8/debug/pprof/profile\n"
		 "! more than 8 ports\n"},
		{ON "'coroot.com/profile-port':'80','coroot.com/profile-port-name':'dns,early'",
		 CPU_AT_80 "! annotation coroot.com/profile-port-name: no container has a port "
			   "called \"dns\"; annotation coroot.com/profile-port-name: no container "
			   "has a port called \"early\"\n"},
		{ON "'coroot.com/profile-port':'80','coroot.com/profile-scheme':'ftp'",
		 "! annotation coroot.com/profile-scheme is \"ftp\", not http or https\n"},
		{ON "'coroot.com/profile-port':'80','coroot.com/profile-path-prefix':'x'",
		 "! annotation coroot.com/profile-path-prefix is \"x\", not a path\n"},
		{"'coroot.com/profile-scrape':'true','coroot.com/profile-port':'80',"
		 "'coroot.com/profile-types':'cpu,threads'",
		 CPU_AT_80 "! annotation coroot.com/profile-types: \"threads\" is not a type of "
			   "profile\n"},
		{"'coroot.com/profile-scrape':'true','coroot.com/profile-port':'80',"
		 "'coroot.com/profile-types':','",
		 "! annotation coroot.com/profile-types: \"\" is not a type of profile; "
		 "annotation coroot.com/profile-types: \"\" is not a type of profile\n"},
		{"'profiles.grafana.com/cpu.scrape':'true','profiles.grafana.com/cpu.port':'80',"
		 "'profiles.grafana.com/mutex.scrape':'true','profiles.grafana.com/mutex.port':'-',"
		 "'profiles.grafana.com/block.scrape':'true','profiles.grafana.com/block.path':'?'",
		 CPU_AT_80 "! annotation profiles.grafana.com/mutex.port: \"-\" is not a port; "
			   "annotation profiles.grafana.com/block.path is \"?\", not a path\n"},
		{ON "'coroot.com/profile-port':'80','coroot.com/custom-application-name':'a b'",
		 CPU_AT_80 "! annotation coroot.com/custom-application-name: \"a b\" cannot be a "
			   "name\n"},
		{ON "'coroot.com/profile-port':'80','coroot.com/custom-application-name':'till'",
		 CPU_AT_80},
		{"'coroot.com/custom-application-name':'a/b'",
		 "! annotation coroot.com/custom-application-name: \"a/b\" cannot be a name\n"},
		{"'coroot.com/custom-aplication-name':'till'",
		 "! annotation coroot.com/custom-aplication-name is unknown; did you mean "
		 "coroot.com/custom-application-name?\n"},
		{"'pyroscope.io/scrape':'true'", "! annotation pyroscope.io/port is missing\n"},
		{"'pyroscope.io/scrape':'true','pyroscope.io/port':'1',"
		 "'pyroscope.io/profile-cpu-enabled':'false',"
		 "'pyroscope.io/profile-mem-enabled':'false'",
		 "! no type of profile is switched on\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].annotations, cases[i].want);
}

/* Templates leave annotations without a value behind. */
#define ON_AT_80 "'coroot.com/profile-scrape':'true','coroot.com/profile-port':'80',"
#define ON_ENDPOINTS "cpu http:80/debug/pprof/profile\nheap http:80/debug/pprof/heap\n"

TEST(annotations_without_effect_are_reported)
{
	check(ON_AT_80 "'coroot.com/profile-prot':'81'",
	      ON_ENDPOINTS "! annotation coroot.com/profile-prot is unknown; did you mean "
			   "coroot.com/profile-port?\n");
	check("'coroot.com/profiles-scrape':'true'",
	      "! annotation coroot.com/profiles-scrape is unknown; did you mean "
	      "coroot.com/profile-scrape?\n");
	check("'coroot.com/porfile-scrape':'true'",
	      "! annotation coroot.com/porfile-scrape is unknown; did you mean "
	      "coroot.com/profile-scrape?\n");
	check("'coroot.com/profile-everything':'true'",
	      "! annotation coroot.com/profile-everything is unknown\n");
	check("'profiles.grafana.com/heap.scrape':'true'",
	      "! annotation profiles.grafana.com/heap.scrape is unknown; did you mean "
	      "profiles.grafana.com/memory.scrape?\n");
	check("'profiles.grafana.com/cpu.port-name':'http'",
	      "! annotation profiles.grafana.com/cpu.port-name is unknown; did you mean "
	      "profiles.grafana.com/cpu.port_name?\n");
	check("'profiles.grafana.com/':''", "! annotation profiles.grafana.com/ is unknown\n");
	check("'pyroscope.io/srcape':'true'",
	      "! annotation pyroscope.io/srcape is unknown; did you "
	      "mean pyroscope.io/scrape?\n");
	check("'coroot.com/profile-port':'80'",
	      "! annotation coroot.com/profile-port has no effect without "
	      "coroot.com/profile-scrape\n");
	check("'profiles.grafana.com/fgprof.port':'80'",
	      "! annotation profiles.grafana.com/fgprof.port has no effect without "
	      "profiles.grafana.com/fgprof.scrape\n");
	check("'pyroscope.io/scrape':'yes','pyroscope.io/port':'80'",
	      "! annotation pyroscope.io/scrape is \"yes\", not true or false\n");
	check("'profiles.grafana.com/cpu.scrape':'True'",
	      "! annotation profiles.grafana.com/cpu.scrape is \"True\", not true or false\n");
	check("'pyroscope.io/scrape':'true','pyroscope.io/port':'80',"
	      "'pyroscope.io/profile-cpu-enabled':'off'",
	      ON_ENDPOINTS "! annotation pyroscope.io/profile-cpu-enabled is \"off\", not true or "
			   "false\n");
	/* switched off, mistakes and all */
	check("'coroot.com/profile-scrape':'false','coroot.com/profile-prot':'81'", NULL);
}

/* A pod has 256 KiB of annotations at most, and is read by the loop's thread. */
TEST(thousands_of_unknown_annotations_take_no_time)
{
	const struct case_pod c = {.annotations = "'coroot.com/profile-port':'80'"};
	json_t *pod = make_pod(&c), *annotations;
	struct scrape_target t;
	struct arena arena;
	uint64_t began_ns;

	annotations = json_object_get(json_object_get(pod, "metadata"), "annotations");
	for (int i = 0; i < 10000; i++) {
		char key[64];

		snprintf(key, sizeof(key), "coroot.com/profile-%05d", i);
		assert_int_equal(json_object_set_new(annotations, key, json_string("")), 0);
	}
	arena_init(&arena, POD_TARGET_ARENA_BYTES);
	began_ns = clock_thread_cpu_ns();
	assert_int_equal(pod_target_make(&t, &arena, pod, cpu_and_heap, NOW_S), 1);
	assert_in_range(clock_thread_cpu_ns() - began_ns, 0, 300 * NS_PER_MS);
	assert_non_null(strstr(t.problem, "has no effect"));
	assert_non_null(strstr(t.problem, "is unknown"));
	arena_fini(&arena);
	json_decref(pod);
}

TEST(godeltaprof_and_fgprof_are_fetched)
{
	check("'profiles.grafana.com/godeltaprof_memory.scrape':'true',"
	      "'profiles.grafana.com/godeltaprof_memory.port':'80',"
	      "'profiles.grafana.com/godeltaprof_mutex.scrape':'true',"
	      "'profiles.grafana.com/godeltaprof_mutex.port_name':'http',"
	      "'profiles.grafana.com/godeltaprof_block.scrape':'true',"
	      "'profiles.grafana.com/godeltaprof_block.port':'80',"
	      "'profiles.grafana.com/godeltaprof_block.path':'/b',"
	      "'profiles.grafana.com/fgprof.scrape':'true',"
	      "'profiles.grafana.com/fgprof.scheme':'https',"
	      "'profiles.grafana.com/fgprof.port':'81'",
	      "godeltaprof_memory http:80/debug/pprof/delta_heap\n"
	      "godeltaprof_mutex http:8080/debug/pprof/delta_mutex\n"
	      "godeltaprof_block http:80/b\n"
	      "fgprof https:81/debug/fgprof\n");
	check("'coroot.com/profile-scrape':'true','coroot.com/profile-port':'80',"
	      "'coroot.com/profile-path-prefix':'/x','coroot.com/profile-types':'fgprof,wall'",
	      "wall http:80/x/debug/pprof/wall\nfgprof http:80/x/debug/fgprof\n");
	/* the same values are not stored twice */
	check("'profiles.grafana.com/godeltaprof_memory.scrape':'true',"
	      "'profiles.grafana.com/godeltaprof_memory.port':'80',"
	      "'profiles.grafana.com/memory.scrape':'true',"
	      "'profiles.grafana.com/memory.port':'80'",
	      "heap http:80/debug/pprof/heap\n"
	      "! godeltaprof_memory of port 80 is left out: memory has the same values\n");
}

/* So that a type that only the defaults name may be missing. */
TEST(types_are_asked_for_by_name_or_by_default)
{
	static const struct {
		const char *annotations;
		bool asked_for[2];
	} cases[] = {
		{"'coroot.com/profile-scrape':'true','coroot.com/profile-port':'80'", {0, 0}},
		{ON_AT_80 "'coroot.com/profile-types':'cpu,heap'", {1, 1}},
		{"'pyroscope.io/scrape':'true','pyroscope.io/port':'80',"
		 "'pyroscope.io/profile-mem-enabled':'true'",
		 {0, 1}},
		{"'profiles.grafana.com/cpu.scrape':'true','profiles.grafana.com/cpu.port':'80',"
		 "'profiles.grafana.com/memory.scrape':'true',"
		 "'profiles.grafana.com/memory.port':'80'",
		 {1, 1}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct case_pod c = {.annotations = cases[i].annotations};
		struct scrape_target t;
		struct arena arena;

		assert_int_equal(make(&t, &arena, &c), 1);
		assert_int_equal(t.n_endpoints, 2);
		for (size_t e = 0; e < 2; e++)
			assert_int_equal(t.endpoints[e].asked_for, cases[i].asked_for[e]);
		arena_fini(&arena);
	}
}

TEST(empty_annotations_are_none)
{
	check("'coroot.com/profile-scrape':''", NULL);
	check(ON "'coroot.com/profile-port':'80','coroot.com/profile-port-name':'',"
		 "'coroot.com/profile-scheme':'','coroot.com/profile-path-prefix':''",
	      CPU_AT_80);
	check("'coroot.com/profile-scrape':'','pyroscope.io/scrape':'true',"
	      "'pyroscope.io/port':'80','coroot.com/profile-types':'',"
	      "'pyroscope.io/profile-mem-enabled':'','pyroscope.io/scheme':''",
	      CPU_AT_80 "heap http:80/debug/pprof/heap\n");
}

TEST(paths_can_mean_nothing_but_themselves)
{
	static const char *const bad[] = {"x",        "//a/../b", "/..",     "/a b",
					  "/a?b",     "/a#b",     "/%2e.",   "/a\\\\b",
					  "/\\u00e4", "/a\\nb",   "/\\u0000"};
	char annotations[1024], path[600];
	struct case_pod c = {.annotations = annotations};
	struct scrape_target t;
	struct arena arena;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(annotations, sizeof(annotations),
			 ON "'coroot.com/profile-port':'1','coroot.com/profile-path-prefix':'%s'",
			 bad[i]);
		assert_int_equal(make(&t, &arena, &c), 1);
		if (t.n_endpoints > 0 || !strstr(t.problem, "not a path"))
			fail_msg("\"%s\" is taken for a path: %s", bad[i], t.problem);
		arena_fini(&arena);
	}
	for (size_t len = POD_ANNOTATIONS_PATH_BYTES; len <= POD_ANNOTATIONS_PATH_BYTES + 1;
	     len++) {
		memset(path, 'x', len);
		path[0] = '/';
		path[len] = '\0';
		snprintf(annotations, sizeof(annotations),
			 ON "'coroot.com/profile-port':'1','coroot.com/profile-path-prefix':'%s'",
			 path);
		assert_int_equal(make(&t, &arena, &c), 1);
		assert_int_equal(t.n_endpoints, len == POD_ANNOTATIONS_PATH_BYTES);
		arena_fini(&arena);
	}
}

TEST(sentences_stay_short_and_printable)
{
	char annotations[4096] = ON "'coroot.com/profile-port':'\\u0007\\u00e9", *end;
	struct case_pod c = {.annotations = annotations};
	struct scrape_target t;
	struct arena arena;

	end = annotations + strlen(annotations);
	for (int i = 0; i < 500; i++)
		end += snprintf(end, 8, "\xc3\xa9%s", i % 50 == 49 ? "," : "");
	memcpy(end, "'", 2);
	assert_int_equal(make(&t, &arena, &c), 1);
	assert_int_equal(strlen(t.problem), POD_ANNOTATIONS_PROBLEM_BYTES - 1);
	assert_memory_equal(t.problem, "annotation coroot.com/profile-port: \"?\xc3\xa9\xc3\xa9",
			    42);
	assert_non_null(strstr(t.problem, "...\" is not a port; annotation"));
	assert_string_equal(t.problem + strlen(t.problem) - 3, "...");
	arena_fini(&arena);
}

TEST(pods_that_do_not_run_are_not_targets)
{
	static const char ann[] = ON "'coroot.com/profile-port':'80'";
	static const char deleted[] = ",'deletionTimestamp':'2026-01-01T00:00:00Z'";
	const struct {
		struct case_pod pod;
		int want;
	} cases[] = {
		{{.annotations = ann, .status = "'phase':'Pending','podIP':'10.0.0.1'"}, 0},
		{{.annotations = ann, .status = "'phase':'Succeeded','podIP':'10.0.0.1'"}, 0},
		{{.annotations = ann, .status = "'podIP':'10.0.0.1'"}, 0},
		{{.annotations = ann, .status = "'phase':'Running'"}, 0},
		{{.annotations = ann, .status = "'phase':'Running','podIP':''"}, 0},
		{{.annotations = ann, .metadata = deleted}, 1},
		{{.annotations = ann,
		  .metadata = deleted,
		  .status = "'phase':'Running','podIP':'10.0.0.1','containerStatuses':["
			    "{'state':{'terminated':{}}},{'state':{'running':{}}}]"},
		 1},
		{{.annotations = ann,
		  .metadata = deleted,
		  .status = "'phase':'Running','podIP':'10.0.0.1','containerStatuses':["
			    "{'state':{'terminated':{}}},{'state':{'terminated':{}}}],"
			    "'initContainerStatuses':[{'state':{'terminated':{}}}]"},
		 0},
		/* containers that have ended and will be restarted */
		{{.annotations = ann,
		  .status = "'phase':'Running','podIP':'10.0.0.1','containerStatuses':["
			    "{'state':{'terminated':{}}}]"},
		 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scrape_target t;
		struct arena arena;

		if (make(&t, &arena, &cases[i].pod) != cases[i].want)
			fail_msg("case %zu", i);
		arena_fini(&arena);
	}
}

TEST(addresses_are_numeric_and_of_one_host)
{
	static const struct {
		const char *ip, *want; /* NULL: refused */
	} cases[] = {
		{"10.1.2.3", "10.1.2.3"},
		{"127.0.0.7", "127.0.0.7"},
		{"FD00:0:0::1", "fd00::1"},
		{"::1", "::1"},
		{"0.0.0.0", NULL},
		{"169.254.169.254", NULL},
		{"224.0.0.1", NULL},
		{"255.255.255.255", NULL},
		{"::", NULL},
		{"fe80::1", NULL},
		{"ff02::1", NULL},
		{"::ffff:169.254.169.254", NULL},
		{"::169.254.169.254", NULL},
		{"64:ff9b::a9fe:a9fe", NULL},
		{"64:ff9b:1::a9fe:a9fe", NULL},
		{"2002:a9fe:a9fe::1", NULL},
		{"64:ff9b::a00:1", "64:ff9b::a00:1"},
		{"2002:a00:1::1", "2002:a00:1::1"},
		{"10.1.2", NULL},
		{"web.example", NULL},
		{"10.0.0.1:80", NULL},
		{"[::1]", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char status[128];
		const struct case_pod c = {.annotations = ON "'coroot.com/profile-port':'80'",
					   .status = status};
		struct scrape_target t;
		struct arena arena;

		snprintf(status, sizeof(status), "'phase':'Running','podIP':'%s'", cases[i].ip);
		assert_int_equal(make(&t, &arena, &c), 1);
		assert_string_equal(t.ip, cases[i].want ? cases[i].want : "");
		assert_int_equal(t.n_endpoints, cases[i].want ? 1 : 0);
		assert_string_equal(t.problem,
				    cases[i].want ? "" : "the pod has no usable address");
		arena_fini(&arena);
	}
}

#define OWNER(kind, name)                                               \
	",'ownerReferences':[{'kind':'X','name':'not-the-controller'}," \
	"{'kind':'" kind "','name':'" name "','controller':true}]"

#define HASHED(kind, name) \
	OWNER(kind, name) ",'labels':{'pod-template-hash':'7d4b9c6f55','app':'x'}"
#define CALLED(name) ",'coroot.com/custom-application-name':'" name "'"

static const struct {
	const char *pod, *metadata, *want;
	const char *coroot; /* NULL: the same */
	const char *annotation;
} service_cases[] = {
	{"web-7d4b9c6f55-x2x4z", HASHED("ReplicaSet", "web-7d4b9c6f55"), "web", NULL, ""},
	{"web-7d4b9c6f55-x2x4z", HASHED("ReplicaSet", "other"), "other", "/k8s/shop/web", ""},
	{"web-7d4b9c6f55-x2x4z",
	 OWNER("ReplicaSet", "web-7d4b9c6f55") ",'labels':{'rollouts-pod-template-hash':"
					       "'7d4b9c6f55'}",
	 "web", NULL, ""},
	/* what is not added up any more */
	{"shop-db-x2x4z", OWNER("DaemonSet", "shop-db"), "shop-db", "/k8s/shop/shop", ""},
	{"cache-a-x2x4z", OWNER("DaemonSet", "cache-a"), "cache-a", "/k8s/shop/cache", ""},
	{"gpu-a100-x2x4z", OWNER("DaemonSet", "gpu-a100"), "gpu-a100", "/k8s/shop/gpu", ""},
	{"report-1-x2x4z", OWNER("Job", "report-1"), "report-1", "/k8s/shop/report", ""},
	{"train-0-x2x4z", OWNER("Job", "train"), "train", NULL, ""},
	{"shard-1-x2x4z", OWNER("ReplicaSet", "shard-1"), "shard-1", "/k8s/shop/shard", ""},
	{"shop-3-x2x4z",
	 OWNER("ReplicationController", "shop-3") ",'labels':{'deploymentconfig':'shop'}", "shop",
	 NULL, ""},
	{"web-2", OWNER("StatefulSet", "web"), "web", NULL, ""},
	{"web-2", OWNER("Cache", "web-2"), "web-2", "/k8s/shop/web", ""},
	/* bare pods: nobody's replicas, but those of a controller that has gone */
	{"web-2", NULL, "web-2", "/k8s/shop/web", ""},
	{"runner-1-x2x4z", ",'generateName':'runner-1-'", "runner-1", "/k8s/shop/runner", ""},
	{"runner-1-x2x4z", ",'generateName':'other-'", "runner-1-x2x4z", "/k8s/shop/runner", ""},
	{"runner-1-x2x4z", ",'generateName':'a/b'", "runner-1-x2x4z", "/k8s/shop/runner", ""},
	{"web-2", ",'generateName':''", "web-2", "/k8s/shop/web", ""},
	{"web-2", ",'ownerReferences':[{'kind':'X','name':'y'}]", "web", NULL, ""},
	{"web-7d4b9c6f55-x2x4z", ",'labels':{'pod-template-hash':'7d4b9c6f55'}", "web", NULL, ""},
	{"bare", NULL, "bare", "/k8s/shop/bare/app", ""},
	{"bare", ",'ownerReferences':[{'kind':'X','name':'y'}]", "bare", "/k8s/shop/bare/app", ""},
	{"kafka-broker-a", OWNER("StrimziPodSet", "kafka-broker"), "kafka-broker",
	 "/k8s/shop/kafka-broker-a/app", ""},
	/* long names have no room for the last dash */
	{"long-7d4b9c6f5x2x4z", HASHED("ReplicaSet", "long-7d4b9c6f55"), "long",
	 "/k8s/shop/long-7d4b9c6f5x2x4z/app", ""},
	{"long-7d4b9c6f5x2x4z", OWNER("ReplicaSet", "lonely"), "lonely",
	 "/k8s/shop/long-7d4b9c6f5x2x4z/app", ""},
	{"job-28283967a", OWNER("Job", "job-28283967"), "job", "/k8s/shop/job-28283967a/app", ""},
	{"job-28283967-x2x4z", OWNER("Job", "job-28283967"), "job", "/k8s-cronjob/shop/job/app",
	 ""},
	{"job-28283967a", OWNER("Job", "job-2x"), "job-2x", "/k8s/shop/job-28283967a/app", ""},
	{"etcd-node-one", OWNER("Node", "node-one"), "etcd", "/k8s/shop/etcd-node-one/app", ""},
	{"etcd-node-one", OWNER("Node", "node-two"), "etcd-node-one", "/k8s/shop/etcd-node-one/app",
	 ""},
	{"etcd-node-2", OWNER("Node", "node-2"), "etcd", "/k8s/shop/etcd-node", ""},
	{"etcd-node-2", OWNER("X", "node-2"), "node-2", "/k8s/shop/etcd-node", ""},
	{"bare", OWNER("X", "../../x"), "bare", "/k8s/shop/bare/app", ""},
	/* Coroot's server has names of its own for these */
	{"web-2", OWNER("StatefulSet", "web"), "till", "/k8s/shop/web", CALLED("till")},
	{"etcd-node-2", OWNER("Node", "node-2"), "db", "/k8s/shop/etcd-node", CALLED("db")},
	{"web-2", OWNER("StatefulSet", "web"), "web", NULL, CALLED("")},
	{"web-2", OWNER("StatefulSet", "web"), "web", NULL, CALLED("../x")},
	{"web-2", OWNER("StatefulSet", "web"), "web", NULL, CALLED("t\\u0000ill")},
};

TEST(services_are_named_by_annotation_owner_and_then_by_rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(service_cases); i++) {
		char annotations[256];
		const struct case_pod c = {.name = service_cases[i].pod,
					   .annotations = annotations,
					   .metadata = service_cases[i].metadata};
		struct scrape_target t;
		struct arena arena;
		char want[64];

		snprintf(annotations, sizeof(annotations), ON "'coroot.com/profile-port':'80'%s",
			 service_cases[i].annotation);
		snprintf(want, sizeof(want), "/k8s/shop/%s", service_cases[i].want);
		assert_int_equal(make(&t, &arena, &c), 1);
		assert_string_equal(t.service, want);
		assert_int_equal(t.n_containers, 1);
		assert_string_equal(t.containers[0].coroot_service,
				    service_cases[i].coroot ? service_cases[i].coroot : want);
		assert_string_equal(t.pod, service_cases[i].pod);
		assert_string_equal(t.namespace, "shop");
		assert_string_equal(t.node, "n1");
		assert_string_equal(t.uid, "u-1");
		arena_fini(&arena);
	}
}

TEST(an_endpoint_belongs_to_the_container_of_its_port)
{
	static const char status[] = "'phase':'Running','podIP':'10.0.0.1','containerStatuses':["
				     "{'name':'app','containerID':'cri://a','restartCount':3},"
				     "{'name':'proxy','containerID':'cri://p','restartCount':1}],"
				     "'initContainerStatuses':[{'name':'mesh','containerID':'cri://"
				     "m','restartCount':0}]";
	static const char one[] = "'containers':[{'name':'app'}]";
	static const char proxy_first[] =
		"'containers':[{'name':'proxy','ports':[{'containerPort':1}]},{'name':'app'}]";
	static const char app[] = ",'kubectl.kubernetes.io/default-container':'app'";
	static const struct {
		const char *ports, *spec, *more;
		const char *want; /* "name process coroot's service", in lines by endpoint */
	} cases[] = {
		{"8080", NULL, "", "app cri://a/3 app\n"},
		{"9901,1", NULL, "", "proxy cri://p/1 proxy\nproxy cri://p/1 proxy\n"},
		{"15020", NULL, "", "mesh cri://m/0 mesh\n"},
		{"9901,8080,15020", NULL, "",
		 "proxy cri://p/1 proxy\napp cri://a/3 app\nmesh cri://m/0 mesh\n"},
		/* declared by nobody: the only container, the default one, or the first */
		{"4711", one, "", "app cri://a/3 app\n"},
		{"9901,4711", NULL, "", "proxy cri://p/1 proxy\napp cri://a/3 app\n"},
		{"4711", proxy_first, "", "proxy cri://p/1 proxy\n"},
		{"4711,1", proxy_first, app, "app cri://a/3 app\nproxy cri://p/1 proxy\n"},
		{"4711", NULL, ",'kubectl.kubernetes.io/default-container':'x'",
		 "app cri://a/3 app\n"},
		{"4711", NULL, ",'kubectl.kubernetes.io/default-container':7",
		 "app cri://a/3 app\n"},
		/* UDP is another port */
		{"53", proxy_first, "", "proxy cri://p/1 proxy\n"},
		{"1", "'containers':[{'name':'unheard-of'}]", "", "unheard-of  unheard-of\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char annotations[256], text[512] = "";
		const struct case_pod c = {.name = "bare",
					   .annotations = annotations,
					   .spec = cases[i].spec,
					   .status = status};
		struct scrape_target t;
		struct arena arena;

		snprintf(annotations, sizeof(annotations), ON "'coroot.com/profile-port':'%s'%s",
			 cases[i].ports, cases[i].more);
		assert_int_equal(make(&t, &arena, &c), 1);
		for (size_t k = 0; k < t.n_endpoints; k++) {
			const struct scrape_container *at = &t.containers[t.endpoints[k].container];
			size_t used = strlen(text);

			assert_memory_equal(at->coroot_service, "/k8s/shop/bare/", 15);
			snprintf(text + used, sizeof(text) - used, "%s %s %s\n", at->name,
				 at->process, at->coroot_service + 15);
		}
		assert_string_equal(text, cases[i].want);
		arena_fini(&arena);
	}
}

TEST(a_container_without_a_name_is_unknown)
{
	static const char *const specs[] = {"", "'containers':[{}]", "'containers':[{'name':7}]",
					    "'containers':[{'name':'a/b'}]", "'containers':7"};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		const struct case_pod c = {.annotations = ON "'coroot.com/profile-port':'80,81'",
					   .spec = specs[i]};
		struct scrape_target t;
		struct arena arena;

		assert_int_equal(make(&t, &arena, &c), 1);
		assert_int_equal(t.n_endpoints, 2);
		assert_int_equal(t.n_containers, 1);
		assert_string_equal(t.containers[0].name, "");
		assert_string_equal(t.containers[0].process, "");
		arena_fini(&arena);
	}
}

TEST(objects_other_than_pods_are_refused)
{
	static const char *const texts[] = {
		"[]",
		"{}",
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"a/b\",\"namespace\":\"n\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":7}}",
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\\u0000\",\"uid\":\"u\"}}"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_t *v = json_loads(texts[i], JSON_ALLOW_NUL, NULL);
		struct scrape_target t;
		struct arena arena;

		assert_non_null(v);
		arena_init(&arena, POD_TARGET_ARENA_BYTES);
		assert_int_equal(pod_target_make(&t, &arena, v, cpu_and_heap, NOW_S), -EBADMSG);
		arena_fini(&arena);
		json_decref(v);
	}
}

TEST(kinds_have_names_and_paths)
{
	for (enum profile_kind k = 0; k < PROFILE_KIND_MAX; k++)
		assert_int_equal(
			profile_kind_find(profile_kind_name(k), strlen(profile_kind_name(k))), k);
	assert_int_equal(profile_kind_find("memory", 6), PROFILE_KIND_HEAP);
	assert_int_equal(profile_kind_find("memory", 5), PROFILE_KIND_MAX);
	assert_int_equal(profile_kind_find("", 0), PROFILE_KIND_MAX);
	assert_string_equal(profile_kind_path(PROFILE_KIND_CPU), "/debug/pprof/profile");
}

static int make_from(void *arg)
{
	struct scrape_target t;
	struct arena arena;
	int r;

	arena_init(&arena, POD_TARGET_ARENA_BYTES);
	r = pod_target_make(&t, &arena, arg, cpu_and_heap, NOW_S);
	arena_fini(&arena);
	return r < 0 ? r : 0;
}

TEST(lack_of_memory_is_survived)
{
	const struct case_pod c = {.annotations = ON "'coroot.com/profile-port':'80,81'"};
	json_t *pod = make_pod(&c);
	struct scrape_target t;
	struct arena tiny;
	size_t limit = 0;
	int r = -ENOMEM;

	check_oom(make_from, pod);
	while (r < 0) {
		arena_init(&tiny, limit);
		r = pod_target_make(&t, &tiny, pod, cpu_and_heap, NOW_S);
		arena_fini(&tiny);
		assert_true(r == 1 || r == -ENOMEM);
		limit += 16;
	}
	assert_in_range(limit, 100, POD_TARGET_ARENA_BYTES);
	json_decref(pod);
}
