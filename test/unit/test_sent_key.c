#include "common/access/sent_key.h"
#include "common/system/clock.h"
#include "test/lib/key_files.h"
#include "test/lib/unit.h"

TEST(an_option_is_sent_as_it_is)
{
	CLEANUP(sent_key_freep) struct sent_key *k = NULL;
	CLEANUP(sent_key_freep) struct sent_key *none = NULL;
	unsigned no;

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

TEST(a_refused_key_is_followed_by_the_next)
{
	CLEANUP(sent_key_freep) struct sent_key *k = NULL;
	unsigned first, again, second;

	key_file_write(key_file, "new\nold\n");
	assert_int_equal(sent_key_new(&k, NULL, key_file, NULL), 0);
	assert_true(sent_key_may_change(k));
	assert_string_equal(sent_key_header(k, &first), "X-Api-Key: new");
	assert_string_equal(sent_key_header(k, &again), "X-Api-Key: new");
	sent_key_refused(k, first);
	sent_key_refused(k, again);
	assert_string_equal(sent_key_header(k, &second), "X-Api-Key: old");
	sent_key_refused(k, second);
	assert_string_equal(sent_key_header(k, &second), "X-Api-Key: new");
}

TEST(a_changed_file_is_sent_without_a_refusal)
{
	CLEANUP(sent_key_freep) struct sent_key *k = NULL;
	unsigned no;

	key_file_write(key_file, "new\nold\n");
	assert_int_equal(sent_key_new(&k, NULL, key_file, NULL), 0);
	(void)sent_key_header(k, &no);
	sent_key_refused(k, no);
	key_file_write(other_key_file, "newest\n");
	assert_int_equal(rename(other_key_file, key_file), 0);
	eventually(strcmp(sent_key_header(k, &no), "X-Api-Key: newest") == 0);
}

static int make(void *arg)
{
	struct sent_key *k = NULL;
	int r = sent_key_new(&k, NULL, key_file, NULL);

	(void)arg;
	sent_key_free(k);
	return r;
}

TEST(lack_of_memory_is_reported)
{
	key_file_write(key_file, "a\nb\n");
	check_oom(make, NULL);
}

GROUP_FIXTURE(key_files_set_up, NULL)
