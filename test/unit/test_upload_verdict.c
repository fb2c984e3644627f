#include <errno.h>

#include "common/upload/upload_verdict.h"
#include "test/lib/unit.h"

TEST(only_four_statuses_are_about_the_profile)
{
	for (int status = 100; status < 600; status++) {
		enum upload_verdict v = upload_verdict(0, status);
		bool is_profiles = status == 400 || status == 413 || status == 415 || status == 422;

		assert_int_equal(v == UPLOAD_REFUSED, is_profiles);
		assert_int_equal(v == UPLOAD_ACCEPTED, status / 100 == 2);
	}
}

TEST(what_passes_by_itself_differs_from_what_must_be_mended)
{
	static const int busy[] = {429, 500, 502, 503, 504, 599};
	static const int blocked[] = {301, 302, 307, 401, 403, 404, 405,
				      407, 408, 409, 410, 414, 426};

	for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
		assert_int_equal(upload_verdict(0, busy[i]), UPLOAD_BUSY);
	for (size_t i = 0; i < ARRAY_SIZE(blocked); i++)
		assert_int_equal(upload_verdict(0, blocked[i]), UPLOAD_BLOCKED);
	assert_int_equal(upload_verdict(-ECONNREFUSED, 0), UPLOAD_BUSY);
}

TEST(what_was_not_sent_or_is_refused_is_not_in_doubt)
{
	static const int certain[] = {200, 204, 302, 400, 401, 404, 413, 429, 503};
	static const int in_doubt[] = {500, 502, 504, 599};

	for (size_t i = 0; i < ARRAY_SIZE(certain); i++)
		assert_false(upload_verdict_is_in_doubt(0, certain[i]));
	for (size_t i = 0; i < ARRAY_SIZE(in_doubt); i++)
		assert_true(upload_verdict_is_in_doubt(0, in_doubt[i]));
	assert_false(upload_verdict_is_in_doubt(-ECONNREFUSED, 0));
	assert_false(upload_verdict_is_in_doubt(-EHOSTUNREACH, 0));
	assert_true(upload_verdict_is_in_doubt(-ECONNRESET, 0));
	assert_true(upload_verdict_is_in_doubt(-ETIMEDOUT, 0));
}

TEST(another_profile_is_tried_if_it_might_fare_better)
{
	assert_true(upload_verdict_may_differ(0, 500));
	assert_true(upload_verdict_may_differ(0, 414));
	assert_true(upload_verdict_may_differ(-ECONNRESET, 0));
	assert_true(upload_verdict_may_differ(-ETIMEDOUT, 0));
	assert_false(upload_verdict_may_differ(0, 401));
	assert_false(upload_verdict_may_differ(0, 503));
	assert_false(upload_verdict_may_differ(-ECONNREFUSED, 0));
}

TEST(reasons_are_in_the_operators_words)
{
	char text[UPLOAD_REASON_BYTES];

	upload_verdict_reason(0, 401, text);
	assert_string_equal(text, "the API key is refused (401)");
	upload_verdict_reason(0, 307, text);
	assert_string_equal(text, "the receiver redirects to another address (307)");
	upload_verdict_reason(-ECONNREFUSED, 0, text);
	assert_string_equal(text, "the receiver does not answer");
	for (int status = 100; status < 600; status++) {
		upload_verdict_reason(0, status, text);
		assert_true(strlen(text) > 6);
	}
}
