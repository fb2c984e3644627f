#include "cluster-agent/discover/docker_targets.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/limits.h"
#include "test/lib/unit.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ASKS "'coroot.com/profile-scrape':'true','coroot.com/profile-port':'6060'"
#define NETWORK(ip) "'NetworkSettings':{'Networks':{'shop_default':{'IPAddress':'" ip "'}}}"
/* A container, without braces; labels and what follows them. */
#define CONTAINER(id, name, labels, more) \
	"{'Id':'" id "','Names':['/" name "'],'State':'running','Labels':{" labels "}," more "}"

static const bool cpu_and_heap[PROFILE_KIND_MAX] = {
	[PROFILE_KIND_CPU] = true, [PROFILE_KIND_HEAP] = true};

struct seen {
	bool is_podman;
	unsigned n;
	/* of each target: "service ip problem", and " port/path" of each endpoint */
	char text[8192];
	char uid[128], labels[256], scheme[8];
};

static void add(struct seen *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add(struct seen *s, const char *fmt, ...)
{
	size_t used = strlen(s->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->text + used, sizeof(s->text) - used, fmt, ap);
	va_end(ap);
}

static void on_target(void *ctx, const struct scrape_target *t)
{
	struct seen *s = ctx;

	assert_true(t->is_local && !t->settings);
	add(s, "%s%s|%s|%s", s->n++ ? "\n" : "", t->service, t->ip, t->problem);
	for (size_t i = 0; i < t->n_endpoints; i++)
		add(s, " %u%s", t->endpoints[i].port, t->endpoints[i].path);
	snprintf(s->uid, sizeof(s->uid), "%s", t->uid);
	s->labels[0] = '\0';
	for (size_t i = 0; i < t->n_labels; i++)
		snprintf(s->labels + strlen(s->labels), sizeof(s->labels) - strlen(s->labels),
			 "%s=%s ", t->labels[i].name, t->labels[i].value);
	snprintf(s->scheme, sizeof(s->scheme), "%s",
		 t->n_endpoints > 0 && t->endpoints[0].https ? "https" : "http");
}

/* Quotes are '. */
static int read_text(struct seen *s, const char *text)
{
	const struct docker_targets_reader reader = {s->is_podman, cpu_and_heap, on_target, s};
	AUTO_FREE char *json = strdup(text);

	assert_non_null(json);
	for (char *p = json; *p; p++)
		if (*p == '\'')
			*p = '"';
	return docker_targets_read(json, strlen(json), &reader);
}

static void check(const char *text, const char *expected)
{
	struct seen s = {0};

	assert_int_equal(read_text(&s, text), 0);
	assert_string_equal(s.text, expected);
}

#define BOTH " 6060/debug/pprof/profile 6060/debug/pprof/heap"

TEST(a_labelled_container_is_a_target)
{
	struct seen s = {0};

	assert_int_equal(
		read_text(&s, "[" CONTAINER(ID_A, "cart", ASKS, NETWORK("172.18.0.2")) "]"), 0);
	assert_string_equal(s.text, "/docker/cart|172.18.0.2|" BOTH);
	assert_string_equal(s.uid, "docker/" ID_A);
	assert_string_equal(s.labels, "job=docker container.id=/docker/cart ");
	assert_string_equal(s.scheme, "http");
}

TEST(podmans_containers_have_its_name)
{
	struct seen s = {.is_podman = true};

	assert_int_equal(read_text(&s, "[" CONTAINER(ID_A, "cart", ASKS, NETWORK("10.88.0.2")) "]"),
			 0);
	assert_string_equal(s.text, "/podman/cart|10.88.0.2|" BOTH);
	assert_string_equal(s.labels, "job=podman container.id=/podman/cart ");
}

TEST(labels_say_what_annotations_say)
{
	struct seen s = {0};

	assert_int_equal(read_text(&s, "[" CONTAINER(ID_A, "cart",
						     "'coroot.com/profile-scrape':'true',"
						     "'coroot.com/profile-port':'6060,6061',"
						     "'coroot.com/profile-scheme':'https',"
						     "'coroot.com/profile-path-prefix':'/in',"
						     "'coroot.com/profile-types':'heap'",
						     NETWORK("172.18.0.2")) "]"),
			 0);
	assert_string_equal(
		s.text,
		"/docker/cart|172.18.0.2| 6060/in/debug/pprof/heap 6061/in/debug/pprof/heap");
	assert_string_equal(s.scheme, "https");
	check("[" CONTAINER(ID_A, "cart",
			    "'profiles.grafana.com/memory.scrape':'true',"
			    "'profiles.grafana.com/memory.port':'80'",
			    NETWORK("172.18.0.2")) "]",
	      "/docker/cart|172.18.0.2| 80/debug/pprof/heap");
	check("[" CONTAINER(ID_A, "cart", "'pyroscope.io/scrape':'true','pyroscope.io/port':'6060'",
			    NETWORK("172.18.0.2")) "]",
	      "/docker/cart|172.18.0.2|" BOTH);
}

TEST(mistakes_in_labels_are_said)
{
	check("[" CONTAINER(ID_A, "cart", "'coroot.com/profile-scrap':'true'",
			    NETWORK("172.18.0.2")) "]",
	      "/docker/cart|172.18.0.2|annotation coroot.com/profile-scrap is unknown; did you "
	      "mean coroot.com/profile-scrape?");
	check("[" CONTAINER(ID_A, "cart", "'coroot.com/profile-scrape':'true'",
			    NETWORK("172.18.0.2")) "]",
	      "/docker/cart|172.18.0.2|annotation coroot.com/profile-port is missing");
}

TEST(other_containers_are_none)
{
	check("[" CONTAINER(ID_A, "cart", "'com.docker.compose.project':'shop'",
			    NETWORK("172.18.0.2")) "]",
	      "");
	check("[" CONTAINER(ID_A, "cart",
			    "'coroot.com/profile-scrape':'false','coroot.com/profile-port':'1'",
			    NETWORK("172.18.0.2")) "]",
	      "");
	check("[" CONTAINER(ID_A, "cart", ASKS ",'io.kubernetes.pod.name':'cart-0'",
			    NETWORK("172.18.0.2")) "]",
	      "");
	check("[{'Id':'" ID_A "','Names':['/cart'],'State':'paused','Labels':{" ASKS
	      "}," NETWORK("172.18.0.2") "}]",
	      "");
	check("[{'Id':'" ID_A "','Names':['/cart'],'Labels':null}]", "");
	check("[{'Id':'0','Names':['/cart'],'Labels':{" ASKS "}}]", "");
	check("[{'Id':'" ID_A "','Names':['/c t','/a/b',1],'Labels':{" ASKS "}}]", "");
	check("[1,null,[],'x']", "");
	check("[]", "");
}

TEST(a_name_is_the_containers_own)
{
	check("[{'Id':'" ID_A "','Names':['/web/alias','/cart'],'State':'running','Labels':{" ASKS
	      "}," NETWORK("172.18.0.2") "}]",
	      "/docker/cart|172.18.0.2|" BOTH);
}

TEST(swarms_containers_are_named_as_the_node_agent_names_them)
{
	check("[" CONTAINER(ID_A, "shop_cart.1.x",
			    ASKS ",'com.docker.swarm.task.name':'shop_cart.1.x',"
				 "'com.docker.swarm.service.name':'shop_cart',"
				 "'com.docker.stack.namespace':'shop'",
			    NETWORK("172.18.0.2")) "]",
	      "/swarm/shop/cart/1|172.18.0.2|" BOTH);
	check("[" CONTAINER(ID_A, "cart",
			    ASKS ",'com.docker.swarm.task.name':'a.1.x',"
				 "'com.docker.swarm.service.name':'../b c'",
			    NETWORK("172.18.0.2")) "]",
	      "/docker/cart|172.18.0.2|" BOTH);
}

TEST(the_address_is_that_of_the_first_network)
{
	check("[" CONTAINER(ID_A, "a", ASKS,
			    "'NetworkSettings':{'Networks':{"
			    "'ingress':{'IPAddress':'10.0.0.4'},'one':{'IPAddress':''},"
			    "'two':null,'three':{'IPAddress':'172.18.0.9'},"
			    "'four':{'IPAddress':'172.18.0.10'}}}") "]",
	      "/docker/a|172.18.0.9|" BOTH);
	check("[" CONTAINER(ID_A, "a", ASKS,
			    "'NetworkSettings':{'Networks':{"
			    "'six':{'IPAddress':'','GlobalIPv6Address':'FD00:0::2'}}}") "]",
	      "/docker/a|fd00::2|" BOTH);
}

TEST(a_container_in_the_hosts_network_is_at_loopback)
{
	check("[" CONTAINER(ID_A, "a", ASKS,
			    "'HostConfig':{'NetworkMode':'host'},"
			    "'NetworkSettings':{'Networks':{'host':{'IPAddress':''}}}") "]",
	      "/docker/a|127.0.0.1|" BOTH);
	/* podman says so of all */
	check("[" CONTAINER(ID_A, "a", ASKS,
			    "'HostConfig':{'NetworkMode':'host'}," NETWORK("10.88.0.2")) "]",
	      "/docker/a|10.88.0.2|" BOTH);
	check("[" CONTAINER(ID_A, "a", ASKS,
			    "'HostConfig':{'NetworkMode':'host'}," NETWORK("")) "]",
	      "/docker/a||the container has no usable address");
}

TEST(a_container_in_anothers_network_has_that_ones_address)
{
	check("[" CONTAINER(
		      ID_A, "a", ASKS,
		      "'HostConfig':{'NetworkMode':'container:" ID_B "'},"
		      "'NetworkSettings':{'Networks':{}}") "," CONTAINER(ID_B, "b", "",
									 NETWORK("172.18.0.3")) "]",
	      "/docker/a|172.18.0.3|" BOTH);
	check("[" CONTAINER(ID_A, "a", ASKS,
			    "'HostConfig':{'NetworkMode':'container:" ID_B "'}") "]",
	      "/docker/a||the container has no usable address");
	check("[" CONTAINER(ID_A, "a", ASKS,
			    "'HostConfig':{'NetworkMode':'container:" ID_A "'}") "]",
	      "/docker/a||the container has no usable address");
}

TEST(only_addresses_are_asked)
{
	static const char *const bad[] = {"169.254.169.254", "0.0.0.0", "shop.example",
					  "10.0.0.1/24",     "x",       "224.0.0.1"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "[" CONTAINER(ID_A, "a", ASKS, NETWORK("%s")) "]",
			 bad[i]);
		check(text, "/docker/a||the container has no usable address");
	}
}

TEST(what_is_no_list_is_an_error)
{
	struct seen s = {0};

	assert_int_equal(read_text(&s, ""), -EBADMSG);
	assert_int_equal(read_text(&s, "{}"), -EBADMSG);
	assert_int_equal(read_text(&s, "{'message':'page not found'}"), -EBADMSG);
	assert_int_equal(read_text(&s, "[" CONTAINER(ID_A, "a", ASKS, NETWORK("10.0.0.1"))),
			 -EBADMSG);
	assert_int_equal(s.n, 0);
}

static void count(void *ctx, const struct scrape_target *t)
{
	unsigned *n = ctx;

	assert_int_equal(t->n_endpoints, 2);
	(*n)++;
}

TEST(containers_beyond_the_limit_are_an_error)
{
	unsigned n = 0;
	const struct docker_targets_reader reader = {false, cpu_and_heap, count, &n};
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, MIB);
	for (unsigned i = 0; i <= DOCKER_TARGETS_MAX; i++)
		assert_int_equal(
			buf_addf(&text,
				 "%s{\"Id\":\"%064x\",\"Names\":[\"/c%u\"],\"Labels\":{"
				 "\"pyroscope.io/scrape\":\"true\",\"pyroscope.io/port\":\"1\"},"
				 "\"NetworkSettings\":{\"Networks\":{\"n\":{\"IPAddress\":"
				 "\"10.0.0.1\"}}}}",
				 i ? "," : "[", i, i),
			0);
	assert_int_equal(buf_add(&text, "]", 1), 0);
	assert_int_equal(docker_targets_read(text.data, text.len, &reader), -ENOSPC);
	assert_int_equal(n, DOCKER_TARGETS_MAX);
}

TEST(too_many_labels_are_said)
{
	struct seen s = {0};
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, MIB);
	assert_int_equal(buf_addf(&text, "[{'Id':'" ID_A "','Names':['/a'],'Labels':{" ASKS), 0);
	for (unsigned i = 0; i < 99; i++)
		assert_int_equal(buf_addf(&text, ",'coroot.com/x%u':'1','other/%u':'1'", i, i), 0);
	assert_int_equal(buf_addf(&text, "}," NETWORK("10.0.0.1") "}]"), 0);
	assert_int_equal(buf_add(&text, "", 1), 0);
	assert_int_equal(read_text(&s, text.data), 0);
	assert_string_equal(s.text, "/docker/a|10.0.0.1|more than 100 labels about profiles");
}

static void ignore(void *ctx, const struct scrape_target *t)
{
	(void)ctx;
	(void)t;
}

static int read_one(void *ctx)
{
	const struct docker_targets_reader reader = {false, cpu_and_heap, ignore, NULL};

	return docker_targets_read(ctx, strlen(ctx), &reader);
}

TEST(lack_of_memory_is_an_error)
{
	char text[] = "[{\"Id\":\"" ID_A "\",\"Names\":[\"/cart\"],\"Labels\":{"
		      "\"coroot.com/profile-scrape\":\"true\","
		      "\"coroot.com/profile-port\":\"6060\"},"
		      "\"Ports\":[{\"PrivatePort\":6060,\"Type\":\"tcp\"}]}]";

	check_oom(read_one, text);
}
