/*
 * All choices are made by a walk over the whole table: 4,000 connections take some 20 microseconds,
 * and only while the server is full. Every second one more walk asks the kernel how many bytes each
 * idle connection has received, because libmicrohttpd does not say when a request begins.
 */
#include "common/http/http_connections.h"

#include <assert.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "common/http/http_peers.h"
#include "common/system/clock.h"

/* Places for essential routes while the server is full. */
#define N_SPARE 16
/* Connections that have been shut down and not been closed yet, beyond all others. */
#define N_CLOSING 32
/* From the first byte of a request to the end of its headers. */
#define HEADERS_NS (10 * NS_PER_S)
/* A client must read at this rate; the time-out comes on top. */
#define MIN_ANSWER_BYTES_PER_S (16 * UINT64_C(1024))
/* A client that makes us wait for less is not slow. */
#define SLOW_NS (1 * NS_PER_S)

int http_connections_init(struct http_connections *cs, unsigned max, unsigned timeout_s,
			  struct metric *closed)
{
	*cs = (struct http_connections){
		.n_slots = max + N_SPARE + N_CLOSING,
		.max = max,
		.timeout_ns = timeout_s * NS_PER_S,
		.closed = closed,
	};
	cs->slots = calloc(cs->n_slots, sizeof(*cs->slots));
	if (!cs->slots)
		return -ENOMEM;
	pthread_mutex_init(&cs->lock, NULL);
	return 0;
}

void http_connections_fini(struct http_connections *cs)
{
	if (!cs->slots)
		return;
	for (unsigned i = 0; i < cs->n_slots; i++) {
		if (cs->slots[i].state != CONNECTION_UNUSED)
			http_peer_unref(&cs->peers, cs->slots[i].peer);
	}
	pthread_mutex_destroy(&cs->lock);
	free(cs->slots);
}

unsigned http_connections_slots(const struct http_connections *cs)
{
	return cs->n_slots;
}

unsigned http_connections_count(struct http_connections *cs)
{
	unsigned n;

	pthread_mutex_lock(&cs->lock);
	n = cs->n;
	pthread_mutex_unlock(&cs->lock);
	return n;
}

/* ---- states ------------------------------------------------------------------ */

static void set_state(struct http_connection *c, enum http_connection_state state,
		      uint64_t allowed_ns)
{
	c->state = state;
	c->since_ns = clock_monotonic_ns();
	c->until_ns = allowed_ns == UINT64_MAX ? UINT64_MAX : c->since_ns + allowed_ns;
}

/* All that the client has sent so far. */
static uint64_t received_bytes(const struct http_connection *c)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return 0;
	return info.tcpi_bytes_received;
}

/* Whether an idle connection is idle still; if not, its next request has begun. */
static bool still_idle(struct http_connection *c)
{
	if (received_bytes(c) <= c->bytes_before)
		return true;
	c->began = true;
	if (c->state == CONNECTION_IDLE)
		set_state(c, CONNECTION_HEADERS, HEADERS_NS);
	return false;
}

static bool is_idle(const struct http_connection *c)
{
	return c->state == CONNECTION_IDLE || (c->state == CONNECTION_ACCEPTED && !c->began);
}

/* Whether we wait for the client. */
static bool waits(const struct http_connection *c)
{
	return is_idle(c) || c->state == CONNECTION_HEADERS || c->state == CONNECTION_BODY ||
	       c->state == CONNECTION_ANSWERING;
}

/* c is closing or has ended, so its place is free. */
static void leave_place(struct http_connections *cs, struct http_connection *c)
{
	cs->n_alive--;
	if (c->spare)
		cs->n_spare--;
	if (c->peer)
		c->peer->n--;
}

static bool have_counted_place(const struct http_connections *cs)
{
	assert(cs->n_alive - cs->n_spare <= cs->max);
	return cs->n_alive - cs->n_spare < cs->max;
}

static void shut_down(struct http_connections *cs, struct http_connection *c,
		      enum http_connection_end why)
{
	/* libmicrohttpd may already have failed with one that it has not begun with */
	if (c->state != CONNECTION_ACCEPTED)
		(void)shutdown(c->fd, SHUT_RDWR);
	c->closing = true;
	leave_place(cs, c);
	metric_add(&cs->closed[why], 1);
}

/* ---- making room -------------------------------------------------------------- */

/* Whom to close. All conditions must be met. */
struct choice {
	bool idle;                      /* only idle ones */
	bool counted;                   /* only those at places that count */
	bool spare;                     /* only those at spare places */
	bool answering;                 /* only those that have not read their answer */
	unsigned heavier_than;          /* only of addresses with more connections than this */
	const struct http_peer *not_of; /* none of this address */
	uint64_t before_ns;             /* only those in their state since then */
};

static bool matches(const struct choice *choice, const struct http_connection *c)
{
	return !c->closing && waits(c) && (!choice->idle || is_idle(c)) &&
	       (!choice->counted || !c->spare) && (!choice->spare || c->spare) &&
	       (!choice->answering || c->state == CONNECTION_ANSWERING) &&
	       http_peer_weight(c->peer) > choice->heavier_than &&
	       (!choice->not_of || c->peer != choice->not_of) && c->since_ns <= choice->before_ns;
}

/* The address with most connections pays, and of these the one that waits for longest. */
static bool before(const struct http_connection *a, const struct http_connection *b)
{
	if (!b || http_peer_weight(a->peer) != http_peer_weight(b->peer))
		return !b || http_peer_weight(a->peer) > http_peer_weight(b->peer);
	return a->since_ns < b->since_ns;
}

static struct http_connection *choose(struct http_connections *cs, const struct choice *choice)
{
	struct http_connection *found = NULL;

	for (unsigned i = 0; i < cs->n_slots; i++) {
		struct http_connection *c = &cs->slots[i];

		if (c->state != CONNECTION_UNUSED && matches(choice, c) && before(c, found))
			found = c;
	}
	return found;
}

static bool close_idle(struct http_connections *cs, const struct choice *choice)
{
	struct http_connection *c = choose(cs, choice);

	while (c && !still_idle(c))
		c = choose(cs, choice);
	if (c)
		shut_down(cs, c, CONNECTION_END_IDLE);
	return c;
}

static bool close_chosen(struct http_connections *cs, const struct choice *choice,
			 enum http_connection_end why)
{
	struct http_connection *c = choose(cs, choice);

	if (c)
		shut_down(cs, c, why);
	return c;
}

/* Gives c a place: one of those that count, if need be another's, or a spare one. */
static void take_place(struct http_connections *cs, struct http_connection *c)
{
	const uint64_t young_ns = clock_monotonic_ns() - SLOW_NS;
	/* those of lighter addresses only after a while: their requests may be on the way */
	const struct choice idle = {
		.idle = true,
		.counted = true,
		.heavier_than = http_peer_weight(c->peer) - 1,
		.before_ns = UINT64_MAX,
	};
	const struct choice long_idle = {.idle = true, .counted = true, .before_ns = young_ns};
	const struct choice slow = {
		.counted = true,
		.heavier_than = cs->max / 2,
		.not_of = c->peer,
		.before_ns = young_ns,
	};
	const struct choice spare = {.spare = true, .before_ns = UINT64_MAX};

	c->spare = !have_counted_place(cs) && !close_idle(cs, &idle) &&
		   !close_idle(cs, &long_idle) && !close_chosen(cs, &slow, CONNECTION_END_SLOW);
	if (c->spare && cs->n_spare >= N_SPARE)
		close_chosen(cs, &spare, CONNECTION_END_SPARE);
	cs->n_spare += c->spare;
	cs->n_alive++;
}

bool http_connections_have_room(struct http_connections *cs)
{
	/* not one that has just come and may be about to ask for its essential route */
	const struct choice spare = {.spare = true, .before_ns = clock_monotonic_ns() - SLOW_NS};
	bool room;

	pthread_mutex_lock(&cs->lock);
	room = cs->n < cs->n_slots;
	if (!room && cs->n_alive == cs->n)
		close_chosen(cs, &spare, CONNECTION_END_SPARE);
	pthread_mutex_unlock(&cs->lock);
	return room;
}

void http_connections_release(struct http_connections *cs)
{
	pthread_mutex_lock(&cs->lock);
	(void)close_idle(cs, &(const struct choice){.idle = true, .before_ns = UINT64_MAX});
	pthread_mutex_unlock(&cs->lock);
}

void http_connections_release_answer(struct http_connections *cs)
{
	const struct choice overdue = {
		.answering = true,
		.before_ns = clock_monotonic_ns() - cs->timeout_ns,
	};

	pthread_mutex_lock(&cs->lock);
	(void)close_chosen(cs, &overdue, CONNECTION_END_ANSWER_LATE);
	pthread_mutex_unlock(&cs->lock);
}

/* ---- the life of a connection ---------------------------------------------------- */

static struct http_connection *find(struct http_connections *cs, enum http_connection_state state,
				    int fd)
{
	for (unsigned i = 0; i < cs->n_slots; i++) {
		struct http_connection *c = &cs->slots[i];

		if (c->state == state && (state == CONNECTION_UNUSED || c->fd == fd))
			return c;
	}
	return NULL;
}

static void forget(struct http_connections *cs, struct http_connection *c)
{
	if (!c->closing)
		leave_place(cs, c);
	http_peer_unref(&cs->peers, c->peer);
	cs->n--;
	*c = (struct http_connection){0};
}

bool http_connections_accept(struct http_connections *cs, int fd, const struct sockaddr *from)
{
	struct http_connection *c, *lost;

	pthread_mutex_lock(&cs->lock);
	/* without memory libmicrohttpd closes what it has taken, and says nothing */
	lost = find(cs, CONNECTION_ACCEPTED, fd);
	if (lost)
		forget(cs, lost);
	c = find(cs, CONNECTION_UNUSED, -1);
	if (c) {
		c->fd = fd;
		c->peer = http_peer_ref(&cs->peers, from);
		if (c->peer)
			c->peer->n++;
		take_place(cs, c);
		set_state(c, CONNECTION_ACCEPTED, UINT64_MAX);
		cs->n++;
	}
	pthread_mutex_unlock(&cs->lock);
	return c;
}

void http_connections_reject(struct http_connections *cs, int fd)
{
	struct http_connection *c;

	pthread_mutex_lock(&cs->lock);
	c = find(cs, CONNECTION_ACCEPTED, fd);
	if (c)
		forget(cs, c);
	pthread_mutex_unlock(&cs->lock);
}

bool http_connections_any_accepted(struct http_connections *cs)
{
	bool found = false;

	pthread_mutex_lock(&cs->lock);
	for (unsigned i = 0; i < cs->n_slots && !found; i++)
		found = cs->slots[i].state == CONNECTION_ACCEPTED;
	pthread_mutex_unlock(&cs->lock);
	return found;
}

struct http_connection *http_connections_start(struct http_connections *cs, int fd)
{
	struct http_connection *c;

	pthread_mutex_lock(&cs->lock);
	c = find(cs, CONNECTION_ACCEPTED, fd);
	if (c)
		set_state(c, CONNECTION_IDLE, UINT64_MAX);
	if (c && c->closing)
		(void)shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&cs->lock);
	return c;
}

void http_connections_end(struct http_connections *cs, struct http_connection *c)
{
	pthread_mutex_lock(&cs->lock);
	forget(cs, c);
	pthread_mutex_unlock(&cs->lock);
}

bool http_connections_receive(struct http_connections *cs, struct http_connection *c)
{
	bool essential_only;

	pthread_mutex_lock(&cs->lock);
	set_state(c, CONNECTION_BODY, UINT64_MAX);
	if (c->spare && !c->closing && have_counted_place(cs)) {
		c->spare = false;
		cs->n_spare--;
	}
	essential_only = c->spare;
	pthread_mutex_unlock(&cs->lock);
	return essential_only;
}

bool http_connections_handle(struct http_connections *cs, struct http_connection *c)
{
	bool alive;

	pthread_mutex_lock(&cs->lock);
	set_state(c, CONNECTION_HANDLED, UINT64_MAX);
	alive = !c->closing;
	pthread_mutex_unlock(&cs->lock);
	return alive;
}

void http_connections_answer(struct http_connections *cs, struct http_connection *c, uint64_t len)
{
	pthread_mutex_lock(&cs->lock);
	set_state(c, CONNECTION_ANSWERING,
		  cs->timeout_ns + len * (NS_PER_S / MIN_ANSWER_BYTES_PER_S));
	pthread_mutex_unlock(&cs->lock);
}

void http_connections_rest(struct http_connections *cs, struct http_connection *c)
{
	pthread_mutex_lock(&cs->lock);
	set_state(c, CONNECTION_IDLE, UINT64_MAX);
	c->bytes_before = received_bytes(c);
	c->began = false;
	pthread_mutex_unlock(&cs->lock);
}

void http_connections_check(struct http_connections *cs)
{
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&cs->lock);
	for (unsigned i = 0; i < cs->n_slots; i++) {
		struct http_connection *c = &cs->slots[i];

		if (c->closing)
			continue;
		if (c->state == CONNECTION_IDLE)
			(void)still_idle(c);
		else if (c->state == CONNECTION_HEADERS && now_ns >= c->until_ns)
			shut_down(cs, c, CONNECTION_END_HEADERS_LATE);
		else if (c->state == CONNECTION_ANSWERING && now_ns >= c->until_ns)
			shut_down(cs, c, CONNECTION_END_ANSWER_LATE);
	}
	pthread_mutex_unlock(&cs->lock);
}
