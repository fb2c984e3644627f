#include "common/kubernetes/kube_status.h"

#include <jansson.h>

#include "common/text/utf8.h"

/* A longer answer is not a Status and not worth parsing. */
#define MAX_STATUS_BYTES ((size_t)64 * 1024)

void kube_status_line(const char *text, size_t len, char *ret, size_t size)
{
	size_t n = len < size - 1 ? len : size - 1;

	memcpy(ret, text, n);
	ret[n] = '\0';
	utf8_repair(ret, n);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)ret[i] < ' ' || ret[i] == 0x7f)
			ret[i] = ' ';
	while (n > 0 && ret[n - 1] == ' ')
		ret[--n] = '\0';
}

/* Returns false if body is not an object with a message. */
static bool message_of(const char *body, size_t len, char *ret, size_t size)
{
	json_t *status;
	const char *message;

	if (len == 0 || len > MAX_STATUS_BYTES || body[0] != '{')
		return false;
	status = json_loadb(body, len, 0, NULL);
	message = json_string_value(json_object_get(status, "message"));
	if (message)
		kube_status_line(message, strlen(message), ret, size);
	json_decref(status);
	return message && ret[0];
}

void kube_status_message(int status, const char *body, size_t len,
			 char ret[static KUBE_STATUS_MESSAGE_BYTES])
{
	const char *line_end = len > 0 ? memchr(body, '\n', len) : NULL;
	int n;

	if (message_of(body, len, ret, KUBE_STATUS_MESSAGE_BYTES))
		return;
	n = snprintf(ret, KUBE_STATUS_MESSAGE_BYTES, "HTTP status %d", status);
	/* '<': an HTML page of a proxy; '{': JSON without a message */
	if (len == 0 || n < 0 || strchr("<{[\n", body[0]))
		return;
	memcpy(ret + n, ": ", 3);
	kube_status_line(body, line_end ? (size_t)(line_end - body) : len, ret + n + 2,
			 KUBE_STATUS_MESSAGE_BYTES - (size_t)n - 2);
}
