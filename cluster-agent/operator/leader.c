/*
 * One request about the Lease at a time, and one timer: for the next request, or, while this
 * process leads, for the moment at which it no longer does because no renewal has succeeded. So a
 * hanging API server ends the leadership in time, although its request is still under way.
 */
#include "cluster-agent/operator/leader.h"

#include <errno.h>

#include "cluster-agent/operator/leader_lease.h"
#include "common/kubernetes/lease_requests.h"
#include "common/telemetry/log.h"
#include "common/text/kube_names.h"

#define REQUEST_TIMEOUT_NS (5 * NS_PER_S)
#define RELEASE_NS (3 * NS_PER_S)
#define HOST_NAME_BYTES 128

struct leader {
	struct leader_config cfg;
	struct lease_requests requests;
	struct leader_lease lease;
	struct loop_source *timer;
	struct kube_call *call; /* NULL: none */
	uint64_t sent_ns;
	uint64_t due_ns; /* when to send the next request */
	bool led;        /* as of the last changed() */
	bool answered;   /* there was an answer to a request */
	bool failing;    /* the last request failed, which is in the log */
	bool releasing;
	bool release_sent;
	uint64_t release_by_ns;
	loop_fn released; /* NULL after it was called */
	void *released_ctx;
	char state[400];
};

static void turn(struct leader *l);

/* ---- reports ---- */

static void report_leading(struct leader *l)
{
	bool leads = leader_leads(l);

	if (leads == l->led)
		return;
	l->led = leads;
	if (leads)
		log_info("leading: this operator works", "lease=%s holder=%s", l->lease.record.name,
			 l->lease.record.holder);
	else if (l->releasing)
		log_info("gave up leading", "lease=%s", l->lease.record.name);
	else
		log_warn("no longer leading: the lease was not renewed in time", "lease=%s",
			 l->lease.record.name);
	if (leads)
		snprintf(l->state, sizeof(l->state), "this operator leads");
	l->cfg.changed(l->cfg.ctx);
}

static void report_rival(struct leader *l, const char *holder)
{
	char text[sizeof(l->state)];

	snprintf(text, sizeof(text), "waiting for the lease of %.200s", holder);
	if (strcmp(text, l->state) != 0)
		log_info("another operator leads; waiting for its lease", "lease=%s holder=%s",
			 l->lease.record.name, LOG_QUOTED(holder));
	snprintf(l->state, sizeof(l->state), "%s", text);
}

static void report_failure(struct leader *l, enum lease_answer a, const char *why)
{
	if (!l->failing && a == LEASE_ANSWER_FORBIDDEN)
		log_error(
			"no permission to elect a leader, so nothing is done: the role needs get, "
			"create and update of leases.coordination.k8s.io",
			"namespace=%s reason=%s", l->requests.namespace, LOG_QUOTED(why));
	else if (!l->failing)
		log_warn("cannot read or renew the lease of the leader, retrying",
			 "lease=%s reason=%s", l->lease.record.name, LOG_QUOTED(why));
	l->failing = true;
	if (!leader_leads(l))
		snprintf(l->state, sizeof(l->state), "cannot read or write the lease: %.300s",
			 why ? why : "");
}

static void report_success(struct leader *l)
{
	if (l->failing)
		log_info("access to the lease of the leader recovered", "lease=%s",
			 l->lease.record.name);
	l->failing = false;
	l->answered = true;
}

/* ---- answers ---- */

static void on_read(struct leader *l, const struct lease *got)
{
	uint64_t now_ns = clock_boottime_ns();

	report_success(l);
	if (leader_lease_read(&l->lease, got, l->sent_ns, now_ns))
		l->due_ns = now_ns;
	else if (got)
		report_rival(l, got->holder);
}

static void on_written(struct leader *l, const struct lease *got)
{
	report_success(l);
	leader_lease_written(&l->lease, got, l->sent_ns);
}

static void send_request(struct leader *l, uint64_t now_ns);

/* A renewal that was under way comes first: it has changed the version that the release names. */
static void on_done_releasing(struct leader *l, const struct lease *written)
{
	if (!l->release_sent && written && strcmp(written->holder, l->lease.record.holder) == 0) {
		leader_lease_written(&l->lease, written, l->sent_ns);
		send_request(l, clock_boottime_ns());
	}
	if (!l->call)
		l->release_by_ns = 0;
	turn(l);
}

static void on_done(void *ctx, const struct kube_result *result)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};
	struct leader *l = ctx;
	enum lease_answer a = lease_requests_read(&d, result);
	bool reading = l->lease.record.step == LEASE_READ;

	l->call = NULL;
	l->due_ns = l->sent_ns + LEADER_RETRY_NS;
	if (a == LEASE_ANSWER_OK && d.n != 1)
		a = LEASE_ANSWER_BAD;
	if (l->releasing) {
		on_done_releasing(l, a == LEASE_ANSWER_OK && !reading ? &d.leases[0] : NULL);
		return;
	}
	if (a == LEASE_ANSWER_OK && !reading &&
	    strcmp(d.leases[0].holder, l->lease.record.holder) != 0)
		a = LEASE_ANSWER_BAD;
	if (reading && (a == LEASE_ANSWER_OK || a == LEASE_ANSWER_NONE)) {
		on_read(l, a == LEASE_ANSWER_OK ? &d.leases[0] : NULL);
	} else if (a == LEASE_ANSWER_OK) {
		on_written(l, &d.leases[0]);
	} else {
		lease_record_unknown(&l->lease.record);
		if (a != LEASE_ANSWER_CONFLICT)
			report_failure(l, a, result->msg ? result->msg : "invalid answer");
	}
	turn(l);
}

/* ---- requests ---- */

static void send_request(struct leader *l, uint64_t now_ns)
{
	struct lease text;
	int r;

	l->sent_ns = now_ns;
	lease_record_text(&l->lease.record, &text);
	if (l->releasing) {
		text.holder = "";
		l->release_sent = true;
	}
	if (l->lease.record.step == LEASE_READ)
		r = lease_requests_get(&l->requests, l->lease.record.name, on_done, l, &l->call);
	else
		r = lease_requests_put(&l->requests, &text, on_done, l, &l->call);
	if (r < 0) {
		l->due_ns = now_ns + LEADER_RETRY_NS;
		report_failure(l, LEASE_ANSWER_UNREACHABLE, strerror(-r));
	}
}

static void finish_release(struct leader *l)
{
	loop_fn released = TAKE_PTR(l->released);

	kube_call_cancel(TAKE_PTR(l->call));
	loop_set_timer(l->timer, UINT64_MAX);
	if (released)
		released(l->released_ctx);
}

static void arm(struct leader *l, uint64_t now_ns)
{
	uint64_t at_ns = l->call ? UINT64_MAX : l->due_ns;

	if (l->led && l->lease.renewed_ns + LEADER_DEADLINE_NS < at_ns)
		at_ns = l->lease.renewed_ns + LEADER_DEADLINE_NS;
	if (l->releasing)
		at_ns = l->release_by_ns;
	loop_set_timer(l->timer, at_ns == UINT64_MAX ? at_ns : at_ns > now_ns ? at_ns - now_ns : 0);
}

static void turn(struct leader *l)
{
	uint64_t now_ns = clock_boottime_ns();

	if (l->releasing && now_ns >= l->release_by_ns) {
		finish_release(l);
		return;
	}
	if (!l->releasing && !l->call && now_ns >= l->due_ns)
		send_request(l, now_ns);
	report_leading(l);
	arm(l, now_ns);
}

static void on_timer(void *ctx)
{
	turn(ctx);
}

/* ---- public ---- */

/* No two processes ever use the same identity. */
static int make_holder(char ret[static LEASE_HOLDER_BYTES])
{
	char host[HOST_NAME_BYTES] = "";

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	return lease_holder_make(ret, host);
}

int leader_new(struct leader **ret, const struct leader_config *cfg)
{
	CLEANUP(leader_freep) struct leader *l = calloc(1, sizeof(*l));
	const struct lease_requests_config requests = {
		.client = cfg->client,
		.namespace = cfg->namespace,
		.duration_s = LEADER_EXPIRY_NS / NS_PER_S,
		.timeout_ns = REQUEST_TIMEOUT_NS,
	};
	char holder[LEASE_HOLDER_BYTES];
	int r;

	if (!l)
		return -ENOMEM;
	l->cfg = *cfg;
	if (!kube_name_is_subdomain(cfg->lease))
		return -EINVAL;
	r = make_holder(holder);
	if (r < 0)
		return r;
	leader_lease_init(&l->lease, cfg->lease, holder);
	snprintf(l->state, sizeof(l->state), "the lease has not been read yet");
	r = lease_requests_init(&l->requests, &requests);
	if (r == 0)
		r = loop_add_timer(cfg->loop, on_timer, l, &l->timer);
	if (r < 0)
		return r;
	loop_set_timer(l->timer, 0);
	*ret = TAKE_PTR(l);
	return 0;
}

void leader_free(struct leader *l)
{
	if (!l)
		return;
	kube_call_cancel(l->call);
	loop_remove(l->timer);
	lease_requests_fini(&l->requests);
	free(l);
}

bool leader_leads(const struct leader *l)
{
	return !l->releasing && leader_lease_leads(&l->lease, clock_boottime_ns());
}

void leader_release(struct leader *l, loop_fn done, void *ctx)
{
	uint64_t now_ns = clock_boottime_ns();
	bool held = leader_lease_leads(&l->lease, now_ns) && l->lease.record.step == LEASE_WRITE;

	l->releasing = true;
	l->released = done;
	l->released_ctx = ctx;
	l->release_by_ns = held ? now_ns + RELEASE_NS : 0;
	report_leading(l);
	if (held && !l->call)
		send_request(l, now_ns);
	if (!l->call)
		l->release_by_ns = 0;
	loop_set_timer(l->timer, l->call ? RELEASE_NS : 0);
}

bool leader_works(const struct leader *l)
{
	return l->answered && !l->failing;
}

const char *leader_state(const struct leader *l)
{
	return l->state;
}
