#include <errno.h>

#include "common/text/base64.h"
#include "test/lib/unit.h"

TEST(both_ways_as_the_rfc_shows)
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

TEST(white_space_is_skipped)
{
	static const char text[] = "\n Zm9v\r\n\tYm\nE=\n";
	CLEANUP(buf_fini) struct buf bytes;

	buf_init(&bytes, 100);
	assert_int_equal(base64_decode(text, strlen(text), &bytes), 0);
	assert_string_equal(bytes.data, "fooba");
}

TEST(padding_may_be_missing)
{
	static const struct {
		const char *text, *bytes;
	} cases[] = {{"Zg", "f"}, {"Zm8", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg\n", "foob"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf bytes;

		buf_init(&bytes, 100);
		assert_int_equal(base64_decode(cases[i].text, strlen(cases[i].text), &bytes), 0);
		assert_string_equal(bytes.data, cases[i].bytes);
	}
}

TEST(what_is_not_base64_is_refused)
{
	static const char *const texts[] = {"Z",     "Zg=",
					    "Zg===", "Z===",
					    "====",  "=Zg=",
					    "Zg=g",  "Zg==Zg==",
					    "Zm9v=", "Zm9v!",
					    "Zm9_",  "Zm9-",
					    "Zm9vZ", "-----BEGIN CERTIFICATE-----"};
	CLEANUP(buf_fini) struct buf bytes;

	buf_init(&bytes, 100);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (base64_decode(texts[i], strlen(texts[i]), &bytes) != -EBADMSG)
			fail_msg("\"%s\" was accepted", texts[i]);
	assert_int_equal(base64_decode("Zm9v\0Zm9v", 9, &bytes), -EBADMSG);
	assert_int_equal(bytes.len, 0);
}

TEST(all_bytes_of_all_lengths_survive_a_round_trip)
{
	unsigned char all[257];

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

TEST(limits_are_kept_and_both_append)
{
	CLEANUP(buf_fini) struct buf b;

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

TEST(lack_of_memory_is_enomem)
{
	check_oom(code_and_decode, NULL);
}
