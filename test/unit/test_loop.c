#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "common/system/clock.h"
#include "common/system/loop.h"
#include "test/lib/unit.h"

struct fixture {
	struct loop *loop;
	struct loop_source *a, *b;
	int a_fd, b_fd;
	int n_a, n_b;
	struct loop_source *stopper;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->a_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	f->b_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return loop_new(&f->loop);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	close(f->a_fd);
	close(f->b_fd);
	free(f);
	return 0;
}

static void make_readable(int fd)
{
	assert_int_equal(eventfd_write(fd, 1), 0);
}

static void stop(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static void stop_after(struct fixture *f, uint64_t delay_ns)
{
	if (!f->stopper)
		assert_int_equal(loop_add_timer(f->loop, stop, f, &f->stopper), 0);
	loop_set_timer(f->stopper, delay_ns);
}

static void on_a(void *ctx)
{
	struct fixture *f = ctx;

	f->n_a++;
}

static void on_b(void *ctx)
{
	struct fixture *f = ctx;

	f->n_b++;
}

static void read_a(void *ctx, uint32_t events)
{
	struct fixture *f = ctx;
	eventfd_t n;

	assert_true(events & EPOLLIN);
	assert_int_equal(eventfd_read(f->a_fd, &n), 0);
	f->n_a++;
}

TEST_FIXTURE(a_readable_descriptor_calls_back_and_a_modified_one_does_not, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_fd(f->loop, f->a_fd, EPOLLIN, read_a, f, &f->a), 0);
	make_readable(f->a_fd);
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 1);

	assert_int_equal(loop_modify_fd(f->a, 0), 0);
	make_readable(f->a_fd);
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 1);

	assert_int_equal(loop_modify_fd(f->a, EPOLLIN), 0);
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 2);
}

TEST_FIXTURE(descriptors_epoll_cannot_watch_are_refused, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0);
	assert_int_equal(loop_add_fd(f->loop, -1, EPOLLIN, read_a, f, &f->a), -EBADF);
	assert_int_equal(loop_add_fd(f->loop, file, EPOLLIN, read_a, f, &f->a), -EPERM);
}

/* The first of the two to be called removes both and closes their descriptors. */
static void remove_both(void *ctx, uint32_t events)
{
	struct fixture *f = ctx;

	(void)events;
	f->n_a++;
	loop_remove(f->a);
	loop_remove(f->b);
	/* again: within the batch, a removed source still exists */
	loop_remove(f->a);
	close(f->b_fd);
	f->b_fd = -1;
}

TEST_FIXTURE(a_source_removed_by_another_of_the_same_batch_is_not_called, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_fd(f->loop, f->a_fd, EPOLLIN, remove_both, f, &f->a), 0);
	assert_int_equal(loop_add_fd(f->loop, f->b_fd, EPOLLIN, remove_both, f, &f->b), 0);
	make_readable(f->a_fd);
	make_readable(f->b_fd);
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 1);
}

static void add_b_in_place_of_a(void *ctx, uint32_t events)
{
	struct fixture *f = ctx;

	(void)events;
	loop_remove(f->a);
	/* allocated while an event of the batch still refers to the removed source */
	assert_int_equal(loop_add_wake(f->loop, on_b, f, &f->b), 0);
	loop_wake(f->b);
}

TEST_FIXTURE(a_source_added_in_a_callback_is_served, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_fd(f->loop, f->a_fd, EPOLLIN, add_b_in_place_of_a, f, &f->a), 0);
	make_readable(f->a_fd);
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_b, 1);
}

TEST_FIXTURE(timers_fire_once_in_the_order_of_their_deadlines, set_up, tear_down)
{
	struct fixture *f = *state;
	struct timespec from, to;

	assert_int_equal(loop_add_timer(f->loop, on_a, f, &f->a), 0);
	assert_int_equal(loop_add_timer(f->loop, on_b, f, &f->b), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	loop_set_timer(f->a, 0);
	loop_set_timer(f->b, 3600 * NS_PER_S);
	stop_after(f, 20 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_int_equal(f->n_a, 1);
	assert_int_equal(f->n_b, 0);
	assert_true((to.tv_sec - from.tv_sec) * (int64_t)NS_PER_S + to.tv_nsec - from.tv_nsec >=
		    (int64_t)(20 * NS_PER_MS));
}

TEST_FIXTURE(a_timer_that_was_unset_or_never_set_does_not_fire, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_timer(f->loop, on_a, f, &f->a), 0);
	assert_int_equal(loop_add_timer(f->loop, on_b, f, &f->b), 0);
	loop_set_timer(f->a, 0);
	loop_set_timer(f->a, UINT64_MAX);
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 0);
	assert_int_equal(f->n_b, 0);
}

static void unset_the_other(void *ctx)
{
	struct fixture *f = ctx;

	f->n_a++;
	loop_set_timer(f->a, UINT64_MAX);
	loop_set_timer(f->b, UINT64_MAX);
}

TEST_FIXTURE(a_timer_unset_while_its_event_is_in_the_batch_does_not_fire, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_timer(f->loop, unset_the_other, f, &f->a), 0);
	assert_int_equal(loop_add_timer(f->loop, unset_the_other, f, &f->b), 0);
	loop_set_timer(f->a, 0);
	loop_set_timer(f->b, 0);
	usleep(1000); /* both have expired before the loop polls */
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 1);
}

TEST_FIXTURE(a_signal_calls_back_on_the_loop, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_signal(f->loop, SIGUSR1, stop, f), 0);
	assert_int_equal(loop_add_signal(f->loop, SIGUSR2, on_a, f), 0);
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR1);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(loop_add_signal(f->loop, 10000, stop, f), -EINVAL);
}

static void *wake_often(void *source)
{
	for (int i = 0; i < 1000; i++)
		loop_wake(source);
	return NULL;
}

static void count_and_stop(void *ctx)
{
	struct fixture *f = ctx;

	f->n_a++;
	loop_stop(f->loop);
}

TEST_FIXTURE(wakes_of_another_thread_reach_the_loop, set_up, tear_down)
{
	struct fixture *f = *state;
	pthread_t thread;

	assert_int_equal(loop_add_wake(f->loop, count_and_stop, f, &f->a), 0);
	assert_int_equal(pthread_create(&thread, NULL, wake_often, f->a), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(f->n_a, 1);
}

TEST_FIXTURE(several_wakes_before_the_loop_looks_give_one_call, set_up, tear_down)
{
	struct fixture *f = *state;

	errno = 77;
	assert_int_equal(loop_add_wake(f->loop, on_a, f, &f->a), 0);
	(void)wake_often(f->a);
	assert_int_equal(errno, 77);
	stop_after(f, 5 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 1);
}

TEST_FIXTURE(a_stop_before_the_run_ends_only_that_run, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_wake(f->loop, count_and_stop, f, &f->a), 0);
	loop_wake(f->a);
	loop_stop(f->loop);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_a, 1);
}

static int construct(void *arg)
{
	CLEANUP(loop_freep) struct loop *l = NULL;
	struct loop_source *timer, *wake;
	int r;

	(void)arg;
	r = loop_new(&l);
	if (r == 0)
		r = loop_add_timer(l, on_a, NULL, &timer);
	if (r == 0)
		r = loop_add_wake(l, on_a, NULL, &wake);
	if (r == 0)
		r = loop_add_signal(l, SIGUSR1, on_a, NULL);
	return r;
}

TEST(construction_survives_lack_of_memory)
{
	check_oom(construct, NULL);
	loop_remove(NULL);
	loop_free(NULL);
}
