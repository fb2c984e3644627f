/*
 * The directory on a real loop. The source is one of ours, because what matters are its faults:
 * it answers late, fails, or never ends a request.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/system/clock.h"
#include "node-agent/container/container_directory.h"
#include "test/lib/unit.h"

#define LIMIT_NS (300 * NS_PER_S)
#define MAX_KNOWN 2000u

/* A container runtime that knows the first n_known containers. */
struct source {
	struct directory_source *slot;
	const struct container_sink *sink;
	struct loop_source *timer;
	container_source_done_fn done;
	void *done_ctx;
	unsigned n_asked; /* requests */
	unsigned n_ids;   /* of all requests */
	unsigned n_known;
	int error;        /* answered instead */
	int refusal;      /* returned instead */
	bool is_hanging;  /* never ends a request */
	bool knows_names; /* "app", in a pod */
	bool knows_owner; /* "the-owner" */
	bool is_under_way;
	bool is_freed;
	char *ids[MAX_KNOWN]; /* of the request under way */
	size_t n_request;
};

struct fixture {
	struct loop *loop;
	struct loop_source *deadline;
	struct loop_source *poll;
	struct container_directory *d;
	struct metrics *metrics;
	struct container_listener listener;
	unsigned n_told;
	char told[800]; /* the last service that the listener got */
	bool (*until)(struct fixture *f);
	bool is_final;      /* of the last look_up() */
	atomic_uint n_done; /* threads */
};

static void id_of(unsigned i, char ret[static CGROUP_CONTAINER_ID_LEN + 1])
{
	snprintf(ret, CGROUP_CONTAINER_ID_LEN + 1, "%064x", i);
}

static struct workload *raw_of(unsigned i, enum cgroup_kind kind)
{
	struct workload_facts f = {.exe = ""};
	struct workload *w = NULL;

	f.cgroup.kind = kind;
	id_of(i, f.cgroup.id);
	assert_int_equal(workload_new(&w, &f), 0);
	return w;
}

/* ---- the source ---- */

static void tell(struct source *s, unsigned i)
{
	char id[CGROUP_CONTAINER_ID_LEN + 1], pod[32];
	struct container_facts f = {.id = id, .namespace = "shop", .pod = pod};

	id_of(i, id);
	/* the owner is somebody else's to know */
	snprintf(pod, sizeof(pod), "pod%ua", i);
	if (s->knows_names)
		f.name = "app";
	if (s->knows_owner)
		f.owner = "the-owner";
	s->sink->found(s->sink->ctx, &f);
}

static void on_answer(void *ctx)
{
	struct source *s = ctx;

	for (size_t i = 0; i < s->n_request; i++) {
		unsigned long n = strtoul(s->ids[i], NULL, 16);

		if (s->error == 0 && n < s->n_known)
			tell(s, (unsigned)n);
		free(s->ids[i]);
	}
	s->n_request = 0;
	s->is_under_way = false;
	s->done(s->done_ctx, s->error);
}

static int ask(void *source, const struct container_question *q, container_source_done_fn done,
	       void *ctx)
{
	struct source *s = source;

	assert_false(s->is_under_way);
	assert_true(q->n > 0 && q->n <= MAX_KNOWN);
	s->n_asked++;
	s->n_ids += (unsigned)q->n;
	if (s->refusal)
		return s->refusal;
	s->is_under_way = true;
	s->done = done;
	s->done_ctx = ctx;
	for (size_t i = 0; i < q->n; i++)
		s->ids[s->n_request++] = strdup(q->ids[i]);
	if (!s->is_hanging)
		loop_set_timer(s->timer, NS_PER_MS);
	return 0;
}

static void free_source(void *source)
{
	struct source *s = source;

	for (size_t i = 0; i < s->n_request; i++)
		free(s->ids[i]);
	loop_remove(s->timer);
	s->is_freed = true;
}

static const struct container_source_ops names_ops = {"names", ask, free_source};
static const struct container_source_ops owners_ops = {"owners", ask, free_source};
static const struct container_source_ops user_ops = {"user", ask, free_source};

static void add_source(struct fixture *f, struct source *s, const struct container_source_ops *ops)
{
	const struct container_source_config cfg = {
		.ops = ops,
		.kinds = CONTAINER_KIND(CGROUP_KUBEPODS) | CONTAINER_KIND(CGROUP_CONTAINERD),
		.is_users = ops == &user_ops,
	};

	s->knows_names = ops != &owners_ops;
	s->knows_owner = ops != &names_ops;
	assert_int_equal(loop_add_timer(f->loop, on_answer, s, &s->timer), 0);
	assert_int_equal(container_directory_add_source(f->d, &cfg, &s->slot), 0);
	s->sink = directory_source_sink(s->slot);
	directory_source_attach(s->slot, s);
}

/* ---- the loop ---- */

static void on_deadline(void *ctx)
{
	(void)ctx;
	fail_msg("what the test waits for has not come");
}

static void on_poll(void *ctx)
{
	struct fixture *f = ctx;

	if (f->until(f))
		loop_stop(f->loop);
	else
		loop_set_timer(f->poll, NS_PER_MS);
}

static void run_until(struct fixture *f, bool (*until)(struct fixture *f))
{
	f->until = until;
	loop_set_timer(f->deadline, LIMIT_NS);
	loop_set_timer(f->poll, 0);
	assert_int_equal(loop_run(f->loop), 0);
}

static void on_name(void *ctx, struct workload *w)
{
	struct fixture *f = ctx;

	f->n_told++;
	snprintf(f->told, sizeof(f->told), "%s", w->service);
}

static void begin_with(struct fixture *f, const struct container_directory_config *cfg)
{
	*f = (struct fixture){.listener = {.on_name = on_name}};
	f->listener.ctx = f;
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, on_deadline, f, &f->deadline), 0);
	assert_int_equal(loop_add_timer(f->loop, on_poll, f, &f->poll), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(container_directory_new(&f->d, f->loop, cfg), 0);
	assert_int_equal(container_directory_register_metrics(f->d, f->metrics), 0);
	container_directory_set_naming(f->d, KUBE_NAMING_OWN);
	container_directory_listen(f->d, &f->listener);
}

static void begin(struct fixture *f)
{
	begin_with(f, &(struct container_directory_config){.batch_ns = 5 * NS_PER_MS});
}

static void end(struct fixture *f)
{
	container_directory_free(f->d);
	metrics_free(f->metrics);
	loop_remove(f->deadline);
	loop_remove(f->poll);
	loop_free(f->loop);
}

static bool shows(struct fixture *f, const char *line)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, (size_t)1 << 20);
	assert_int_equal(metrics_write(f->metrics, &out), 0);
	return strstr(out.data, line) != NULL;
}

/* Looks up container i; *ret is its service. */
static void look_up(struct fixture *f, unsigned i, enum cgroup_kind kind, char ret[static 800])
{
	CLEANUP(workload_unrefp) struct workload *raw = raw_of(i, kind), *named = NULL;
	int r = container_directory_name(f->d, raw, &named);

	assert_true(r == 0 || r == -EAGAIN);
	f->is_final = r == 0;
	snprintf(ret, 800, "%s", named->service);
}

#define RAW "/kubepods/000000000000"

static void check_final(struct fixture *f, unsigned i, const char *want)
{
	char service[800];

	look_up(f, i, CGROUP_KUBEPODS, service);
	assert_string_equal(service, want);
	assert_true(f->is_final);
}

static void check_pending(struct fixture *f, unsigned i, const char *want)
{
	char service[800];

	look_up(f, i, CGROUP_KUBEPODS, service);
	assert_string_equal(service, want);
	assert_false(f->is_final);
}

/* ---- states to wait for ---- */

static bool is_one_settled(struct fixture *f)
{
	char service[800];

	look_up(f, 1, CGROUP_KUBEPODS, service);
	return f->is_final;
}

static bool is_one_in_a_pod(struct fixture *f)
{
	char service[800];

	look_up(f, 1, CGROUP_KUBEPODS, service);
	return strncmp(service, "/k8s/", 5) == 0;
}

static bool is_two_settled(struct fixture *f)
{
	char service[800];

	look_up(f, 2, CGROUP_KUBEPODS, service);
	return f->is_final;
}

static bool is_two_in_a_pod(struct fixture *f)
{
	char service[800];

	look_up(f, 2, CGROUP_KUBEPODS, service);
	return strncmp(service, "/k8s/", 5) == 0;
}

static bool is_owner_known(struct fixture *f)
{
	return strcmp(f->told, "/k8s/shop/the-owner") == 0;
}

static bool is_all_told(struct fixture *f)
{
	return f->n_told == 1000;
}

static bool is_one_evicted(struct fixture *f)
{
	return shows(f, "coroot_node_agent_containers 0\n");
}

/* ---- names ---- */

TEST(a_new_container_is_pending_and_then_named)
{
	struct fixture f;
	struct source names = {.n_known = 10};

	begin(&f);
	add_source(&f, &names, &names_ops);
	check_pending(&f, 1, RAW);
	check_pending(&f, 1, RAW);
	run_until(&f, is_one_settled);
	check_final(&f, 1, "/k8s/shop/pod1a");
	assert_int_equal(names.n_asked, 1);
	assert_int_equal(f.n_told, 1);
	assert_string_equal(f.told, "/k8s/shop/pod1a");
	assert_true(shows(&f, "coroot_node_agent_containers 1\n"));
	assert_true(shows(&f, "coroot_node_agent_containers_unnamed 0\n"));
	assert_true(shows(&f, "requests_total{source=\"names\"} 1\n"));
	end(&f);
	assert_true(names.is_freed);
}

TEST(many_new_containers_are_asked_for_at_once)
{
	struct fixture f;
	struct source names = {.n_known = 1000};
	uint64_t cpu_ns = clock_thread_cpu_ns();

	begin(&f);
	add_source(&f, &names, &names_ops);
	for (unsigned i = 0; i < 1000; i++)
		check_pending(&f, i, RAW);
	assert_true(shows(&f, "coroot_node_agent_container_names_pending 1000\n"));
	run_until(&f, is_all_told);
	assert_int_equal(names.n_asked, 1);
	assert_int_equal(names.n_ids, 1000);
	check_final(&f, 999, "/k8s/shop/pod999a");
	end(&f);
	print_message("1000 containers: %llu us of CPU time\n",
		      (unsigned long long)(clock_thread_cpu_ns() - cpu_ns) / 1000);
}

TEST(what_no_source_serves_is_named_at_once)
{
	struct fixture f;
	struct source names = {.n_known = 10};
	char service[800];

	begin(&f);
	check_final(&f, 1, RAW);
	add_source(&f, &names, &names_ops);
	look_up(&f, 2, CGROUP_DOCKER, service);
	assert_true(f.is_final);
	assert_string_equal(service, "/docker/000000000000");
	look_up(&f, 3, CGROUP_NONE, service);
	assert_true(f.is_final);
	assert_string_equal(service, "/process/unknown");
	/* the source has come later, and is asked about what has no name yet */
	run_until(&f, is_one_in_a_pod);
	assert_int_equal(names.n_ids, 1);
	end(&f);
}

TEST(without_a_directory_all_names_are_final)
{
	CLEANUP(workload_unrefp) struct workload *raw = raw_of(1, CGROUP_KUBEPODS), *named = NULL;

	assert_int_equal(container_directory_name(NULL, raw, &named), 0);
	assert_ptr_equal(named, raw);
}

TEST(facts_that_nobody_asked_for_name_at_once)
{
	struct fixture f;
	struct source names = {.n_known = 10}, owners = {.n_known = 10};

	begin(&f);
	add_source(&f, &names, &names_ops);
	add_source(&f, &owners, &owners_ops);
	tell(&names, 1);
	tell(&owners, 1);
	check_final(&f, 1, "/k8s/shop/the-owner");
	assert_int_equal(f.n_told, 0);
	assert_int_equal(names.n_asked, 0);
	end(&f);
}

TEST(later_facts_complete_earlier_ones)
{
	struct fixture f;
	struct source names = {.n_known = 10}, owners = {.n_known = 0};

	begin(&f);
	add_source(&f, &owners, &owners_ops);
	add_source(&f, &names, &names_ops);
	run_until(&f, is_one_settled);
	check_final(&f, 1, "/k8s/shop/pod1a");
	/* the other source learns of it later, by itself */
	tell(&owners, 1);
	assert_string_equal(f.told, "/k8s/shop/the-owner");
	check_final(&f, 1, "/k8s/shop/the-owner");
	assert_int_equal(f.n_told, 2);
	/* what is known already is no news */
	tell(&owners, 1);
	tell(&names, 1);
	assert_int_equal(f.n_told, 2);
	end(&f);
}

TEST(another_naming_changes_all_names)
{
	struct fixture f;
	struct source names = {.n_known = 10};

	begin(&f);
	add_source(&f, &names, &names_ops);
	run_until(&f, is_one_settled);
	check_final(&f, 1, "/k8s/shop/pod1a");
	container_directory_set_naming(f.d, KUBE_NAMING_COROOT);
	check_final(&f, 1, "/k8s/shop/pod1a/app");
	end(&f);
}

TEST(users_do_not_rename_containers_of_others)
{
	struct fixture f;
	struct source names = {.n_known = 10}, user = {.n_known = 10};

	begin(&f);
	add_source(&f, &names, &names_ops);
	add_source(&f, &user, &user_ops);
	tell(&user, 1);
	tell(&user, 2);
	tell(&names, 1);
	run_until(&f, is_one_settled);
	check_final(&f, 1, "/k8s/shop/pod1a");
	check_pending(&f, 2, "/k8s/shop/the-owner");
	names.n_known = 2;
	run_until(&f, is_two_settled);
	check_final(&f, 2, "/k8s/shop/the-owner");
	end(&f);
}

/* ---- faults ---- */

TEST(an_unknown_container_keeps_its_id_and_is_asked_for_again)
{
	struct fixture f;
	struct source names = {.n_known = 0};

	begin(&f);
	add_source(&f, &names, &names_ops);
	check_pending(&f, 1, RAW);
	run_until(&f, is_one_settled);
	check_final(&f, 1, RAW);
	assert_true(names.n_asked >= 2);
	assert_true(shows(&f, "coroot_node_agent_containers_unnamed 1\n"));
	/* it appears */
	names.n_known = 10;
	run_until(&f, is_one_in_a_pod);
	assert_string_equal(f.told, "/k8s/shop/pod1a");
	end(&f);
}

TEST(a_source_that_fails_keeps_nobody_waiting)
{
	struct fixture f;
	struct source names = {.n_known = 10, .error = -ECONNREFUSED};
	unsigned n_asked;

	begin(&f);
	add_source(&f, &names, &names_ops);
	check_pending(&f, 1, RAW);
	run_until(&f, is_one_settled);
	check_final(&f, 1, RAW);
	n_asked = names.n_asked;
	assert_true(shows(&f, "failed_total{source=\"names\",reason=\"refused\"} 1\n"));
	/* new containers do not wait for it, and do not ask it either, until its pause is over */
	check_final(&f, 2, RAW);
	assert_int_equal(names.n_asked, n_asked);
	/* it works again: it is asked for all that it may have known */
	names.error = 0;
	run_until(&f, is_two_in_a_pod);
	check_final(&f, 1, "/k8s/shop/pod1a");
	end(&f);
}

TEST(a_source_without_a_socket_is_asked_when_it_has_one)
{
	struct fixture f;
	struct source names = {.n_known = 10}, absent = {.n_known = 10, .refusal = -ENOENT};

	begin(&f);
	add_source(&f, &absent, &owners_ops);
	add_source(&f, &names, &names_ops);
	run_until(&f, is_one_settled);
	check_final(&f, 1, "/k8s/shop/pod1a");
	absent.refusal = 0;
	run_until(&f, is_owner_known);
	end(&f);
}

TEST(a_source_that_hangs_delays_no_other)
{
	struct fixture f;
	struct source names = {.n_known = 10}, hanging = {.n_known = 10, .is_hanging = true};

	begin_with(&f, &(struct container_directory_config){.batch_ns = 5 * NS_PER_MS,
							    .hang_ns = 100 * NS_PER_MS});
	add_source(&f, &hanging, &owners_ops);
	add_source(&f, &names, &names_ops);
	/* its name is known before it is known who owns it */
	run_until(&f, is_one_in_a_pod);
	run_until(&f, is_one_settled);
	check_final(&f, 1, "/k8s/shop/pod1a");
	assert_int_equal(hanging.n_asked, 1);
	assert_true(shows(&f, "failed_total{source=\"owners\",reason=\"timeout\"} 1\n"));
	/* it ends its request after all, and may be asked again */
	hanging.is_hanging = false;
	on_answer(&hanging);
	run_until(&f, is_owner_known);
	end(&f);
}

TEST(containers_beyond_the_limit_keep_their_ids)
{
	struct fixture f;
	struct source names = {.n_known = 10};

	begin_with(&f, &(struct container_directory_config){
			       .batch_ns = 5 * NS_PER_MS, .idle_ns = 200 * NS_PER_MS, .max = 2});
	add_source(&f, &names, &names_ops);
	check_pending(&f, 1, RAW);
	check_pending(&f, 2, RAW);
	check_final(&f, 3, RAW);
	assert_true(shows(&f, "coroot_node_agent_containers_overflow_total 1\n"));
	/* and what nobody has looked up takes no more than half of it */
	tell(&names, 4);
	assert_true(shows(&f, "coroot_node_agent_containers_overflow_total 2\n"));
	/* those that nobody looks up any more make room */
	run_until(&f, is_one_evicted);
	assert_true(shows(&f, "coroot_node_agent_containers_evicted_total 2\n"));
	tell(&names, 4);
	tell(&names, 5);
	assert_true(shows(&f, "coroot_node_agent_containers 1\n"));
	assert_true(shows(&f, "coroot_node_agent_containers_overflow_total 3\n"));
	check_pending(&f, 3, RAW);
	end(&f);
}

static bool is_under_way(struct fixture *f)
{
	return shows(f, "requests_total{source=\"names\"} 1\n");
}

/* Another runtime appears, which cannot know the container. */
TEST(a_source_that_is_attached_meanwhile_settles_nothing)
{
	struct fixture f;
	struct source names = {.n_known = 0, .is_hanging = true}, other = {.n_known = 0};
	const struct container_source_config cfg = {
		.ops = &owners_ops,
		.kinds = CONTAINER_KIND(CGROUP_PODMAN),
	};

	begin(&f);
	add_source(&f, &names, &names_ops);
	check_pending(&f, 1, RAW);
	run_until(&f, is_under_way);
	assert_int_equal(loop_add_timer(f.loop, on_answer, &other, &other.timer), 0);
	assert_int_equal(container_directory_add_source(f.d, &cfg, &other.slot), 0);
	directory_source_attach(other.slot, &other);
	/* one turn of the loop, in which rounds begin */
	run_until(&f, is_under_way);
	run_until(&f, is_under_way);
	check_pending(&f, 1, RAW);
	/* it does not know it yet; when it is asked again, it does */
	names.is_hanging = false;
	on_answer(&names);
	check_pending(&f, 1, RAW);
	names.n_known = 10;
	run_until(&f, is_one_settled);
	check_final(&f, 1, "/k8s/shop/pod1a");
	end(&f);
}

/* ---- threads ---- */

#define N_THREADS 4u
#define PER_THREAD 200u

struct reader {
	pthread_t thread;
	struct container_directory *d;
	unsigned first;
	atomic_uint *n_done;
};

static void *read_names(void *arg)
{
	struct reader *r = arg;

	for (unsigned i = 0; i < PER_THREAD; i++) {
		CLEANUP(workload_unrefp)
		struct workload *raw = raw_of(r->first + i, CGROUP_KUBEPODS);
		struct workload *named = NULL;

		while (container_directory_name(r->d, raw, &named) == -EAGAIN) {
			workload_unref(named);
			usleep(1000);
		}
		assert_true(strncmp(named->service, "/k8s/", 5) == 0);
		workload_unref(named);
	}
	atomic_fetch_add(r->n_done, 1);
	return NULL;
}

static bool are_readers_done(struct fixture *f)
{
	container_directory_set_naming(f->d, f->n_told % 2 ? KUBE_NAMING_OWN : KUBE_NAMING_COROOT);
	(void)shows(f, "");
	return atomic_load(&f->n_done) == N_THREADS;
}

TEST(names_are_looked_up_by_many_threads)
{
	struct fixture f;
	struct source names = {.n_known = MAX_KNOWN};
	struct reader readers[N_THREADS];

	begin(&f);
	add_source(&f, &names, &names_ops);
	for (unsigned i = 0; i < N_THREADS; i++) {
		readers[i] = (struct reader){
			.d = f.d,
			.first = i * PER_THREAD / 2, /* half of them are another's as well */
			.n_done = &f.n_done,
		};
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_names, &readers[i]),
				 0);
	}
	run_until(&f, are_readers_done);
	for (unsigned i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
	end(&f);
}

/* ---- memory ---- */

static int make_directory(void *arg)
{
	struct loop *l = arg;
	CLEANUP(container_directory_freep) struct container_directory *d = NULL;
	const struct container_directory_config cfg = {.node = "node1"};
	const struct container_source_config source = {.ops = &names_ops};
	struct directory_source *slot;
	int r = container_directory_new(&d, l, &cfg);

	return r == 0 ? container_directory_add_source(d, &source, &slot) : r;
}

TEST(construction_survives_lack_of_memory)
{
	CLEANUP(loop_freep) struct loop *l = NULL;

	assert_int_equal(loop_new(&l), 0);
	check_oom(make_directory, l);
}

static struct container_directory *directory;
static struct workload *workload;

static int look_up_one(void *arg)
{
	CLEANUP(workload_unrefp) struct workload *named = NULL;

	(void)arg;
	(void)container_directory_name(directory, workload, &named);
	assert_ptr_equal(named, workload);
	return 0;
}

TEST(a_lookup_without_memory_gives_the_raw_name)
{
	struct fixture f;
	struct source names = {.n_known = 10};

	begin(&f);
	add_source(&f, &names, &names_ops);
	directory = f.d;
	workload = raw_of(1, CGROUP_KUBEPODS);
	assert_int_equal(call_without_memory(look_up_one, NULL), 0);
	assert_int_equal(call_without_memory(look_up_one, NULL), 0);
	workload_unref(workload);
	end(&f);
}
