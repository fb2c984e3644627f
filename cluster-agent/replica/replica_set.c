/*
 * The part of sharing that touches the world. own_lease.c decides the next request for our own
 * Lease, and replica_members.c decides who is alive; this file sends the requests, on one
 * timer, and logs and reports what has changed.
 *
 * There are three slots with at most one request each: our own Lease, the list of all Leases,
 * and the deletion of a Lease. turn() is called after every answer and by the timer. It sends
 * what is due, sets the timer for whatever comes next, and calls changed() if the set of living
 * members has changed or this member has become active or inactive. All times are from the
 * boot-time clock, which continues during suspend: a machine that wakes up must not believe
 * that its Lease is fresh.
 *
 * A single failed request is retried silently, because one lost request does not pause a
 * member. Problems are logged when the worst of the three slots' states changes, and once when
 * it ends.
 */
#include "cluster-agent/replica/replica_set.h"

#include <errno.h>

#include "cluster-agent/replica/own_lease.h"
#include "cluster-agent/replica/replica_members.h"
#include "common/kubernetes/lease_requests.h"
#include "common/telemetry/log.h"

/* Delay after a request that fails immediately. */
#define RETRY_NS (500 * NS_PER_MS)
/* The API server not answering once is not worth a log line. */
#define FAILURES_TO_REPORT 2

/* The kinds of requests; at most one of each runs at a time. */
enum slot_kind {
	SLOT_OWN, /* reads, creates or renews our own Lease */
	SLOT_LIST,
	SLOT_DELETE, /* deletes a stale Lease, or our own at shutdown */
	SLOT_MAX,
};

enum trouble {
	TROUBLE_NONE,
	TROUBLE_UNREACHABLE,
	TROUBLE_TOO_MANY,
	TROUBLE_RIVAL,
	TROUBLE_FORBIDDEN,
};

struct slot {
	struct kube_call *call; /* NULL if none is running */
	uint64_t sent_ns;
	uint64_t due_ns; /* when to send the next request */
	unsigned n_failures;
	enum trouble trouble;
};

enum replica_metric {
	MEMBERS,
	PAUSED,
	ERRORS_CONFLICT,
	ERRORS_FORBIDDEN,
	ERRORS_TIMEOUT,
	ERRORS_UNREACHABLE,
	ERRORS_REFUSED,
	ERRORS_BAD,
	ERRORS_TOO_MANY,
	REPLICA_METRIC_MAX,
};

#define PREFIX "coroot_cluster_agent_replica_"

#define ERRORS(reason) \
	PREFIX "lease_errors_total", "reason=\"" reason "\"", "Requests about Leases that failed"

static const struct metric_def metric_defs[REPLICA_METRIC_MAX] = {
	[MEMBERS] = {PREFIX "members", NULL,
		     "Living members of the group of replicas, this one included", METRIC_GAUGE},
	[PAUSED] = {PREFIX "paused", NULL, "1 while this replica has no targets of its own",
		    METRIC_GAUGE},
	[ERRORS_CONFLICT] = {ERRORS("conflict")},
	[ERRORS_FORBIDDEN] = {ERRORS("forbidden")},
	[ERRORS_TIMEOUT] = {ERRORS("timeout")},
	[ERRORS_UNREACHABLE] = {ERRORS("unreachable")},
	[ERRORS_REFUSED] = {ERRORS("refused")},
	[ERRORS_BAD] = {ERRORS("bad_answer")},
	[ERRORS_TOO_MANY] = {ERRORS("too_many_leases")},
};
METRIC_TABLE(metric_table, metric_defs);

struct replica_set {
	struct loop_source *timer;
	struct lease_requests requests;
	struct replica_members members;
	struct own_lease own;
	struct slot slots[SLOT_MAX];
	uint64_t renew_ns;

	void *ctx;
	void (*changed)(void *ctx);
	bool reported_active; /* as of the last changed() */
	uint64_t reported_generation;
	enum trouble reported_trouble;

	bool leaving;
	uint64_t leave_until_ns;
	loop_fn left; /* NULL after it was called */
	void *left_ctx;

	struct metric metrics[REPLICA_METRIC_MAX];
};

/* ---- reports ---- */

static bool is_active(const struct replica_set *rs)
{
	return !rs->leaving && replica_members_active(&rs->members, clock_boottime_ns());
}

static enum trouble worst_trouble(const struct replica_set *rs)
{
	enum trouble worst = TROUBLE_NONE;

	for (size_t i = 0; i < SLOT_MAX; i++)
		if (rs->slots[i].trouble > worst)
			worst = rs->slots[i].trouble;
	return worst;
}

/* why is the answer of the API server, or the holder of the Lease. */
static void report_trouble(struct replica_set *rs, const char *why)
{
	enum trouble t = worst_trouble(rs);

	if (t == rs->reported_trouble)
		return;
	rs->reported_trouble = t;
	switch (t) {
	case TROUBLE_NONE:
		log_info("access to the leases of replicas recovered", "lease=%s",
			 rs->own.record.name);
		break;
	case TROUBLE_UNREACHABLE:
		log_warn("cannot read or renew leases; this replica scrapes nothing without them",
			 "lease=%s reason=%s", rs->own.record.name, LOG_QUOTED(why));
		break;
	case TROUBLE_TOO_MANY:
		log_error("the group has more leases than replicas are allowed; nothing is scraped",
			  "group=%s max=%d", rs->requests.group, REPLICA_MAX_MEMBERS);
		break;
	case TROUBLE_RIVAL:
		log_error("another process runs under the name of this replica: this one scrapes "
			  "nothing",
			  "lease=%s holder=%s", rs->own.record.name, LOG_QUOTED(why));
		break;
	case TROUBLE_FORBIDDEN:
		log_error("no permission to share targets with other replicas, nothing is scraped: "
			  "the role needs get, list, create, update and delete of "
			  "leases.coordination.k8s.io",
			  "namespace=%s reason=%s", rs->requests.namespace, LOG_QUOTED(why));
		break;
	}
}

static void report_changes(struct replica_set *rs)
{
	bool active = is_active(rs);
	size_t n = replica_set_count(rs);

	metric_set(&rs->metrics[MEMBERS], n);
	metric_set(&rs->metrics[PAUSED], !active);
	if (active == rs->reported_active && rs->members.generation == rs->reported_generation)
		return;
	if (!rs->leaving)
		log_info(active ? "sharing targets with the other replicas"
				: "leaving all targets to the other replicas",
			 "members=%zu lease=%s", n, rs->own.record.name);
	rs->reported_active = active;
	rs->reported_generation = rs->members.generation;
	if (rs->changed)
		rs->changed(rs->ctx);
}

/* ---- answers ---- */

static void count_failure(struct replica_set *rs, enum lease_answer a)
{
	static const enum replica_metric metric_of[LEASE_ANSWER_MAX] = {
		[LEASE_ANSWER_CONFLICT] = ERRORS_CONFLICT,
		[LEASE_ANSWER_FORBIDDEN] = ERRORS_FORBIDDEN,
		[LEASE_ANSWER_TIMEOUT] = ERRORS_TIMEOUT,
		[LEASE_ANSWER_UNREACHABLE] = ERRORS_UNREACHABLE,
		[LEASE_ANSWER_REFUSED] = ERRORS_REFUSED,
		[LEASE_ANSWER_BAD] = ERRORS_BAD,
		/* no such namespace */
		[LEASE_ANSWER_NONE] = ERRORS_REFUSED,
	};

	metric_add(&rs->metrics[metric_of[a]], 1);
}

static void succeed(struct replica_set *rs, struct slot *s, enum trouble trouble, const char *why)
{
	s->n_failures = 0;
	s->trouble = trouble;
	s->due_ns = s->sent_ns + rs->renew_ns;
	report_trouble(rs, why);
}

static void fail(struct replica_set *rs, struct slot *s, enum lease_answer a, const char *why)
{
	uint64_t soonest_ns = clock_boottime_ns() + RETRY_NS;

	count_failure(rs, a);
	s->due_ns = s->sent_ns + rs->renew_ns;
	if (s->due_ns < soonest_ns)
		s->due_ns = soonest_ns;
	s->n_failures++;
	if (a == LEASE_ANSWER_FORBIDDEN)
		s->trouble = TROUBLE_FORBIDDEN;
	else if (s->n_failures >= FAILURES_TO_REPORT)
		s->trouble = TROUBLE_UNREACHABLE;
	report_trouble(rs, why);
}

static void turn(struct replica_set *rs);

static void on_list(void *ctx, const struct kube_result *result)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};
	struct replica_set *rs = ctx;
	struct slot *s = &rs->slots[SLOT_LIST];
	enum lease_answer a = lease_requests_read(&d, result);
	uint64_t now_ns = clock_boottime_ns();

	s->call = NULL;
	if (a != LEASE_ANSWER_OK) {
		fail(rs, s, a, result->msg);
		turn(rs);
		return;
	}
	metric_add(&rs->metrics[ERRORS_BAD], d.n_bad);
	replica_members_list_begin(&rs->members);
	for (size_t i = 0; i < d.n; i++)
		replica_members_list_add(&rs->members, d.leases[i].name, d.leases[i].version,
					 !strcmp(d.leases[i].holder, rs->own.record.holder),
					 now_ns);
	replica_members_list_end(&rs->members, s->sent_ns);
	rs->members.too_many |= d.more;

	metric_add(&rs->metrics[ERRORS_TOO_MANY], rs->members.too_many);
	succeed(rs, s, rs->members.too_many ? TROUBLE_TOO_MANY : TROUBLE_NONE, "");
	if (s->due_ns > replica_members_expiry_ns(&rs->members))
		s->due_ns = replica_members_expiry_ns(&rs->members);
	turn(rs);
}

/* The next step is sent at once if it is another one. */
static void on_read(struct replica_set *rs, const struct lease *l)
{
	struct slot *s = &rs->slots[SLOT_OWN];
	uint64_t now_ns = clock_boottime_ns();

	if (!own_lease_read(&rs->own, l, s->sent_ns, now_ns))
		replica_members_lost(&rs->members);
	if (l && rs->own.has_rival)
		succeed(rs, s, TROUBLE_RIVAL, l->holder);
	else
		s->due_ns = now_ns;
}

static void on_written(struct replica_set *rs, const struct lease *l)
{
	struct slot *s = &rs->slots[SLOT_OWN];
	uint64_t now_ns = clock_boottime_ns();

	own_lease_written(&rs->own, l, now_ns);
	replica_members_renewed(&rs->members, s->sent_ns, now_ns);
	succeed(rs, s, TROUBLE_NONE, "");
}

/* Another process has changed, taken over or deleted our Lease. */
static void on_conflict(struct replica_set *rs, enum lease_answer a)
{
	lease_record_unknown(&rs->own.record);
	if (a == LEASE_ANSWER_NONE)
		replica_members_lost(&rs->members);
	count_failure(rs, LEASE_ANSWER_CONFLICT);
	rs->slots[SLOT_OWN].due_ns = clock_boottime_ns() + RETRY_NS;
}

/* Whether the server stored what we wrote. */
static bool is_ours(const struct replica_set *rs, const struct lease_doc *d)
{
	return d->n == 1 && !strcmp(d->leases[0].name, rs->own.record.name) &&
	       !strcmp(d->leases[0].holder, rs->own.record.holder);
}

static void on_own(void *ctx, const struct kube_result *result)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};
	struct replica_set *rs = ctx;
	struct slot *s = &rs->slots[SLOT_OWN];
	enum lease_answer a = lease_requests_read(&d, result);
	bool reading = rs->own.record.step == LEASE_READ;

	s->call = NULL;
	if (a == LEASE_ANSWER_OK && (reading ? d.n != 1 : !is_ours(rs, &d)))
		a = LEASE_ANSWER_BAD;
	if (reading && (a == LEASE_ANSWER_OK || a == LEASE_ANSWER_NONE)) {
		on_read(rs, a == LEASE_ANSWER_OK ? &d.leases[0] : NULL);
	} else if (a == LEASE_ANSWER_OK) {
		on_written(rs, &d.leases[0]);
	} else if (a == LEASE_ANSWER_CONFLICT ||
		   (a == LEASE_ANSWER_NONE && rs->own.record.step == LEASE_WRITE)) {
		on_conflict(rs, a);
	} else {
		lease_record_unknown(&rs->own.record);
		fail(rs, s, a, result->msg);
	}
	turn(rs);
}

/* A Lease that another member has deleted is as good. */
static void on_deleted(void *ctx, const struct kube_result *result)
{
	struct replica_set *rs = ctx;
	struct slot *s = &rs->slots[SLOT_DELETE];
	enum lease_answer a = lease_requests_status(result);

	s->call = NULL;
	if (rs->leaving)
		rs->leave_until_ns = 0;
	if (a == LEASE_ANSWER_OK || a == LEASE_ANSWER_NONE || a == LEASE_ANSWER_CONFLICT)
		succeed(rs, s, TROUBLE_NONE, "");
	else
		fail(rs, s, a, result->msg);
	turn(rs);
}

/* ---- requests ---- */

static void after_send(struct replica_set *rs, struct slot *s, int r)
{
	if (r < 0)
		fail(rs, s, LEASE_ANSWER_UNREACHABLE, strerror(-r));
}

static void send_own(struct replica_set *rs, uint64_t now_ns)
{
	struct slot *s = &rs->slots[SLOT_OWN];
	struct lease l;
	int r;

	s->sent_ns = now_ns;
	lease_record_text(&rs->own.record, &l);
	if (rs->own.record.step == LEASE_READ)
		r = lease_requests_get(&rs->requests, rs->own.record.name, on_own, rs, &s->call);
	else
		r = lease_requests_put(&rs->requests, &l, on_own, rs, &s->call);
	after_send(rs, s, r);
}

static void send_list(struct replica_set *rs, uint64_t now_ns)
{
	struct slot *s = &rs->slots[SLOT_LIST];

	s->sent_ns = now_ns;
	after_send(rs, s, lease_requests_list(&rs->requests, on_list, rs, &s->call));
}

static void send_delete(struct replica_set *rs, const char *name, const char *version,
			uint64_t now_ns)
{
	struct slot *s = &rs->slots[SLOT_DELETE];

	s->sent_ns = now_ns;
	after_send(rs, s,
		   lease_requests_delete(&rs->requests, name, version, on_deleted, rs, &s->call));
}

/* ---- turns ---- */

static void finish_leaving(struct replica_set *rs)
{
	loop_fn left = TAKE_PTR(rs->left);

	for (size_t i = 0; i < SLOT_MAX; i++)
		kube_call_cancel(TAKE_PTR(rs->slots[i].call));
	loop_set_timer(rs->timer, UINT64_MAX);
	if (left)
		left(rs->left_ctx);
}

/* Waits for a renewal that is running: it would change the version that is to be deleted. */
static void leave_turn(struct replica_set *rs, uint64_t now_ns)
{
	struct slot *s = &rs->slots[SLOT_DELETE];

	if (now_ns >= rs->leave_until_ns) {
		finish_leaving(rs);
		return;
	}
	loop_set_timer(rs->timer, rs->leave_until_ns - now_ns);
	if (rs->slots[SLOT_OWN].call || s->call)
		return;
	if (own_lease_may_delete(&rs->own, now_ns))
		send_delete(rs, rs->own.record.name, rs->own.record.version, now_ns);
	if (!s->call)
		finish_leaving(rs);
}

static void arm(struct replica_set *rs, uint64_t now_ns)
{
	uint64_t t = replica_members_turn_ns(&rs->members, now_ns);

	for (size_t i = SLOT_OWN; i <= SLOT_LIST; i++)
		if (!rs->slots[i].call && rs->slots[i].due_ns < t)
			t = rs->slots[i].due_ns;
	loop_set_timer(rs->timer, t == UINT64_MAX ? t : t > now_ns ? t - now_ns : 0);
}

static void turn(struct replica_set *rs)
{
	uint64_t now_ns = clock_boottime_ns();
	struct slot *s = rs->slots;
	const struct replica_member *stale;

	if (rs->leaving) {
		leave_turn(rs, now_ns);
		return;
	}
	if (!s[SLOT_OWN].call && now_ns >= s[SLOT_OWN].due_ns)
		send_own(rs, now_ns);
	if (!s[SLOT_LIST].call && now_ns >= s[SLOT_LIST].due_ns)
		send_list(rs, now_ns);
	stale = replica_members_stale(&rs->members, now_ns);
	if (stale && !s[SLOT_DELETE].call && now_ns >= s[SLOT_DELETE].due_ns)
		send_delete(rs, stale->name, stale->version, now_ns);
	arm(rs, now_ns);
	report_changes(rs);
}

static void on_timer(void *ctx)
{
	turn(ctx);
}

/* ---- public ---- */

/* No two processes ever use the same holder identity. */
static int make_own(struct replica_set *rs, const struct replica_set_config *cfg)
{
	char name[LEASE_NAME_BYTES], holder[LEASE_HOLDER_BYTES];
	int r = lease_requests_name(cfg->group, cfg->name, name);

	if (r == 0)
		r = lease_holder_make(holder, name + strlen(cfg->group) + 1);
	if (r < 0)
		return r;
	own_lease_init(&rs->own, name, holder);
	replica_members_init(&rs->members, name);
	return 0;
}

_Static_assert(LEASE_LIST_MAX == REPLICA_MAX_MEMBERS + 1, "a list shows when there are too many");

int replica_set_new(struct replica_set **ret, const struct replica_set_config *cfg)
{
	const struct lease_requests_config requests = {
		.client = cfg->client,
		.namespace = cfg->namespace,
		.group = cfg->group,
		.duration_s = REPLICA_EXPIRY_NS / NS_PER_S,
		.timeout_ns = REPLICA_TIMEOUT_NS,
	};
	CLEANUP(replica_set_freep) struct replica_set *rs = NULL;
	int r;

	rs = calloc(1, sizeof(*rs));
	if (!rs)
		return -ENOMEM;
	metric_set(&rs->metrics[PAUSED], 1);
	rs->ctx = cfg->ctx;
	rs->changed = cfg->changed;
	rs->renew_ns = cfg->renew_ns ? cfg->renew_ns : REPLICA_RENEW_NS;
	r = make_own(rs, cfg);
	if (r == 0)
		r = lease_requests_init(&rs->requests, &requests);
	if (r == 0)
		r = loop_add_timer(cfg->loop, on_timer, rs, &rs->timer);
	if (r < 0)
		return r;
	loop_set_timer(rs->timer, 0);

	*ret = TAKE_PTR(rs);
	return 0;
}

void replica_set_free(struct replica_set *rs)
{
	if (!rs)
		return;
	for (size_t i = 0; i < SLOT_MAX; i++)
		kube_call_cancel(rs->slots[i].call);
	loop_remove(rs->timer);
	lease_requests_fini(&rs->requests);
	free(rs);
}

void replica_set_leave(struct replica_set *rs, loop_fn done, void *ctx)
{
	rs->left = done;
	rs->left_ctx = ctx;
	rs->leaving = true;
	rs->leave_until_ns = clock_boottime_ns() + REPLICA_TIMEOUT_NS;
	kube_call_cancel(TAKE_PTR(rs->slots[SLOT_LIST].call));
	kube_call_cancel(TAKE_PTR(rs->slots[SLOT_DELETE].call));
	report_changes(rs);
	loop_set_timer(rs->timer, 0);
}

bool replica_set_owns(const struct replica_set *rs, const char *key)
{
	return !rs->leaving && replica_members_owns(&rs->members, key, clock_boottime_ns());
}

size_t replica_set_count(const struct replica_set *rs)
{
	return replica_members_count(&rs->members, clock_boottime_ns());
}

int replica_set_register(struct replica_set *rs, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, rs->metrics, NULL);
}
