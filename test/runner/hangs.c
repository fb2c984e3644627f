/* Hangs in ways that run-unit.sh must survive: hangs asleep | silent | swallowed | failing. */
#include <pthread.h>
#include <stdio.h>

#include "test/lib/silent_file.h"
#include "test/lib/unit.h"

static void *sleep_forever(void *ctx)
{
	for (;;)
		pause();
	return ctx;
}

static void *read_forever(void *ctx)
{
	const struct silent_file *f = ctx;
	char byte;

	(void)!pread(f->fd, &byte, 1, 0);
	return NULL;
}

/* One thread waits for another that reads what does not come, or sleeps. */
static void hang(void (*silence)(struct silent_file *f))
{
	struct silent_file *f = silent_file_new();
	pthread_t t;

	if (!f)
		exit(1);
	if (silence)
		silence(f);
	if (pthread_create(&t, NULL, silence ? read_forever : sleep_forever, f) != 0)
		exit(1);
	pthread_join(t, NULL);
}

static void fail_while_it_hangs(void **state)
{
	struct silent_file *f = silent_file_new();
	pthread_t t;

	(void)state;
	assert_non_null(f);
	silent_file_silence(f);
	assert_int_equal(pthread_create(&t, NULL, read_forever, f), 0);
	while (!silent_file_is_waited_for(f))
		usleep(1000);
	assert_true(false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail_while_it_hangs),
	};
	const char *how = argc == 2 ? argv[1] : "";

	if (strcmp(how, "failing") == 0)
		return cmocka_run_group_tests(tests, NULL, NULL);
	if (strcmp(how, "asleep") == 0)
		hang(NULL);
	if (strcmp(how, "silent") == 0)
		hang(silent_file_silence);
	if (strcmp(how, "swallowed") == 0)
		hang(silent_file_swallow);
	return 1;
}
