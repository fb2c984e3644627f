#include <jansson.h>

#include "cluster-agent/operator/spec/coroot_spec.h"
#include "test/lib/unit.h"

struct parsed {
	json_t *resource;
	struct spec_problems problems;
	struct coroot_spec spec;
};

static void parsed_fini(struct parsed *p)
{
	coroot_spec_fini(&p->spec);
	spec_problems_fini(&p->problems);
	json_decref(p->resource);
}

/* spec is JSON with ' for ". */
static void parse(struct parsed *ret, const char *spec)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{'metadata': {'name': 'n', 'namespace': 'ns', 'uid': 'u'}, 'spec': %s}", spec);
	for (char *c = strchr(text, '\''); c; c = strchr(c, '\''))
		*c = '"';
	ret->resource = json_loads(text, 0, NULL);
	assert_non_null(ret->resource);
	assert_int_equal(coroot_spec_parse(&ret->spec, ret->resource, &ret->problems), 0);
}

static const char *unused_text(const struct parsed *p, const char *path)
{
	for (size_t i = 0; i < p->problems.unused.n; i++)
		if (strcmp(p->problems.unused.at[i].path, path) == 0)
			return p->problems.unused.at[i].text;
	return NULL;
}

TEST(a_variable_that_its_agent_does_not_know_is_told_and_passed_on)
{
	static const struct {
		const char *name, *text; /* of nodeAgent.env */
	} cases[] = {
		{"GO_HEAP_PROFILR", "GO_HEAP_PROFILR is no option of the node agent; did you mean "
				    "GO_HEAP_PROFILER?"},
		{"go_heap_profiler", "go_heap_profiler is no option of the node agent; did you "
				     "mean GO_HEAP_PROFILER?"},
		{"GO-HEAP-PROFILER", "GO-HEAP-PROFILER is no option of the node agent; did you "
				     "mean GO_HEAP_PROFILER?"},
		{"COROOT_LOG_LEVEL", "COROOT_LOG_LEVEL is no option of the node agent; did you "
				     "mean LOG_LEVEL?"},
		/* of the other agent, and of Coroot's */
		{"PROFILES_TTL", "PROFILES_TTL is no option of the node agent"},
		{"TRACES_SAMPLING", "TRACES_SAMPLING is no option of the node agent"},
		{"GO_HEAP_PROFILER", NULL},
		{"NODE_NAME", NULL},
		{"CONFIG", NULL},
		{"https_proxy", NULL},
		{"LD_PRELOAD", NULL},
		{"KUBERNETES_SERVICE_HOST", NULL},
		{"TZ", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		char spec[160];

		snprintf(spec, sizeof(spec), "{'nodeAgent': {'env': [1, {'name': '%s'}]}}",
			 cases[i].name);
		parse(&p, spec);
		assert_int_equal(p.problems.wrong.n, 1);
		assert_int_equal(p.problems.unused.n, cases[i].text ? 1 : 0);
		if (cases[i].text)
			assert_string_equal(unused_text(&p, "spec.nodeAgent.env[1]"),
					    cases[i].text);
		assert_int_equal(json_array_size(p.spec.node_agent.pod.env), 1);
	}
}

TEST(each_agent_knows_its_own_variables)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse(&p, "{'env': [{'name': 'PROFILE_TTL'}, {'name': 'GLOBAL_CLICKHOUSE_USER'}],"
		  " 'clusterAgent': {'env': [{'name': 'GO_HEAP_PROFILER'}, {'name': 'USED'},"
		  "  {'name': 'KUBE_NAMESPACE', 'value': 'a-$(USED)-$(UNUSED'},"
		  "  {'name': 'UNUSED'}]}}");
	assert_int_equal(p.problems.unused.n, 3);
	assert_string_equal(unused_text(&p, "spec.env[0]"),
			    "PROFILE_TTL is no option of the cluster agent; did you mean "
			    "PROFILES_TTL?");
	assert_string_equal(unused_text(&p, "spec.clusterAgent.env[0]"),
			    "GO_HEAP_PROFILER is no option of the cluster agent");
	assert_non_null(unused_text(&p, "spec.clusterAgent.env[3]"));
}

TEST(endless_variables_are_counted)
{
	CLEANUP(parsed_fini) struct parsed p = {0};
	json_t *env = json_array();

	for (int i = 0; i < 512; i++)
		json_array_append_new(env,
				      json_pack("{s:o}", "name", json_sprintf("GO_HEAP_%d", i)));
	p.resource = json_pack("{s:{s:s s:s s:s} s:{s:o}}", "metadata", "name", "n", "namespace",
			       "ns", "uid", "u", "spec", "env", env);
	assert_int_equal(coroot_spec_parse(&p.spec, p.resource, &p.problems), 0);
	assert_int_equal(p.problems.unused.n, SPEC_PROBLEMS_MAX);
	assert_int_equal(p.problems.unused.n_more, 512 - SPEC_PROBLEMS_MAX);
}
