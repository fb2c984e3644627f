#include "common/kubernetes/kube_stream.h"

#include <errno.h>

#include "test/lib/unit.h"

#define MAX_OBJECT_BYTES 100

struct seen {
	char objects[1024]; /* each followed by '|' */
	int n_too_large;
	int result; /* of the callback */
	struct err err;
	struct kube_stream *s;
};

static int on_object(void *ctx, const char *text, size_t len)
{
	struct seen *seen = ctx;
	size_t used = strlen(seen->objects);

	snprintf(seen->objects + used, sizeof(seen->objects) - used, "%.*s|", (int)len, text);
	return seen->result;
}

static void on_too_large(void *ctx)
{
	struct seen *seen = ctx;

	seen->n_too_large++;
}

static int start(struct seen *seen, enum kube_stream_mode mode)
{
	const struct kube_stream_config cfg = {.mode = mode,
					       .max_object_bytes = MAX_OBJECT_BYTES,
					       .ctx = seen,
					       .object = on_object,
					       .too_large = on_too_large};

	return kube_stream_new(&seen->s, &cfg);
}

static int feed(struct seen *seen, const char *text)
{
	return kube_stream_feed(seen->s, text, strlen(text), &seen->err);
}

/* Reads a whole list and discards its metadata. */
static int read_list(struct seen *seen, const char *text)
{
	struct kube_list_meta meta;
	int r;

	*seen = (struct seen){0};
	assert_int_equal(start(seen, KUBE_STREAM_LIST), 0);
	r = feed(seen, text);
	if (r == 0)
		r = kube_stream_finish_list(seen->s, &meta, &seen->err);
	kube_stream_free(seen->s);
	return r;
}

TEST(a_list_is_cut_into_its_items)
{
	static const char text[] =
		" {\"kind\":\"PodList\", \"apiVersion\":\"v1\",\n"
		"\"metadata\":{\"resourceVersion\":\"42\",\"continue\":\"t\\u006fk\"},"
		"\"items\":[ {\"a\":\"}]\\\\\\\"{\"} ,{\"b\":[[{}],{}]},{}\t] }\r\n";
	struct seen seen = {0};
	struct kube_list_meta meta;

	assert_int_equal(start(&seen, KUBE_STREAM_LIST), 0);
	assert_int_equal(feed(&seen, text), 0);
	assert_int_equal(kube_stream_finish_list(seen.s, &meta, &seen.err), 0);
	assert_string_equal(seen.objects, "{\"a\":\"}]\\\\\\\"{\"}|{\"b\":[[{}],{}]}|{}|");
	assert_string_equal(meta.resource_version, "42");
	assert_string_equal(meta.next, "tok");
	kube_stream_free(seen.s);
}

TEST(metadata_may_come_last_or_not_at_all)
{
	struct seen seen = {0};
	struct kube_list_meta meta;

	assert_int_equal(start(&seen, KUBE_STREAM_LIST), 0);
	assert_int_equal(feed(&seen, "{\"items\":[{}],\"metadata\":{\"resourceVersion\":\"9\"}}"),
			 0);
	assert_int_equal(kube_stream_finish_list(seen.s, &meta, NULL), 0);
	assert_string_equal(meta.resource_version, "9");
	assert_string_equal(meta.next, "");
	kube_stream_free(seen.s);

	assert_int_equal(start(&seen, KUBE_STREAM_LIST), 0);
	assert_int_equal(feed(&seen, "{\"items\":[]}"), 0);
	assert_int_equal(kube_stream_finish_list(seen.s, &meta, NULL), 0);
	assert_string_equal(meta.resource_version, "");
	kube_stream_free(seen.s);
}

TEST(items_may_be_null)
{
	struct seen seen;

	assert_int_equal(read_list(&seen, "{\"items\":null}"), 0);
	assert_string_equal(seen.objects, "");
}

TEST(a_status_in_place_of_a_list_fails_with_its_message)
{
	struct seen seen;

	assert_int_equal(read_list(&seen,
				   "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Failure\","
				   "\"message\":\"etcd is \\\"away\\\"\",\"code\":500}"),
			 -EBADMSG);
	assert_string_equal(seen.err.msg, "etcd is \"away\"");
	assert_int_equal(read_list(&seen, "{\"kind\":\"Status\",\"items\":[]}"), -EBADMSG);
	assert_string_equal(seen.err.msg, "a failure without a message");
}

TEST(anything_but_a_list_is_refused_with_a_sentence)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "the list ends too early"},
		{"{\"items\":[{}", "the list ends too early"},
		{"{\"items\":[{}]", "the list ends too early"},
		{"{}", "no list"},
		{"{\"kind\":\"PodList\"}", "no list"},
		{"<html>", "'<' where a list should be"},
		{"[]", "'[' where a list should be"},
		{"\x01", "byte 0x01 where a list should be"},
		{"{\"items\":{}}", "the items of the list are no array"},
		{"{\"items\":n ull}", "not valid JSON: invalid token near 'n'"},
		{"{\"it\\u0065ms\":[{}]}", "no list"},
		{"{\"items\":7}", "the items of the list are no array"},
		{"{\"items\":[7]}", "'7' where an object should be"},
		{"{\"items\":[{},]}", "']' where an object should be"},
		{"{\"items\":[{}{}]}", "'{' where ',' or a closing bracket should be"},
		{"{\"items\":[]}}", "'}' where the end should be"},
		{"{\"a\":1,}", "not valid JSON: string or '}' expected near '}'"},
		{"{\"a\" 1}", "not valid JSON: ':' expected near '1'"},
		{"{\"a\":}", "not valid JSON: unexpected token near '}'"},
		{"{\"a\":[}}", "brackets that do not match"},
		{"{\"items\":[{]", "brackets that do not match"},
		{"{\"metadata\":{\"a\"},\"items\":[]}", "not valid JSON: ':' expected near '}'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen seen;
		int r = read_list(&seen, cases[i].text);

		if (r != -EBADMSG || strcmp(seen.err.msg, cases[i].why) != 0)
			fail_msg("%s: %d, \"%s\"", cases[i].text, r, seen.err.msg);
	}
}

TEST(nesting_has_a_limit)
{
	char text[2048] = "{\"items\":[],\"x\":";
	struct seen seen;
	size_t at = strlen(text);

	memset(text + at, '[', 512);
	memset(text + at + 512, ']', 512);
	memcpy(text + at + 1024, "}", 2);
	assert_int_equal(read_list(&seen, text), 0);
	memset(text + at, '[', 513);
	assert_int_equal(read_list(&seen, text), -EBADMSG);
	assert_string_equal(seen.err.msg, "nested deeper than 512");
}

TEST(objects_above_the_limit_are_left_out)
{
	char text[512], pad[200];
	struct seen seen;

	memset(pad, 'x', sizeof(pad));
	/* {"a":"…"} with 100 bytes, with 101 */
	snprintf(text, sizeof(text), "{\"items\":[{\"a\":\"%.92s\"},{\"a\":\"%.93s\"},{}]}", pad,
		 pad);
	assert_int_equal(read_list(&seen, text), 0);
	assert_int_equal(seen.n_too_large, 1);
	assert_int_equal(strlen(seen.objects), 100 + 1 + 3);
	assert_string_equal(seen.objects + 100, "|{}|");
}

TEST(a_watch_is_cut_into_its_events)
{
	struct seen seen = {0};

	assert_int_equal(start(&seen, KUBE_STREAM_WATCH), 0);
	assert_int_equal(feed(&seen, "{\"type\":\"ADDED\"}\n{\"type\":"), 0);
	assert_string_equal(seen.objects, "{\"type\":\"ADDED\"}|");
	assert_int_equal(feed(&seen, "\"DELE"), 0);
	assert_int_equal(feed(&seen, "TED\"}{}\n"), 0);
	assert_string_equal(seen.objects, "{\"type\":\"ADDED\"}|{\"type\":\"DELETED\"}|{}|");
	assert_int_equal(feed(&seen, "upstream timed out"), -EBADMSG);
	assert_string_equal(seen.err.msg, "'u' where an object should be");
	kube_stream_free(seen.s);
}

TEST(every_cut_gives_the_same)
{
	static const char text[] = "{\"metadata\":{\"continue\":\"c\"},\"n\":-1.5,\"items\":"
				   "[{\"a\":\"\\\"\"},{\"b\":null}],\"kind\":\"PodList\"}";

	for (size_t cut = 0; cut <= strlen(text); cut++) {
		struct seen seen = {0};
		struct kube_list_meta meta;

		assert_int_equal(start(&seen, KUBE_STREAM_LIST), 0);
		assert_int_equal(kube_stream_feed(seen.s, text, cut, NULL), 0);
		assert_int_equal(kube_stream_feed(seen.s, text + cut, strlen(text) - cut, NULL), 0);
		assert_int_equal(kube_stream_finish_list(seen.s, &meta, NULL), 0);
		assert_string_equal(seen.objects, "{\"a\":\"\\\"\"}|{\"b\":null}|");
		assert_string_equal(meta.next, "c");
		kube_stream_free(seen.s);
	}
}

TEST(the_owner_can_end_it)
{
	struct seen seen = {.result = -ECANCELED};
	struct kube_list_meta meta;

	assert_int_equal(start(&seen, KUBE_STREAM_LIST), 0);
	assert_int_equal(feed(&seen, "{\"items\":[{},{}]}"), -ECANCELED);
	assert_string_equal(seen.objects, "{}|");
	/* and it stays failed */
	assert_int_equal(feed(&seen, "{}"), -ECANCELED);
	assert_int_equal(kube_stream_finish_list(seen.s, &meta, NULL), -ECANCELED);
	assert_string_equal(seen.objects, "{}|");
	kube_stream_free(seen.s);
}

TEST(too_much_metadata_is_refused)
{
	static char text[70000];
	struct seen seen;
	size_t at;

	at = (size_t)snprintf(text, sizeof(text), "{\"items\":[],\"metadata\":{\"continue\":\"");
	memset(text + at, 'x', 66000);
	memcpy(text + at + 66000, "\"}}", 4);
	assert_int_equal(read_list(&seen, text), -EBADMSG);
	assert_string_equal(seen.err.msg, "the metadata of the list is above 65536 bytes");
}

static int construct_and_feed(void *arg)
{
	struct seen seen = {0};
	int r;

	(void)arg;
	r = start(&seen, KUBE_STREAM_LIST);
	if (r == 0)
		r = feed(&seen, "{\"a\":1,\"items\":[{\"a\":\"0123456789012345678901234567890123456"
				"789012345678901234567890123456789\"}],\"metadata\":{}}");
	kube_stream_free(seen.s);
	return r;
}

TEST(lack_of_memory_is_survived)
{
	check_oom(construct_and_feed, NULL);
	kube_stream_free(NULL);
}
