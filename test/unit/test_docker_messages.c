#include <errno.h>

#include "node-agent/container/docker_messages.h"
#include "test/lib/unit.h"

#define ID "9ffa07111ef9f0614701db2ce4c4c6f5b784a520948fc673fee34fe871b86449"
#define ID2 "0ffa07111ef9f0614701db2ce4c4c6f5b784a520948fc673fee34fe871b86440"
#define ALLOC "01234567-89ab-cdef-0123-456789abcdef"

struct seen {
	size_t n;
	char text[4096]; /* a line for each container */
};

static const char *or_dash(const char *s)
{
	return s ? s : "-";
}

static void note(void *ctx, const struct container_facts *f, bool inspect)
{
	struct seen *s = ctx;
	size_t len = strlen(s->text);

	s->n++;
	snprintf(s->text + len, sizeof(s->text) - len, "%.4s %s %s %s/%s/%s %s%s%s\n", f->id,
		 or_dash(f->name), or_dash(f->image), or_dash(f->namespace), or_dash(f->pod),
		 or_dash(f->pod_uid), or_dash(f->path), f->sandbox ? " sandbox" : "",
		 inspect ? " inspect" : "");
}

static const char *list(struct seen *s, const char *text)
{
	const struct docker_reader r = {note, s};

	*s = (struct seen){0};
	assert_int_equal(docker_list_read(text, strlen(text), &r), 0);
	return s->text;
}

static const char *one(struct seen *s, const char *text)
{
	const struct docker_reader r = {note, s};

	*s = (struct seen){0};
	assert_int_equal(docker_container_read(text, strlen(text), &r), 0);
	return s->text;
}

TEST(a_container_has_its_own_name_not_that_of_a_link)
{
	struct seen s;

	assert_string_equal(list(&s, "[{\"Id\":\"" ID "\",\"Names\":[\"/other/alias\",\"/web\"],"
				     "\"Image\":\"nginx:1.27\",\"Labels\":{\"a\":\"b\"}}]\n"),
			    "9ffa web nginx:1.27 -/-/- -\n");
}

TEST(podman_sends_no_labels_as_null)
{
	struct seen s;

	assert_string_equal(list(&s, "[{\"Id\":\"" ID "\",\"Names\":[\"/web\"],\"Labels\":null}]"),
			    "9ffa web - -/-/- -\n");
}

TEST(a_pod_is_in_the_labels)
{
	struct seen s;

	assert_string_equal(
		list(&s, "[{\"Id\":\"" ID "\",\"Names\":[\"/k8s_x\"],\"Image\":\"i\",\"Labels\":{"
			 "\"io.kubernetes.pod.name\":\"web-1\","
			 "\"io.kubernetes.pod.namespace\":\"shop\",\"io.kubernetes.pod.uid\":\"u\","
			 "\"io.kubernetes.container.name\":\"nginx\","
			 "\"io.kubernetes.docker.type\":\"container\"}},"
			 "{\"Id\":\"" ID2 "\",\"Names\":[\"/k8s_POD\"],\"Labels\":{"
			 "\"io.kubernetes.pod.name\":\"web-1\","
			 "\"io.kubernetes.pod.namespace\":\"shop\","
			 "\"io.kubernetes.container.name\":\"POD\","
			 "\"io.kubernetes.docker.type\":\"podsandbox\"}}]"),
		"9ffa nginx i shop/web-1/u -\n0ffa POD - shop/web-1/- - sandbox\n");
}

static const char *swarm(struct seen *s, const char *task, const char *service, const char *stack)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "[{\"Id\":\"" ID "\",\"Labels\":{\"com.docker.swarm.task.name\":\"%s\","
		 "\"com.docker.swarm.service.name\":\"%s\",\"com.docker.stack.namespace\":"
		 "\"%s\"}}]",
		 task, service, stack);
	return list(s, text);
}

TEST(swarm_services_have_a_path)
{
	struct seen s;

	assert_string_equal(swarm(&s, "shop_cart.2.abc", "shop_cart", "shop"),
			    "9ffa - - -/-/- /swarm/shop/cart/2\n");
	assert_string_equal(swarm(&s, "cart.1.abc", "cart", ""),
			    "9ffa - - -/-/- /swarm/_/cart/1\n");
	assert_string_equal(swarm(&s, "shopping.1.abc", "shopping", "shop"),
			    "9ffa - - -/-/- /swarm/shop/shopping/1\n");
	assert_string_equal(swarm(&s, "shop_.1.abc", "shop_", "shop"),
			    "9ffa - - -/-/- /swarm/shop/shop_/1\n");
	assert_string_equal(swarm(&s, "cart.1", "cart", ""), "9ffa - - -/-/- -\n");
}

TEST(nomad_jobs_are_in_the_environment)
{
	struct seen s;

	assert_string_equal(list(&s, "[{\"Id\":\"" ID "\",\"Names\":[\"/x\"],\"Labels\":{"
				     "\"com.hashicorp.nomad.alloc_id\":\"a\"}},{\"Id\":\"" ID2
				     "\",\"Names\":[\"/redis-" ALLOC "\"]}]"),
			    "9ffa x - -/-/- - inspect\n0ffa redis-" ALLOC " - -/-/- - inspect\n");
	assert_string_equal(one(&s, "{\"Id\":\"" ID "\",\"Name\":\"/redis-" ALLOC "\",\"Config\":{"
				    "\"Image\":\"redis:7\",\"Labels\":null,\"Env\":[\"PATH=/bin\","
				    "\"NOMAD_TASK_NAME=redis\",\"NOMAD_ALLOC_ID=" ALLOC "\","
				    "\"NOMAD_GROUP_NAME=cache\",\"NOMAD_JOB_NAME=shop\","
				    "\"NOMAD_NAMESPACE=default\",\"NOMAD_JOB_NAMES=no\"]}}"),
			    "9ffa redis-" ALLOC " redis:7 -/-/- /nomad/default/shop/cache/" ALLOC
			    "/redis\n");
	/* one that only looks like it is not asked for again */
	assert_string_equal(one(&s, "{\"Id\":\"" ID "\",\"Name\":\"/redis-" ALLOC
				    "\",\"Config\":{\"Env\":[\"NOMAD_JOB_NAME=shop\"]}}"),
			    "9ffa redis-" ALLOC " - -/-/- -\n");
	assert_string_equal(one(&s, "{\"Id\":\"" ID "\",\"Name\":\"/redis-" ALLOC
				    "\",\"Config\":{\"Env\":null}}"),
			    "9ffa redis-" ALLOC " - -/-/- -\n");
}

TEST(names_that_resemble_an_allocation_are_no_jobs)
{
	struct seen s;

	assert_string_equal(list(&s,
				 "[{\"Id\":\"" ID "\",\"Names\":[\"/" ALLOC "\"]},"
				 "{\"Id\":\"" ID
				 "\",\"Names\":[\"/a-0123456789ab-cdef-0123-456789abcdef0\"]}]"),
			    "9ffa " ALLOC
			    " - -/-/- -\n9ffa a-0123456789ab-cdef-0123-456789abcdef0 - -/-/- -\n");
}

TEST(what_is_no_container_is_skipped)
{
	struct seen s;

	assert_string_equal(list(&s,
				 "[7,null,[],{},{\"Id\":7},{\"Id\":\"short\"},{\"Id\":\"" ID "0\"},"
				 "{\"Id\":\"" ID "\",\"Names\":{},\"Image\":[],\"Labels\":\"x\"}]"),
			    "9ffa - - -/-/- -\n");
	assert_string_equal(list(&s, "[]"), "");
}

TEST(other_answers_are_refused)
{
	static const char *const bad[] = {"", "{", "{}", "7", "null", "[", "[{\"Id\":\"" ID "\"}"};
	struct seen s = {0};
	const struct docker_reader r = {note, &s};
	AUTO_FREE char *large = malloc(DOCKER_ANSWER_BYTES + 1);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(docker_list_read(bad[i], strlen(bad[i]), &r), -EBADMSG);
		assert_int_equal(docker_container_read(bad[i], strlen(bad[i]), &r), -EBADMSG);
	}
	memset(large, ' ', DOCKER_ANSWER_BYTES + 1);
	assert_int_equal(docker_list_read(large, DOCKER_ANSWER_BYTES + 1, &r), -EFBIG);
	assert_int_equal(docker_container_read(large, DOCKER_ANSWER_BYTES + 1, &r), -EFBIG);
	assert_int_equal(s.n, 0);
}

#define EVENT(action, name)                                                         \
	"{\"Type\":\"container\",\"Action\":\"" action "\",\"Actor\":{\"ID\":\"" ID \
	"\",\"Attributes\":{\"image\":\"burn:1\",\"name\":\"" name                  \
	"\",\"io.kubernetes.pod.name\":"                                            \
	"\"\"}},\"time\":1}\n"

TEST(events_name_containers_however_they_are_cut)
{
	static const char text[] =
		EVENT("create", "a") "{\"Type\":\"image\",\"Action\":\"create\"}\n" EVENT(
			"die", "b") "garbage\n\n" EVENT("start", "c")
			EVENT("rename", "d") "{\"Type\"";
	size_t len = strlen(text);

	for (size_t piece = 1; piece <= len; piece++) {
		CLEANUP(docker_events_fini) struct docker_events e;
		struct seen s = {0};
		const struct docker_reader r = {note, &s};

		docker_events_init(&e);
		for (size_t at = 0; at < len; at += piece)
			assert_int_equal(docker_events_feed(&e, text + at,
							    len - at < piece ? len - at : piece,
							    &r),
					 0);
		assert_string_equal(s.text, "9ffa a burn:1 -/-/- -\n9ffa c burn:1 -/-/- -\n"
					    "9ffa d burn:1 -/-/- -\n");
		assert_int_equal(e.n_bad, 1);
	}
}

TEST(an_endless_event_is_skipped)
{
	static const char event[] = EVENT("start", "a");
	CLEANUP(docker_events_fini) struct docker_events e;
	struct seen s = {0};
	const struct docker_reader r = {note, &s};

	docker_events_init(&e);
	for (size_t i = 0; i <= DOCKER_EVENT_BYTES; i++)
		assert_int_equal(docker_events_feed(&e, "{", 1, &r), 0);
	assert_int_equal(docker_events_feed(&e, "\n", 1, &r), 0);
	assert_int_equal(docker_events_feed(&e, event, strlen(event), &r), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(e.n_bad, 1);
}
