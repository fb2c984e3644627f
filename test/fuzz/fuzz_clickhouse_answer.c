/*
 * What a server answers: the text of an exception lies within the answer, its code is a number that
 * was there, and an address that is accepted is a URL without user and password.
 */
#include <assert.h>

#include "cluster-agent/store/clickhouse_address.h"
#include "cluster-agent/store/clickhouse_error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const char *text)
{
	struct clickhouse_address a[CLICKHOUSE_MAX_ADDRESSES];
	struct err err = {0};
	int n = clickhouse_addresses_parse(text, false, a, &err);

	assert(n > 0 || err.msg[0]);
	for (int i = 0; i < n; i++) {
		assert(strncmp(a[i].url, "http://", 7) == 0 ||
		       strncmp(a[i].url, "https://", 8) == 0);
		assert(!strpbrk(a[i].url, "@?# \r\n"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *answer = (const char *)data, *text;
	char tag[CLICKHOUSE_TAG_BYTES + 8];
	size_t len, tag_len = size > 0 ? data[0] % sizeof(tag) : 0;
	AUTO_FREE char *copy = NULL;
	int code;

	if (size <= tag_len)
		return 0;
	memcpy(tag, answer + 1, tag_len);
	tag[tag_len > 0 ? tag_len - 1 : 0] = '\0';
	answer += tag_len;
	size -= tag_len;
	code = clickhouse_code(answer, size);
	assert(code >= 0);
	(void)clickhouse_advice(code, answer, size);
	if (clickhouse_find_trailer(answer, size, tag, &text, &len))
		assert(text >= answer && len <= size && text + len <= answer + size);
	copy = strndup(answer, size);
	if (copy)
		check_address(copy);
	return 0;
}
