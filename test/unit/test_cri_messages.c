#include <errno.h>

#include "common/data/buf.h"
#include "node-agent/container/cri_messages.h"
#include "test/lib/cri_answers.h"
#include "test/lib/unit.h"

struct seen {
	unsigned n;
	char line[8][512];
};

static void see_container(void *ctx, const struct cri_container *c)
{
	struct seen *s = ctx;

	snprintf(s->line[s->n++ % 8], sizeof(s->line[0]), "%s %s %s image=%s,%s %s/%s/%s %s", c->id,
		 c->sandbox_id, c->name, c->image, c->image_id, c->namespace, c->pod, c->pod_uid,
		 c->is_running ? "running" : "ended");
}

static void see_sandbox(void *ctx, const struct cri_sandbox *b)
{
	struct seen *s = ctx;

	snprintf(s->line[s->n++ % 8], sizeof(s->line[0]), "%s %s/%s/%s%s%s%s%s%s%s", b->id,
		 b->namespace, b->pod, b->pod_uid, b->is_static ? " static" : "",
		 b->profiling_disabled ? " disabled" : "", b->application[0] ? " called " : "",
		 b->application, b->labels.values[KUBE_LABEL_OLD_JOB][0] ? " of job " : "",
		 b->labels.values[KUBE_LABEL_OLD_JOB]);
}

static void see_image(void *ctx, const struct cri_image *i)
{
	struct seen *s = ctx;

	snprintf(s->line[s->n++ % 8], sizeof(s->line[0]), "%s=%s", i->id, i->name);
}

static struct cri_visitor visitor(struct seen *s)
{
	return (struct cri_visitor){see_container, see_sandbox, see_image, s};
}

typedef int (*visit_fn)(const void *data, size_t len, const struct cri_visitor *v);

/* Takes the answer. */
static int visit(visit_fn fn, struct cri_answer *a, struct seen *s)
{
	const struct cri_visitor v = visitor(s);
	size_t len;
	char *data = cri_answer_take(a, &len);
	int r = fn(data, len, &v);

	free(data);
	return r;
}

TEST(containers_have_their_names_images_and_pods)
{
	struct seen s = {0};
	struct cri_answer a;

	cri_answer_init(&a);
	cri_answer_add_container(&a, &(struct made_container){
					     .id = "c1",
					     .sandbox_id = "s1",
					     .name = "app",
					     .image = "sha256:12",
					     .image_ref = "sha256:12",
					     .pod = "web-1",
					     .namespace = "shop",
					     .uid = "u1",
				     });
	cri_answer_add_container(&a, &(struct made_container){
					     .id = "c2",
					     .name = "old",
					     .image = "sha256:13",
					     .user_image = "nginx:1.27",
					     .exited = true,
				     });
	cri_answer_add_container(&a, &(struct made_container){0});
	assert_int_equal(visit(cri_visit_containers, &a, &s), 0);
	assert_int_equal(s.n, 3);
	assert_string_equal(s.line[0], "c1 s1 app image=sha256:12,sha256:12 shop/web-1/u1 running");
	assert_string_equal(s.line[1], "c2  old image=nginx:1.27, // ended");
	assert_string_equal(s.line[2], "   image=, // running");
}

TEST(sandboxes_say_what_annotations_and_labels_say)
{
	struct seen s = {0};
	struct cri_answer a;

	cri_answer_init(&a);
	cri_answer_add_sandbox(&a, &(struct made_sandbox){"s1", "web", "shop", "u1", {NULL}});
	cri_answer_add_sandbox(
		&a, &(struct made_sandbox){
			    "s2", "p", "ns", "u", {"coroot.com/ebpf-profiling", "disabled"}});
	cri_answer_add_sandbox(
		&a, &(struct made_sandbox){
			    "s3", "p", "ns", "u", {"coroot.com/ebpf-profiling", "enabled"}});
	cri_answer_add_sandbox(
		&a, &(struct made_sandbox){
			    "s4", "p-n1", "ns", "u", {"kubernetes.io/config.source", "file"}});
	cri_answer_add_sandbox(
		&a, &(struct made_sandbox){
			    "s5", "p", "ns", "u", {"kubernetes.io/config.source", "api"}});
	cri_answer_add_sandbox(
		&a, &(struct made_sandbox){"s6",
					   "p",
					   "ns",
					   "u",
					   {"coroot.com/custom-application-name", "till"},
					   {"job-name", "report-1"}});
	assert_int_equal(visit(cri_visit_sandboxes, &a, &s), 0);
	assert_int_equal(s.n, 6);
	assert_string_equal(s.line[0], "s1 shop/web/u1");
	assert_string_equal(s.line[1], "s2 ns/p/u disabled");
	assert_string_equal(s.line[2], "s3 ns/p/u");
	assert_string_equal(s.line[3], "s4 ns/p-n1/u static");
	assert_string_equal(s.line[4], "s5 ns/p/u");
	assert_string_equal(s.line[5], "s6 ns/p/u called till of job report-1");
}

/* Of several tags, any could be the release that runs. */
TEST(images_have_their_only_tag_or_none)
{
	struct seen s = {0};
	struct cri_answer a;

	cri_answer_init(&a);
	cri_answer_add_image(&a, "sha256:1", "docker.io/library/nginx:1.27");
	cri_answer_add_image(&a, "sha256:2", NULL);
	cri_answer_add_image(&a, "sha256:3", "registry:5000/shop:rc1 registry:5000/shop:1.0");
	cri_answer_add_image(&a, "sha256:4", "shop:rc1 mirror/shop:rc1");
	cri_answer_add_image(&a, "sha256:5", "shop:1 shopping:1");
	cri_answer_add_image(&a, "sha256:6", "registry:5000/shop registry:5000/shop");
	assert_int_equal(visit(cri_visit_images, &a, &s), 0);
	assert_int_equal(s.n, 6);
	assert_string_equal(s.line[2], "sha256:3=registry:5000/shop");
	assert_string_equal(s.line[3], "sha256:4=");
	assert_string_equal(s.line[4], "sha256:5=");
	assert_string_equal(s.line[5], "sha256:6=registry:5000/shop");
	assert_string_equal(s.line[0], "sha256:1=docker.io/library/nginx:1.27");
	assert_string_equal(s.line[1], "sha256:2=");
}

TEST(one_huge_element_does_not_hide_the_others)
{
	struct seen s = {0};
	struct cri_answer a;

	cri_answer_init(&a);
	cri_answer_add_container(&a, &(struct made_container){.id = "c1"});
	cri_answer_add_container(
		&a, &(struct made_container){.id = "c2", .label_bytes = CRI_ELEMENT_MAX_BYTES});
	cri_answer_add_container(
		&a, &(struct made_container){.id = "c3", .label_bytes = CRI_ELEMENT_MAX_BYTES / 4});
	assert_int_equal(visit(cri_visit_containers, &a, &s), 1);
	assert_int_equal(s.n, 2);
	assert_int_equal(strncmp(s.line[0], "c1 ", 3), 0);
	assert_int_equal(strncmp(s.line[1], "c3 ", 3), 0);
}

TEST(frames_must_be_whole_plain_and_single)
{
	static const struct {
		const char *bytes;
		size_t len;
		int expected;
	} cases[] = {
		{"", 0, -EBADMSG},
		{"\0\0\0\0", 4, -EBADMSG},
		{"\0\0\0\0\0", 5, 0},
		{"\1\0\0\0\0", 5, -EBADMSG},                /* compressed */
		{"\0\0\0\0\1", 5, -EBADMSG},                /* incomplete */
		{"\0\0\0\0\0\0", 6, -EBADMSG},              /* more behind it */
		{"\0\0\0\0\0\0\0\0\0\0", 10, -EBADMSG},     /* two messages */
		{"\0\377\377\377\377\n\0", 7, -EBADMSG},    /* 4 GiB are announced */
		{"\0\0\0\0\2\n\0", 7, 0},                   /* one element without fields */
		{"\0\0\0\0\2\n\5", 7, -EBADMSG},            /* one that ends behind the message */
		{"\0\0\0\0\2\10\5", 7, -EBADMSG},           /* a number instead of an element */
		{"\0\0\0\0\2\20\5", 7, 0},                  /* a field that is not known */
		{"\0\0\0\0\4\n\2\n\5", 9, -EBADMSG},        /* a broken element */
		{"HTTP/1.1 400 Bad Request", 24, -EBADMSG}, /* another server */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen s = {0};
		const struct cri_visitor v = visitor(&s);
		int r = cri_visit_containers(cases[i].bytes, cases[i].len, &v);

		if (r != cases[i].expected)
			fail_msg("case %zu: %d", i, r);
	}
}

TEST(requests_are_as_long_as_they_say)
{
	char id[256], expected[64];
	struct buf b;

	memset(expected, 'a', sizeof(expected) - 1);
	expected[sizeof(expected) - 1] = '\0';
	buf_init(&b, 4096);
	assert_int_equal(cri_put_list_request(&b, expected), 0);
	assert_int_equal(b.len, 5 + 2 + 2 + 63);
	assert_memory_equal(b.data, "\0\0\0\0\103\n\101\n\77aaa", 12);
	cri_request_id(b.data, b.len, id);
	assert_string_equal(id, expected);
	b.len = 0;
	assert_int_equal(cri_put_list_request(&b, NULL), 0);
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "\0\0\0\0\0", 5);
	b.len = 0;
	assert_int_equal(cri_put_empty_request(&b), 0);
	assert_int_equal(b.len, 5);
	buf_fini(&b);
	buf_init(&b, 20);
	assert_int_equal(cri_put_list_request(&b, expected), -EFBIG);
	buf_fini(&b);
}

TEST(versions_are_cut_to_fit)
{
	struct cri_version v;
	struct cri_answer a;
	size_t len;
	char *data;

	cri_answer_init(&a);
	cri_answer_set_version(&a, "containerd", "1.6.20~ds1");
	data = cri_answer_take(&a, &len);
	assert_int_equal(cri_parse_version(data, len, &v), 0);
	assert_string_equal(v.runtime, "containerd");
	assert_string_equal(v.version, "1.6.20~ds1");
	assert_int_equal(cri_parse_version(data, len - 1, &v), -EBADMSG);
	assert_int_equal(cri_parse_version("\0\0\0\0\1\22", 6, &v), -EBADMSG);
	free(data);
}

TEST(statuses_become_errors)
{
	assert_int_equal(cri_error(200, "0"), 0);
	assert_int_equal(cri_error(200, "12"), -EOPNOTSUPP);
	assert_int_equal(cri_error(404, NULL), -EOPNOTSUPP);
	assert_int_equal(cri_error(200, "5"), -ENOENT);
	assert_int_equal(cri_error(200, "4"), -ETIMEDOUT);
	assert_int_equal(cri_error(200, "14"), -EAGAIN);
	assert_int_equal(cri_error(200, "2"), -EIO);
	assert_int_equal(cri_error(200, "99"), -EIO);
	assert_int_equal(cri_error(200, "-1"), -EIO);
	assert_int_equal(cri_error(200, ""), -EIO);
	assert_int_equal(cri_error(200, NULL), -EBADMSG);
	assert_int_equal(cri_error(400, NULL), -EBADMSG);
}

static int visit_one(void *answer)
{
	const char *data = answer;
	struct seen s = {0};
	const struct cri_visitor v = visitor(&s);
	size_t len = 5 + ((size_t)(unsigned char)data[3] << 8) + (unsigned char)data[4];

	return cri_visit_containers(data, len, &v);
}

static int put_one(void *unused)
{
	struct buf b;
	int r;

	(void)unused;
	buf_init(&b, 4096);
	r = cri_put_list_request(&b, "id");
	buf_fini(&b);
	return r;
}

TEST(memory_may_run_out)
{
	struct cri_answer a;
	size_t len;
	char *data;

	cri_answer_init(&a);
	cri_answer_add_container(&a, &(struct made_container){.id = "c1", .name = "n"});
	data = cri_answer_take(&a, &len);
	check_oom(visit_one, data);
	check_oom(put_one, NULL);
	free(data);
}
