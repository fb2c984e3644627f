/*
 * The front of this folder: owns the table of targets, the runner of scrapes and the page of
 * targets, and translates what discovery and the replicas report into calls of them.
 *
 * A changed pod is not edited in place. A new target is built from it, takes over the endpoints
 * that are still the same with their state (target_inherit()), and replaces the old one. That
 * way every allocation that can fail comes first, and a change of address or port cannot leave
 * a scrape running against a wrong endpoint.
 */
#include "cluster-agent/scrape/scraper.h"

#include <errno.h>

#include "cluster-agent/scrape/scrape_metrics.h"
#include "cluster-agent/scrape/scrape_run.h"
#include "cluster-agent/scrape/target_table.h"
#include "cluster-agent/scrape/targets_page.h"
#include "common/system/clock.h"
#include "common/upload/upload_url.h"

struct scraper {
	struct scraper_config cfg;
	struct target_table *table;
	struct scrape_run *run;
	struct targets_page *page;
	struct loop_source *wake; /* woken for results, and for requests of the page */
	char *discovery_problem;  /* NULL stands for "" */
	char *forwarding;         /* NULL if profiles are not forwarded */
	bool discovery_synced;
	bool stopped;
	size_t n_in_state[TARGET_STATE_MAX];
	struct metric metrics[SCRAPE_METRIC_MAX];
};

/* ---- states ---- */

static void count_state(struct scraper *s, enum target_state state, bool is_more)
{
	s->n_in_state[state] += is_more ? 1 : -(size_t)1;
	metric_set(&s->metrics[SCRAPE_METRIC_TARGETS + state], s->n_in_state[state]);
}

static void set_state(void *ctx, struct target *target)
{
	struct scraper *s = ctx;

	count_state(s, target->state, false);
	target->state = target_state_of(target);
	count_state(s, target->state, true);
}

/* target must be in the table. */
static void set_owner(struct scraper *s, struct target *target)
{
	target->owned = target->is_local || !s->cfg.owns || s->cfg.owns(s->cfg.ctx, target->uid);
	if (target->owned)
		scrape_run_start(s->run, target);
	else
		scrape_run_stop(s->run, target);
	set_state(s, target);
}

static void drop(struct scraper *s, struct target *target)
{
	scrape_run_stop(s->run, target);
	count_state(s, target->state, false);
	target_free(target);
}

/* ---- discovery and replicas ---- */

int scraper_upsert(struct scraper *s, const struct scrape_target *t)
{
	CLEANUP(target_freep) struct target *fresh = NULL;
	struct target *old = target_table_find(s->table, t->uid);
	int r;

	if (s->stopped)
		return 0;
	r = target_new(&fresh, t);
	if (r == 0 && t->settings)
		r = scrape_run_group(s->run, t->settings, &fresh->group);
	if (r == 0)
		r = scrape_run_reserve(s->run,
				       target_table_endpoints(s->table) + fresh->n_endpoints);
	if (r < 0)
		return r;
	if (old)
		target_table_remove(s->table, old);
	r = target_table_adopt(s->table, fresh);
	if (r == 0) {
		count_state(s, fresh->state, true);
		if (old)
			target_inherit(fresh, old);
		set_owner(s, fresh);
		fresh = NULL;
	}
	if (old)
		drop(s, old);
	return r;
}

void scraper_remove(struct scraper *s, const char *uid)
{
	struct target *target = target_table_find(s->table, uid);

	if (!target)
		return;
	target_table_remove(s->table, target);
	drop(s, target);
}

void scraper_drop_settings(struct scraper *s)
{
	if (!s->stopped)
		scrape_run_drop_groups(s->run, s->table);
}

void scraper_ownership_changed(struct scraper *s)
{
	if (s->stopped)
		return;
	for (struct target *t = target_table_first(s->table); t; t = target_table_next(t))
		set_owner(s, t);
}

/* ---- page of targets ---- */

static void on_wake(void *ctx)
{
	struct scraper *s = ctx;
	const struct targets_view view = {
		.table = s->table,
		.now_ns = clock_realtime_ns(),
		.monotonic_ns = clock_monotonic_ns(),
		.interval_ns = s->cfg.interval_ns,
		.cpu_seconds = s->cfg.cpu_duration_ns / NS_PER_S,
		.discovery_synced = s->discovery_synced,
		.discovery_problem = s->discovery_problem ? s->discovery_problem : "",
		.forwarding = s->forwarding,
		.naming = s->cfg.wishes.naming,
	};

	scrape_run_take_results(s->run);
	targets_page_answer(s->page, &view);
}

void scraper_serve_targets(void *ctx, struct http_exchange *x)
{
	const struct scraper *s = ctx;

	targets_page_serve(s->page, x);
}

void scraper_set_discovery(struct scraper *s, bool synced, const char *problem)
{
	s->discovery_synced = synced;
	free(s->discovery_problem);
	s->discovery_problem = strdup(problem);
}

int scraper_set_forwarding(struct scraper *s, const char *url)
{
	char *copy = strdup(url);

	if (!copy)
		return -ENOMEM;
	upload_url_remove_user(copy);
	free(s->forwarding);
	s->forwarding = copy;
	return 0;
}

void scraper_take_receipt(void *ctx, uint64_t number, const char *refusal)
{
	struct scraper *s = ctx;

	scrape_run_take_receipt(s->run, number, refusal);
}

void scraper_set_wishes(struct scraper *s, const struct receiver_wishes *w)
{
	s->cfg.wishes = *w;
}

/* ---- create and destroy ---- */

static int check(const struct scraper_config *cfg, struct err *err)
{
	if (cfg->interval_ns == 0 || cfg->timeout_ns == 0 || cfg->max_in_flight == 0)
		return err_set(err, -EINVAL,
			       "interval, time-out and number of scrapes must not be 0");
	if (cfg->cpu_duration_ns == 0 || cfg->cpu_duration_ns % NS_PER_S != 0)
		return err_set(err, -EINVAL, "a CPU profile must take whole seconds");
	if (cfg->cpu_duration_ns > cfg->interval_ns)
		return err_set(err, -EINVAL,
			       "a CPU profile must not take longer than the interval");
	return 0;
}

int scraper_new(struct scraper **ret, const struct scraper_config *cfg, struct err *err)
{
	CLEANUP(scraper_freep) struct scraper *s = NULL;
	int r = check(cfg, err);

	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	r = target_table_new(&s->table);
	if (r == 0)
		r = loop_add_wake(cfg->loop, on_wake, s, &s->wake);
	if (r == 0)
		r = targets_page_new(&s->page, s->wake);
	if (r == 0)
		r = scrape_run_new(&s->run, &(struct scrape_run_config){.scraper = &s->cfg,
									.wake = s->wake,
									.metrics = s->metrics,
									.ctx = s,
									.changed = set_state});
	if (r < 0)
		return err_set(err, r, "cannot scrape: %s", strerror(-r));
	*ret = TAKE_PTR(s);
	return 0;
}

void scraper_stop(struct scraper *s)
{
	s->stopped = true;
	for (struct target *t = target_table_first(s->table); t; t = target_table_next(t)) {
		scrape_run_stop(s->run, t);
		set_state(s, t);
	}
	targets_page_stop(s->page);
}

void scraper_free(struct scraper *s)
{
	if (!s)
		return;
	if (s->run)
		scraper_stop(s);
	scrape_run_free(s->run);
	targets_page_free(s->page);
	loop_remove(s->wake);
	target_table_free(s->table);
	free(s->discovery_problem);
	free(s->forwarding);
	free(s);
}

int scraper_register(struct scraper *s, struct metrics *ms)
{
	return scrape_metrics_register(s->metrics, ms);
}
