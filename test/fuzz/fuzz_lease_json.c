/*
 * Every Lease that is read has a name and a version, within their bounds, and is the same when
 * written and read again.
 */
#include <assert.h>

#include "common/kubernetes/lease_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lease(const struct lease *l)
{
	CLEANUP(lease_doc_fini) struct lease_doc again = {0};
	CLEANUP(buf_fini) struct buf b;
	const struct lease_text t = {.namespace = "n", .group = "g", .lease = *l};

	assert(l->name[0] && strlen(l->name) < LEASE_NAME_BYTES);
	assert(l->version[0] && strlen(l->version) < LEASE_VERSION_BYTES);
	assert(strlen(l->uid) < LEASE_VERSION_BYTES && strlen(l->acquired) < LEASE_TIME_BYTES);
	buf_init(&b, (size_t)16 << 20);
	assert(lease_write(&b, &t) == 0);
	assert(lease_doc_parse(&again, b.data, b.len) == 0 && again.n == 1);
	assert(!strcmp(again.leases[0].name, l->name));
	assert(!strcmp(again.leases[0].version, l->version));
	assert(!strcmp(again.leases[0].uid, l->uid));
	assert(!strcmp(again.leases[0].holder, l->holder));
	assert(again.leases[0].transitions == l->transitions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(lease_doc_fini) struct lease_doc d = {0};

	if (lease_doc_parse(&d, (const char *)data, size) < 0)
		return 0;
	assert(d.n <= LEASE_LIST_MAX);
	for (size_t i = 0; i < d.n; i++)
		check_lease(&d.leases[i]);
	return 0;
}
