#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"
#include "node-agent/go_profile/go_containers.h"
#include "node-agent/process/workload.h"
#include "test/lib/unit.h"

#define N_ROUNDS 2000u
#define BIT(i) (UINT32_C(1) << (i))
#define ALL (BIT(GO_CONTAINER_VALUES) - 1)

static const struct go_container_labels labels_a = {"/k8s/shop/cart-1/cart", "/k8s/shop/cart"};
static const struct go_container_labels labels_b = {"/docker/b", ""};

struct fixture {
	struct metrics *ms;
	struct go_containers *cs;
	struct buf out;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	buf_init(&f.out, (size_t)16 << 20);
	*state = &f;
	return metrics_new(&f.ms) < 0 || go_containers_new(&f.cs, f.ms) < 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	go_containers_free(f->cs);
	metrics_free(f->ms);
	buf_fini(&f->out);
	return 0;
}

/* Whether the line is among what a scrape would get. */
static bool shows(struct fixture *f, const char *line)
{
	buf_fini(&f->out);
	assert_int_equal(metrics_write(f->ms, &f->out), 0);
	return strstr(f->out.data, line) != NULL;
}

static struct go_share *join(struct fixture *f, const struct go_container_labels *labels,
			     enum bucket_history_start start)
{
	struct go_share *s = NULL;

	assert_int_equal(go_share_new(&s, f->cs, labels, start), 0);
	return s;
}

/* All that is known: counters are n, values now too. */
static void tell(struct go_share *s, uint64_t n)
{
	struct go_values v = {.known = ALL};

	for (size_t i = 0; i < GO_CONTAINER_VALUES; i++)
		v.v[i] = n;
	go_share_tell(s, &v);
}

#define LABELS_A "{container_id=\"/k8s/shop/cart-1/cart\",app_id=\"/k8s/shop/cart\"} "
#define LABELS_B "{container_id=\"/docker/b\",app_id=\"\"} "

static void a_process_that_began_later_counts_from_zero(void **state)
{
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_a, BUCKET_HISTORY_FROM_ZERO);

	tell(s, 3000000000);
	assert_true(shows(f, "\ncontainer_go_alloc_bytes_total" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_go_alloc_objects_total" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_go_gc_cycles_total" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_go_gc_pause_seconds_total" LABELS_A "3\n"));
	assert_true(shows(f, "\ncontainer_go_gc_live_heap_bytes" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_go_gc_heap_bytes" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_go_gc_heap_goal_bytes" LABELS_A "3000000000\n"));
	assert_true(shows(f, "\ncontainer_go_goroutines" LABELS_A "3000000000\n"));
	go_share_free(s);
}

static void one_that_ran_before_counts_from_its_first_reading(void **state)
{
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_b, BUCKET_HISTORY_FROM_NOW);

	tell(s, 1000);
	assert_true(shows(f, "\ncontainer_go_alloc_bytes_total" LABELS_B "0\n"));
	assert_true(shows(f, "\ncontainer_go_goroutines" LABELS_B "1000\n"));
	tell(s, 1003);
	assert_true(shows(f, "\ncontainer_go_alloc_bytes_total" LABELS_B "3\n"));
	assert_true(shows(f, "\ncontainer_go_goroutines" LABELS_B "1003\n"));
	go_share_free(s);
}

static void disowned_shares_change_nothing_and_have_nothing_any_more(void **state)
{
	struct fixture *f = *state;
	struct go_share *old = join(f, &labels_b, BUCKET_HISTORY_FROM_ZERO), *s;

	tell(old, 1000);
	go_containers_disown(f->cs);
	assert_true(shows(f, "\ncontainer_go_alloc_bytes_total" LABELS_B "1000\n"));
	assert_false(shows(f, "\ncontainer_go_goroutines" LABELS_B));
	s = join(f, &labels_b, BUCKET_HISTORY_FROM_NOW);
	tell(s, 1007);
	/* whoever had the old one comes back late */
	tell(old, 1005);
	go_share_add(old, GC_ALLOC_BYTES, 5);
	assert_true(shows(f, "\ncontainer_go_alloc_bytes_total" LABELS_B "1000\n"));
	assert_true(shows(f, "\ncontainer_go_goroutines" LABELS_B "1007\n"));
	go_share_free(old);
	tell(s, 1009);
	assert_true(shows(f, "\ncontainer_go_alloc_bytes_total" LABELS_B "1002\n"));
	assert_true(shows(f, "\ncontainer_go_goroutines" LABELS_B "1009\n"));
	/* it is this one's alone: it goes when that has ended, not before */
	go_containers_expire(f->cs, 1);
	go_containers_expire(f->cs, 1 + GO_CONTAINERS_IDLE_NS);
	assert_true(shows(f, "\ncontainer_go_goroutines" LABELS_B "1009\n"));
	go_share_free(s);
}

static void what_is_not_known_is_not_shown(void **state)
{
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_b, BUCKET_HISTORY_FROM_ZERO);
	struct go_values v = {.known = BIT(GC_CYCLES) | BIT(GC_GOAL_BYTES),
			      .v = {[GC_CYCLES] = 4, [GC_GOAL_BYTES] = 500}};

	go_share_tell(s, &v);
	assert_true(shows(f, "container_go_gc_cycles_total" LABELS_B "4\n"));
	assert_true(shows(f, "container_go_gc_heap_goal_bytes" LABELS_B "500\n"));
	assert_false(shows(f, "container_go_alloc_bytes_total{"));
	assert_false(shows(f, "container_go_goroutines{"));
	/* it could not be read */
	v.known = 0;
	v.unread = ALL;
	go_share_tell(s, &v);
	assert_true(shows(f, "container_go_gc_heap_goal_bytes" LABELS_B "500\n"));
	v.unread = 0;
	/* collections have been switched off */
	v.known = BIT(GC_CYCLES);
	go_share_tell(s, &v);
	assert_true(shows(f, "container_go_gc_cycles_total" LABELS_B "4\n"));
	assert_false(shows(f, "container_go_gc_heap_goal_bytes{"));
	go_share_free(s);
}

static void processes_of_a_container_are_one_sum(void **state)
{
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_b, BUCKET_HISTORY_FROM_ZERO);
	struct go_share *t = join(f, &labels_b, BUCKET_HISTORY_FROM_ZERO);
	struct go_share *other = join(f, &labels_a, BUCKET_HISTORY_FROM_ZERO);

	tell(s, 100);
	tell(t, 20);
	tell(other, 7);
	tell(s, 103);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "123\n"));
	assert_true(shows(f, "container_go_gc_live_heap_bytes" LABELS_B "123\n"));
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_A "7\n"));
	/* what a process has now ends with it, what it did stays */
	go_share_free(s);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "123\n"));
	assert_true(shows(f, "container_go_gc_live_heap_bytes" LABELS_B "20\n"));
	go_share_free(t);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "123\n"));
	assert_false(shows(f, "container_go_gc_live_heap_bytes" LABELS_B));
	go_share_free(other);
}

static void a_counter_that_steps_back_adds_nothing_until_it_is_past_where_it_was(void **state)
{
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_b, BUCKET_HISTORY_FROM_ZERO);

	tell(s, 100);
	tell(s, 90);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "100\n"));
	assert_true(shows(f, "container_go_goroutines" LABELS_B "90\n"));
	assert_true(shows(f, "coroot_node_agent_go_counters_backwards_total 4\n"));
	tell(s, 105);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "105\n"));
	go_share_free(s);
}

static void a_process_that_executes_something_begins_anew(void **state)
{
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_b, BUCKET_HISTORY_FROM_NOW);

	tell(s, 100);
	tell(s, 150);
	go_share_restart(s);
	tell(s, 30);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "80\n"));
	assert_true(shows(f, "container_go_goroutines" LABELS_B "30\n"));
	assert_true(shows(f, "coroot_node_agent_go_counters_backwards_total 0\n"));
	go_share_free(s);
}

static void what_the_memory_profiler_counted_is_added(void **state)
{
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_b, BUCKET_HISTORY_FROM_NOW);

	go_share_add(s, GC_ALLOC_BYTES, 0);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "0\n"));
	go_share_add(s, GC_ALLOC_BYTES, 700);
	go_share_add(s, GC_ALLOC_BYTES, 11);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "711\n"));
	assert_false(shows(f, "container_go_alloc_objects_total{"));
	go_share_free(s);
}

static void a_container_goes_ten_minutes_after_its_last_process(void **state)
{
	const uint64_t begin_ns = 5 * NS_PER_S, end_ns = begin_ns + 600 * NS_PER_S;
	struct fixture *f = *state;
	struct go_share *s = join(f, &labels_b, BUCKET_HISTORY_FROM_ZERO);

	tell(s, 100);
	go_containers_expire(f->cs, begin_ns);
	go_share_free(s);
	go_containers_expire(f->cs, begin_ns);
	go_containers_expire(f->cs, end_ns - 1);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "100\n"));
	assert_true(shows(f, "coroot_node_agent_go_containers 1\n"));
	/* restarted just in time: its counters go on */
	s = join(f, &labels_b, BUCKET_HISTORY_FROM_ZERO);
	tell(s, 5);
	go_containers_expire(f->cs, end_ns);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "105\n"));
	go_share_free(s);
	go_containers_expire(f->cs, end_ns);
	go_containers_expire(f->cs, end_ns + 600 * NS_PER_S);
	assert_false(shows(f, LABELS_B));
	assert_true(shows(f, "coroot_node_agent_go_containers 0\n"));
}

static void names_are_escaped(void **state)
{
	const struct go_container_labels odd = {"/docker/a\"b\\c\nd", "e\"f"};
	struct fixture *f = *state;
	struct go_share *s = join(f, &odd, BUCKET_HISTORY_FROM_ZERO);

	tell(s, 1);
	assert_true(shows(f,
			  "\ncontainer_go_goroutines{container_id=\"/docker/a\\\"b\\\\c\\nd\",app_"
			  "id=\"e\\\"f\"} 1\n"));
	go_share_free(s);
}

static void names_that_are_too_long_are_refused(void **state)
{
	char name[WORKLOAD_NAME_BYTES + 1];
	const struct go_container_labels id = {name, ""}, app = {"x", name};
	struct fixture *f = *state;
	struct go_share *s = NULL;

	memset(name, 'x', sizeof(name));
	name[WORKLOAD_NAME_BYTES] = '\0';
	assert_int_equal(go_share_new(&s, f->cs, &id, BUCKET_HISTORY_FROM_NOW), -ENAMETOOLONG);
	assert_int_equal(go_share_new(&s, f->cs, &app, BUCKET_HISTORY_FROM_NOW), -ENAMETOOLONG);
	name[WORKLOAD_NAME_BYTES - 1] = '\0';
	assert_int_equal(go_share_new(&s, f->cs, &id, BUCKET_HISTORY_FROM_NOW), 0);
	go_share_free(s);
}

static void containers_beyond_the_limit_are_left_out_and_counted(void **state)
{
	static struct go_share *shares[GO_CONTAINERS_MAX];
	struct fixture *f = *state;
	struct go_share *s = NULL;

	for (size_t i = 0; i < GO_CONTAINERS_MAX; i++) {
		char name[32];
		const struct go_container_labels labels = {name, ""};

		(void)snprintf(name, sizeof(name), "/docker/%zu", i);
		shares[i] = join(f, &labels, BUCKET_HISTORY_FROM_ZERO);
		tell(shares[i], i);
	}
	assert_int_equal(go_share_new(&s, f->cs, &labels_a, BUCKET_HISTORY_FROM_NOW), -ENOSPC);
	assert_null(s);
	assert_true(shows(f, "coroot_node_agent_go_containers_overflow_total 1\n"));
	assert_true(shows(
		f, "container_go_goroutines{container_id=\"/docker/999\",app_id=\"\"} 999\n"));
	for (size_t i = 0; i < GO_CONTAINERS_MAX; i++)
		go_share_free(shares[i]);
}

static void *scrape(void *arg)
{
	struct fixture *f = arg;

	for (size_t i = 0; i < N_ROUNDS; i++)
		(void)shows(f, "");
	return NULL;
}

static void processes_may_come_and_go_while_somebody_scrapes(void **state)
{
	struct fixture *f = *state;
	uint64_t now_ns = NS_PER_S;
	pthread_t scraper;

	assert_int_equal(pthread_create(&scraper, NULL, scrape, f), 0);
	for (size_t i = 0; i < N_ROUNDS; i++) {
		struct go_share *s =
			join(f, i % 2 ? &labels_a : &labels_b, BUCKET_HISTORY_FROM_ZERO);

		tell(s, 100);
		go_share_add(s, GC_ALLOC_BYTES, 1);
		go_share_free(s);
		go_containers_expire(f->cs, now_ns += GO_CONTAINERS_IDLE_NS / 100);
	}
	assert_int_equal(pthread_join(scraper, NULL), 0);
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_A "101000\n"));
	assert_true(shows(f, "container_go_alloc_bytes_total" LABELS_B "101000\n"));
}

static int construct(void *arg)
{
	CLEANUP(go_containers_freep) struct go_containers *cs = NULL;
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	CLEANUP(go_share_freep) struct go_share *s = NULL;
	int r = metrics_new(&ms);

	(void)arg;
	if (r == 0)
		r = go_containers_new(&cs, ms);
	if (r == 0)
		r = go_share_new(&s, cs, &labels_a, BUCKET_HISTORY_FROM_ZERO);
	return r;
}

static void construction_survives_lack_of_memory(void **state)
{
	(void)state;
	check_oom(construct, NULL);
	go_containers_free(NULL);
	go_share_free(NULL);
}

#define with_containers(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_containers(a_process_that_began_later_counts_from_zero),
		with_containers(one_that_ran_before_counts_from_its_first_reading),
		with_containers(disowned_shares_change_nothing_and_have_nothing_any_more),
		with_containers(what_is_not_known_is_not_shown),
		with_containers(processes_of_a_container_are_one_sum),
		with_containers(
			a_counter_that_steps_back_adds_nothing_until_it_is_past_where_it_was),
		with_containers(a_process_that_executes_something_begins_anew),
		with_containers(what_the_memory_profiler_counted_is_added),
		with_containers(a_container_goes_ten_minutes_after_its_last_process),
		with_containers(names_are_escaped),
		with_containers(names_that_are_too_long_are_refused),
		with_containers(containers_beyond_the_limit_are_left_out_and_counted),
		with_containers(processes_may_come_and_go_while_somebody_scrapes),
		cmocka_unit_test(construction_survives_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
