/*
 * Names are those of CPython 3.6 to 3.15 (Modules/gcmodule.c, Python/gc.c, Python/ceval_gil.c,
 * Python/pystate.c) and Ruby 2.7 to 3.4 (gc.c, gc/default/default.c). Most are local symbols, which
 * a stripped interpreter does not have; then functions are named "<file>+0x<address>"
 * (symbolizer.c), and words decide; of Ruby there are none.
 */
#include "node-agent/profile/thread_state.h"

static const char *const collectors[] = {
	"collect",
	"collect_generations",
	"collect_with_callback",
	"gc_collect_full",
	"gc_collect_generations",
	"gc_collect_increment",
	"gc_collect_internal",
	"gc_collect_main",
	"gc_collect_region",
	"gc_collect_with_callback",
	"gc_collect_young",
	"PyGC_Collect",
	"_PyGC_Collect",
	"_PyGC_CollectIfEnabled",
	"_PyGC_CollectNoFail",
	"_Py_RunGC",
	"garbage_collect",
	"gc_compact",
	"gc_continue",
	"gc_marks",
	"gc_marks_continue",
	"gc_marks_rest",
	"gc_rest",
	"gc_start",
	"gc_start_internal",
	"gc_sweep",
	"gc_sweep_continue",
	"gc_sweep_rest",
	"gc_sweep_step",
	"rb_gc",
	"rb_gc_start",
};

/* What takes the lock and returns when it has it. */
static const char *const acquirers[] = {
	"take_gil",
	"PyEval_AcquireLock",
	"_PyEval_AcquireLock",
	"PyEval_AcquireThread",
	"PyEval_RestoreThread",
	"PyGILState_Ensure",
	"_PyThreadState_Attach",
};

/* Compilers append ".constprop.0" and the like. */
static bool is_one_of(const char *function, const char *const *names, size_t n)
{
	size_t len = strcspn(function, ".");

	for (size_t i = 0; i < n; i++) {
		if (strlen(names[i]) == len && memcmp(function, names[i], len) == 0)
			return true;
	}
	return false;
}

void thread_state_see(struct thread_state *t, const char *function, bool is_interpreter)
{
	bool is_nameless = strstr(function, "+0x") != NULL;

	if (is_interpreter) {
		t->in_collector |= is_one_of(function, collectors, ARRAY_SIZE(collectors));
		t->in_acquire |= is_one_of(function, acquirers, ARRAY_SIZE(acquirers)) ||
				 (is_nameless && t->after_wait);
	}
	if (is_nameless)
		t->nameless = is_interpreter;
	/* of all locks of CPython, only this one is waited for so */
	t->after_wait = strstr(function, "pthread_cond_") != NULL;
}

enum thread_activity thread_state_take(struct thread_state *t)
{
	bool collects = chain_state_of(t->states, CHAIN_COLLECTS) == CHAIN_STATE_SET;
	enum chain_state holds = chain_state_of(t->states, CHAIN_HOLDS_LOCK);
	enum thread_activity ret = THREAD_RUNS;

	if (t->in_collector)
		ret = THREAD_COLLECTS;
	else if (t->had_run)
		ret = THREAD_RUNS;
	else if (t->in_acquire && holds == CHAIN_STATE_CLEAR)
		ret = THREAD_WAITS;
	else if (t->nameless && collects && holds == CHAIN_STATE_SET)
		ret = THREAD_COLLECTS_IF_NO_FINALIZER;
	thread_state_begin(t, t->states);
	t->had_run = true;
	return ret;
}
