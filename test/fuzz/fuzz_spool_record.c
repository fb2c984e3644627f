/*
 * Any bytes as a record of the spool: refused, or a profile that is encoded to the same bytes
 * again and has a query that cannot break a request.
 */
#include "common/upload/spool_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check(uint32_t kind, const uint8_t *data, size_t size)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;
	CLEANUP(buf_fini) struct buf again;
	char service[UPLOAD_SERVICE_BYTES];
	size_t added = kind == SPOOL_RECORD_CLOCKED ? 0 : SPOOL_CLOCK_BYTES;
	uint64_t created_ns = 0;

	buf_init(&again, size + added + 1);
	if (spool_profile_parse(&item, kind, data, size) < 0) {
		require(spool_profile_parse_created(&created_ns, kind, data, size) < 0);
		return;
	}
	require(spool_profile_parse_created(&created_ns, kind, data, size) == 0);
	require(created_ns == item->created_ns);
	require(strpbrk(item->query, " \r\n#") == NULL);
	upload_item_service(item, service);
	require(spool_profile_encode(&again, item) == 0);
	require(again.len == size + added && memcmp(again.data + added, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t offset;

	(void)!spool_done_parse(&offset, data, size);
	check(SPOOL_RECORD_PROFILE, data, size);
	check(SPOOL_RECORD_CLOCKED, data, size);
	return 0;
}
