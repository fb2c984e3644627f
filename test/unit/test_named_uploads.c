/*
 * Profiles on their way to a receiver on loopback, which answers the probe and keeps the labels of
 * what it gets. The source of names says something only when the test does.
 */
#include <errno.h>
#include <pthread.h>

#include "common/access/sent_key.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/text/secret.h"
#include "common/upload/receiver_probe.h"
#include "node-agent/named_uploads.h"

#include "test/lib/unit.h"

#define LIMIT_NS (300 * NS_PER_S)
#define SHORT_NS (20 * NS_PER_MS)
#define N_KEPT 16

struct fixture {
	struct sent_key *key;
	struct loop *loop;
	struct loop_source *poll;
	uint64_t give_up_ns;
	struct http_server *server;
	struct http_client *client;
	struct metrics *metrics;
	struct uploader *uploader;
	struct container_directory *directory;
	const struct container_sink *sink;
	struct host_identity host;
	struct named_uploads *uploads;
	struct receiver_probe *probe;
	char endpoint[64];
	const char *spool_dir; /* "": none */
	bool is_idle;
	unsigned n_answers; /* of the probe */
	struct receiver_wishes answered;

	pthread_mutex_t lock;
	char urls[N_KEPT][1024]; /* the labels of each upload: "name=value …" */
	size_t n_urls;
	unsigned status; /* of the answer to the probe */
	const char *wishes;
	unsigned n_probes;
};

/* ---- the receiver ---- */

static void keep_label(void *ctx, const char *name, const char *value)
{
	char *url = ctx;
	size_t len = strlen(url);

	snprintf(url + len, 1024 - len, "%s=%s ", name, value);
}

static void take_upload(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	assert_true(f->n_urls < N_KEPT);
	http_exchange_each_param(x, keep_label, f->urls[f->n_urls]);
	f->n_urls++;
	pthread_mutex_unlock(&f->lock);
	http_respond_text(x, 200, "ok");
}

static void answer_probe(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	unsigned status;
	const char *wishes;

	pthread_mutex_lock(&f->lock);
	f->n_probes++;
	status = f->status;
	wishes = f->wishes;
	pthread_mutex_unlock(&f->lock);
	if (!secret_equal(http_exchange_header(x, "X-Api-Key"), "secret"))
		status = 401;
	http_respond_text(x, status, "%s", wishes);
}

/* ---- the source ---- */

static int never_answer(void *source, const struct container_question *q,
			container_source_done_fn done, void *ctx)
{
	(void)source;
	(void)q;
	(void)done;
	(void)ctx;
	return 0;
}

static void free_nothing(void *source)
{
	(void)source;
}

static const struct container_source_ops never_ops = {"never", never_answer, free_nothing};

static void add_source(struct fixture *f)
{
	const struct container_source_config cfg = {
		.ops = &never_ops,
		.kinds = CONTAINER_KIND(CGROUP_KUBEPODS),
	};
	struct directory_source *slot;

	assert_int_equal(container_directory_add_source(f->directory, &cfg, &slot), 0);
	f->sink = directory_source_sink(slot);
	directory_source_attach(slot, f);
}

static void name_it(struct fixture *f, const char *id)
{
	const struct container_facts facts = {
		.id = id,
		.namespace = "shop",
		.pod = "cart-x2x4z",
		.owner = "cart",
		.pod_uid = "7a1c",
		.name = "cart",
		.image = "cart:1.2",
	};

	f->sink->found(f->sink->ctx, &facts);
}

static void name_with_labels(struct fixture *f, const char *id, const char *labels)
{
	const struct container_facts facts = {
		.id = id,
		.namespace = "shop",
		.pod = "cart-x2x4z",
		.owner = "cart",
		.pod_uid = "7a1c",
		.name = "cart",
		.image = "cart:1.2",
		.labels = labels,
	};

	f->sink->found(f->sink->ctx, &facts);
}

/* ---- the loop ---- */

static void on_poll(void *ctx)
{
	loop_stop(((struct fixture *)ctx)->loop);
}

static void turn(struct fixture *f)
{
	assert_true(clock_monotonic_ns() < f->give_up_ns);
	loop_set_timer(f->poll, NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
}

static size_t n_uploaded(struct fixture *f)
{
	size_t n;

	pthread_mutex_lock(&f->lock);
	n = f->n_urls;
	pthread_mutex_unlock(&f->lock);
	return n;
}

static void run_until_uploaded(struct fixture *f, size_t n)
{
	while (n_uploaded(f) < n || uploader_pending(f->uploader) > 0)
		turn(f);
	assert_int_equal(n_uploaded(f), n);
}

static void on_idle(void *ctx)
{
	((struct fixture *)ctx)->is_idle = true;
}

static void on_answer(void *ctx, const struct receiver_wishes *w)
{
	struct fixture *f = ctx;

	f->n_answers++;
	f->answered = *w;
	named_uploads_set_wishes(f->uploads, w);
}

static void make_receiver(struct fixture *f)
{
	const struct http_route routes[] = {
		{"POST", "/v1/profiles", 1 << 20, take_upload, f},
		{"GET", "/v1/profiles", 0, answer_probe, f},
		{},
	};
	const struct http_server_config server = {
		.listen = "127.0.0.1:0",
		.max_connections = 16,
		.timeout_s = 300,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};
	struct err err = {""};

	assert_int_equal(http_server_new(&f->server, &server, &err), 0);
	snprintf(f->endpoint, sizeof(f->endpoint), "http://127.0.0.1:%u/v1/profiles",
		 http_server_port(f->server));
}

/* Starts the agent's side. */
static void start(struct fixture *f, const struct named_uploads_config *wanted)
{
	struct named_uploads_config cfg = *wanted;
	struct uploader_config uploads = {
		.endpoint = f->endpoint,
		.max_items = 100,
		.max_bytes = 100000,
		.max_sending = 1, /* in the order of their coming */
		.timeout_ns = LIMIT_NS,
		.retry_min_ns = NS_PER_MS,
		.retry_max_ns = NS_PER_MS,
		.spool_dir = f->spool_dir,
		.spool_max_bytes = 1 << 20,
	};

	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(sent_key_new(&f->key, "secret", NULL, NULL), 0);
	assert_int_equal(loop_add_timer(f->loop, on_poll, f, &f->poll), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(http_client_new(&f->client, f->loop, &(struct http_client_config){0}), 0);
	assert_int_equal(uploader_new(&f->uploader, f->loop, f->client, &uploads), 0);
	assert_int_equal(container_directory_new(&f->directory, f->loop,
						 &(struct container_directory_config){0}),
			 0);
	add_source(f);
	cfg.directory = f->directory;
	cfg.uploader = f->uploader;
	cfg.host = &f->host;
	cfg.idle = on_idle;
	cfg.ctx = f;
	assert_int_equal(named_uploads_new(&f->uploads, f->loop, &cfg), 0);
	assert_int_equal(named_uploads_register_metrics(f->uploads, f->metrics), 0);
}

static void stop(struct fixture *f)
{
	receiver_probe_free(f->probe);
	f->probe = NULL;
	named_uploads_free(f->uploads);
	container_directory_free(f->directory);
	metrics_free(f->metrics);
	http_client_free(f->client);
	uploader_free(f->uploader);
	sent_key_free(f->key);
	loop_remove(f->poll);
	loop_free(f->loop);
}

static void begin(struct fixture *f, const struct named_uploads_config *wanted)
{
	*f = (struct fixture){.host = {"node1", "0a1b"}, .status = 200, .wishes = ""};
	f->give_up_ns = clock_monotonic_ns() + LIMIT_NS;
	pthread_mutex_init(&f->lock, NULL);
	make_receiver(f);
	start(f, wanted);
}

static void end(struct fixture *f)
{
	stop(f);
	http_server_free(f->server);
	pthread_mutex_destroy(&f->lock);
}

static bool shows(struct fixture *f, const char *line)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, (size_t)1 << 20);
	assert_int_equal(metrics_write(f->metrics, &out), 0);
	return strstr(out.data, line) != NULL;
}

static void add_profile(struct fixture *f, enum cgroup_kind kind, const char *id,
			bool is_found_by_pod)
{
	CLEANUP(workload_unrefp) struct workload *raw = NULL;
	CLEANUP(buf_fini) struct buf pprof;
	struct workload_facts facts = {.exe = "/bin/app"};
	struct finished_profile p = {.pprof = &pprof, .is_found_by_pod = is_found_by_pod};

	facts.cgroup.kind = kind;
	snprintf(facts.cgroup.id, sizeof(facts.cgroup.id), "%s", id);
	assert_int_equal(workload_new(&raw, &facts), 0);
	buf_init(&pprof, 10000);
	assert_int_equal(buf_add(&pprof, "profile", 7), 0);
	p.raw = raw;
	named_uploads_add(f->uploads, &p);
}

static void add(struct fixture *f, enum cgroup_kind kind, const char *id)
{
	add_profile(f, kind, id, false);
}

#define HOST "host.name=node1 host.id=0a1b "
#define NAMED "service.name=/k8s/shop/cart container.id=/k8s/shop/cart-x2x4z/cart " HOST
#define EXTRA                                                    \
	"namespace=shop pod=cart-x2x4z k8s.namespace.name=shop " \
	"k8s.pod.name=cart-x2x4z k8s.container.name=cart "       \
	"container.image.name=cart:1.2 "
#define RAW "service.name=/kubepods/aaaa container.id=/kubepods/aaaa " HOST

/* ---- tests ---- */

TEST(only_containers_wait)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){0});
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_NONE, "");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], "service.name=/process/app container.id=/process/app " HOST);
	assert_int_equal(named_uploads_pending(f.uploads), 1);
	assert_true(shows(&f, "waiting_for_names 1\n"));
	end(&f);
}

TEST(labels_of_the_pod_are_sent_where_extra_labels_are)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS});
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_OWN);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	turn(&f);
	name_with_labels(&f, "aaaa", "app.kubernetes.io/version=1.2\nteam=a\n");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], NAMED EXTRA "app.kubernetes.io/version=1.2 team=a ");
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_COROOT);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	run_until_uploaded(&f, 2);
	assert_null(strstr(f.urls[1], "version"));
	end(&f);
}

static size_t labels_of_place(void *ctx, const char *namespace,
			      struct place_label ret[static PLACE_LABELS_MAX])
{
	(void)ctx;
	assert_string_equal(namespace, "shop");
	ret[0] = (struct place_label){"team", "of the namespace"};
	ret[1] = (struct place_label){"zone", "z"};
	return 2;
}

TEST(namespaces_and_nodes_label_what_pods_do_not)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.place_labels = labels_of_place});
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_OWN);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_NONE, "");
	name_with_labels(&f, "aaaa", "v=1\nteam=a\n");
	run_until_uploaded(&f, 2);
	assert_string_equal(f.urls[0], "service.name=/process/app container.id=/process/app " HOST);
	assert_string_equal(f.urls[1], NAMED EXTRA "v=1 team=a zone=z ");
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_COROOT);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	run_until_uploaded(&f, 3);
	assert_null(strstr(f.urls[2], "zone"));
	end(&f);
}

TEST(a_profile_goes_when_its_name_is_known)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS});
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_OWN);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_KUBEPODS, "bbbb");
	turn(&f);
	assert_int_equal(named_uploads_pending(f.uploads), 2);
	name_it(&f, "bbbb");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], NAMED EXTRA);
	assert_int_equal(named_uploads_pending(f.uploads), 1);
	assert_false(f.is_idle);
	name_it(&f, "aaaa");
	run_until_uploaded(&f, 2);
	assert_true(f.is_idle);
	/* what is named already does not wait */
	add(&f, CGROUP_KUBEPODS, "aaaa");
	assert_int_equal(named_uploads_pending(f.uploads), 0);
	run_until_uploaded(&f, 3);
	assert_true(shows(&f, "profiles_unnamed_total 0\n"));
	end(&f);
}

TEST(a_profile_waits_for_the_receivers_wishes)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS});
	name_it(&f, "aaaa");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	turn(&f);
	assert_int_equal(named_uploads_pending(f.uploads), 1);
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_COROOT);
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], NAMED);
	end(&f);

	/* a name that is known does not go before, however short the wait for names is */
	begin(&f, &(struct named_uploads_config){.wait_ns = 1});
	name_it(&f, "aaaa");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_KUBEPODS, "bbbb");
	for (int i = 0; i < 20; i++)
		turn(&f);
	assert_int_equal(named_uploads_pending(f.uploads), 2);
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_OWN);
	run_until_uploaded(&f, 2);
	assert_string_equal(f.urls[0], NAMED EXTRA);
	assert_string_equal(f.urls[1], "service.name=/kubepods/bbbb "
				       "container.id=/kubepods/bbbb " HOST);
	end(&f);
}

TEST(coroot_gets_the_labels_that_it_filters_by)
{
	static const struct {
		enum extra_labels_mode mode;
		bool is_own;
		const char *want;
	} cases[] = {
		{EXTRA_LABELS_AUTO, false, NAMED "namespace=shop pod=cart-x2x4z "},
		{EXTRA_LABELS_AUTO, true, NAMED EXTRA},
		{EXTRA_LABELS_ON, false, NAMED EXTRA},
		{EXTRA_LABELS_OFF, false, NAMED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;

		begin(&f, &(struct named_uploads_config){.extra_labels = cases[i].mode});
		add_profile(&f, CGROUP_KUBEPODS, "aaaa", true);
		add_profile(&f, CGROUP_NONE, "", true);
		name_it(&f, "aaaa");
		named_uploads_set_wishes(f.uploads, cases[i].is_own ? &RECEIVER_WISHES_OWN
								    : &RECEIVER_WISHES_COROOT);
		run_until_uploaded(&f, 2);
		assert_string_equal(f.urls[0], "service.name=/process/app "
					       "container.id=/process/app " HOST);
		assert_string_equal(f.urls[1], cases[i].want);
		end(&f);
	}
}

/* Its server finds the profiles of a pod without an owner only under the container's id. */
TEST(without_an_answer_names_are_those_that_coroot_looks_for)
{
	const struct container_facts facts = {
		.id = "aaaa",
		.namespace = "shop",
		.pod = "etcd-main",
		.pod_uid = "7",
		.name = "etcd",
		.owner = "etcd-main",
	};
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.max_items = 1, .wait_ns = LIMIT_NS});
	f.sink->found(f.sink->ctx, &facts);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_KUBEPODS, "bbbb");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], "service.name=/k8s/shop/etcd-main/etcd "
				       "container.id=/k8s/shop/etcd-main/etcd " HOST);
	end(&f);
}

TEST(extra_labels_can_be_forced)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.extra_labels = EXTRA_LABELS_ON});
	name_it(&f, "aaaa");
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_COROOT);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], NAMED EXTRA);
	end(&f);

	begin(&f, &(struct named_uploads_config){.extra_labels = EXTRA_LABELS_OFF});
	name_it(&f, "aaaa");
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_OWN);
	add(&f, CGROUP_KUBEPODS, "aaaa");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], NAMED);
	end(&f);
}

TEST(a_profile_does_not_wait_for_ever)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = SHORT_NS});
	named_uploads_set_wishes(f.uploads, &RECEIVER_WISHES_OWN);
	/* the source does not answer */
	add(&f, CGROUP_KUBEPODS, "aaaa");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], RAW);
	assert_true(f.is_idle);
	assert_true(shows(&f, "profiles_unnamed_total 1\n"));
	assert_true(shows(&f, "waiting_for_names 0\n"));
	end(&f);
}

TEST(at_the_end_nothing_waits_for_long)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS * 2});
	add(&f, CGROUP_KUBEPODS, "aaaa");
	named_uploads_hurry(f.uploads);
	add(&f, CGROUP_KUBEPODS, "bbbb");
	run_until_uploaded(&f, 2);
	end(&f);
}

TEST(what_waits_at_the_end_is_left_to_the_uploader)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS});
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_KUBEPODS, "bbbb");
	assert_int_equal(uploader_pending(f.uploader), 0);
	named_uploads_free(f.uploads);
	f.uploads = NULL;
	assert_int_equal(uploader_pending(f.uploader), 2);
	end(&f);
}

TEST(too_many_do_not_wait)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS, .max_items = 2});
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_KUBEPODS, "bbbb");
	add(&f, CGROUP_KUBEPODS, "cccc");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], RAW);
	assert_int_equal(named_uploads_pending(f.uploads), 2);
	assert_true(shows(&f, "wait_cut_short_total 1\n"));
	end(&f);

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS, .max_bytes = 10});
	add(&f, CGROUP_KUBEPODS, "aaaa");
	add(&f, CGROUP_KUBEPODS, "bbbb");
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], RAW);
	assert_int_equal(named_uploads_pending(f.uploads), 1);
	end(&f);
}

/* ---- the probe ---- */

static void begin_probe(struct fixture *f)
{
	const struct receiver_probe_config cfg = {
		.endpoint = f->endpoint,
		.key = f->key,
		.uploader = f->uploader,
		.on_answer = on_answer,
		.ctx = f,
		.confirm_ns = SHORT_NS,
	};

	assert_int_equal(receiver_probe_new(&f->probe, f->loop, f->client, &cfg), 0);
}

static void set_answer(struct fixture *f, unsigned status, const char *wishes)
{
	pthread_mutex_lock(&f->lock);
	f->status = status;
	f->wishes = wishes;
	pthread_mutex_unlock(&f->lock);
}

static unsigned n_probes(struct fixture *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->n_probes;
	pthread_mutex_unlock(&f->lock);
	return n;
}

TEST(the_receiver_is_asked_until_it_answers)
{
	struct fixture f;
	unsigned before;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS});
	set_answer(&f, 503, "busy");
	begin_probe(&f);
	name_it(&f, "aaaa");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	while (n_probes(&f) < 2)
		turn(&f);
	assert_int_equal(f.n_answers, 0);
	set_answer(&f, 200, receiver_wishes_json(&RECEIVER_WISHES_OWN));
	run_until_uploaded(&f, 1);
	assert_int_equal(f.n_answers, 1);
	assert_string_equal(f.urls[0], NAMED EXTRA);

	/* another one has taken its place, and says so twice */
	before = n_probes(&f);
	set_answer(&f, 404, "not found");
	receiver_probe_hurry(f.probe);
	while (f.n_answers < 2)
		turn(&f);
	assert_int_equal(n_probes(&f), before + 2);
	assert_int_equal(f.answered.naming, KUBE_NAMING_COROOT);
	assert_false(f.answered.extra_labels);
	end(&f);
}

TEST(a_receiver_that_only_fails_is_a_foreign_one)
{
	struct fixture f;

	begin(&f, &(struct named_uploads_config){.wait_ns = LIMIT_NS});
	set_answer(&f, 500, "");
	begin_probe(&f);
	name_it(&f, "aaaa");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	while (f.n_answers == 0) {
		receiver_probe_hurry(f.probe);
		turn(&f);
	}
	assert_int_equal(n_probes(&f), 5);
	run_until_uploaded(&f, 1);
	assert_string_equal(f.urls[0], NAMED);
	assert_int_equal(f.n_answers, 1);

	/* it was only ill */
	set_answer(&f, 200, receiver_wishes_json(&RECEIVER_WISHES_OWN));
	while (f.answered.naming != KUBE_NAMING_OWN) {
		receiver_probe_hurry(f.probe);
		turn(&f);
	}
	end(&f);
}

static void probe_until(struct fixture *f, unsigned n)
{
	n += n_probes(f);
	while (n_probes(f) < n) {
		receiver_probe_hurry(f->probe);
		turn(f);
	}
}

/* Another process, to whose probe the receiver answers with this. */
static void restart(struct fixture *f, unsigned status, const char *wishes)
{
	stop(f);
	start(f, &(struct named_uploads_config){.wait_ns = LIMIT_NS});
	set_answer(f, status, wishes);
	f->n_answers = 0;
	begin_probe(f);
	name_it(f, "aaaa");
}

TEST(what_an_earlier_process_was_answered_holds_until_the_receiver_answers)
{
	struct fixture f;
	char command[128];

	begin(&f, &(struct named_uploads_config){0});
	f.spool_dir = temp_dir();
	/* nobody knows yet */
	restart(&f, 503, "busy");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	probe_until(&f, 2);
	assert_int_equal(named_uploads_pending(f.uploads), 1);
	set_answer(&f, 200, receiver_wishes_json(&RECEIVER_WISHES_OWN));
	run_until_uploaded(&f, 1);

	restart(&f, 503, "busy");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	run_until_uploaded(&f, 2);
	assert_string_equal(f.urls[1], NAMED EXTRA);
	/* neither a sick receiver nor one that refuses the key is another one */
	probe_until(&f, 7);
	set_answer(&f, 401, "");
	probe_until(&f, 7);
	assert_int_equal(f.n_answers, 1);
	assert_int_equal(f.answered.naming, KUBE_NAMING_OWN);

	/* another one has taken its place, which the next process knows */
	set_answer(&f, 404, "not found");
	while (f.answered.naming != KUBE_NAMING_COROOT) {
		receiver_probe_hurry(f.probe);
		turn(&f);
	}
	restart(&f, 503, "busy");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	run_until_uploaded(&f, 3);
	assert_string_equal(f.urls[2], NAMED);

	/* a file that is damaged is none */
	snprintf(command, sizeof(command), "truncate -s 10 %s/profiles/receiver-*", f.spool_dir);
	assert_int_equal(system(command), 0);
	restart(&f, 503, "busy");
	add(&f, CGROUP_KUBEPODS, "aaaa");
	probe_until(&f, 2);
	assert_int_equal(named_uploads_pending(f.uploads), 1);
	end(&f);
	snprintf(command, sizeof(command), "rm -rf %s", f.spool_dir);
	assert_int_equal(system(command), 0);
}

TEST(answers_that_say_nothing_are_not_believed)
{
	static const struct {
		struct http_result res;
		bool is_answer;
		enum kube_naming naming;
	} cases[] = {
		{{.status = 404}, true, KUBE_NAMING_COROOT},
		{{.status = 405}, true, KUBE_NAMING_COROOT},
		{{.status = 401}, true, KUBE_NAMING_COROOT},
		{{.status = 501}, true, KUBE_NAMING_COROOT},
		{{.status = 200, .body = "<html>", .body_len = 6}, true, KUBE_NAMING_COROOT},
		{{.status = 200,
		  .body = "{\"naming\":\"own\",\"extraLabels\":true}",
		  .body_len = 35},
		 true,
		 KUBE_NAMING_OWN},
		{{.status = 404,
		  .body = "{\"naming\":\"own\",\"extraLabels\":true}",
		  .body_len = 35},
		 true,
		 KUBE_NAMING_COROOT},
		{{.error = -EFBIG}, true, KUBE_NAMING_COROOT},
		{{.error = -ECONNREFUSED}, false, KUBE_NAMING_COROOT},
		{{.error = -ETIMEDOUT}, false, KUBE_NAMING_COROOT},
		{{.status = 429}, false, KUBE_NAMING_COROOT},
		{{.status = 500}, false, KUBE_NAMING_COROOT},
		{{.status = 502}, false, KUBE_NAMING_COROOT},
		{{.status = 503}, false, KUBE_NAMING_COROOT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct receiver_wishes w;

		assert_int_equal(receiver_probe_read(&cases[i].res, &w), cases[i].is_answer);
		assert_int_equal(w.naming, cases[i].naming);
		assert_int_equal(w.extra_labels, cases[i].naming == KUBE_NAMING_OWN);
	}
}

/* ---- memory ---- */

static int construct(void *arg)
{
	const struct named_uploads_config cfg = {0};
	const struct receiver_probe_config probe = {.endpoint = "http://x/"};
	CLEANUP(named_uploads_freep) struct named_uploads *n = NULL;
	CLEANUP(receiver_probe_freep) struct receiver_probe *p = NULL;
	int r = named_uploads_new(&n, arg, &cfg);

	return r == 0 ? receiver_probe_new(&p, arg, NULL, &probe) : r;
}

TEST(construction_survives_lack_of_memory)
{
	CLEANUP(loop_freep) struct loop *l = NULL;

	assert_int_equal(loop_new(&l), 0);
	check_oom(construct, l);
}
