#include "node-agent/go_profile/go_process.h"

#include "node-agent/go/heap/heap_reader.h"

int go_process_init(struct go_process *g, enum bucket_history_start start, uint64_t now_ns)
{
	g->start = start;
	g->due_ns = now_ns;
	g->told_ns = now_ns;
	for (int i = 0; i < LOCK_KINDS; i++)
		lock_session_init(&g->locks[i], (enum lock_kind)i, start, now_ns);
	return heap_history_new(&g->heap, start);
}

void go_process_fini(struct go_process *g)
{
	bucket_history_free(TAKE_PTR(g->heap));
	for (int i = 0; i < LOCK_KINDS; i++)
		lock_session_fini(&g->locks[i]);
	go_share_free(TAKE_PTR(g->share));
}

size_t go_process_bytes(const struct go_process *g)
{
	size_t bytes = bucket_history_bytes(g->heap);

	for (int i = 0; i < LOCK_KINDS; i++)
		bytes += lock_session_bytes(&g->locks[i]);
	return bytes;
}

static int renew_heap(struct go_process *g, enum bucket_history_start start)
{
	struct bucket_history *h;
	int r = heap_history_new(&h, start);

	if (r < 0)
		return r;
	bucket_history_free(g->heap);
	g->heap = h;
	return 0;
}

/* A program that has just begun has no rates of ours. */
static void renew_locks(struct go_process *g, enum bucket_history_start start)
{
	for (int i = 0; i < LOCK_KINDS; i++) {
		lock_session_forget(&g->locks[i], start);
		if (start == BUCKET_HISTORY_FROM_ZERO)
			lock_session_init(&g->locks[i], (enum lock_kind)i, start,
					  g->locks[i].reported_ns);
	}
	if (start == BUCKET_HISTORY_FROM_ZERO)
		g->burst_end_ns = 0;
}

int go_processes_renew(struct go_process *g, enum bucket_history_start start)
{
	int r = renew_heap(g, start);

	if (r == 0)
		renew_locks(g, start);
	return r;
}

int go_processes_restart(struct go_process *g, uint64_t due_ns)
{
	int r = renew_heap(g, BUCKET_HISTORY_FROM_NOW);

	if (r == 0)
		g->due_ns = due_ns;
	return r;
}
