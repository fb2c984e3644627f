#include "node-agent/go/profile/go_session.h"

#include <errno.h>

#include "node-agent/go/heap/heap_reader.h"

static enum bucket_history_start start_of(enum runtime_baseline baseline)
{
	return baseline == RUNTIME_BASELINE_ZERO ? BUCKET_HISTORY_FROM_ZERO
						 : BUCKET_HISTORY_FROM_NOW;
}

int go_session_new(struct go_session **ret, enum runtime_baseline baseline, uint64_t now_ns)
{
	CLEANUP(go_session_freep) struct go_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->heap_reported_ns = now_ns;
	for (int i = 0; i < LOCK_KINDS; i++)
		lock_session_init(&s->locks[i], (enum lock_kind)i, start_of(baseline), now_ns);
	r = heap_history_new(&s->heap, start_of(baseline));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void go_session_free(struct go_session *s)
{
	if (!s)
		return;
	bucket_history_free(s->heap);
	for (int i = 0; i < LOCK_KINDS; i++)
		lock_session_fini(&s->locks[i]);
	free(s);
}

size_t go_session_bytes(const struct go_session *s)
{
	size_t bytes = bucket_history_bytes(s->heap);

	for (int i = 0; i < LOCK_KINDS; i++)
		bytes += lock_session_bytes(&s->locks[i]);
	return bytes;
}

static int reset_heap(struct go_session *s, enum bucket_history_start start)
{
	struct bucket_history *h;
	int r = heap_history_new(&h, start);

	if (r < 0)
		return r;
	bucket_history_free(s->heap);
	s->heap = h;
	return 0;
}

/* A new program has none of the rates that we set in its predecessor. */
static void reset_locks(struct go_session *s, enum bucket_history_start start)
{
	for (int i = 0; i < LOCK_KINDS; i++) {
		struct lock_session *lock = &s->locks[i];

		lock_session_forget(lock, start);
		if (start == BUCKET_HISTORY_FROM_ZERO)
			lock_session_init(lock, (enum lock_kind)i, start, lock->reported_ns);
	}
	if (start == BUCKET_HISTORY_FROM_ZERO)
		s->burst_end_ns = 0;
}

int go_session_reset(struct go_session *s, enum runtime_baseline baseline)
{
	int r = reset_heap(s, start_of(baseline));

	if (r < 0)
		return r;
	reset_locks(s, start_of(baseline));
	if (baseline == RUNTIME_BASELINE_ZERO)
		s->read_only = false;
	return 0;
}

int go_session_restart_heap(struct go_session *s)
{
	return reset_heap(s, BUCKET_HISTORY_FROM_NOW);
}
