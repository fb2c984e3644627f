#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"
#include "common/system/loop.h"
#include "node-agent/runtime/runtime_containers.h"
#include "node-agent/runtime/runtime_metrics.h"
#include "node-agent/workload/workload.h"
#include "test/lib/unit.h"

#define N_ROUNDS 2000u
#define BIT(i) (UINT32_C(1) << (i))
#define ALL (BIT(VALUES) - 1)

#define LABELS "container_id, app_id"

enum value {
	VALUE_ALLOC_BYTES,
	VALUE_ALLOC_OBJECTS,
	VALUE_CYCLES,
	VALUE_PAUSE_NS,
	VALUE_LIVE_BYTES,
	VALUE_HEAP_BYTES,
	VALUE_GOAL_BYTES,
	VALUE_THREADS,
	VALUES,
};

static const struct metric_def value_defs[VALUES] = {
	[VALUE_ALLOC_BYTES] = {"container_toy_alloc_bytes_total", LABELS, "Bytes"},
	[VALUE_ALLOC_OBJECTS] = {"container_toy_alloc_objects_total", LABELS, "Objects"},
	[VALUE_CYCLES] = {"container_toy_gc_cycles_total", LABELS, "Cycles"},
	[VALUE_PAUSE_NS] = {"container_toy_gc_pause_seconds_total", LABELS, "Pauses",
			    .scale = 1e-9},
	[VALUE_LIVE_BYTES] = {"container_toy_gc_live_heap_bytes", LABELS, "Live", METRIC_GAUGE},
	[VALUE_HEAP_BYTES] = {"container_toy_gc_heap_bytes", LABELS, "Heap", METRIC_GAUGE},
	[VALUE_GOAL_BYTES] = {"container_toy_gc_heap_goal_bytes", LABELS, "Goal", METRIC_GAUGE},
	[VALUE_THREADS] = {"container_toy_threads", LABELS, "Threads", METRIC_GAUGE},
};
METRIC_TABLE(value_table, value_defs);

enum series {
	SERIES_INFO,
	SERIES_GC_NS,
	SERIES,
};

static const struct metric_def series_defs[SERIES] = {
	[SERIES_INFO] = {"container_toy_info", LABELS ", toy", "Toys", METRIC_GAUGE},
	[SERIES_GC_NS] = {"container_toy_gc_seconds", LABELS ", toy, gc", "Collections",
			  METRIC_COUNTER_NAMED, .scale = 1e-9},
};
METRIC_TABLE(series_table, series_defs);

static const struct metric_def own_defs[RUNTIME_METRICS] = {
	RUNTIME_METRIC_DEFS("toy", "toy"),
};
METRIC_TABLE(own_table, own_defs);

static const struct container_labels labels_a = {"/k8s/shop/cart-1/cart", "/k8s/shop/cart", NULL};
static const struct container_labels labels_b = {"/docker/b", "", NULL};

struct fixture {
	struct metrics *ms;
	struct runtime_containers *cs;
	struct metric own[RUNTIME_METRICS];
	struct buf out;
	struct loop *loop; /* never run */
	struct container_directory *directory;
};

static int make_with(struct runtime_containers **ret, struct metrics *ms, struct metric *own,
		     struct container_directory *directory, const struct metric_table *values)
{
	const struct runtime_containers_config cfg = {
		.values = values,
		.series = &series_table,
		.n_containers = &own[RUNTIME_METRIC_CONTAINERS],
		.overflow = &own[RUNTIME_METRIC_CONTAINERS_OVERFLOW],
		.backwards = &own[RUNTIME_METRIC_COUNTERS_BACKWARDS],
		.directory = directory,
	};
	int r = metrics_register(ms, &own_table, own, NULL);

	return r == 0 ? runtime_containers_new(ret, ms, &cfg) : r;
}

static int make(struct runtime_containers **ret, struct metrics *ms, struct metric *own,
		struct container_directory *directory)
{
	return make_with(ret, ms, own, directory, &value_table);
}

static void add(struct container_share *s, uint64_t n)
{
	const struct container_values v = {.known = 1u << VALUE_ALLOC_BYTES,
					   .v = {[VALUE_ALLOC_BYTES] = n}};

	container_share_add(s, &v);
}

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	buf_init(&f.out, (size_t)16 << 20);
	*state = &f;
	return metrics_new(&f.ms) < 0 || loop_new(&f.loop) < 0 ||
	       container_directory_new(&f.directory, f.loop,
				       &(struct container_directory_config){0}) < 0 ||
	       make(&f.cs, f.ms, f.own, f.directory) < 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	runtime_containers_free(f->cs);
	metrics_free(f->ms);
	container_directory_free(f->directory);
	loop_free(f->loop);
	buf_fini(&f->out);
	return 0;
}

/* Whether a scrape would get this line. */
static bool shows(struct fixture *f, const char *line)
{
	buf_fini(&f->out);
	assert_int_equal(metrics_write(f->ms, &f->out), 0);
	return strstr(f->out.data, line) != NULL;
}

static struct container_share *join(struct fixture *f, const struct container_labels *labels,
				    bool from_zero)
{
	struct container_share *s = NULL;

	assert_int_equal(container_share_new(&s, f->cs, labels, from_zero), 0);
	return s;
}

/* Reports n for all counters and gauges. */
static void report(struct container_share *s, uint64_t n)
{
	struct container_values v = {.known = ALL};

	for (size_t i = 0; i < VALUES; i++)
		v.v[i] = n;
	container_share_report(s, &v);
}

#define LABELS_A "{container_id=\"/k8s/shop/cart-1/cart\",app_id=\"/k8s/shop/cart\"} "
#define LABELS_B "{container_id=\"/docker/b\",app_id=\"\"} "

TEST_FIXTURE(a_process_that_began_later_counts_from_zero, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_a, true);

	report(s, 3000000000);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_toy_alloc_objects_total" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_toy_gc_cycles_total" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_toy_gc_pause_seconds_total" LABELS_A "3\n"));
	assert_true(shows(f, "\ncontainer_toy_gc_live_heap_bytes" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_toy_gc_heap_bytes" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_toy_gc_heap_goal_bytes" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_A "3000000000\n"));
	container_share_free(s);
}

TEST_FIXTURE(a_process_that_ran_before_counts_from_its_first_reading, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, false);

	report(s, 1000);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_B "0\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_B "1000\n"));
	report(s, 1003);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_B "3\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_B "1003\n"));
	container_share_free(s);
}

TEST_FIXTURE(disowned_shares_contribute_nothing_any_more, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *old = join(f, &labels_b, true), *s;

	report(old, 1000);
	runtime_containers_disown(f->cs);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_B "1000\n"));
	assert_false(shows(f, "\ncontainer_toy_threads" LABELS_B));
	s = join(f, &labels_b, false);
	report(s, 1007);
	/* the abandoned owner of the old share returns late */
	report(old, 1005);
	add(old, 5);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_B "1000\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_B "1007\n"));
	container_share_free(old);
	report(s, 1009);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_B "1002\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_B "1009\n"));
	/* only the new share keeps the container, and it is dropped after that is freed */
	runtime_containers_expire(f->cs, 1);
	runtime_containers_expire(f->cs, 1 + RUNTIME_CONTAINERS_IDLE_NS);
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_B "1009\n"));
	container_share_free(s);
}

TEST_FIXTURE(what_is_not_known_is_not_shown, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, true);
	struct container_values v = {.known = BIT(VALUE_CYCLES) | BIT(VALUE_GOAL_BYTES),
				     .v = {[VALUE_CYCLES] = 4, [VALUE_GOAL_BYTES] = 500}};

	container_share_report(s, &v);
	assert_true(shows(f, "container_toy_gc_cycles_total" LABELS_B "4\n"));
	assert_true(shows(f, "container_toy_gc_heap_goal_bytes" LABELS_B "500\n"));
	assert_false(shows(f, "container_toy_alloc_bytes_total{"));
	assert_false(shows(f, "container_toy_threads{"));
	/* it could not be read */
	v.known = 0;
	v.unread = ALL;
	container_share_report(s, &v);
	assert_true(shows(f, "container_toy_gc_heap_goal_bytes" LABELS_B "500\n"));
	v.unread = 0;
	/* collections are switched off by now: there is no goal */
	v.known = BIT(VALUE_CYCLES);
	container_share_report(s, &v);
	assert_true(shows(f, "container_toy_gc_cycles_total" LABELS_B "4\n"));
	assert_false(shows(f, "container_toy_gc_heap_goal_bytes{"));
	container_share_free(s);
}

TEST_FIXTURE(values_of_all_processes_of_a_container_are_added_up, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, true);
	struct container_share *t = join(f, &labels_b, true);
	struct container_share *other = join(f, &labels_a, true);

	report(s, 100);
	report(t, 20);
	report(other, 7);
	report(s, 103);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "123\n"));
	assert_true(shows(f, "container_toy_gc_live_heap_bytes" LABELS_B "123\n"));
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_A "7\n"));
	/* the gauges of a process end with it, its counters stay */
	container_share_free(s);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "123\n"));
	assert_true(shows(f, "container_toy_gc_live_heap_bytes" LABELS_B "20\n"));
	container_share_free(t);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "123\n"));
	assert_false(shows(f, "container_toy_gc_live_heap_bytes" LABELS_B));
	container_share_free(other);
}

TEST_FIXTURE(a_counter_that_falls_adds_nothing_until_it_exceeds_its_previous_value, set_up,
	     tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, true);

	report(s, 100);
	report(s, 90);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "100\n"));
	assert_true(shows(f, "container_toy_threads" LABELS_B "90\n"));
	assert_true(shows(f, "toy_counters_backwards_total 4\n"));
	report(s, 105);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "105\n"));
	container_share_free(s);
}

TEST_FIXTURE(a_process_that_executes_something_begins_anew, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, false);

	report(s, 100);
	report(s, 150);
	container_share_restart(s);
	report(s, 30);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "80\n"));
	assert_true(shows(f, "container_toy_threads" LABELS_B "30\n"));
	assert_true(shows(f, "toy_counters_backwards_total 0\n"));
	container_share_free(s);
}

TEST_FIXTURE(what_the_memory_profiler_counted_is_added, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, false);

	add(s, 0);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "0\n"));
	add(s, 700);
	add(s, 11);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "711\n"));
	assert_false(shows(f, "container_toy_alloc_objects_total{"));
	container_share_free(s);
}

TEST_FIXTURE(a_container_is_dropped_ten_minutes_after_its_last_process, set_up, tear_down)
{
	const uint64_t begin_ns = 5 * NS_PER_S, end_ns = begin_ns + 600 * NS_PER_S;
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, true);

	report(s, 100);
	runtime_containers_expire(f->cs, begin_ns);
	container_share_free(s);
	runtime_containers_expire(f->cs, begin_ns);
	runtime_containers_expire(f->cs, end_ns - 1);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "100\n"));
	assert_true(shows(f, "toy_containers 1\n"));
	/* restarted just in time: its counters continue */
	s = join(f, &labels_b, true);
	report(s, 5);
	runtime_containers_expire(f->cs, end_ns);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "105\n"));
	container_share_free(s);
	runtime_containers_expire(f->cs, end_ns);
	runtime_containers_expire(f->cs, end_ns + 600 * NS_PER_S);
	assert_false(shows(f, LABELS_B));
	assert_true(shows(f, "toy_containers 0\n"));
}

TEST_FIXTURE(names_are_escaped, set_up, tear_down)
{
	const struct container_labels odd = {"/docker/a\"b\\c\nd", "e\"f", NULL};
	struct fixture *f = *state;
	struct container_share *s = join(f, &odd, true);

	report(s, 1);
	assert_true(shows(f, "\ncontainer_toy_threads{container_id=\"/docker/a\\\"b\\\\c\\nd\",app_"
			     "id=\"e\\\"f\"} 1\n"));
	container_share_free(s);
}

TEST_FIXTURE(names_that_are_too_long_are_refused, set_up, tear_down)
{
	char name[KUBE_NAME_BYTES + 1];
	const struct container_labels id = {name, "", NULL}, app = {"x", name, NULL};
	struct fixture *f = *state;
	struct container_share *s = NULL;

	memset(name, 'x', sizeof(name));
	name[KUBE_NAME_BYTES] = '\0';
	assert_int_equal(container_share_new(&s, f->cs, &id, false), -ENAMETOOLONG);
	assert_int_equal(container_share_new(&s, f->cs, &app, false), -ENAMETOOLONG);
	name[KUBE_NAME_BYTES - 1] = '\0';
	assert_int_equal(container_share_new(&s, f->cs, &id, false), 0);
	container_share_free(s);
}

TEST_FIXTURE(containers_beyond_the_limit_are_left_out_and_counted, set_up, tear_down)
{
	static struct container_share *shares[RUNTIME_CONTAINERS_MAX];
	struct fixture *f = *state;
	struct container_share *s = NULL;

	for (size_t i = 0; i < RUNTIME_CONTAINERS_MAX; i++) {
		char name[32];
		const struct container_labels labels = {name, "", NULL};

		(void)snprintf(name, sizeof(name), "/docker/%zu", i);
		shares[i] = join(f, &labels, true);
		report(shares[i], i);
	}
	assert_int_equal(container_share_new(&s, f->cs, &labels_a, false), -ENOSPC);
	assert_null(s);
	assert_true(shows(f, "toy_containers_overflow_total 1\n"));
	assert_true(
		shows(f, "container_toy_threads{container_id=\"/docker/999\",app_id=\"\"} 999\n"));
	for (size_t i = 0; i < RUNTIME_CONTAINERS_MAX; i++)
		container_share_free(shares[i]);
}

static void *scrape(void *arg)
{
	struct fixture *f = arg;

	for (size_t i = 0; i < N_ROUNDS; i++)
		(void)shows(f, "");
	return NULL;
}

TEST_FIXTURE(processes_start_and_exit_while_metrics_are_scraped, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t now_ns = NS_PER_S;
	pthread_t scraper;

	assert_int_equal(pthread_create(&scraper, NULL, scrape, f), 0);
	for (size_t i = 0; i < N_ROUNDS; i++) {
		struct container_share *s = join(f, i % 2 ? &labels_a : &labels_b, true);

		report(s, 100);
		add(s, 1);
		container_share_free(s);
		runtime_containers_expire(f->cs, now_ns += RUNTIME_CONTAINERS_IDLE_NS / 100);
	}
	assert_int_equal(pthread_join(scraper, NULL), 0);
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_A "101000\n"));
	assert_true(shows(f, "container_toy_alloc_bytes_total" LABELS_B "101000\n"));
}

/* ---- names ---- */

static int never_ask(void *source, const struct container_question *q,
		     container_source_done_fn done, void *ctx)
{
	(void)source;
	(void)q;
	(void)done;
	(void)ctx;
	fail_msg("the loop does not run");
	return 0;
}

static void free_nothing(void *source)
{
	(void)source;
}

static const struct container_source_ops never_ops = {"never", never_ask, free_nothing};

/* A source that says something only when the test does. */
static const struct container_sink *add_source(struct fixture *f)
{
	const struct container_source_config cfg = {
		.ops = &never_ops,
		.kinds = CONTAINER_KIND(CGROUP_KUBEPODS),
	};
	struct directory_source *slot;

	assert_int_equal(container_directory_add_source(f->directory, &cfg, &slot), 0);
	directory_source_attach(slot, f);
	return directory_source_sink(slot);
}

static struct workload *raw_of(const char *id)
{
	struct workload_facts facts = {.exe = ""};
	struct workload *w = NULL;

	facts.cgroup.kind = CGROUP_KUBEPODS;
	snprintf(facts.cgroup.id, sizeof(facts.cgroup.id), "%s", id);
	assert_int_equal(workload_new(&w, &facts), 0);
	return w;
}

static void name_as_cart(const struct container_sink *sink, const char *id)
{
	const struct container_facts facts = {
		.id = id, .namespace = "shop", .pod = "cart-1", .name = "cart"};

	sink->found(sink->ctx, &facts);
}

TEST_FIXTURE(a_container_is_shown_when_its_name_is_known, set_up, tear_down)
{
	CLEANUP(workload_unrefp) struct workload *raw = raw_of("aaaa"), *other = raw_of("bbbb");
	const struct container_labels labels = container_labels_of(raw);
	const struct container_labels other_labels = container_labels_of(other);
	struct fixture *f = *state;
	const struct container_sink *sink = add_source(f);
	struct container_share *s = join(f, &labels, true);
	struct container_share *unnamed = join(f, &other_labels, true);

	report(s, 7);
	report(unnamed, 8);
	assert_false(shows(f, "container_toy_threads{"));
	name_as_cart(sink, "aaaa");
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_A "7\n"));
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "7\n"));
	assert_false(shows(f, "aaaa"));
	report(s, 9);
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_A "9\n"));
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "9\n"));
	assert_false(shows(f, "bbbb"));
	container_share_free(s);
	container_share_free(unnamed);
}

TEST_FIXTURE(a_restarted_container_continues_its_counters, set_up, tear_down)
{
	CLEANUP(workload_unrefp) struct workload *first = raw_of("aaaa"), *second = raw_of("bbbb");
	const struct container_labels first_labels = container_labels_of(first);
	const struct container_labels second_labels = container_labels_of(second);
	struct fixture *f = *state;
	const struct container_sink *sink = add_source(f);
	struct container_share *a = join(f, &first_labels, true), *b, *c;

	name_as_cart(sink, "aaaa");
	name_as_cart(sink, "bbbb");
	report(a, 100);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "100\n"));
	b = join(f, &second_labels, true);
	c = join(f, &second_labels, true);
	report(b, 10);
	report(c, 1);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "111\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_A "111\n"));
	assert_true(shows(f, "\ntoy_containers 1\n"));
	container_share_free(a);
	report(b, 20);
	container_share_free(c);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "121\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_A "20\n"));
	container_share_free(b);
	assert_false(shows(f, "container_toy_threads{"));
	/* a process of the same pod is a new container first, and has the old counters then */
	b = join(f, &first_labels, true);
	report(b, 1);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "122\n"));
	container_share_free(b);
}

TEST_FIXTURE(shares_disowned_before_a_rename_stay_out, set_up, tear_down)
{
	CLEANUP(workload_unrefp) struct workload *raw = raw_of("aaaa");
	const struct container_labels labels = container_labels_of(raw);
	struct fixture *f = *state;
	const struct container_sink *sink = add_source(f);
	struct container_share *old = join(f, &labels, true), *s;

	report(old, 5);
	runtime_containers_disown(f->cs);
	s = join(f, &labels, true);
	report(s, 2);
	name_as_cart(sink, "aaaa");
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "7\n"));
	report(old, 50);
	container_share_free(old);
	assert_true(shows(f, "\ncontainer_toy_alloc_bytes_total" LABELS_A "7\n"));
	assert_true(shows(f, "\ncontainer_toy_threads" LABELS_A "2\n"));
	container_share_free(s);
}

static int construct(void *arg)
{
	struct metric own[RUNTIME_METRICS] = {0};
	CLEANUP(runtime_containers_freep) struct runtime_containers *cs = NULL;
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	CLEANUP(container_share_freep) struct container_share *s = NULL;
	int r = metrics_new(&ms);

	(void)arg;
	if (r == 0)
		r = make(&cs, ms, own, NULL);
	if (r == 0)
		r = container_share_new(&s, cs, &labels_a, true);
	return r;
}

TEST(construction_survives_lack_of_memory)
{
	check_oom(construct, NULL);
	runtime_containers_free(NULL);
	container_share_free(NULL);
}

static int set_series(struct container_share *s, uint32_t families, unsigned family,
		      const char *labels, uint64_t value)
{
	const struct container_series one = {family, family == SERIES_INFO, labels, value};

	return container_share_series(s, families, &one, 1);
}

/* Those of a process replace its earlier ones of that family, and end with it. */
TEST_FIXTURE(series_last_as_long_as_they_are_reported, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_a, true);
	const char *gc = "container_toy_gc_seconds{container_id=\"/k8s/shop/cart-1/cart\","
			 "app_id=\"/k8s/shop/cart\",toy=\"x\",gc=\"Copy\"} 1.5\n";

	assert_int_equal(set_series(s, BIT(SERIES_INFO), SERIES_INFO, "toy=\"x\"", 1), 0);
	assert_int_equal(
		set_series(s, BIT(SERIES_GC_NS), SERIES_GC_NS, "toy=\"x\",gc=\"Copy\"", 1500000000),
		0);
	assert_true(shows(f, gc));
	assert_true(shows(f, "/cart\",toy=\"x\"} 1\n"));
	assert_int_equal(set_series(s, BIT(SERIES_INFO), SERIES_INFO, "toy=\"y\"", 1), 0);
	assert_false(shows(f, "/cart\",toy=\"x\"} 1\n"));
	assert_true(shows(f, "/cart\",toy=\"y\"} 1\n"));
	assert_true(shows(f, gc));
	container_share_free(s);
	assert_false(shows(f, "toy=\""));
}

TEST_FIXTURE(equal_series_of_a_container_are_one, set_up, tear_down)
{
	struct container_share *shares[3];
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		shares[i] = join(f, &labels_b, true);
		assert_int_equal(set_series(shares[i], BIT(SERIES_INFO), SERIES_INFO,
					    i == 2 ? "toy=\"b\"" : "toy=\"a\"", 1),
				 0);
		assert_int_equal(set_series(shares[i], BIT(SERIES_GC_NS), SERIES_GC_NS,
					    i == 2 ? "toy=\"b\"" : "toy=\"a\"",
					    (i + 1) * 1000000000),
				 0);
	}
	assert_true(shows(f, "container_toy_info{container_id=\"/docker/b\",app_id=\"\","
			     "toy=\"a\"} 1\n"));
	assert_true(shows(f, "seconds{container_id=\"/docker/b\",app_id=\"\",toy=\"a\"} 3\n"));
	assert_true(shows(f, "seconds{container_id=\"/docker/b\",app_id=\"\",toy=\"b\"} 3\n"));
	runtime_containers_disown(f->cs);
	assert_false(shows(f, "toy=\""));
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		container_share_free(shares[i]);
}

TEST_FIXTURE(series_are_limited, set_up, tear_down)
{
	struct container_series many[CONTAINER_SERIES_MAX + 1];
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, true);

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct container_series){SERIES_GC_NS, false, "toy=\"x\"", 1000000000};
	assert_int_equal(container_share_series(s, BIT(SERIES_GC_NS), many, ARRAY_SIZE(many)),
			 -E2BIG);
	assert_int_equal(container_share_series(s, BIT(SERIES_GC_NS), many, CONTAINER_SERIES_MAX),
			 0);
	assert_int_equal(set_series(s, BIT(SERIES_INFO), SERIES_INFO, "", 1), -E2BIG);
	assert_int_equal(set_series(s, BIT(SERIES_GC_NS), SERIES_INFO, "", 1), -EINVAL);
	assert_true(shows(f, "toy=\"x\"} 64\n"));
	assert_int_equal(container_share_series(s, BIT(SERIES_GC_NS), NULL, 0), 0);
	assert_false(shows(f, "toy=\""));
	container_share_free(s);
}

/* As Java, which has no values: their first family is not there to have containers renamed. */
TEST_FIXTURE(series_without_values_have_names_of_containers, set_up, tear_down)
{
	static const struct metric_table no_values = {NULL, 0, __FILE__};
	CLEANUP(workload_unrefp) struct workload *raw = raw_of("aaaa");
	const struct container_labels labels = container_labels_of(raw);
	struct fixture *f = *state;
	const struct container_sink *sink = add_source(f);
	struct container_share *s;

	/* another one in place of the fixture's */
	runtime_containers_free(f->cs);
	metrics_free(f->ms);
	assert_int_equal(metrics_new(&f->ms), 0);
	assert_int_equal(make_with(&f->cs, f->ms, f->own, f->directory, &no_values), 0);
	s = join(f, &labels, true);
	assert_int_equal(set_series(s, BIT(SERIES_INFO), SERIES_INFO, "toy=\"x\"", 1), 0);
	assert_false(shows(f, "toy=\"x\""));
	name_as_cart(sink, "aaaa");
	assert_true(shows(f, "\ncontainer_toy_info{container_id=\"/k8s/shop/cart-1/cart\","
			     "app_id=\"/k8s/shop/cart\",toy=\"x\"} 1\n"));
	assert_false(shows(f, "aaaa"));
	container_share_free(s);
}

static int set_series_oom(void *arg)
{
	return set_series(arg, BIT(SERIES_INFO), SERIES_INFO, "toy=\"new\"", 1);
}

TEST_FIXTURE(series_survive_lack_of_memory, set_up, tear_down)
{
	struct fixture *f = *state;
	struct container_share *s = join(f, &labels_b, true);

	assert_int_equal(set_series(s, BIT(SERIES_INFO), SERIES_INFO, "toy=\"old\"", 1), 0);
	assert_int_equal(call_without_memory(set_series_oom, s), -ENOMEM);
	assert_true(shows(f, "toy=\"old\"} 1\n"));
	check_oom(set_series_oom, s);
	assert_true(shows(f, "toy=\"new\"} 1\n"));
	container_share_free(s);
}
