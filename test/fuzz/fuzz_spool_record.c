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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;
	CLEANUP(buf_fini) struct buf again;
	char service[UPLOAD_SERVICE_BYTES];
	uint64_t created_ns = 0, offset;

	buf_init(&again, size + 1);
	(void)!spool_done_parse(&offset, data, size);
	if (spool_profile_parse(&item, data, size) < 0) {
		require(spool_profile_parse_created(&created_ns, data, size) < 0);
		return 0;
	}
	require(spool_profile_parse_created(&created_ns, data, size) == 0);
	require(created_ns == item->created_ns);
	require(strpbrk(item->query, " \r\n#") == NULL);
	upload_item_service(item, service);
	require(spool_profile_encode(&again, item) == 0);
	require(again.len == size && memcmp(again.data, data, size) == 0);
	return 0;
}
