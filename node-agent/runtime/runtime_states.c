/*
 * A list, not a table: a node has at most hundreds of programs with a state, and the list is
 * searched once per workload and interval.
 *
 * A thread that is abandoned keeps its elements and frees them whenever it wakes up. They only
 * leave the list when the thread is abandoned (is_listed), and their reference keeps the lock.
 */
#include "node-agent/runtime/runtime_states.h"

#include <errno.h>
#include <pthread.h>
#include <utlist.h>

struct runtime_state {
	struct runtime_state *prev, *next;
	struct runtime_states *states; /* a reference */
	struct workload *workload;     /* a reference */
	const char *runtime;
	const char *state;
	bool is_listed;
};

struct runtime_states {
	atomic_uint n_refs;
	pthread_mutex_t lock; /* of the list and of what its elements contain */
	struct runtime_state *list;
};

int runtime_states_new(struct runtime_states **ret)
{
	struct runtime_states *ss = calloc(1, sizeof(*ss));

	if (!ss)
		return -ENOMEM;
	atomic_init(&ss->n_refs, 1);
	pthread_mutex_init(&ss->lock, NULL);
	*ret = ss;
	return 0;
}

struct runtime_states *runtime_states_ref(struct runtime_states *ss)
{
	atomic_fetch_add(&ss->n_refs, 1);
	return ss;
}

void runtime_states_unref(struct runtime_states *ss)
{
	if (!ss || atomic_fetch_sub(&ss->n_refs, 1) > 1)
		return;
	pthread_mutex_destroy(&ss->lock);
	free(ss);
}

/* Returns the new number of elements. */
static size_t count_one(struct runtime_state_count *counts, size_t n, const struct runtime_state *s)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(counts[i].runtime, s->runtime) == 0 &&
		    strcmp(counts[i].state, s->state) == 0) {
			counts[i].n++;
			return n;
		}
	}
	if (n == RUNTIME_STATE_COUNTS_MAX)
		return n;
	counts[n] = (struct runtime_state_count){s->runtime, s->state, 1};
	return n + 1;
}

size_t runtime_states_count(struct runtime_states *ss, const struct workload *w,
			    struct runtime_state_count ret[RUNTIME_STATE_COUNTS_MAX])
{
	const struct runtime_state *s;
	size_t n = 0;

	pthread_mutex_lock(&ss->lock);
	DL_FOREACH (ss->list, s) {
		if (workload_compare(s->workload, w) == 0)
			n = count_one(ret, n, s);
	}
	pthread_mutex_unlock(&ss->lock);
	return n;
}

/* Under the lock. */
static void unlist(struct runtime_states *ss, struct runtime_state *s)
{
	if (s->is_listed)
		DL_DELETE(ss->list, s);
	s->is_listed = false;
}

void runtime_states_disown(struct runtime_states *ss, const char *runtime)
{
	struct runtime_state *s, *next;

	pthread_mutex_lock(&ss->lock);
	DL_FOREACH_SAFE(ss->list, s, next)
	{
		if (strcmp(s->runtime, runtime) == 0)
			unlist(ss, s);
	}
	pthread_mutex_unlock(&ss->lock);
}

int runtime_state_new(struct runtime_state **ret, struct runtime_states *ss, const char *runtime,
		      struct workload *w, const char *state)
{
	struct runtime_state *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->states = runtime_states_ref(ss);
	s->workload = workload_ref(w);
	s->runtime = runtime;
	s->state = state;
	s->is_listed = true;
	pthread_mutex_lock(&ss->lock);
	DL_APPEND(ss->list, s);
	pthread_mutex_unlock(&ss->lock);
	*ret = s;
	return 0;
}

void runtime_state_set(struct runtime_state *s, const char *state)
{
	pthread_mutex_lock(&s->states->lock);
	s->state = state;
	pthread_mutex_unlock(&s->states->lock);
}

void runtime_state_free(struct runtime_state *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->states->lock);
	unlist(s->states, s);
	pthread_mutex_unlock(&s->states->lock);
	workload_unref(s->workload);
	runtime_states_unref(s->states);
	free(s);
}
