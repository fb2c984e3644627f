/* replica_set against an API server that knows Leases only: our own HTTP server on loopback. */
#include "cluster-agent/replica/replica_set.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#include "common/http/http_server.h"
#include "common/kubernetes/lease_json.h"
#include "test/lib/unit.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
#define N_LEASES 3

struct stored {
	char name[64], holder[64], acquired[40];
	unsigned version;
	int64_t transitions;
};

struct fixture {
	struct loop *loop;
	struct http_server *server;
	struct kube_client *client;
	struct replica_set *set;
	struct metrics *metrics;
	struct loop_source *deadline, *poll;
	bool (*until)(struct fixture *f);
	bool timed_out, has_left;
	unsigned n_changed;

	/* the rest is the server's */
	pthread_mutex_t lock;
	struct stored leases[N_LEASES];
	unsigned version;
	unsigned n_forbidden; /* this many requests are answered with 403 first */
	unsigned n_conflicts; /* this many PUTs find that the Lease has changed */
	unsigned n_gets, n_lists, n_posts, n_puts, n_deletes;
	char list_selector[64], last_body[2048];
};

/* ---- the API server ---- */

static struct stored *find(struct fixture *f, const char *name)
{
	for (size_t i = 0; i < N_LEASES; i++)
		if (!strcmp(f->leases[i].name, name))
			return &f->leases[i];
	return NULL;
}

static void put_lease(struct buf *b, const struct stored *l)
{
	assert_int_equal(buf_addf(b,
				  "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"%s\","
				  "\"resourceVersion\":\"%u\",\"uid\":\"u\"},\"spec\":{"
				  "\"holderIdentity\":\"%s\",\"acquireTime\":\"%s\","
				  "\"leaseTransitions\":%d}}",
				  l->name, l->version, l->holder, l->acquired, (int)l->transitions),
			 0);
}

static void respond(struct http_exchange *x, unsigned status, struct buf *b)
{
	size_t len;
	char *text = buf_take(b, &len);

	http_respond(x, status, "application/json", text, len);
}

static void respond_status(struct http_exchange *x, unsigned status)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 1000);
	assert_int_equal(buf_addf(&b,
				  "{\"kind\":\"Status\",\"code\":%u,\"message\":"
				  "\"leases is forbidden: or so\"}",
				  status),
			 0);
	respond(x, status, &b);
}

static void respond_lease(struct http_exchange *x, unsigned status, const struct stored *l)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 10000);
	put_lease(&b, l);
	respond(x, status, &b);
}

static void take_in(struct fixture *f, struct stored *to, struct http_exchange *x)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};
	size_t len;
	const char *body = http_exchange_body(x, &len);

	snprintf(f->last_body, sizeof(f->last_body), "%.*s", (int)len, body);
	/* a new Lease has no version, and so is none to lease_doc_parse() */
	if (lease_doc_parse(&d, body, len) == 0) {
		snprintf(to->holder, sizeof(to->holder), "%s", d.leases[0].holder);
		snprintf(to->acquired, sizeof(to->acquired), "%s", d.leases[0].acquired);
		to->transitions = d.leases[0].transitions;
	} else {
		const char *holder = strstr(f->last_body, "\"holderIdentity\":\"");

		assert_non_null(holder);
		sscanf(holder, "\"holderIdentity\":\"%63[^\"]", to->holder);
	}
	to->version = ++f->version;
}

static void list(struct fixture *f, struct http_exchange *x)
{
	CLEANUP(buf_fini) struct buf b;
	const char *comma = "";

	f->n_lists++;
	snprintf(f->list_selector, sizeof(f->list_selector), "%s",
		 http_exchange_param(x, "labelSelector"));
	buf_init(&b, 10000);
	assert_int_equal(buf_addf(&b, "{\"kind\":\"LeaseList\",\"metadata\":{},\"items\":["), 0);
	for (size_t i = 0; i < N_LEASES; i++) {
		if (!f->leases[i].name[0])
			continue;
		assert_int_equal(buf_addf(&b, "%s", comma), 0);
		put_lease(&b, &f->leases[i]);
		comma = ",";
	}
	assert_int_equal(buf_addf(&b, "]}"), 0);
	respond(x, 200, &b);
}

static void create(struct fixture *f, struct http_exchange *x)
{
	struct stored *l = find(f, "");

	f->n_posts++;
	snprintf(l->name, sizeof(l->name), "group-me");
	take_in(f, l, x);
	respond_lease(x, 201, l);
}

/* Like the API server: the version in the body must be the stored one. */
static void change(struct fixture *f, struct http_exchange *x, struct stored *l, bool deletes)
{
	size_t len;
	const char *body = http_exchange_body(x, &len);
	char version[64];

	snprintf(version, sizeof(version), "\"resourceVersion\":\"%u\"", l->version);
	if ((!deletes && f->n_conflicts > 0) || !memmem(body, len, version, strlen(version))) {
		f->n_conflicts -= f->n_conflicts > 0;
		l->version = ++f->version;
		respond_status(x, 409);
	} else if (deletes) {
		respond_lease(x, 200, l);
		*l = (struct stored){0};
	} else {
		take_in(f, l, x);
		respond_lease(x, 200, l);
	}
}

static bool refuses(struct fixture *f, struct http_exchange *x)
{
	if (f->n_forbidden == 0)
		return false;
	f->n_forbidden--;
	respond_status(x, 403);
	return true;
}

static void on_leases(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	size_t len;

	pthread_mutex_lock(&f->lock);
	if (!refuses(f, x)) {
		if (http_exchange_body(x, &len) && len > 0)
			create(f, x);
		else
			list(f, x);
	}
	pthread_mutex_unlock(&f->lock);
}

static void on_lease(struct fixture *f, struct http_exchange *x, unsigned *counter)
{
	struct stored *l = find(f, http_exchange_path(x) + strlen(LEASES "/"));

	pthread_mutex_lock(&f->lock);
	if (!refuses(f, x)) {
		++*counter;
		if (!l)
			respond_status(x, 404);
		else if (counter == &f->n_gets)
			respond_lease(x, 200, l);
		else
			change(f, x, l, counter == &f->n_deletes);
	}
	pthread_mutex_unlock(&f->lock);
}

static void on_get(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	on_lease(f, x, &f->n_gets);
}

static void on_put(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	on_lease(f, x, &f->n_puts);
}

static void on_delete(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	on_lease(f, x, &f->n_deletes);
}

static void store_lease(struct fixture *f, const char *name, const char *holder)
{
	struct stored *l = find(f, name);

	pthread_mutex_lock(&f->lock);
	l = l ? l : find(f, "");
	if (!l)
		abort(); /* more leases than the fixture has room for */
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->holder, sizeof(l->holder), "%s", holder);
	l->version = ++f->version;
	pthread_mutex_unlock(&f->lock);
}

/* ---- the test's side ---- */

static void on_deadline(void *ctx)
{
	struct fixture *f = ctx;

	f->timed_out = true;
	loop_stop(f->loop);
}

static void on_poll(void *ctx)
{
	struct fixture *f = ctx;
	bool done;

	pthread_mutex_lock(&f->lock);
	done = f->until(f);
	pthread_mutex_unlock(&f->lock);
	if (done)
		loop_stop(f->loop);
	loop_set_timer(f->poll, 10 * NS_PER_MS);
}

static void run_until(struct fixture *f, bool (*until)(struct fixture *f))
{
	f->until = until;
	loop_set_timer(f->poll, 0);
	loop_set_timer(f->deadline, 300 * NS_PER_S);
	assert_int_equal(loop_run(f->loop), 0);
	assert_false(f->timed_out);
}

static void on_changed(void *ctx)
{
	struct fixture *f = ctx;

	f->n_changed++;
}

static void on_left(void *ctx)
{
	struct fixture *f = ctx;

	f->has_left = true;
}

static void connect_set(struct fixture *f, unsigned port)
{
	struct kube_config kube = {0};
	struct err err = {""};
	const struct replica_set_config cfg = {
		.namespace = "ns",
		.group = "group",
		.name = "me",
		.renew_ns = 50 * NS_PER_MS,
		.ctx = f,
		.changed = on_changed,
	};
	struct replica_set_config with = cfg;

	assert_int_equal(pthread_mutex_init(&f->lock, NULL), 0);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_true(asprintf(&kube.server, "http://127.0.0.1:%u", port) > 0);
	kube.namespace = strdup("ns");
	assert_int_equal(kube_client_new(&f->client, f->loop, &kube, &err), 0);
	kube_config_fini(&kube);
	with.client = f->client;
	with.loop = f->loop;
	assert_int_equal(replica_set_new(&f->set, &with), 0);
	assert_int_equal(replica_set_register(f->set, f->metrics), 0);
	assert_int_equal(loop_add_timer(f->loop, on_deadline, f, &f->deadline), 0);
	assert_int_equal(loop_add_timer(f->loop, on_poll, f, &f->poll), 0);
}

static void set_up(struct fixture *f)
{
	const struct http_route routes[] = {
		{"GET", LEASES, 0, on_leases, f},
		{"POST", LEASES, 1 << 16, on_leases, f},
		{"GET", LEASES "/*", 0, on_get, f},
		{"PUT", LEASES "/*", 1 << 16, on_put, f},
		{"DELETE", LEASES "/*", 1 << 16, on_delete, f},
		{},
	};
	const struct http_server_config server = {
		.listen = "127.0.0.1:0",
		.max_connections = 16,
		.timeout_s = 60,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};
	struct err err = {""};

	assert_int_equal(http_server_new(&f->server, &server, &err), 0);
	connect_set(f, http_server_port(f->server));
}

static void tear_down(struct fixture *f)
{
	metrics_free(f->metrics);
	replica_set_free(f->set);
	kube_client_free(f->client);
	http_server_free(f->server);
	loop_remove(f->deadline);
	loop_remove(f->poll);
	loop_free(f->loop);
	pthread_mutex_destroy(&f->lock);
}

static void assert_metric(struct fixture *f, const char *line)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(metrics_write(f->metrics, &b), 0);
	if (!strstr(b.data, line))
		fail_msg("no \"%s\" in:\n%s", line, b.data);
}

#define METRIC "\ncoroot_cluster_agent_replica_"

static bool is_member(struct fixture *f)
{
	return replica_set_count(f->set) == 1 && f->n_lists > 0;
}

static bool is_renewed(struct fixture *f)
{
	return f->n_puts > 0 && is_member(f);
}

static bool sees_another(struct fixture *f)
{
	return replica_set_count(f->set) == 2;
}

static bool has_left(struct fixture *f)
{
	return f->has_left;
}

TEST(makes_a_lease_and_keeps_it)
{
	struct fixture f = {0};

	set_up(&f);
	run_until(&f, is_member);
	/* the server's thread goes on answering */
	pthread_mutex_lock(&f.lock);
	assert_int_equal(f.n_posts, 1);
	assert_string_equal(f.list_selector, "coroot.com/replica-group=group");
	assert_non_null(strstr(f.last_body, "\"labels\":{\"coroot.com/replica-group\":\"group\""));
	assert_non_null(strstr(f.last_body, "\"namespace\":\"ns\""));
	pthread_mutex_unlock(&f.lock);
	/* it owns nothing before the others had time to know it */
	assert_false(replica_set_owns(f.set, "a key"));
	assert_metric(&f, METRIC "members 1\n");
	assert_metric(&f, METRIC "paused 1\n");

	run_until(&f, is_renewed);
	assert_int_equal(f.n_posts, 1);
	assert_int_equal(f.n_gets, 1);
	tear_down(&f);
}

TEST(sees_the_others)
{
	struct fixture f = {0};

	set_up(&f);
	store_lease(&f, "group-other", "other_1");
	run_until(&f, sees_another);
	assert_true(f.n_changed > 0);
	assert_metric(&f, METRIC "members 2\n");
	tear_down(&f);
}

TEST(takes_the_lease_of_the_process_before)
{
	struct fixture f = {0};

	set_up(&f);
	store_lease(&f, "group-me", "me_before");
	run_until(&f, is_renewed);
	assert_int_equal(f.n_posts, 0);
	assert_int_equal(find(&f, "group-me")->transitions, 1);
	assert_int_equal(strncmp(find(&f, "group-me")->holder, "me_", 3), 0);
	assert_string_not_equal(find(&f, "group-me")->holder, "me_before");
	tear_down(&f);
}

TEST(reads_again_after_a_conflict)
{
	struct fixture f = {.n_conflicts = 1};

	set_up(&f);
	store_lease(&f, "group-me", "me_before");
	run_until(&f, is_renewed);
	assert_int_equal(f.n_puts, 2);
	assert_int_equal(f.n_gets, 2);
	assert_metric(&f, METRIC "lease_errors_total{reason=\"conflict\"} 1\n");
	tear_down(&f);
}

static bool sees_its_rival(struct fixture *f)
{
	/* the list, and what follows the conflict */
	return replica_set_count(f->set) == 0 && f->n_gets > 2;
}

TEST(leaves_a_rival_alone)
{
	struct fixture f = {0};

	set_up(&f);
	run_until(&f, is_renewed);
	store_lease(&f, "group-me", "me_too");
	run_until(&f, sees_its_rival);
	assert_string_equal(find(&f, "group-me")->holder, "me_too");

	replica_set_leave(f.set, on_left, &f);
	run_until(&f, has_left);
	assert_int_equal(f.n_deletes, 0);
	tear_down(&f);
}

TEST(resumes_when_it_gets_permission)
{
	struct fixture f = {.n_forbidden = 2};

	set_up(&f);
	run_until(&f, is_member);
	assert_metric(&f, METRIC "lease_errors_total{reason=\"forbidden\"} 2\n");
	tear_down(&f);
}

TEST(deletes_its_lease_when_it_leaves)
{
	struct fixture f = {0};

	set_up(&f);
	run_until(&f, is_member);
	replica_set_leave(f.set, on_left, &f);
	assert_false(f.has_left);
	run_until(&f, has_left);
	assert_null(find(&f, "group-me"));
	assert_int_equal(f.n_deletes, 1);
	tear_down(&f);
}

TEST(can_leave_before_it_has_joined)
{
	struct fixture f = {0};

	set_up(&f);
	replica_set_leave(f.set, on_left, &f);
	run_until(&f, has_left);
	assert_int_equal(f.n_gets + f.n_posts + f.n_deletes, 0);
	tear_down(&f);
}

static bool at_once(struct fixture *f)
{
	(void)f;
	return true;
}

TEST(a_server_that_hangs_does_not_keep_it_from_leaving)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	struct fixture f = {0};

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	connect_set(&f, ntohs(a.sin_port));
	run_until(&f, at_once);
	replica_set_leave(f.set, on_left, &f);
	run_until(&f, has_left);
	tear_down(&f);
}

TEST(names_that_make_no_lease_are_refused)
{
	static const struct {
		const char *namespace, *group, *name;
		int r;
	} cases[] = {
		{"ns", "group", "Host_1.example", 0}, {"ns", "group", "", -EINVAL},
		{"ns", "group", "___", -EINVAL},      {"ns/../x", "group", "me", -EINVAL},
		{"", "group", "me", -EINVAL},         {"ns", "-group", "me", -EINVAL},
		{"ns", "group%2", "me", -EINVAL},
	};
	char long_name[300];

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i <= ARRAY_SIZE(cases); i++) {
		CLEANUP(loop_freep) struct loop *loop = NULL;
		CLEANUP(replica_set_freep) struct replica_set *set = NULL;
		bool last = i == ARRAY_SIZE(cases);
		struct replica_set_config cfg = {
			.namespace = last ? "ns" : cases[i].namespace,
			.group = last ? "group" : cases[i].group,
			.name = last ? long_name : cases[i].name,
		};

		assert_int_equal(loop_new(&loop), 0);
		cfg.loop = loop;
		assert_int_equal(replica_set_new(&set, &cfg), last ? -EINVAL : cases[i].r);
	}
}

static int make_one(void *arg)
{
	CLEANUP(loop_freep) struct loop *loop = NULL;
	CLEANUP(replica_set_freep) struct replica_set *set = NULL;
	struct replica_set_config cfg = {.namespace = "ns", .group = "group", .name = "me"};
	int r = loop_new(&loop);

	(void)arg;
	cfg.loop = loop;
	return r < 0 ? r : replica_set_new(&set, &cfg);
}

TEST(survives_every_failed_allocation)
{
	check_oom(make_one, NULL);
}
