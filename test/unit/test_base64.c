#include <errno.h>

#include "common/text/base64.h"
#include "test/lib/unit.h"

static void both_ways_as_the_rfc_shows(void **state)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xfb\xff\xfe", "+//+"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf text, bytes;

		buf_init(&text, 100);
		buf_init(&bytes, 100);
		assert_int_equal(base64_encode(cases[i].bytes, strlen(cases[i].bytes), &text), 0);
		assert_string_equal(text.data, cases[i].text);
		assert_int_equal(base64_decode(cases[i].text, strlen(cases[i].text), &bytes), 0);
		assert_string_equal(bytes.data, cases[i].bytes);
	}
}

static void white_space_is_skipped(void **state)
{
	static const char text[] = "\n Zm9v\r\n\tYm\nE=\n";
	CLEANUP(buf_fini) struct buf bytes;

	(void)state;
	buf_init(&bytes, 100);
	assert_int_equal(base64_decode(text, strlen(text), &bytes), 0);
	assert_string_equal(bytes.data, "fooba");
}

static void padding_may_be_missing(void **state)
{
	static const struct {
		const char *text, *bytes;
	} cases[] = {{"Zg", "f"}, {"Zm8", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg\n", "foob"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf bytes;

		buf_init(&bytes, 100);
		assert_int_equal(base64_decode(cases[i].text, strlen(cases[i].text), &bytes), 0);
		assert_string_equal(bytes.data, cases[i].bytes);
	}
}

static void what_is_not_base64_is_refused(void **state)
{
	static const char *const texts[] = {"Z",     "Zg=",
					    "Zg===", "Z===",
					    "====",  "=Zg=",
					    "Zg=g",  "Zg==Zg==",
					    "Zm9v=", "Zm9v!",
					    "Zm9_",  "Zm9-",
					    "Zm9vZ", "-----BEGIN CERTIFICATE-----"};
	CLEANUP(buf_fini) struct buf bytes;

	(void)state;
	buf_init(&bytes, 100);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (base64_decode(texts[i], strlen(texts[i]), &bytes) != -EBADMSG)
			fail_msg("\"%s\" was accepted", texts[i]);
	assert_int_equal(base64_decode("Zm9v\0Zm9v", 9, &bytes), -EBADMSG);
	assert_int_equal(bytes.len, 0);
}

static void all_bytes_of_all_lengths_survive_a_round_trip(void **state)
{
	unsigned char all[257];

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)(i * 167);
	for (size_t len = 0; len <= sizeof(all); len++) {
		CLEANUP(buf_fini) struct buf text, bytes;

		buf_init(&text, 1000);
		buf_init(&bytes, 1000);
		assert_int_equal(base64_encode(all, len, &text), 0);
		assert_int_equal(text.len, (len + 2) / 3 * 4);
		assert_int_equal(base64_decode(text.data, text.len, &bytes), 0);
		assert_int_equal(bytes.len, len);
		assert_memory_equal(bytes.data, all, len);
	}
}

static void limits_are_kept_and_both_append(void **state)
{
	CLEANUP(buf_fini) struct buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(base64_encode("foo", 3, &b), 0);
	assert_int_equal(base64_encode("foob", 4, &b), -EFBIG);
	assert_int_equal(base64_decode("Zm9vYmE=", 8, &b), -EFBIG);
	assert_string_equal(b.data, "Zm9v");
	assert_int_equal(base64_decode("Zm9vYg==", 8, &b), 0);
	assert_string_equal(b.data, "Zm9vfoob");
}

static int code_and_decode(void *arg)
{
	CLEANUP(buf_fini) struct buf text, bytes;
	int r;

	(void)arg;
	buf_init(&text, 100);
	buf_init(&bytes, 100);
	r = base64_encode("foob", 4, &text);
	if (r == 0)
		r = base64_decode(text.data, text.len, &bytes);
	return r;
}

static void lack_of_memory_is_enomem(void **state)
{
	(void)state;
	check_oom(code_and_decode, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways_as_the_rfc_shows),
		cmocka_unit_test(white_space_is_skipped),
		cmocka_unit_test(padding_may_be_missing),
		cmocka_unit_test(what_is_not_base64_is_refused),
		cmocka_unit_test(all_bytes_of_all_lengths_survive_a_round_trip),
		cmocka_unit_test(limits_are_kept_and_both_append),
		cmocka_unit_test(lack_of_memory_is_enomem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
