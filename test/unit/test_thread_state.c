/* Native frames between Python's, from the leaf on, as names and words tell what a thread does. */
#include "node-agent/profile/thread_state.h"
#include "test/lib/unit.h"

#define NAMELESS "libpython3.12.so.1.0+0x1f0a80"

/* "+name" is a function of the interpreter's file. */
static enum thread_activity activity_of(const char *const *frames, size_t n,
					enum chain_state collects, enum chain_state holds)
{
	struct thread_state t;

	thread_state_begin(&t, (uint32_t)collects << 2 * CHAIN_COLLECTS |
				       (uint32_t)holds << 2 * CHAIN_HOLDS_LOCK);
	for (size_t i = 0; i < n; i++)
		thread_state_see(&t, frames[i] + (frames[i][0] == '+'), frames[i][0] == '+');
	return thread_state_take(&t);
}

#define ACTIVITY(collects, holds, ...)                                                        \
	activity_of((const char *const[]){__VA_ARGS__},                                       \
		    ARRAY_SIZE(((const char *const[]){__VA_ARGS__})), CHAIN_STATE_##collects, \
		    CHAIN_STATE_##holds)

TEST(a_function_that_collects_says_so)
{
	/* whatever the words are: a finalizer below may have given the GIL back */
	assert_int_equal(ACTIVITY(SET, SET, "+visit_decref", "+gc_collect_main", "+_Py_RunGC"),
			 THREAD_COLLECTS);
	assert_int_equal(ACTIVITY(CLEAR, CLEAR, "+gc_collect_main.constprop.0", "+gc_collect"),
			 THREAD_COLLECTS);
	assert_int_equal(ACTIVITY(UNKNOWN, UNKNOWN, "+collect", "+collect_generations"),
			 THREAD_COLLECTS);
	assert_int_equal(ACTIVITY(UNKNOWN, UNKNOWN, "+gc_mark_children", "+gc_marks_rest.isra.0"),
			 THREAD_COLLECTS); /* Ruby */
	assert_int_equal(ACTIVITY(SET, SET, "gc_collect_main", "+list_sort"), THREAD_RUNS);
	assert_int_equal(ACTIVITY(SET, SET, "+collected", "+my_gc_collect_main"), THREAD_RUNS);
}

TEST(without_names_words_and_the_file_say_so)
{
	assert_int_equal(ACTIVITY(SET, SET, "free", "+" NAMELESS), THREAD_COLLECTS_IF_NO_FINALIZER);
	assert_int_equal(ACTIVITY(CLEAR, SET, "free", "+" NAMELESS), THREAD_RUNS);
	/* another thread collects, and a finalizer of it has given the GIL back */
	assert_int_equal(ACTIVITY(SET, CLEAR, "free", "+" NAMELESS), THREAD_RUNS);
	assert_int_equal(ACTIVITY(SET, UNKNOWN, "free", "+" NAMELESS), THREAD_RUNS);
	/* a function of a module of its own */
	assert_int_equal(ACTIVITY(SET, SET, "numpy.so+0x1234", "+PyObject_Vectorcall"),
			 THREAD_RUNS);
	assert_int_equal(ACTIVITY(SET, SET, "memcpy", "+PyObject_Vectorcall"), THREAD_RUNS);
}

TEST(words_are_of_what_is_called_last)
{
	struct thread_state t;

	thread_state_begin(&t, CHAIN_STATE_SET << 2 * CHAIN_COLLECTS |
				       CHAIN_STATE_SET << 2 * CHAIN_HOLDS_LOCK);
	assert_int_equal(thread_state_take(&t), THREAD_RUNS); /* the loop itself */
	thread_state_see(&t, NAMELESS, true);
	assert_int_equal(thread_state_take(&t), THREAD_RUNS);
	thread_state_see(&t, "gc_collect_main", true); /* it has called a finalizer */
	assert_int_equal(thread_state_take(&t), THREAD_COLLECTS);
	assert_int_equal(thread_state_take(&t), THREAD_RUNS);
}

TEST(who_takes_the_gil_waits_for_it)
{
	assert_int_equal(ACTIVITY(CLEAR, CLEAR, "pthread_cond_timedwait", "+take_gil"),
			 THREAD_WAITS);
	assert_int_equal(
		ACTIVITY(SET, CLEAR, "pthread_mutex_lock", "+PyEval_RestoreThread", "+" NAMELESS),
		THREAD_WAITS);
	assert_int_equal(
		ACTIVITY(CLEAR, CLEAR, "libc.so.6+0x812f0", "pthread_cond_timedwait", "+" NAMELESS),
		THREAD_WAITS);
	/* it has it by now */
	assert_int_equal(ACTIVITY(CLEAR, SET, "pthread_mutex_unlock", "+take_gil"), THREAD_RUNS);
	/* builds without it */
	assert_int_equal(ACTIVITY(CLEAR, UNKNOWN, "futex", "+_PyThreadState_Attach"), THREAD_RUNS);
}

TEST(who_does_without_the_gil_does_not_wait_for_it)
{
	assert_int_equal(ACTIVITY(CLEAR, CLEAR, "deflate", "zlib.so+0x1000", "+" NAMELESS),
			 THREAD_RUNS);
	/* a lock of the program, and a condition of a library */
	assert_int_equal(ACTIVITY(CLEAR, CLEAR, "sem_clockwait", "+PyThread_acquire_lock_timed",
				  "+" NAMELESS),
			 THREAD_RUNS);
	assert_int_equal(
		ACTIVITY(CLEAR, CLEAR, "pthread_cond_wait", "grpc.so+0x2000", "+" NAMELESS),
		THREAD_RUNS);
}
