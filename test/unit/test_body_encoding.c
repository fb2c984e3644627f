#include <errno.h>
#include <libdeflate.h>
#include <zstd.h>

#include "cluster-agent/push/body_encoding.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "test/lib/unit.h"

static const char text[] = "root;caller;leaf 42\nroot;caller;leaf 42\nroot;caller;other 7\n";

/* Compresses the text; returns the number of bytes. */
static size_t compress(enum body_encoding encoding, bool is_bare, char *to, size_t size)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	size_t n = 0;

	assert_non_null(c);
	if (encoding == BODY_GZIP)
		n = libdeflate_gzip_compress(c, text, strlen(text), to, size);
	else if (encoding == BODY_ZSTD)
		n = ZSTD_compress(to, size, text, strlen(text), 3);
	else
		n = is_bare ? libdeflate_deflate_compress(c, text, strlen(text), to, size)
			    : libdeflate_zlib_compress(c, text, strlen(text), to, size);
	libdeflate_free_compressor(c);
	assert_true(n > 0 && n < size);
	return n;
}

static int expect_text(struct upload_parts *ret, struct arena *arena, const void *ctx,
		       const void *body, size_t len, struct err *err)
{
	const char *expected = ctx;

	(void)ret;
	(void)arena;
	(void)err;
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(body, expected, len);
	return 0;
}

TEST(encodings_have_the_names_of_http)
{
	enum body_encoding e = BODY_ZSTD;

	assert_true(body_encoding_find(&e, NULL) && e == BODY_IDENTITY);
	assert_true(body_encoding_find(&e, "GZIP") && e == BODY_GZIP);
	assert_true(body_encoding_find(&e, "x-gzip") && e == BODY_GZIP);
	assert_true(body_encoding_find(&e, "zstd") && e == BODY_ZSTD);
	assert_true(body_encoding_find(&e, "deflate") && e == BODY_DEFLATE);
	assert_true(body_encoding_find(&e, "identity") && e == BODY_IDENTITY);
	assert_false(body_encoding_find(&e, "br"));
	assert_false(body_encoding_find(&e, "gzip, zstd"));
}

TEST(bodies_are_inflated_before_they_are_decoded)
{
	static const struct {
		enum body_encoding of, said;
		bool is_bare;
	} cases[] = {
		{BODY_GZIP, BODY_GZIP, false},      {BODY_ZSTD, BODY_ZSTD, false},
		{BODY_ZSTD, BODY_IDENTITY, false},  {BODY_DEFLATE, BODY_DEFLATE, false},
		{BODY_DEFLATE, BODY_DEFLATE, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct encoded_body b = {cases[i].said, expect_text, text};
		char data[256];
		size_t n = compress(cases[i].of, cases[i].is_bare, data, sizeof(data));
		struct err err = {""};

		assert_int_equal(encoded_body_decode(NULL, NULL, &b, data, n, &err), 0);
		b.encoding = cases[i].of;
		assert_int_equal(encoded_body_decode(NULL, NULL, &b, data, n - 1, &err), -EBADMSG);
		assert_memory_equal(err.msg, "the body is not valid ", 22);
		assert_int_equal(encoded_body_decode(NULL, NULL, &b, data, n + 1, &err), -EBADMSG);
	}
}

TEST(what_is_not_encoded_is_decoded_as_it_is)
{
	struct encoded_body b = {BODY_IDENTITY, expect_text, text};
	struct err err = {""};

	assert_int_equal(encoded_body_decode(NULL, NULL, &b, text, strlen(text), &err), 0);
	/* a proxy has inflated it */
	b.encoding = BODY_GZIP;
	assert_int_equal(encoded_body_decode(NULL, NULL, &b, text, strlen(text), &err), 0);
	b.encoding = BODY_ZSTD;
	assert_int_equal(encoded_body_decode(NULL, NULL, &b, text, strlen(text), &err), -EBADMSG);
	assert_string_equal(err.msg, "the body is not valid zstd");
	b.encoding = BODY_DEFLATE;
	assert_int_equal(encoded_body_decode(NULL, NULL, &b, text, strlen(text), &err), -EBADMSG);
}

TEST(what_inflates_beyond_the_limit_is_refused)
{
	const size_t len = LIMIT_UPLOAD_INFLATED_BYTES + 1, size = (size_t)1 << 20;
	struct encoded_body b = {BODY_ZSTD, expect_text, text};
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	char *zeros = calloc(1, len), *data = malloc(size);
	struct err err = {""};
	size_t n;

	assert_true(c && zeros && data);
	n = ZSTD_compress(data, size, zeros, len, 1);
	assert_false(ZSTD_isError(n));
	assert_int_equal(encoded_body_decode(NULL, NULL, &b, data, n, &err), -EFBIG);
	assert_string_equal(err.msg, "the body inflates to more than 134217728 bytes");
	n = libdeflate_zlib_compress(c, zeros, len, data, size);
	b.encoding = BODY_DEFLATE;
	assert_int_equal(encoded_body_decode(NULL, NULL, &b, data, n, &err), -EFBIG);
	libdeflate_free_compressor(c);
	free(zeros);
	free(data);
}
