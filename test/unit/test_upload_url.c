#include <errno.h>

#include "common/upload/upload_url.h"
#include "test/lib/unit.h"

TEST(labels_are_encoded_and_empty_ones_left_out)
{
	const struct upload_label labels[] = {
		{"service.name", "/system.slice/a b&c.service"},
		{"host.id", ""},
		{"host.name", "n\xc3\xb6rd"},
		{"container.id", NULL},
		{},
	};
	AUTO_FREE char *url = NULL;

	assert_int_equal(upload_url_make(&url, "http://h/v1/profiles", labels), 0);
	assert_string_equal(url, "http://h/v1/profiles?service.name=/system.slice/"
				 "a%20b%26c.service&host.name=n%C3%B6rd");
}

TEST(an_endpoint_with_a_query_keeps_it)
{
	const struct upload_label labels[] = {{"a", "1"}, {}};
	AUTO_FREE char *url = NULL;

	assert_int_equal(upload_url_make(&url, "http://h/p?x=y", labels), 0);
	assert_string_equal(url, "http://h/p?x=y&a=1");
}

TEST(a_url_no_server_takes_is_refused)
{
	static char value[9000];
	const struct upload_label labels[] = {{"a", value}, {}};
	char *url = NULL;

	memset(value, 'x', sizeof(value) - 1);
	assert_int_equal(upload_url_make(&url, "http://h/", labels), -EFBIG);
	assert_null(url);
}

TEST(the_collector_endpoint_gets_the_path)
{
	AUTO_FREE char *plain = NULL, *slash = NULL;

	assert_int_equal(upload_url_from_collector(&plain, "http://h:1"), 0);
	assert_int_equal(upload_url_from_collector(&slash, "http://h:1/base//"), 0);
	assert_string_equal(plain, "http://h:1/v1/profiles");
	assert_string_equal(slash, "http://h:1/base/v1/profiles");
}

TEST(credentials_are_removed_from_a_url_that_is_shown)
{
	char with[] = "https://user:p%40ss@h:1/base?x=a@b", without[] = "http://h/@x",
	     other[] = "h:1";

	upload_url_remove_user(with);
	assert_string_equal(with, "https://h:1/base?x=a@b");
	upload_url_remove_user(without);
	assert_string_equal(without, "http://h/@x");
	upload_url_remove_user(other);
	assert_string_equal(other, "h:1");
}

static int make_one(void *arg)
{
	const struct upload_label labels[] = {{"service.name", "/system.slice/x.service"}, {}};
	AUTO_FREE char *url = NULL;

	(void)arg;
	return upload_url_make(&url, "http://localhost/v1/profiles", labels);
}

TEST(survives_every_failed_allocation)
{
	check_oom(make_one, NULL);
}
