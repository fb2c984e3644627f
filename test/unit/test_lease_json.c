#include "common/kubernetes/lease_json.h"

#include <errno.h>

#include "test/lib/unit.h"

static int parse(struct lease_doc *d, const char *text)
{
	return lease_doc_parse(d, text, strlen(text));
}

TEST(a_lease_is_read)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};

	assert_int_equal(
		parse(&d, "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\","
			  "\"metadata\":{\"name\":\"g-a\",\"namespace\":\"n\",\"uid\":\"u-1\","
			  "\"resourceVersion\":\"42\",\"managedFields\":[{\"manager\":\"x\"}]},"
			  "\"spec\":{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":17,"
			  "\"acquireTime\":\"2026-11-20T20:44:06.123456Z\","
			  "\"renewTime\":\"2026-11-20T20:45:06.123456Z\",\"leaseTransitions\":2}}"),
		0);
	assert_int_equal(d.n, 1);
	assert_string_equal(d.leases[0].name, "g-a");
	assert_string_equal(d.leases[0].version, "42");
	assert_string_equal(d.leases[0].uid, "u-1");
	assert_string_equal(d.leases[0].holder, "me");
	assert_string_equal(d.leases[0].acquired, "2026-11-20T20:44:06.123456Z");
	assert_int_equal(d.leases[0].transitions, 2);
}

TEST(a_lease_without_spec_has_no_holder)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};

	assert_int_equal(parse(&d, "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"a\","
				   "\"resourceVersion\":\"1\"}}"),
			 0);
	assert_string_equal(d.leases[0].holder, "");
	assert_int_equal(d.leases[0].transitions, 0);
}

TEST(a_list_is_read_and_other_objects_are_skipped)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};

	assert_int_equal(
		parse(&d,
		      "{\"kind\":\"LeaseList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":["
		      "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}},"
		      "{\"metadata\":{\"name\":\"b\"}}, 5, null,"
		      "{\"metadata\":{\"name\":\"\",\"resourceVersion\":\"1\"}},"
		      "{\"metadata\":{\"name\":\"d\",\"resourceVersion\":\"1\"},"
		      "\"spec\":{\"leaseTransitions\":-1}},"
		      "{\"metadata\":{\"name\":\"c\",\"resourceVersion\":\"2\"}}]}"),
		0);
	assert_int_equal(d.n, 2);
	assert_int_equal(d.n_bad, 5);
	assert_false(d.more);
	assert_string_equal(d.leases[1].name, "c");
}

TEST(an_empty_list_is_one)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};

	assert_int_equal(parse(&d, "{\"kind\":\"LeaseList\",\"items\":[]}"), 0);
	assert_int_equal(d.n, 0);
}

TEST(a_truncated_list_has_more_set)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};

	assert_int_equal(
		parse(&d,
		      "{\"kind\":\"LeaseList\",\"metadata\":{\"continue\":\"x\"},\"items\":[]}"),
		0);
	assert_true(d.more);
}

TEST(other_answers_are_refused)
{
	static const char *const texts[] = {
		"",
		"<html>",
		"[]",
		"{}",
		"{\"kind\":\"Status\"}",
		"{\"kind\":\"LeaseList\"}",
		"{\"kind\":\"LeaseList\",\"items\":{}}",
		"{\"kind\":\"Lease\"}",
		"{\"kind\":\"Lease\",\"metadata\":{\"name\":5,\"resourceVersion\":\"1\"}}",
		"{\"kind\":\"Lease\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}} x",
		/* 64 characters of a version */
		("{\"kind\":\"Lease\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":"
		 "\"0123456789012345678901234567890123456789012345678901234567890123\"}}"),
	};
	struct lease_doc d;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(&d, texts[i]), -EBADMSG);
}

TEST(what_is_written_is_read_again)
{
	const struct lease_text t = {
		.namespace = "n",
		.group = "g",
		.duration_s = 17,
		.renewed_ns = INT64_C(1795207446123456789),
		.lease = {.name = "g-a",
			  .version = "7",
			  .uid = "u",
			  .holder = "me",
			  .acquired = "",
			  .transitions = 1},
	};
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 10000);
	assert_int_equal(lease_write(&b, &t), 0);
	assert_string_equal(
		b.data,
		"{\"apiVersion\":\"coordination.k8s.io/"
		"v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
		"\"g-a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"labels\":{"
		"\"coroot.com/replica-group\":\"g\",\"app.kubernetes.io/name\":"
		"\"coroot-cluster-agent\",\"app.kubernetes.io/managed-by\":"
		"\"coroot-cluster-agent\"}},\"spec\":{\"holderIdentity\":\"me\","
		"\"leaseDurationSeconds\":17,\"acquireTime\":\"2026-11-20T20:44:06.123456Z\","
		"\"renewTime\":\"2026-11-20T20:44:06.123456Z\",\"leaseTransitions\":1}}");
	assert_int_equal(parse(&d, b.data), 0);
	assert_string_equal(d.leases[0].version, "7");
	assert_string_equal(d.leases[0].acquired, "2026-11-20T20:44:06.123456Z");
}

TEST(a_new_lease_has_neither_uid_nor_version)
{
	const struct lease_text t = {
		.namespace = "n",
		.group = "g",
		.lease = {.name = "g-a",
			  .version = "",
			  .uid = "",
			  .holder = "me",
			  .acquired = "then"},
	};
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 10000);
	assert_int_equal(lease_write(&b, &t), 0);
	assert_null(strstr(b.data, "uid"));
	assert_null(strstr(b.data, "resourceVersion"));
	assert_non_null(strstr(b.data, "\"acquireTime\":\"then\""));
}

TEST(deletes_that_version_only)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 10000);
	assert_int_equal(lease_write_delete(&b, "7"), 0);
	assert_string_equal(b.data, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
				    "\"preconditions\":{\"resourceVersion\":\"7\"}}");
}

static int read_and_write(void *arg)
{
	static const char text[] =
		"{\"kind\":\"LeaseList\",\"items\":[{\"metadata\":{\"name\":\"a\","
		"\"resourceVersion\":\"1\"}}]}";
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};
	struct lease_text t = {.namespace = "n", .group = "g"};
	CLEANUP(buf_fini) struct buf b;
	int r;

	(void)arg;
	buf_init(&b, 10000);
	r = lease_doc_parse(&d, text, strlen(text));
	if (r < 0)
		return r;
	t.lease = d.leases[0];
	return lease_write(&b, &t);
}

TEST(survives_every_failed_allocation)
{
	check_oom(read_and_write, NULL);
}

TEST(a_lease_that_is_given_up_has_no_holder_and_one_without_group_no_labels)
{
	const struct lease_text t = {
		.namespace = "n",
		.duration_s = 15,
		.lease = {.name = "a", .version = "7", .uid = "u", .holder = "", .acquired = ""},
	};
	struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(lease_write(&b, &t), 0);
	assert_null(strstr(b.data, "holderIdentity"));
	assert_null(strstr(b.data, "labels"));
	assert_non_null(strstr(b.data, "\"leaseDurationSeconds\":15"));
	buf_fini(&b);
}
