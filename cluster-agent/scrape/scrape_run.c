/*
 * The life of one scrape. The schedule says that an endpoint is due; a job is created and the
 * request sent; the body is collected under the limit that all bodies share; a complete answer
 * goes to a worker thread with the endpoint's baseline; the result comes back through
 * scrape_run_take_results(), is passed on, and the endpoint returns to the schedule. Every path
 * that fails ends in end_scrape(), which counts the outcome and puts the endpoint back as well.
 *
 * At any time an endpoint may be stopped, because its pod disappears or another replica takes
 * over. The endpoint and the job then forget each other. While a conversion runs on another
 * thread, the job must stay: it owns the memory that the thread works on, and is freed when the
 * result arrives.
 *
 * The baseline moves with the job instead of being locked: a conversion has it, or the
 * endpoint, never both.
 */
#include "cluster-agent/scrape/scrape_run.h"

#include <assert.h>
#include <errno.h>

#include "cluster-agent/scrape/scrape_answer.h"
#include "cluster-agent/scrape/scrape_group.h"
#include "cluster-agent/scrape/scrape_labels.h"
#include "cluster-agent/scrape/scrape_metrics.h"
#include "cluster-agent/scrape/scrape_request.h"
#include "cluster-agent/scrape/scrape_worker.h"
#include "common/http/http.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define LATE_NS NS_PER_S
/* Delay of a scrape that may not run at the moment: see may_ask(). */
#define DEFER_NS NS_PER_S
/* Limit for an answer other than 200, of which only the first line is used. */
#define MAX_ERROR_BODY_BYTES ((size_t)256 * 1024)
/* After this many answers in a row that there is no such profile, every tenth slot is used. */
#define NOT_FOUND_LIMIT 3u
#define NOT_FOUND_SLOTS 10u

/* A first scrape that fails is repeated after 1, 2, 4 … seconds, this many times. */
#define MAX_REPEATED 6u

/* Profiles of which it is not known yet whether they were taken; more than wait anywhere. */
#define N_RECEIPTS 16384u

struct scrape_job {
	struct scrape_conversion conversion; /* first */
	struct scrape_run *run;
	struct target_endpoint *endpoint; /* NULL if it was stopped */
	struct http_transfer *transfer;   /* NULL unless a request is in progress */
	uint64_t began_ns;
	uint64_t ended_at_ns; /* since the Unix epoch */
	uint64_t took_ns;
	size_t n_bytes;
	size_t memory_bytes;   /* its share of run->memory_bytes */
	size_t baseline_bytes; /* its share of run->baseline_bytes while the job has the baseline */
};

struct scrape_run {
	struct scrape_run_config cfg;
	const struct scraper_config *scraper;
	struct scrape_group *pods;   /* how they are asked */
	struct scrape_group *others; /* of targets that are no pods; a list */
	struct scrape_worker *worker;
	struct scrape_schedule schedule;
	struct loop_source *timer;
	unsigned n_in_flight;
	unsigned n_converting;
	size_t memory_bytes; /* of all bodies */
	size_t baseline_bytes;
	/* whose profile has that number, modulo N_RECEIPTS; a newer one replaces an older one */
	struct target_endpoint **receipts;
	uint64_t n_receipts; /* the last number */
};

static void count(struct scrape_run *run, unsigned metric, uint64_t n)
{
	metric_add(&run->cfg.metrics[metric], n);
}

static void count_outcome(struct scrape_run *run, enum scrape_outcome outcome)
{
	count(run, SCRAPE_METRIC_OUTCOMES + (unsigned)outcome, 1);
}

static void show_gauges(struct scrape_run *run)
{
	struct metric *m = run->cfg.metrics;

	metric_set(&m[SCRAPE_METRIC_IN_FLIGHT], run->n_in_flight);
	metric_set(&m[SCRAPE_METRIC_CONVERTING], run->n_converting);
	metric_set(&m[SCRAPE_METRIC_BODY_BYTES], run->memory_bytes);
	metric_set(&m[SCRAPE_METRIC_BASELINE_BYTES], run->baseline_bytes);
}

/* ---- jobs ---- */

static void count_memory(struct scrape_job *job, size_t bytes)
{
	job->run->memory_bytes += bytes - job->memory_bytes;
	job->memory_bytes = bytes;
}

static void job_free(struct scrape_job *job)
{
	count_memory(job, 0);
	job->run->baseline_bytes -= job->baseline_bytes;
	scrape_conversion_fini(&job->conversion);
	free(job);
}

static void release_conversion(struct scrape_conversion *c)
{
	job_free(c->owner);
}

static struct scrape_job *job_new(struct scrape_run *run, struct target_endpoint *e)
{
	struct scrape_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->run = run;
	job->endpoint = e;
	job->began_ns = clock_monotonic_ns();
	job->conversion.owner = job;
	buf_init(&job->conversion.body, run->scraper->max_body_bytes);
	e->job = job;
	return job;
}

/* ---- receipts ---- */

static void forget_receipt(struct scrape_run *run, struct target_endpoint *e)
{
	struct target_endpoint **at = &run->receipts[e->receipt % N_RECEIPTS];

	if (e->receipt != 0 && *at == e)
		*at = NULL;
	e->receipt = 0;
}

/* NULL: the last profile was taken. */
static void set_refusal(struct target_endpoint *e, const char *refusal)
{
	free(e->refusal);
	e->refusal = refusal ? strdup(refusal) : NULL;
}

static uint64_t new_receipt(struct scrape_run *run, struct target_endpoint *e)
{
	forget_receipt(run, e);
	e->receipt = ++run->n_receipts;
	run->receipts[e->receipt % N_RECEIPTS] = e;
	return e->receipt;
}

void scrape_run_take_receipt(struct scrape_run *run, uint64_t number, const char *refusal)
{
	struct target_endpoint *e = run->receipts[number % N_RECEIPTS];

	if (!e || e->receipt != number)
		return; /* a newer profile was put since, or the pod is not scraped any more */
	forget_receipt(run, e);
	set_refusal(e, refusal);
	run->cfg.changed(run->cfg.ctx, e->target);
}

/* ---- end of a scrape ---- */

static void arm(struct scrape_run *run);

static bool may_begin(const struct scrape_run *run)
{
	const struct scraper_config *cfg = run->scraper;

	return run->n_in_flight < cfg->max_in_flight && run->n_converting < cfg->max_in_flight &&
	       (cfg->max_memory_bytes == 0 || run->memory_bytes < cfg->max_memory_bytes);
}

static void set_error(struct target_endpoint *e, const char *error)
{
	free(e->error);
	/* if out of memory, the state alone shows the failure */
	e->error = error ? strdup(error) : NULL;
}

static const struct scrape_group *group_of(const struct scrape_run *run,
					   const struct target_endpoint *e)
{
	return e->target->group ?: run->pods;
}

/* For how long an endpoint records before it answers; 0 if it does not. */
static uint64_t recording_ns(const struct scrape_run *run, const struct target_endpoint *e)
{
	uint64_t ns = run->scraper->cpu_duration_ns;

	if (!profile_kind_is_timed(e->kind))
		return 0;
	if (ns > e->item.interval_ns)
		ns = e->item.interval_ns - e->item.interval_ns % NS_PER_S;
	return ns > NS_PER_S ? ns : NS_PER_S;
}

/*
 * A pod has its address, and a file names its targets, before their programs listen. Until an
 * endpoint has answered for the first time, it is asked again soon. Returns UINT64_MAX if not.
 */
static uint64_t repeat_ns(struct scrape_run *run, struct target_endpoint *e, uint64_t now_ns)
{
	if (e->state != TARGET_DOWN || e->n_not_found > 0 || e->previous_at_ns != 0 ||
	    e->n_repeated >= MAX_REPEATED)
		return UINT64_MAX;
	return scrape_schedule_early_ns(&run->schedule, SCHEDULE_REPEATED, &e->item,
					now_ns + (NS_PER_S << e->n_repeated++));
}

static void schedule_again(struct scrape_run *run, struct target_endpoint *e, bool is_first)
{
	uint64_t now_ns = clock_monotonic_ns(), missed = 0;
	uint64_t soon_ns = repeat_ns(run, e, now_ns);

	if (soon_ns != UINT64_MAX)
		scrape_schedule_put_now(&run->schedule, &e->item, soon_ns);
	else if (e->n_not_found >= NOT_FOUND_LIMIT)
		scrape_schedule_put(&run->schedule, &e->item,
				    now_ns + (NOT_FOUND_SLOTS - 1) * e->item.interval_ns);
	else if (is_first)
		scrape_schedule_put(&run->schedule, &e->item, now_ns);
	else
		scrape_schedule_put_again(&run->schedule, &e->item, now_ns, &missed);
	count(run, SCRAPE_METRIC_MISSED, missed);
}

/* Frees the job. error is NULL on success. */
static void end_scrape(struct scrape_run *run, struct target_endpoint *e,
		       enum scrape_outcome outcome, const char *error)
{
	struct scrape_job *job = e->job;
	enum target_state was = e->state;
	bool is_first = e->last_at_ns == 0;

	e->job = NULL;
	/*
	 * the time of the answer, not of the end of the conversion: minus the duration, it is
	 * the time of the request
	 */
	e->last_at_ns = job && job->ended_at_ns > 0 ? job->ended_at_ns : clock_realtime_ns();
	if (job) {
		e->last_took_ns =
			job->took_ns ? job->took_ns : clock_monotonic_ns() - job->began_ns;
		e->last_bytes = job->n_bytes;
	}
	e->state = outcome == SCRAPE_NOT_OFFERED ? TARGET_NOT_OFFERED
		   : error                       ? TARGET_DOWN
						 : TARGET_UP;
	set_error(e, error);
	count_outcome(run, outcome);
	if (e->state == TARGET_DOWN && was != TARGET_DOWN)
		log_warn_limited("cannot scrape a profile", "pod=%s/%s type=%s error=%s",
				 e->target->namespace, e->target->pod, profile_kind_name(e->kind),
				 LOG_QUOTED(error));
	schedule_again(run, e, is_first);
	run->cfg.changed(run->cfg.ctx, e->target);
	/* error may point into the job, so free it last */
	if (job)
		job_free(job);
}

/* ---- answers and conversions ---- */

static void pass_on(struct scrape_run *run, struct target_endpoint *e, struct scrape_conversion *c)
{
	struct upload_label labels[SCRAPE_LABELS_MAX];
	struct scrape_label_texts texts;

	if (c->upload.len == 0) {
		/* nothing that can be refused, maybe for hours */
		set_refusal(e, NULL);
		return;
	}
	scrape_labels_make(labels, &texts, e, run->scraper);
	count(run, SCRAPE_METRIC_PROFILES + (unsigned)e->kind, 1);
	run->scraper->put(run->scraper->ctx, new_receipt(run, e), labels, &c->upload);
}

static void finish_conversion(struct scrape_run *run, struct scrape_job *job)
{
	struct scrape_conversion *c = &job->conversion;
	struct target_endpoint *e = job->endpoint;

	run->n_converting--;
	count(run, SCRAPE_METRIC_CPU_NS, c->cpu_ns);
	if (!e) {
		job_free(job);
		return;
	}
	run->baseline_bytes += profile_baseline_bytes(&c->baseline);
	e->baseline = c->baseline;
	c->baseline = (struct profile_baseline){0};
	if (c->error < 0) {
		end_scrape(run, e, scrape_outcome_of_conversion(c->error),
			   c->err.msg[0] ? c->err.msg : strerror(-c->error));
		return;
	}
	e->previous_at_ns = c->info.scraped_at_ns;
	/* a restart that was noticed during the conversion concerns the next profile */
	if (c->info.restarted)
		e->restarted = false;
	count(run, SCRAPE_METRIC_RESTARTS, c->restarted);
	for (unsigned i = 0; i < PROFILE_LOSS_MAX; i++)
		count(run, SCRAPE_METRIC_LEFT_OUT + i, c->losses.n[i]);
	pass_on(run, e, c);
	end_scrape(run, e, SCRAPE_OK, NULL);
}

void scrape_run_take_results(struct scrape_run *run)
{
	struct scrape_conversion *c;

	while ((c = scrape_worker_take(run->worker)))
		finish_conversion(run, c->owner);
	arm(run);
}

/* The answer is complete: passes profile and baseline to a worker thread. */
static void convert(struct scrape_run *run, struct scrape_job *job)
{
	struct target_endpoint *e = job->endpoint;
	struct scrape_conversion *c = &job->conversion;
	int r;

	count(run, SCRAPE_METRIC_BYTES, job->n_bytes);
	c->info = (struct scraped_profile_info){
		.kind = e->kind,
		.scraped_at_ns = (int64_t)job->ended_at_ns,
		.previous_at_ns = e->previous_at_ns,
		.interval_ns = (int64_t)(recording_ns(run, e) ?: e->item.interval_ns),
		.restarted = e->restarted,
	};
	c->baseline = e->baseline;
	r = scrape_worker_adopt(run->worker, c);
	if (r < 0) {
		c->baseline = (struct profile_baseline){0};
		end_scrape(run, e, scrape_outcome_of_conversion(r), strerror(-r));
		return;
	}
	job->baseline_bytes = profile_baseline_bytes(&e->baseline);
	e->baseline = (struct profile_baseline){0};
	run->n_converting++;
}

static int on_data(void *ctx, const char *data, size_t len)
{
	struct scrape_job *job = ctx;
	const struct scraper_config *cfg = job->run->scraper;
	struct buf *body = &job->conversion.body;
	int r = buf_add(body, data, len);

	job->n_bytes += len;
	count_memory(job, body->cap);
	if (r == 0 && cfg->max_memory_bytes > 0 && job->run->memory_bytes > cfg->max_memory_bytes)
		r = -ENOBUFS;
	return r;
}

static void fail_request(struct scrape_run *run, struct target_endpoint *e,
			 const struct http_result *res)
{
	const struct scraper_config *cfg = run->scraper;
	struct err err = {""};

	/* otherwise -EFBIG concerns the headers, or the body of an error */
	if (res->error == -EFBIG && e->job->n_bytes > cfg->max_body_bytes)
		err_set(&err, res->error, "the answer is larger than %zu bytes",
			cfg->max_body_bytes);
	else if (res->error == -ENOBUFS)
		err_set(&err, res->error, "the answers being received take more than %zu bytes",
			cfg->max_memory_bytes);
	else
		err_set(&err, res->error, "%s", res->msg);
	end_scrape(run, e, scrape_outcome_of_request(res->error), err.msg);
}

/*
 * The answer of Go to an unknown path, and of pypprof to a heap that it does not record. A server
 * in front of the pod may give it for a moment, so the scrape is repeated, but less often.
 */
static bool is_missing(int status)
{
	return status == 404 || status == 412;
}

static void on_done(void *ctx, const struct http_result *res)
{
	struct scrape_job *job = ctx;
	struct scrape_run *run = job->run;
	struct target_endpoint *e = job->endpoint;
	struct err err = {""};

	run->n_in_flight--;
	job->transfer = NULL;
	job->took_ns = clock_monotonic_ns() - job->began_ns;
	job->ended_at_ns = clock_realtime_ns();
	if (res->error == 0)
		e->n_not_found = !is_missing(res->status)     ? 0
				 : e->n_not_found < UINT8_MAX ? e->n_not_found + 1
							      : UINT8_MAX;
	if (res->error != 0) {
		fail_request(run, e, res);
	} else if (res->status != 200) {
		scrape_answer_status(res->status, res->body, res->body_len, &err);
		end_scrape(run, e,
			   is_missing(res->status) && !e->asked_for ? SCRAPE_NOT_OFFERED
								    : SCRAPE_HTTP_STATUS,
			   err.msg);
	} else {
		convert(run, job);
	}
	arm(run);
}

/* ---- requests ---- */

static int send_request(struct scrape_run *run, struct target_endpoint *e, const char *credentials)
{
	const struct scraper_config *cfg = run->scraper;
	const struct scrape_place place = {e->target->ip, e->port, e->https, e->path};
	const struct scrape_group *g = group_of(run, e);
	const char *host = e->https ? g->settings.auth.tls_server_name : NULL;
	const char *const headers[] = {credentials, NULL};
	uint64_t duration_ns = recording_ns(run, e);
	char address[SCRAPE_ADDRESS_BYTES];
	AUTO_FREE char *url = NULL;
	struct http_request req = {
		.method = "GET",
		.headers = headers,
		.timeout_ns = cfg->timeout_ns + duration_ns,
		.max_response_bytes = MAX_ERROR_BODY_BYTES,
		.on_data = on_data,
		.connect_to = host ? address : NULL,
	};
	int r = scrape_url_make(&url, &place, host, duration_ns / NS_PER_S);

	if (r < 0)
		return r;
	req.url = url;
	scrape_address(address, &place);
	return http_start(g->clients[e->target->hh.hashv % g->n_clients], &req, on_done, e->job,
			  &e->job->transfer);
}

static void begin(struct scrape_run *run, struct target_endpoint *e, uint64_t now_ns)
{
	struct scrape_job *job = job_new(run, e);
	const char *credentials;
	struct err err = {""};
	int r;

	if (!job) {
		end_scrape(run, e, SCRAPE_MEMORY, "out of memory");
		return;
	}
	count(run, SCRAPE_METRIC_LATE, now_ns - e->item.slot_ns > LATE_NS);
	r = scrape_credentials_get(&(e->target->group ?: run->pods)->credentials, e->https, now_ns,
				   &credentials, &err);
	if (r < 0) {
		end_scrape(run, e, SCRAPE_CREDENTIALS, err.msg[0] ? err.msg : strerror(-r));
		return;
	}
	r = send_request(run, e, credentials);
	if (r == 0)
		run->n_in_flight++;
	else
		end_scrape(run, e, scrape_outcome_of_request(r), strerror(-r));
}

/*
 * Whether the process is recording a CPU profile for another endpoint: Go refuses a second one.
 */
static bool is_cpu_busy(const struct target_endpoint *e)
{
	const struct target *t = e->target;

	for (size_t i = 0; e->kind == PROFILE_KIND_CPU && i < t->n_endpoints; i++) {
		const struct target_endpoint *other = t->endpoints[i];

		if (other != e && other->kind == e->kind && other->port == e->port && other->job &&
		    other->job->transfer)
			return true;
	}
	return false;
}

/*
 * Checked again at the last moment: after the process or its machine was suspended, this timer
 * may run before the one that notices that other replicas have taken over.
 */
static bool is_owned(const struct target_endpoint *e, const struct scraper_config *cfg)
{
	return e->target->is_local || !cfg->owns || cfg->owns(cfg->ctx, e->target->uid);
}

static bool may_ask(const struct target_endpoint *e, const struct scraper_config *cfg)
{
	return is_owned(e, cfg) && !is_cpu_busy(e);
}

static void on_timer(void *ctx)
{
	struct scrape_run *run = ctx;
	uint64_t now_ns = clock_monotonic_ns(), missed = 0;
	struct schedule_item *item;

	while (may_begin(run) && (item = scrape_schedule_pop(&run->schedule, now_ns, &missed))) {
		/* item is the first field of struct target_endpoint */
		struct target_endpoint *e = (struct target_endpoint *)(void *)item;

		if (may_ask(e, run->scraper))
			begin(run, e, now_ns);
		else
			scrape_schedule_defer(&run->schedule, item, now_ns + DEFER_NS);
	}
	count(run, SCRAPE_METRIC_MISSED, missed);
	arm(run);
}

/*
 * Sets the timer to when the next scrape is due. If none may start, the end of any running one
 * calls this again.
 */
static void arm(struct scrape_run *run)
{
	uint64_t next_ns = scrape_schedule_next_ns(&run->schedule);
	uint64_t now_ns = clock_monotonic_ns();

	if (!may_begin(run) || next_ns == UINT64_MAX)
		loop_set_timer(run->timer, UINT64_MAX);
	else
		loop_set_timer(run->timer, next_ns > now_ns ? next_ns - now_ns : 0);
	show_gauges(run);
}

/* ---- start and stop endpoints ---- */

/* Does not change with a restart of this agent, so that the load stays where it was. */
static uint64_t place_of(const struct target_endpoint *e)
{
	const uint64_t numbers[] = {XXH3_64bits(e->target->uid, strlen(e->target->uid)), e->port,
				    e->kind, XXH3_64bits(e->path, strlen(e->path))};

	return XXH3_64bits(numbers, sizeof(numbers));
}

void scrape_run_start(struct scrape_run *run, struct target *target)
{
	uint64_t now_ns = clock_monotonic_ns(), early_ns = 0; /* 0: not determined yet */

	for (size_t i = 0; i < target->n_endpoints; i++) {
		struct target_endpoint *e = target->endpoints[i];

		if (e->job || e->item.position != 0)
			continue;
		e->item.interval_ns = group_of(run, e)->settings.interval_ns;
		scrape_schedule_place(&run->schedule, &e->item, place_of(e));
		if (early_ns == 0)
			early_ns = scrape_schedule_early_ns(&run->schedule, SCHEDULE_NEW, &e->item,
							    now_ns);
		if (early_ns != UINT64_MAX)
			scrape_schedule_put_now(&run->schedule, &e->item, early_ns);
		else
			scrape_schedule_put(&run->schedule, &e->item, now_ns);
	}
	arm(run);
}

static void stop_job(struct scrape_run *run, struct target_endpoint *e)
{
	struct scrape_job *job = e->job;

	e->job = NULL;
	job->endpoint = NULL;
	count_outcome(run, SCRAPE_CANCELLED);
	if (!job->transfer) {
		atomic_store(&job->conversion.unwanted, true);
		return;
	}
	http_cancel(job->transfer);
	run->n_in_flight--;
	job_free(job);
}

void scrape_run_stop(struct scrape_run *run, struct target *target)
{
	for (size_t i = 0; i < target->n_endpoints; i++) {
		struct target_endpoint *e = target->endpoints[i];

		if (e->job)
			stop_job(run, e);
		scrape_schedule_remove(&run->schedule, &e->item);
		run->baseline_bytes -= profile_baseline_bytes(&e->baseline);
		profile_baseline_fini(&e->baseline);
		set_error(e, NULL);
		forget_receipt(run, e);
		set_refusal(e, NULL);
		e->state = TARGET_PENDING;
		e->previous_at_ns = 0;
		e->last_at_ns = e->last_took_ns = e->last_bytes = 0;
		e->restarted = false;
		e->n_not_found = 0;
		e->n_repeated = 0;
	}
	arm(run);
}

int scrape_run_reserve(struct scrape_run *run, size_t n)
{
	return scrape_schedule_reserve(&run->schedule, n);
}

/* ---- create and destroy ---- */

static int make_pods(struct scrape_run *run)
{
	const struct scrape_settings settings = {.auth = run->scraper->auth};

	return scrape_group_new(&run->pods, &settings, run->scraper, SCRAPE_GROUP_CLIENTS);
}

int scrape_run_group(struct scrape_run *run, const struct scrape_settings *settings,
		     struct scrape_group **ret)
{
	struct scrape_group *g = run->others;
	int r;

	while (g && !scrape_group_has(g, settings))
		g = g->next;
	if (!g) {
		r = scrape_group_new(&g, settings, run->scraper, 1);
		if (r < 0)
			return r;
		g->next = run->others;
		run->others = g;
	}
	*ret = g;
	return 0;
}

void scrape_run_drop_groups(struct scrape_run *run, const struct target_table *table)
{
	struct scrape_group **at = &run->others;

	for (struct scrape_group *g = run->others; g; g = g->next)
		g->is_used = false;
	for (const struct target *t = target_table_first(table); t; t = target_table_next(t))
		if (t->group)
			t->group->is_used = true;
	while (*at) {
		struct scrape_group *g = *at;

		if (g->is_used) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		scrape_group_free(g);
	}
}

int scrape_run_new(struct scrape_run **ret, const struct scrape_run_config *cfg)
{
	CLEANUP(scrape_run_freep) struct scrape_run *run = calloc(1, sizeof(*run));
	const struct scraper_config *scraper = cfg->scraper;
	int r;

	if (!run)
		return -ENOMEM;
	run->cfg = *cfg;
	run->scraper = scraper;
	scrape_schedule_init(&run->schedule, scraper->interval_ns);
	run->receipts = calloc(N_RECEIPTS, sizeof(struct target_endpoint *));
	if (!run->receipts)
		return -ENOMEM;
	r = make_pods(run);
	if (r == 0)
		r = loop_add_timer(scraper->loop, on_timer, run, &run->timer);
	/* max_in_flight conversions may be queued while as many requests complete */
	if (r == 0)
		r = scrape_worker_new(&run->worker, scraper->n_threads,
				      2 * (size_t)scraper->max_in_flight, cfg->wake);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(run);
	return 0;
}

void scrape_run_free(struct scrape_run *run)
{
	if (!run)
		return;
	assert(run->n_in_flight == 0 && run->schedule.n == 0);
	scrape_group_free(run->pods);
	while (run->others) {
		struct scrape_group *g = run->others;

		run->others = g->next;
		scrape_group_free(g);
	}
	scrape_worker_free(run->worker, release_conversion);
	loop_remove(run->timer);
	scrape_schedule_fini(&run->schedule);
	free(run->receipts);
	free(run);
}
