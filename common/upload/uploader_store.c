/*
 * When profiles go to disk, and come back.
 *
 * While the receiver takes them, profiles stay in memory: writing each would cost the node's disk
 * something and gain little. A new profile is written when the receiver is down, when many wait, or
 * when it has waited for STORE_AFTER_NS, be it for an answer. It is written while it is being sent;
 * if it is accepted meanwhile, the spool is told so. While the agent stops, everything is written
 * at once: there are seconds until the end, and only one is left at the end.
 *
 * What is on disk comes back as the backlog, oldest first, a few at a time: as many as may be sent
 * at once, and some that failed for reasons of their own and wait for another attempt.
 */
#include <errno.h>
#include <utlist.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/upload/uploader_state.h"

#define STORE_AFTER_NS (5 * NS_PER_S)
#define TICK_NS (1 * NS_PER_S)
#define DISK_PAUSE_NS (10 * NS_PER_S)
#define STORE_ABOVE_SHARE 8u        /* of the queue's bytes: new profiles are written at once */
#define STORING_MAX_BYTES (8 * MIB) /* on their way to a disk that may hang */
#define LOAD_MAX_BYTES ((size_t)8 << 20)
#define LOADED_MAX 64u
#define LOADED_MAX_BYTES (32 * MIB)
#define LOADED_MAX_DOWN 8u /* to probe with, in turn */
#define CLOSE_NS (2 * NS_PER_S)

static bool is_usable(const struct uploader *u)
{
	return u->spool && u->spool_state.is_usable && !upload_spool_hangs(u->spool);
}

static bool can_store(const struct uploader *u)
{
	return is_usable(u) && clock_monotonic_ns() >= u->no_store_until_ns;
}

static void set_timer(struct uploader *u)
{
	bool has_work = u->queue.n_items > 0 || u->spool_state.n_idle > 0;

	loop_set_timer(u->store_timer, u->spool && has_work ? TICK_NS : UINT64_MAX);
}

void uploader_show_losing(struct uploader *u, bool queue_dropped)
{
	bool is_losing = atomic_load(&u->is_losing);

	if (!u->down)
		is_losing = false;
	else if (is_usable(u))
		is_losing = u->spool_state.is_full;
	else if (queue_dropped)
		is_losing = true;
	atomic_store(&u->is_losing, is_losing);
}

/* ---- to the disk ---- */

static void store(struct uploader *u, struct upload *up)
{
	size_t max_bytes = u->store_failed ? 0 : STORING_MAX_BYTES;

	if (up->storing || up->is_stored || up->is_finished || up->cannot_store ||
	    u->storing_bytes > max_bytes || upload_spool_put(u->spool, up->item, up) < 0)
		return;
	up->storing = true;
	u->storing_bytes += upload_item_bytes(up->item);
}

void uploader_store_waiting(struct uploader *u, uint64_t min_age_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct upload *up;

	if (!can_store(u))
		return;
	DL_FOREACH (u->queue.uploads, up) {
		if (now_ns - up->queued_ns >= min_age_ns)
			store(u, up);
	}
}

void uploader_store_added(struct uploader *u, struct upload *up)
{
	size_t unsafe = u->queue.n_bytes - u->storing_bytes;

	if (!u->spool)
		return;
	if (can_store(u) &&
	    (u->down || u->is_stopping || unsafe > u->queue.max_bytes / STORE_ABOVE_SHARE))
		store(u, up);
	if (u->queue.n_items == 1)
		set_timer(u);
}

static void on_stored(void *ctx, void *tag, int result, const struct spool_place *place)
{
	struct upload *up = tag;
	struct uploader *u = ctx;

	up->storing = false;
	u->storing_bytes -= upload_item_bytes(up->item);
	if (result < 0) {
		up->cannot_store = result == -EFBIG;
		if (result != -EFBIG) {
			u->store_failed = true;
			u->no_store_until_ns = clock_monotonic_ns() + u->disk_pause_ns;
		}
		log_warn_limited("cannot write a profile to the spool; it waits in memory",
				 "error=\"%s\"", strerror(-result));
	} else {
		u->store_failed = false;
		u->no_store_until_ns = 0;
		up->is_stored = true;
		up->place = *place;
	}
	if (up->is_finished)
		uploader_retire(u, up);
	else
		uploader_keep(u, up);
	/* at the end, too, what had to wait for its turn */
	if (u->down || u->is_stopping)
		uploader_store_waiting(u, 0);
	u->go_on(u);
}

void uploader_retire(struct uploader *u, struct upload *up)
{
	up->is_finished = true;
	if (up->storing)
		return;
	if (up->is_stored)
		upload_spool_finish(u->spool, &up->place);
	uploader_forget(u, up);
}

/* The spool keeps the profile, the memory does not. */
static void release(struct uploader *u, struct upload *up)
{
	up->place.is_in_doubt = atomic_load(&up->item->is_in_doubt);
	upload_spool_release(u->spool, &up->place);
	uploader_forget(u, up);
}

void uploader_keep(struct uploader *u, struct upload *up)
{
	if (up->is_backlog || up->sending || !up->is_stored)
		return;
	release(u, up);
}

/* ---- from the disk ---- */

static unsigned count_due(const struct uploader *u)
{
	uint64_t now_ns = clock_monotonic_ns();
	const struct upload *up;
	unsigned n = 0;

	DL_FOREACH (u->backlog.uploads, up)
		n += up->sending || up->not_before_ns <= now_ns;
	return n;
}

/* Puts the one back whose next attempt is furthest away. */
static void put_one_back(struct uploader *u)
{
	struct upload *up, *last = NULL;

	DL_FOREACH (u->backlog.uploads, up) {
		if (!up->sending && (!last || up->not_before_ns > last->not_before_ns))
			last = up;
	}
	if (!last)
		return;
	release(u, last);
}

void uploader_load_more(struct uploader *u)
{
	unsigned wanted = u->down ? 1 : u->backlog_window, n_due;

	if (!u->spool || u->is_stopping || u->waiting || u->is_loading ||
	    u->spool_state.n_idle == 0 || clock_monotonic_ns() < u->no_load_until_ns)
		return;
	n_due = count_due(u);
	if (n_due >= wanted || (u->down && u->backlog.n_items >= LOADED_MAX_DOWN))
		return;
	if (u->backlog.n_items >= LOADED_MAX || u->backlog.n_bytes >= LOADED_MAX_BYTES)
		put_one_back(u);
	/* what is being sent cannot be put back */
	if (u->backlog.n_bytes >= 2 * LOADED_MAX_BYTES)
		return;
	u->is_loading = upload_spool_load(u->spool, wanted - n_due, LOAD_MAX_BYTES) == 0;
}

static void on_loaded(void *ctx, struct upload_item *item, const struct spool_place *place)
{
	CLEANUP(upload_item_unrefp) struct upload_item *owned = item;
	struct uploader *u = ctx;
	struct upload *up;

	if (u->is_stopping || upload_queue_add(&u->backlog, owned, &up, u) < 0) {
		upload_spool_release(u->spool, place);
		return;
	}
	up->is_backlog = true;
	up->is_stored = true;
	up->place = *place;
}

static void on_load_end(void *ctx, int result)
{
	struct uploader *u = ctx;

	u->is_loading = false;
	if (result < 0) {
		u->no_load_until_ns = clock_monotonic_ns() + u->disk_pause_ns;
		log_warn_limited("cannot read a profile from the spool; retrying", "error=\"%s\"",
				 strerror(-result));
	}
	u->go_on(u);
}

/* ---- the spool ---- */

static void on_state(void *ctx, const struct spool_state *s)
{
	struct uploader *u = ctx;
	const struct {
		enum uploader_metric metric;
		uint64_t value;
	} values[] = {
		{SPOOL_BYTES, s->n_bytes},
		{SPOOL_PROFILES, s->n_profiles},
		{SPOOL_ERRORS, s->n_errors},
		{DROPPED_SPOOL_FULL, s->n_dropped_full},
		{DROPPED_SPOOL_DAMAGED, s->n_dropped_damaged},
	};

	if (s->n_dropped_full > u->spool_state.n_dropped_full)
		log_warn_limited("dropped the oldest profiles: the spool is full",
				 "profiles=%llu bytes=%llu", (unsigned long long)s->n_profiles,
				 (unsigned long long)s->n_bytes);
	if (s->n_dropped_damaged > u->spool_state.n_dropped_damaged)
		log_warn_limited("files of the spool are damaged; lost what cannot be read",
				 "places=%llu", (unsigned long long)s->n_dropped_damaged);
	u->spool_state = *s;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		metric_set(&u->metrics[values[i].metric], values[i].value);
	metric_set(&u->metrics[SPOOL_USABLE], is_usable(u));
	atomic_store(&u->oldest_created_ns, s->oldest_created_ns);
	uploader_show_losing(u, false);
	if (u->client)
		set_timer(u);
	uploader_load_more(u);
}

/* ---- the note ---- */

static void on_note(void *ctx, const char *text)
{
	struct uploader *u = ctx;

	if (u->on_note)
		u->on_note(u->note_ctx, text);
}

void uploader_on_note(struct uploader *u, void (*on_text)(void *ctx, const char *text), void *ctx)
{
	u->on_note = on_text;
	u->note_ctx = ctx;
}

void uploader_write_note(struct uploader *u, const char *text)
{
	if (u->spool)
		upload_spool_write_note(u->spool, text);
}

/* ---- create and destroy ---- */

void uploader_store_all(struct uploader *u)
{
	/* a disk that was full may have room by now, and there is no time to wait */
	u->no_store_until_ns = 0;
	uploader_store_waiting(u, 0);
}

static void on_tick(void *ctx)
{
	struct uploader *u = ctx;

	metric_set(&u->metrics[SPOOL_USABLE], is_usable(u));
	uploader_store_waiting(u, u->down || u->is_stopping ? 0 : u->store_after_ns);
	uploader_load_more(u);
	set_timer(u);
}

int uploader_store_init(struct uploader *u, struct loop *l, const struct uploader_config *cfg)
{
	const struct upload_spool_config spool = {
		.loop = l,
		.files = {.dir = cfg->spool_dir, .max_bytes = cfg->spool_max_bytes},
		.endpoint = cfg->endpoint,
		.ctx = u,
		.on_stored = on_stored,
		.on_loaded = on_loaded,
		.on_load_end = on_load_end,
		.on_note = on_note,
		.on_state = on_state,
	};
	int r;

	u->store_after_ns = cfg->store_after_ns ? cfg->store_after_ns : STORE_AFTER_NS;
	u->disk_pause_ns = cfg->disk_pause_ns ? cfg->disk_pause_ns : DISK_PAUSE_NS;
	upload_queue_init(&u->backlog, SIZE_MAX, SIZE_MAX);
	if (!cfg->spool_dir || !cfg->spool_dir[0] || cfg->spool_max_bytes == 0)
		return 0;
	metric_set(&u->metrics[SPOOL_MAX_BYTES], cfg->spool_max_bytes);
	r = loop_add_timer(l, on_tick, u, &u->store_timer);
	return r == 0 ? upload_spool_new(&u->spool, &spool) : r;
}

void uploader_store_fini(struct uploader *u)
{
	struct upload *up, *next;

	u->client = NULL;
	u->is_stopping = true;
	DL_FOREACH_SAFE(u->queue.uploads, up, next)
	{
		up->sending = false;
		if (up->is_stored)
			uploader_keep(u, up);
		else if (u->spool)
			store(u, up);
	}
	upload_spool_free(u->spool, u->close_ns ? u->close_ns : CLOSE_NS);
	u->spool = NULL;
	loop_remove(u->store_timer);
}
