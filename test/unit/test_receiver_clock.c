/* How far the receiver's clock is from ours, by its "Date". */
#include "common/http/http_text.h"
#include "common/system/clock.h"
#include "common/upload/receiver_clock.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define BOOT (INT64_C(1700000000) * S) /* what a right clock showed at boot */

/* An answer that a receiver with a right clock gives at "at", with these delays to and fro. */
static void answer(struct receiver_clock *c, int64_t own_ns, int64_t at, int64_t to, int64_t fro)
{
	receiver_clock_note(c, (BOOT + at) / S, (uint64_t)(at - to), (uint64_t)(at + fro), own_ns);
}

TEST(a_clock_that_is_hours_wrong_is_corrected)
{
	static const int64_t skews[] = {7200 * S,        -7200 * S, 50 * 60 * S,
					-30 * 86400 * S, -BOOT,     5 * S};

	for (size_t i = 0; i < ARRAY_SIZE(skews); i++) {
		struct receiver_clock c = {0};
		int64_t own = BOOT + skews[i], correction;

		answer(&c, own, 100 * S + S / 3, S / 100, S / 100);
		assert_true(receiver_clock_is_usable(&c, own));
		correction = receiver_clock_correction(&c, own);
		assert_true(llabs(correction + skews[i]) <= S);
		/* further answers come at other parts of a second */
		answer(&c, own, 107 * S + 2 * S / 3, S / 100, S / 100);
		answer(&c, own, 110 * S + S / 10, S / 100, S / 100);
		correction = receiver_clock_correction(&c, own);
		assert_true(llabs(correction + skews[i]) <= S / 2);
	}
}

TEST(a_right_clock_is_left_alone_however_slow_the_answers_are)
{
	static const int64_t delays[][2] = {{0, 0}, {20 * S, 0}, {0, 20 * S}, {5 * S, 5 * S}};

	for (int64_t skew = -2 * S; skew <= 2 * S; skew += S / 4) {
		for (size_t i = 0; i < ARRAY_SIZE(delays); i++) {
			struct receiver_clock c = {0};

			answer(&c, BOOT + skew, 100 * S + S / 2, delays[i][0], delays[i][1]);
			assert_int_equal(receiver_clock_correction(&c, BOOT + skew), 0);
		}
	}
}

TEST(after_a_step_of_our_clock_the_next_answer_decides)
{
	struct receiver_clock c = {0};

	assert_false(receiver_clock_is_usable(&c, BOOT));
	answer(&c, BOOT, 100 * S, 0, 0);
	assert_true(receiver_clock_is_usable(&c, BOOT + S / 2));
	/* a step of the clock, or a pause of the machine and then a step */
	assert_false(receiver_clock_is_usable(&c, BOOT + 3600 * S));
	answer(&c, BOOT + 3600 * S, 200 * S, 0, 0);
	assert_true(llabs(receiver_clock_correction(&c, BOOT + 3600 * S) + 3600 * S) <= S);
	/* what was made before the step needs no correction */
	assert_int_equal(receiver_clock_correction(&c, BOOT), 0);
	/* the machine stood for an hour: its time since boot lags, and its clock was set right */
	receiver_clock_note(&c, (BOOT + 4000 * S) / S, 300 * S, 300 * S, BOOT + 3700 * S);
	assert_int_equal(receiver_clock_correction(&c, BOOT + 3700 * S), 0);
	assert_true(llabs(receiver_clock_now(&c, 300 * S) - (BOOT + 4000 * S)) <= S);
}

TEST(nonsense_is_no_measurement)
{
	struct receiver_clock c = {0};

	receiver_clock_note(&c, INT64_MAX, 0, 1, BOOT);
	receiver_clock_note(&c, -1, 0, 1, BOOT);
	receiver_clock_note(&c, 1700000000, 2, 1, BOOT);
	assert_false(c.is_known);
	assert_int_equal(receiver_clock_correction(&c, BOOT), 0);
}

TEST(dates_of_http_are_read)
{
	int64_t s = 0;

	assert_int_equal(http_parse_date("Sun, 06 Nov 1994 08:49:37 GMT", &s), 0);
	assert_int_equal(s, 784111777);
	assert_int_equal(http_parse_date("Sat, 28 Nov 2026 14:43:16 GMT", &s), 0);
	assert_int_equal(s, 1795876996);
	assert_true(http_parse_date("", &s) < 0);
	assert_true(http_parse_date("soon", &s) < 0);
}
