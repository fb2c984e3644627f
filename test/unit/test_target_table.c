#include <errno.h>

#include "cluster-agent/scrape/target_table.h"
#include "test/lib/unit.h"

static struct scrape_endpoint endpoints[] = {
	{PROFILE_KIND_HEAP, false, 80, "/heap", 0},
	{PROFILE_KIND_CPU, false, 80, "/cpu", 0},
	{PROFILE_KIND_HEAP, false, 81, "/heap", 0},
	{PROFILE_KIND_HEAP, false, 80, "/heap", 0}, /* once more */
};

static struct scrape_target pod(const char *ip, struct scrape_container *c, size_t first, size_t n)
{
	return (struct scrape_target){
		"uid", "ns", "pod", "node", "svc", ip, "", c, 1, endpoints + first, n};
}

static struct target *make(const char *ip, const char *process, size_t first, size_t n)
{
	struct scrape_container c = {"app", "coroot's", process};
	const struct scrape_target from = pod(ip, &c, first, n);
	struct target *t = NULL;

	assert_int_equal(target_new(&t, &from), 0);
	return t;
}

static struct target *make_with_proxy(const char *app, const char *proxy)
{
	struct scrape_container two[] = {{"app", "", app}, {"proxy", "coroot's", proxy}};
	struct scrape_endpoint e[] = {{PROFILE_KIND_HEAP, false, 80, "/heap", 0},
				      {PROFILE_KIND_HEAP, false, 81, "/heap", 1},
				      {PROFILE_KIND_HEAP, false, 82, "/heap", 2}};
	const struct scrape_target from = {"uid", "ns", "pod", "node", "svc", "10.0.0.1",
					   "",    two,  2,     e,      3};
	struct target *t = NULL;

	assert_int_equal(target_new(&t, &from), 0);
	return t;
}

TEST(an_endpoint_is_its_containers)
{
	CLEANUP(target_freep) struct target *old = make_with_proxy("a/1", "p/1");
	CLEANUP(target_freep) struct target *fresh = make_with_proxy("a/1", "p/2");

	target_inherit(fresh, old);
	assert_false(fresh->endpoints[0]->restarted);
	assert_true(fresh->endpoints[1]->restarted);
	assert_false(fresh->endpoints[2]->restarted);
	assert_string_equal(fresh->endpoints[0]->container->name, "app");
	assert_string_equal(fresh->endpoints[1]->container->name, "proxy");
	assert_string_equal(fresh->endpoints[1]->container->process, "p/2");
	assert_string_equal(fresh->endpoints[2]->container->name, "");
	assert_string_equal(target_endpoint_service(fresh->endpoints[0], KUBE_NAMING_COROOT),
			    "svc");
	assert_string_equal(target_endpoint_service(fresh->endpoints[1], KUBE_NAMING_COROOT),
			    "coroot's");
	assert_string_equal(target_endpoint_service(fresh->endpoints[1], KUBE_NAMING_OWN), "svc");
	assert_string_equal(target_service(fresh, KUBE_NAMING_COROOT), "svc");
}

TEST(an_endpoint_that_stays_keeps_its_state)
{
	CLEANUP(target_freep) struct target *old = make("10.0.0.1", "1", 0, 2);
	CLEANUP(target_freep) struct target *fresh = make("10.0.0.1", "1", 1, 2);
	const struct target_endpoint *cpu = old->endpoints[1], *other = fresh->endpoints[1];

	target_inherit(fresh, old);
	assert_ptr_equal(fresh->endpoints[0], cpu);
	assert_ptr_equal(fresh->endpoints[1], other);
	assert_false(cpu->restarted);
	for (size_t i = 0; i < 2; i++) {
		assert_ptr_equal(fresh->endpoints[i]->target, fresh);
		assert_ptr_equal(old->endpoints[i]->target, old);
	}
}

TEST(endpoints_that_stay_learn_of_new_containers)
{
	CLEANUP(target_freep) struct target *old = make("10.0.0.1", "1", 0, 1);
	CLEANUP(target_freep) struct target *fresh = make("10.0.0.1", "2", 0, 1);

	old->endpoints[0]->n_not_found = 9;
	target_inherit(fresh, old);
	assert_true(fresh->endpoints[0]->restarted);
	assert_int_equal(fresh->endpoints[0]->n_not_found, 0);
}

TEST(an_unknown_container_is_not_a_new_one)
{
	CLEANUP(target_freep) struct target *old = make("10.0.0.1", "1", 0, 1);
	CLEANUP(target_freep) struct target *unknown = make("10.0.0.1", "", 0, 1);
	CLEANUP(target_freep) struct target *known = make("10.0.0.1", "1", 0, 1);

	target_inherit(unknown, old);
	assert_false(unknown->endpoints[0]->restarted);
	target_inherit(known, unknown);
	assert_false(known->endpoints[0]->restarted);
}

TEST(a_problem_spares_the_endpoints_it_does_not_concern)
{
	struct scrape_container c = {"app", "", "1"};
	struct scrape_target from = pod("10.0.0.1", &c, 0, 2);
	struct target *t = NULL;

	from.problem = "annotation x: \"y\" is no port";
	assert_int_equal(target_new(&t, &from), 0);
	assert_int_equal(t->n_endpoints, 2);
	assert_string_equal(t->problem, from.problem);
	assert_int_equal(target_state_of(t), TARGET_ELSEWHERE);
	target_free(t);
	from.n_endpoints = 0;
	assert_int_equal(target_new(&t, &from), 0);
	assert_string_equal(t->problem, from.problem);
	assert_int_equal(target_state_of(t), TARGET_INVALID);
	target_free(t);
}

TEST(nothing_is_kept_at_another_address)
{
	CLEANUP(target_freep) struct target *old = make("10.0.0.1", "1", 0, 1);
	CLEANUP(target_freep) struct target *fresh = make("10.0.0.2", "1", 0, 1);
	const struct target_endpoint *was = old->endpoints[0];

	target_inherit(fresh, old);
	assert_ptr_equal(old->endpoints[0], was);
}

TEST(an_endpoint_is_there_once)
{
	CLEANUP(target_freep) struct target *one = make("10.0.0.1", "1", 0, 2);
	CLEANUP(target_freep) struct target *all = make("fd00::1", "1", 0, 4);

	assert_false(one->several_ports);
	assert_true(all->several_ports);
	assert_int_equal(all->n_endpoints, 3);
}

TEST(what_could_leave_the_pod_is_a_problem)
{
	static const char *const addresses[] = {
		"example.com", "10.0.0.1@example.com", "", "10.0.0.1 ", "[::1]", "10.0.0.1/24"};
	static const char *const paths[] = {"", "heap", "@example.com/", "/a?b", "/a#b"};
	struct scrape_endpoint e = endpoints[0];
	struct scrape_container c = {"app", "", ""};
	struct scrape_target from = pod("10.0.0.1", &c, 0, 1);
	struct target *t = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		t = make(addresses[i], "", 0, 1);
		assert_true(t->problem[0] && t->n_endpoints == 0 && t->state == TARGET_INVALID);
		target_free(t);
	}
	from.endpoints = &e;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		e.path = paths[i];
		assert_int_equal(target_new(&t, &from), 0);
		assert_true(t->problem[0] && t->n_endpoints == 0);
		target_free(t);
	}
}

TEST(a_pod_is_up_when_one_endpoint_is)
{
	CLEANUP(target_freep) struct target *t = make("10.0.0.1", "1", 0, 2);

	assert_int_equal(target_state_of(t), TARGET_ELSEWHERE);
	t->owned = true;
	assert_int_equal(target_state_of(t), TARGET_PENDING);
	t->endpoints[0]->state = TARGET_DOWN;
	assert_int_equal(target_state_of(t), TARGET_DOWN);
	t->endpoints[1]->state = TARGET_UP;
	assert_int_equal(target_state_of(t), TARGET_UP);
}

TEST(targets_are_found_by_uid)
{
	CLEANUP(target_table_freep) struct target_table *table = NULL;
	struct target *t = make("10.0.0.1", "1", 0, 2);

	assert_int_equal(target_table_new(&table), 0);
	assert_null(target_table_first(table));
	assert_int_equal(target_table_adopt(table, t), 0);
	assert_ptr_equal(target_table_find(table, "uid"), t);
	assert_null(target_table_find(table, "ui"));
	assert_ptr_equal(target_table_first(table), t);
	assert_null(target_table_next(t));
	assert_int_equal(target_table_endpoints(table), 2);
	target_table_remove(table, t);
	assert_null(target_table_find(table, "uid"));
	assert_int_equal(target_table_endpoints(table), 0);
	target_free(t);
}

static int make_table(void *ctx)
{
	struct scrape_container c = {"app", "", "1"};
	const struct scrape_target from = pod("10.0.0.1", &c, 0, 3);
	CLEANUP(target_table_freep) struct target_table *table = NULL;
	CLEANUP(target_freep) struct target *t = NULL;
	int r = target_table_new(&table);

	(void)ctx;
	if (r == 0)
		r = target_new(&t, &from);
	if (r == 0)
		r = target_table_adopt(table, t);
	if (r == 0)
		t = NULL;
	return r;
}

TEST(no_memory_is_an_error)
{
	check_oom(make_table, NULL);
}

TEST(an_endpoint_takes_less_than_a_kib)
{
	assert_true(sizeof(struct target_endpoint) + sizeof(struct target) / 5 < 400);
}
