/*
 * One thread runs everything but the handlers' work: it accepts, reads, and sends. An answer that
 * comes from another thread is put into a list, and the thread is woken to send it.
 *
 * A connection may end in the middle of one of its own callbacks, so it is put into a list as well,
 * and freed when the loop comes round.
 */
#include "common/http/grpc_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/http/grpc_connection.h"
#include "common/http/http_listen.h"
#include "common/http/http_peers.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/condition.h"

#define CHECK_NS NS_PER_S
#define LINGER_NS NS_PER_S
/* Accepted in one go, before others have their turn. */
#define MAX_AT_ONCE 64
/* A client that makes us wait for less is not slow. */
#define SLOW_NS NS_PER_S

enum grpc_metric {
	CALLS,
	REFUSED_KEY,
	REFUSED_OTHER,
	CONNECTIONS,
	CLOSED_IDLE,
	CLOSED_LATE,
	REFUSED_CONNECTIONS,
	CLOSED_EXCESSIVE,
	CLOSED_INVALID,
	N_GRPC_METRICS,
};

#define REFUSED(reason)                                             \
	"grpc_server_refused_calls_total", "reason=\"" reason "\"", \
		"gRPC calls that were refused before their handler saw them"
#define CLOSED(reason)                                                   \
	"grpc_server_closed_connections_total", "reason=\"" reason "\"", \
		"gRPC connections that the server closed, by reason"

static const struct metric_def metric_defs[N_GRPC_METRICS] = {
	[CALLS] = {"grpc_server_calls_total", NULL, "gRPC calls that a handler got"},
	[REFUSED_KEY] = {REFUSED("key")},
	[REFUSED_OTHER] = {REFUSED("invalid")},
	[CONNECTIONS] = {"grpc_server_connections", NULL, "gRPC connections", METRIC_GAUGE},
	[CLOSED_IDLE] = {CLOSED("idle")},
	[CLOSED_LATE] = {CLOSED("slow")},
	[REFUSED_CONNECTIONS] = {CLOSED("full")},
	[CLOSED_EXCESSIVE] = {CLOSED("excessive")},
	[CLOSED_INVALID] = {CLOSED("invalid")},
};
METRIC_TABLE(metric_table, metric_defs);

/* A place for a connection. */
struct place {
	struct grpc_connection *connection;
	struct http_peer *peer; /* NULL if there was no memory for it */
};

struct grpc_server {
	struct grpc_server_config cfg;
	struct metric metrics[N_GRPC_METRICS];
	int listen_fd;
	unsigned port;
	pthread_t thread;
	bool has_thread;
	struct loop_source *listening, *woken, *check, *stop_timer;
	/* of the thread */
	struct grpc_host host;
	struct place *places; /* the first n_connections are taken */
	unsigned n_connections;
	struct http_peer *peers;
	bool any_ended;
	unsigned n_calls; /* that handlers have */
	uint64_t stop_by_ns;
	/* of any thread */
	pthread_mutex_t lock;
	struct grpc_call *answered;
	bool quiesce, stop;
};

/* ---- connections ---- */

static void unref_peer(struct grpc_server *s, struct http_peer *p)
{
	if (p)
		p->n--;
	http_peer_unref(&s->peers, p);
}

static void remove_connection(struct grpc_server *s, unsigned i)
{
	grpc_connection_free(s->places[i].connection);
	unref_peer(s, s->places[i].peer);
	s->places[i] = s->places[--s->n_connections];
	metric_set(&s->metrics[CONNECTIONS], s->n_connections);
}

static void remove_ended(struct grpc_server *s)
{
	s->any_ended = false;
	for (unsigned i = s->n_connections; i-- > 0;)
		if (grpc_connection_has_ended(s->places[i].connection))
			remove_connection(s, i);
}

/*
 * Closes one connection whose state lasts since before before_ns, at an address that has more than
 * heavier_than of them: of the address that has most, the one that has been in its state for
 * longest. since_ns() is of grpc_connection.h.
 */
static bool close_one(struct grpc_server *s, uint64_t (*since_ns)(const struct grpc_connection *c),
		      unsigned heavier_than, uint64_t before_ns, enum grpc_metric why)
{
	uint64_t since, oldest = UINT64_MAX;
	unsigned weight, heaviest = 0, at = 0;

	for (unsigned i = 0; i < s->n_connections; i++) {
		since = since_ns(s->places[i].connection);
		weight = http_peer_weight(s->places[i].peer);
		if (since == 0 || since > before_ns || weight <= heavier_than)
			continue;
		if (weight < heaviest || (weight == heaviest && since >= oldest))
			continue;
		heaviest = weight;
		oldest = since;
		at = i;
	}
	if (heaviest == 0)
		return false;
	metric_add(&s->metrics[why], 1);
	remove_connection(s, at);
	return true;
}

/*
 * The same rules as of http_connections.h: whoever opens many connections displaces his own; those
 * of others only if they are idle for a while; and if none is idle, a slow one of whoever has more
 * than half of all.
 */
static bool make_room(struct grpc_server *s, const struct http_peer *newcomer)
{
	const uint64_t young_ns = clock_monotonic_ns() - SLOW_NS;
	const unsigned half = s->cfg.max_connections / 2;

	if (s->n_connections < s->cfg.max_connections ||
	    close_one(s, grpc_connection_idle_since_ns, http_peer_weight(newcomer) - 1, UINT64_MAX,
		      CLOSED_IDLE) ||
	    close_one(s, grpc_connection_idle_since_ns, 0, young_ns, CLOSED_IDLE))
		return true;
	if (http_peer_weight(newcomer) <= half &&
	    close_one(s, grpc_connection_waits_since_ns, half, young_ns, CLOSED_LATE))
		return true;
	metric_add(&s->metrics[REFUSED_CONNECTIONS], 1);
	return false;
}

/* What has arrived for an address and is incomplete. */
static size_t incomplete_bytes(const struct grpc_server *s, const struct http_peer *p)
{
	size_t n = 0;

	for (unsigned i = 0; i < s->n_connections; i++)
		if (s->places[i].peer == p)
			n += grpc_connection_incomplete_bytes(s->places[i].connection);
	return n;
}

static const struct http_peer *peer_of(const struct grpc_server *s, const struct grpc_connection *c)
{
	for (unsigned i = 0; i < s->n_connections; i++)
		if (s->places[i].connection == c)
			return s->places[i].peer;
	return NULL;
}

/*
 * Closes the connection that keeps most of messages that do not end, if its address keeps more than
 * half of all memory so. Everybody else would be refused until it is late.
 */
static bool make_memory(void *ctx, const struct grpc_connection *c)
{
	struct grpc_server *s = ctx;
	const uint64_t young_ns = clock_monotonic_ns() - SLOW_NS;
	const struct http_peer *own = peer_of(s, c);
	size_t n, most = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < s->n_connections; i++) {
		const struct place *p = &s->places[i];
		uint64_t since_ns = grpc_connection_waits_since_ns(p->connection);

		n = grpc_connection_incomplete_bytes(p->connection);
		if (p->peer == own || since_ns == 0 || since_ns > young_ns || n <= most)
			continue;
		most = n;
		at = i;
	}
	if (most == 0 || incomplete_bytes(s, s->places[at].peer) <= s->cfg.max_memory_bytes / 2)
		return false;
	metric_add(&s->metrics[CLOSED_LATE], 1);
	remove_connection(s, at);
	return true;
}

static void wait_for_connections(struct grpc_server *s, uint32_t events)
{
	if (loop_modify_fd(s->listening, events) < 0)
		log_warn_limited("gRPC server", "detail=\"epoll failed\"");
}

/* Takes fd if it returns true. */
static bool add_connection(struct grpc_server *s, int fd, const struct sockaddr *from)
{
	struct http_peer *peer = http_peer_ref(&s->peers, from);
	struct grpc_connection *c;

	if (peer)
		peer->n++;
	if (!make_room(s, peer) ||
	    grpc_connection_new(&c, &s->host, fd, http_client_number(from)) < 0) {
		unref_peer(s, peer);
		return false;
	}
	s->places[s->n_connections] = (struct place){c, peer};
	metric_set(&s->metrics[CONNECTIONS], ++s->n_connections);
	return true;
}

/* Returns whether there may be more to accept. */
static bool accept_one(struct grpc_server *s)
{
	union {
		struct sockaddr any;
		struct sockaddr_in6 v6;
	} from = {.v6 = {0}};
	socklen_t len = sizeof(from);
	AUTO_CLOSE int fd = accept4(s->listen_fd, &from.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EAGAIN || errno == EINVAL))
		return false;
	if (fd < 0) {
		/* without a descriptor the socket stays readable: wait for the next check */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			wait_for_connections(s, 0);
			return false;
		}
		return true;
	}
	if (add_connection(s, fd, &from.any))
		(void)TAKE_FD(fd);
	return true;
}

static void stop_listening(struct grpc_server *s)
{
	loop_remove(s->listening);
	s->listening = NULL;
}

static void on_listening(void *ctx, uint32_t events)
{
	struct grpc_server *s = ctx;

	if (events & EPOLLHUP) {
		stop_listening(s);
		return;
	}
	for (int i = 0; i < MAX_AT_ONCE && accept_one(s); i++)
		;
}

/* Every second. */
static void on_check(void *ctx)
{
	struct grpc_server *s = ctx;
	uint64_t now = clock_monotonic_ns();

	remove_ended(s);
	for (unsigned i = s->n_connections; i-- > 0;) {
		if (!grpc_connection_is_late(s->places[i].connection, now))
			continue;
		metric_add(&s->metrics[CLOSED_LATE], 1);
		remove_connection(s, i);
	}
	if (s->listening)
		wait_for_connections(s, EPOLLIN);
	loop_set_timer(s->check, CHECK_NS);
}

/* ---- calls ---- */

static void dispatch(void *ctx, struct grpc_call *call)
{
	struct grpc_server *s = ctx;

	s->n_calls++;
	metric_add(&s->metrics[CALLS], 1);
	call->method->fn(call->method->ctx, call);
}

static void on_refused(void *ctx, enum grpc_status status)
{
	struct grpc_server *s = ctx;
	bool is_key = status == GRPC_UNAUTHENTICATED || status == GRPC_PERMISSION_DENIED;

	metric_add(&s->metrics[is_key ? REFUSED_KEY : REFUSED_OTHER], 1);
}

static void on_gave_up(void *ctx, enum grpc_end why)
{
	struct grpc_server *s = ctx;

	metric_add(&s->metrics[why == GRPC_END_EXCESSIVE ? CLOSED_EXCESSIVE : CLOSED_INVALID], 1);
}

static void on_ended(void *ctx, struct grpc_connection *c)
{
	struct grpc_server *s = ctx;

	(void)c;
	if (!s->any_ended)
		loop_wake(s->woken);
	s->any_ended = true;
}

const void *grpc_call_message(const struct grpc_call *c, size_t *ret_len)
{
	*ret_len = c->frame.len;
	return c->frame.message;
}

const char *grpc_call_encoding(const struct grpc_call *c)
{
	const char *encoding = c->head.values[GRPC_HEADER_ENCODING];

	return c->frame.compressed && encoding ? encoding : "";
}

void grpc_respond(struct grpc_call *c, enum grpc_status status, const char *text,
		  const void *message, size_t len)
{
	struct grpc_server *s = c->host->ctx;
	uint8_t head[GRPC_FRAME_HEAD_BYTES];
	int r = 0;

	grpc_frame_head(head, len);
	if (status == GRPC_OK)
		r = buf_add(&c->message, head, sizeof(head));
	if (status == GRPC_OK && r == 0 && len > 0)
		r = buf_add(&c->message, message, len);
	if (status != GRPC_OK)
		grpc_frame_put_text(text, &c->text);
	c->status = r < 0 ? GRPC_UNAVAILABLE : status;
	pthread_mutex_lock(&s->lock);
	LL_APPEND2(s->answered, c, next_answered);
	pthread_mutex_unlock(&s->lock);
	loop_wake(s->woken);
}

static struct grpc_call *take_answered(struct grpc_server *s)
{
	struct grpc_call *c;

	pthread_mutex_lock(&s->lock);
	c = s->answered;
	s->answered = NULL;
	pthread_mutex_unlock(&s->lock);
	return c;
}

/* ---- the thread ---- */

/* Ends the loop once every call is answered and, for a while, every answer is sent. */
static void stop_if_done(struct grpc_server *s)
{
	bool busy = false;

	if (s->n_calls > 0)
		return;
	if (s->stop_by_ns == 0) {
		s->stop_by_ns = clock_monotonic_ns() + LINGER_NS;
		loop_set_timer(s->stop_timer, LINGER_NS);
	}
	for (unsigned i = 0; i < s->n_connections; i++)
		busy |= grpc_connection_is_busy(s->places[i].connection);
	if (!busy || clock_monotonic_ns() >= s->stop_by_ns)
		loop_stop(s->host.loop);
	else
		loop_set_timer(s->stop_timer, 10 * NS_PER_MS);
}

static void quiesce(struct grpc_server *s)
{
	if (!s->listening)
		return;
	stop_listening(s);
	/* those that wait to be accepted are refused */
	(void)shutdown(s->listen_fd, SHUT_RDWR);
	for (unsigned i = 0; i < s->n_connections; i++)
		grpc_connection_goaway(s->places[i].connection);
}

static void on_woken(void *ctx)
{
	struct grpc_server *s = ctx;
	struct grpc_call *call = take_answered(s), *next;
	bool must_quiesce, must_stop;

	for (; call; call = next) {
		next = call->next_answered;
		s->n_calls--;
		if (call->conn)
			grpc_connection_answer(call);
		else
			grpc_call_free(call);
	}
	remove_ended(s);
	pthread_mutex_lock(&s->lock);
	must_quiesce = s->quiesce;
	must_stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	if (must_quiesce)
		quiesce(s);
	if (must_stop)
		stop_if_done(s);
}

static void *run(void *ctx)
{
	struct grpc_server *s = ctx;

	(void)pthread_setname_np(pthread_self(), "grpc");
	if (loop_run(s->host.loop) < 0)
		log_error("gRPC server", "detail=\"epoll failed; no call is answered\"");
	return NULL;
}

/* ---- create and destroy ---- */

static int add_sources(struct grpc_server *s)
{
	struct loop *l = s->host.loop;
	int r = loop_add_wake(l, on_woken, s, &s->woken);

	if (r < 0)
		return r;
	r = loop_add_timer(l, on_check, s, &s->check);
	if (r < 0)
		return r;
	r = loop_add_timer(l, on_woken, s, &s->stop_timer);
	if (r < 0)
		return r;
	r = loop_add_fd(l, s->listen_fd, EPOLLIN, on_listening, s, &s->listening);
	if (r < 0)
		return r;
	loop_set_timer(s->check, CHECK_NS);
	return 0;
}

static int start(struct grpc_server *s, struct err *err)
{
	int r;

	s->places = calloc(s->cfg.max_connections, sizeof(struct place));
	if (!s->places)
		return -ENOMEM;
	s->listen_fd = http_listen(s->cfg.listen, &s->port, err);
	if (s->listen_fd < 0)
		return s->listen_fd;
	r = loop_new(&s->host.loop);
	if (r == 0)
		r = add_sources(s);
	if (r < 0)
		return r;
	if (pthread_create(&s->thread, NULL, run, s) != 0)
		return -EAGAIN;
	s->has_thread = true;
	return 0;
}

int grpc_server_new(struct grpc_server **ret, const struct grpc_server_config *cfg, struct err *err)
{
	CLEANUP(grpc_server_freep) struct grpc_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	s->listen_fd = -1;
	s->host = (struct grpc_host){.cfg = &s->cfg,
				     .dispatch = dispatch,
				     .ended = on_ended,
				     .refused = on_refused,
				     .gave_up = on_gave_up,
				     .make_memory = make_memory,
				     .ctx = s};
	pthread_mutex_init(&s->lock, NULL);
	r = start(s, err);
	if (r < 0)
		return err->msg[0] ? r
				   : err_set(err, r, "listen on %s: %s", cfg->listen, strerror(-r));
	*ret = TAKE_PTR(s);
	return 0;
}

void grpc_server_quiesce(struct grpc_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->quiesce = true;
	pthread_mutex_unlock(&s->lock);
	loop_wake(s->woken);
}

void grpc_server_free(struct grpc_server *s)
{
	if (!s)
		return;
	if (s->has_thread) {
		pthread_mutex_lock(&s->lock);
		s->quiesce = s->stop = true;
		pthread_mutex_unlock(&s->lock);
		loop_wake(s->woken);
		pthread_join(s->thread, NULL);
	}
	while (s->n_connections > 0)
		remove_connection(s, s->n_connections - 1);
	loop_free(s->host.loop);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	pthread_mutex_destroy(&s->lock);
	free(s->places);
	free(s);
}

unsigned grpc_server_port(const struct grpc_server *s)
{
	return s->port;
}

int grpc_server_register(struct grpc_server *s, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, s->metrics, NULL);
}
