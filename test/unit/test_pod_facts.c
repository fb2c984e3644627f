#include "node-agent/container/pod_facts.h"

#include <errno.h>

#include "test/lib/unit.h"

struct seen {
	char text[2048]; /* "id name image owner" of each, "static" and "!" if disabled, in lines */
};

static void see(void *ctx, const struct container_facts *f)
{
	struct seen *s = ctx;
	size_t used = strlen(s->text);

	assert_string_equal(f->namespace, "shop");
	assert_string_equal(f->pod_uid, "u-1");
	assert_false(f->sandbox);
	assert_null(f->path);
	snprintf(s->text + used, sizeof(s->text) - used, "%s %s %s %s%s%s\n", f->id, f->name,
		 f->image ? f->image : "-", f->owner, f->is_static ? " static" : "",
		 f->profiling_disabled ? " !" : "");
}

/* Quotes in text are '. */
static int each(struct seen *s, const char *text)
{
	AUTO_FREE char *copy = strdup(text);
	json_t *pod;
	int r;

	assert_non_null(copy);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	pod = json_loads(copy, JSON_ALLOW_NUL, NULL);
	if (!pod)
		fail_msg("no JSON: %s", text);
	s->text[0] = '\0';
	r = pod_facts_each(pod, see, s);
	json_decref(pod);
	return r;
}

#define POD(more, spec, status)                                                                    \
	"{'metadata':{'name':'web-x','namespace':'shop','uid':'u-1',"                              \
	"'labels':{'pod-template-hash':'7d4b9c6f55'}" more "},'spec':{" spec "},'status':{" status \
	"}}"
#define RUNNING "'containerStatuses':[{'name':'c','image':'i:1','containerID':'cri-o://a'}]"

TEST(containers_of_all_kinds_are_found)
{
	struct seen s;

	assert_int_equal(
		each(&s, POD(",'ownerReferences':[{'kind':'ReplicaSet','name':'web-7d4b9c6f55',"
			     "'controller':true}]",
			     "'containers':[{'name':'app','image':'app:2'},{'name':'new'}]",
			     "'initContainerStatuses':[{'name':'setup','image':'s:1',"
			     "'state':{'terminated':{'containerID':'containerd://i1'}}}],"
			     "'containerStatuses':[{'name':'app','image':'sha256:0123',"
			     "'containerID':'containerd://c2',"
			     "'lastState':{'terminated':{'containerID':'containerd://c1'}}},"
			     "{'name':'new','image':'n:1','state':{'waiting':{}}}],"
			     "'ephemeralContainerStatuses':[{'name':'debug','image':'busybox',"
			     "'containerID':'docker://e1'}]")),
		4);
	assert_string_equal(s.text, "i1 setup s:1 web\n"
				    "c1 app app:2 web\n"
				    "c2 app app:2 web\n"
				    "e1 debug busybox web\n");
}

static void see_pod(void *ctx, const struct container_facts *f)
{
	char *text = ctx;

	assert_null(f->name);
	assert_true(f->sandbox);
	snprintf(text, 256, "%s %s %s%s%s", f->id, f->owner, f->likely_name ? f->likely_name : "-",
		 f->image ? " " : "", f->image ? f->image : "");
}

TEST(a_pod_is_called_as_in_the_paths_of_its_cgroups)
{
	static const struct {
		const char *pod, *want;
	} cases[] = {
		{"'uid':'u-1'},'spec':{'containers':[{'name':'c'}]}", "podu-1 web-0 c"},
		{"'uid':'u-1'},'spec':{'containers':[{'name':'c','image':'shop:1'}]}",
		 "podu-1 web-0 c shop:1"},
		{"'uid':'u-1'},'spec':{'containers':[{'name':'c','image':'i'},{'name':'d'}]}",
		 "podu-1 web-0 -"},
		{"'uid':'u-1'},'spec':{'containers':[{'name':'c'}],'initContainers':[{'name':'d'}]"
		 "}",
		 "podu-1 web-0 -"},
		{"'uid':'u-1'},'spec':{'containers':[{'name':'c/d'}]}", "podu-1 web-0 -"},
		{"'uid':'u-1','annotations':{'kubernetes.io/config.hash':'ab'}},'spec':{}",
		 "podu-1 web-0 -"},
		{"'uid':'u-1','annotations':{'kubernetes.io/config.hash':'ab'},"
		 "'ownerReferences':[{'kind':'Node','name':'n','controller':true}]},'spec':{}",
		 "podab web-0 -"},
	};
	char json[512], text[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *pod;

		snprintf(json, sizeof(json), "{'metadata':{'name':'web-0','namespace':'ns',%s}",
			 cases[i].pod);
		for (char *p = json; *p; p++)
			if (*p == '\'')
				*p = '"';
		pod = json_loads(json, 0, NULL);
		assert_non_null(pod);
		assert_int_equal(pod_facts_of_pod(pod, see_pod, text), 1);
		assert_string_equal(text, cases[i].want);
		json_decref(pod);
	}
}

/* The node calls an image by the first name it had, whatever this pod asks for. */
TEST(images_are_called_as_the_pod_asks_for_them)
{
	static const struct {
		const char *spec, *status, *want;
	} cases[] = {
		{"shop:1.0", "docker.io/library/shop:rc1", "shop:1.0"},
		{"shop@sha256:0123", "docker.io/library/shop:rc1", "shop@sha256:0123"},
		{"", "shop:rc1", "shop:rc1"},
		{"sha256:0123", "shop:rc1", "shop:rc1"},
		{"sha256:0123", "sha256:0123", "-"},
	};
	char text[1024], want[64];
	struct seen s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text),
			 POD("",
			     "'containers':[{'name':'b','image':'b'},{'name':'c','image':'%s'}]",
			     "'containerStatuses':[{'name':'c','image':'%s',"
			     "'containerID':'cri-o://a'}]"),
			 cases[i].spec, cases[i].status);
		snprintf(want, sizeof(want), "a c %s web-x\n", cases[i].want);
		assert_int_equal(each(&s, text), 1);
		assert_string_equal(s.text, want);
	}
}

TEST(an_annotation_names_the_application)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{"till", "till"}, {"a.b_c:1", "a.b_c:1"}, {"", "web"},     {"a/b", "web"},
		{"a b", "web"},   {"w\xc3\xb6", "web"},   {"a\\n", "web"}, {"a\\u0000", "web"},
	};
	char text[1024], want[64];
	struct seen s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text),
			 POD(",'annotations':{'coroot.com/custom-application-name':'%s'},"
			     "'ownerReferences':[{'kind':'ReplicaSet','name':'web-7d4b9c6f55',"
			     "'controller':true}]",
			     "", RUNNING),
			 cases[i].name);
		snprintf(want, sizeof(want), "a c i:1 %s\n", cases[i].want);
		assert_int_equal(each(&s, text), 1);
		assert_string_equal(s.text, want);
	}
}

TEST(annotations_disable_profiling)
{
	static const struct {
		const char *pod, *want;
	} cases[] = {
		{POD(",'annotations':{'coroot.com/ebpf-profiling':'disabled'}", "", RUNNING),
		 "a c i:1 web-x !\n"},
		{POD(",'annotations':{'coroot.com/ebpf-profiling':'enabled'}", "", RUNNING),
		 "a c i:1 web-x\n"},
		{POD(",'annotations':{'coroot.com/ebpf-profiling':true}", "", RUNNING),
		 "a c i:1 web-x\n"},
		{POD(",'annotations':['disabled']", "", RUNNING), "a c i:1 web-x\n"},
	};
	struct seen s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(each(&s, cases[i].pod), 1);
		assert_string_equal(s.text, cases[i].want);
	}
}

TEST(pods_without_controller_are_their_own)
{
	struct seen s;

	assert_int_equal(each(&s, POD(",'ownerReferences':[{'kind':'Node','name':'x',"
				      "'controller':true}]",
				      "'nodeName':'x'", RUNNING)),
			 1);
	assert_string_equal(s.text, "a c i:1 web static\n");
	assert_int_equal(each(&s, POD("", "'nodeName':'x'", RUNNING)), 1);
	assert_string_equal(s.text, "a c i:1 web\n");
	assert_int_equal(each(&s, POD("", "'nodeName':'y'", RUNNING)), 1);
	assert_string_equal(s.text, "a c i:1 web-x\n");
	assert_int_equal(each(&s, POD(",'generateName':'web-'", "'nodeName':'y'", RUNNING)), 1);
	assert_string_equal(s.text, "a c i:1 web\n");
	assert_int_equal(each(&s, POD(",'ownerReferences':[{'kind':'X','name':'y'}]", "", RUNNING)),
			 1);
	assert_string_equal(s.text, "a c i:1 web-x\n");
}

TEST(what_cannot_be_a_container_is_ignored)
{
	static const char *const statuses[] = {
		"",
		"'containerStatuses':{}",
		"'containerStatuses':[1,null,'x',{}]",
		"'containerStatuses':[{'name':'c'}]",
		"'containerStatuses':[{'name':'c','containerID':''}]",
		"'containerStatuses':[{'name':'c','containerID':'a'}]",
		"'containerStatuses':[{'name':'c','containerID':'x://'}]",
		"'containerStatuses':[{'name':'c','containerID':'x://a/b'}]",
		"'containerStatuses':[{'name':'c','containerID':'x://a\\u0000b'}]",
		"'containerStatuses':[{'name':'c','containerID':7}]",
		"'containerStatuses':[{'name':'c/d','containerID':'x://a'}]",
		"'containerStatuses':[{'name':'','containerID':'x://a'}]",
	};
	static const char *const pods[] = {
		"{}",
		"{'metadata':{'name':'a','namespace':'b'}}",
		"{'metadata':{'name':'a','uid':'b'}}",
		"{'metadata':{'name':'a b','namespace':'c','uid':'d'}}",
		"{'metadata':[]}",
	};
	char text[1024];
	struct seen s;

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		snprintf(text, sizeof(text), POD("", "", "%s"), statuses[i]);
		assert_int_equal(each(&s, text), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		assert_int_equal(each(&s, pods[i]), -EBADMSG);
}

TEST(a_pod_has_a_limit)
{
	json_t *pod = json_loads("{\"metadata\":{\"name\":\"a\",\"namespace\":\"shop\","
				 "\"uid\":\"u-1\"},\"status\":{\"containerStatuses\":[]}}",
				 0, NULL);
	json_t *statuses = json_object_get(json_object_get(pod, "status"), "containerStatuses");
	struct seen s = {""};

	for (unsigned i = 0; i < POD_FACTS_MAX + 10; i++)
		assert_int_equal(json_array_append_new(statuses, json_pack("{s:s,s:s}", "name", "c",
									   "containerID", "x://a")),
				 0);
	assert_int_equal(pod_facts_each(pod, see, &s), POD_FACTS_MAX);
	json_decref(pod);
}
