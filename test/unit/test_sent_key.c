#include "common/access/sent_key.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

static char dir[] = "/tmp/test_sent_key.XXXXXX";
static char file[sizeof(dir) + 10], other[sizeof(dir) + 10];

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void an_option_is_sent_as_it_is(void **state)
{
	CLEANUP(sent_key_freep) struct sent_key *k = NULL;
	CLEANUP(sent_key_freep) struct sent_key *none = NULL;
	unsigned no;

	(void)state;
	assert_int_equal(sent_key_new(&k, "secret", NULL, NULL), 0);
	assert_string_equal(sent_key_header(k, &no), "X-Api-Key: secret");
	sent_key_refused(k, no);
	assert_string_equal(sent_key_header(k, &no), "X-Api-Key: secret");
	assert_false(sent_key_may_change(k));

	assert_int_equal(sent_key_new(&none, NULL, "", NULL), 0);
	assert_null(sent_key_header(none, &no));
	assert_null(sent_key_header(NULL, &no));
	sent_key_refused(NULL, no);
}

static void a_refused_key_is_followed_by_the_next(void **state)
{
	CLEANUP(sent_key_freep) struct sent_key *k = NULL;
	unsigned first, again, second;

	(void)state;
	write_file(file, "new\nold\n");
	assert_int_equal(sent_key_new(&k, NULL, file, NULL), 0);
	assert_true(sent_key_may_change(k));
	assert_string_equal(sent_key_header(k, &first), "X-Api-Key: new");
	assert_string_equal(sent_key_header(k, &again), "X-Api-Key: new");
	sent_key_refused(k, first);
	sent_key_refused(k, again);
	assert_string_equal(sent_key_header(k, &second), "X-Api-Key: old");
	sent_key_refused(k, second);
	assert_string_equal(sent_key_header(k, &second), "X-Api-Key: new");
}

static void a_changed_file_is_sent_without_a_refusal(void **state)
{
	CLEANUP(sent_key_freep) struct sent_key *k = NULL;
	uint64_t deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	unsigned no;

	(void)state;
	write_file(file, "new\nold\n");
	assert_int_equal(sent_key_new(&k, NULL, file, NULL), 0);
	(void)sent_key_header(k, &no);
	sent_key_refused(k, no);
	write_file(other, "newest\n");
	assert_int_equal(rename(other, file), 0);
	while (strcmp(sent_key_header(k, &no), "X-Api-Key: newest") != 0) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		usleep(20000);
	}
}

static int make(void *arg)
{
	struct sent_key *k = NULL;
	int r = sent_key_new(&k, NULL, file, NULL);

	(void)arg;
	sent_key_free(k);
	return r;
}

static void lack_of_memory_is_reported(void **state)
{
	(void)state;
	write_file(file, "a\nb\n");
	check_oom(make, NULL);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/keys", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(file);
	unlink(other);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_option_is_sent_as_it_is),
		cmocka_unit_test(a_refused_key_is_followed_by_the_next),
		cmocka_unit_test(a_changed_file_is_sent_without_a_refusal),
		cmocka_unit_test(lack_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
