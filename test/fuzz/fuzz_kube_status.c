/* Any bytes as the body of a refusal: always one valid line that fits. */
#include "common/kubernetes/kube_status.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[KUBE_STATUS_MESSAGE_BYTES];
	size_t len;

	memset(line, 'x', sizeof(line));
	kube_status_message(500, (const char *)data, size, line);
	len = strnlen(line, sizeof(line));
	if (len == 0 || len == sizeof(line) || !utf8_is_valid(line, len))
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			abort();
	return 0;
}
