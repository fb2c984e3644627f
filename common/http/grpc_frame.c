#include "common/http/grpc_frame.h"

#include <errno.h>

size_t grpc_frame_announced(const uint8_t head[static GRPC_FRAME_HEAD_BYTES])
{
	return (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
}

int grpc_frame_read(struct grpc_frame *ret, const void *data, size_t len, struct err *err)
{
	const uint8_t *p = data;
	size_t message_len;

	if (len < GRPC_FRAME_HEAD_BYTES)
		return err_set(err, -EBADMSG, "the request has no message");
	if (p[0] > 1)
		return err_set(err, -EBADMSG, "the message has unknown flags");
	message_len = grpc_frame_announced(p);
	if (message_len > len - GRPC_FRAME_HEAD_BYTES)
		return err_set(err, -EBADMSG, "the message is incomplete");
	if (message_len < len - GRPC_FRAME_HEAD_BYTES)
		return err_set(err, -EBADMSG, "the request has more than one message");
	*ret = (struct grpc_frame){p + GRPC_FRAME_HEAD_BYTES, message_len, p[0] == 1};
	return 0;
}

void grpc_frame_head(uint8_t ret[static GRPC_FRAME_HEAD_BYTES], size_t len)
{
	ret[0] = 0;
	for (unsigned i = 0; i < 4; i++)
		ret[1 + i] = (uint8_t)(len >> (24 - 8 * i));
}

void grpc_frame_put_text(const char *text, struct buf *out)
{
	int r = 0;

	for (const char *p = text; *p && r == 0; p++) {
		unsigned char c = (unsigned char)*p;

		r = c >= ' ' && c <= '~' && c != '%' ? buf_add(out, p, 1)
						     : buf_addf(out, "%%%02X", c);
	}
}
