#include "common/text/json_writer.h"

#include <math.h>

#include "common/text/utf8.h"

void json_writer_init(struct json_writer *w, struct buf *out)
{
	*w = (struct json_writer){.out = out};
}

int json_writer_finish(struct json_writer *w)
{
	return w->error;
}

static void put(struct json_writer *w, const char *s, size_t len)
{
	if (w->error == 0)
		w->error = buf_add(w->out, s, len);
}

static void begin_value(struct json_writer *w)
{
	if (w->comma)
		put(w, ",", 1);
	w->comma = true;
}

void json_open(struct json_writer *w, char kind)
{
	begin_value(w);
	put(w, &kind, 1);
	w->comma = false;
}

void json_close(struct json_writer *w, char kind)
{
	put(w, &kind, 1);
	w->comma = true;
}

void json_key(struct json_writer *w, const char *key)
{
	json_put_string(w, key, strlen(key));
	put(w, ":", 1);
	w->comma = false;
}

static void put_control(struct json_writer *w, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char escape[] = "\\u0000";

	escape[4] = hex[c >> 4];
	escape[5] = hex[c & 15];
	put(w, escape, 6);
}

/* Length of the run at s that needs no escaping. */
static size_t plain_len(const unsigned char *s, size_t len)
{
	size_t i = 0;

	while (i < len && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

void json_put_string(struct json_writer *w, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	begin_value(w);
	put(w, "\"", 1);
	while (len > 0 && w->error == 0) {
		size_t n = plain_len(p, len);

		if (n == 0 && *p >= 0x80)
			n = utf8_len(p, len);
		if (n > 0) {
			put(w, (const char *)p, n);
		} else if (*p == '"' || *p == '\\') {
			put(w, "\\", 1);
			put(w, (const char *)p, n = 1);
		} else if (*p < 0x20 || *p == 0x7f) {
			put_control(w, *p);
			n = 1;
		} else {
			put(w, "\xef\xbf\xbd", 3);
			n = 1;
		}
		p += n;
		len -= n;
	}
	put(w, "\"", 1);
}

void json_put_int(struct json_writer *w, int64_t v)
{
	char text[24];
	char *p = text + sizeof(text);
	uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;

	begin_value(w);
	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (v < 0)
		*--p = '-';
	put(w, p, (size_t)(text + sizeof(text) - p));
}

void json_put_double(struct json_writer *w, double v)
{
	char text[40];

	if (!isfinite(v)) {
		json_put_null(w);
		return;
	}
	if (v == floor(v) && fabs(v) < 9007199254740992.0) {
		json_put_int(w, (int64_t)v);
		return;
	}
	begin_value(w);
	put(w, text, (size_t)snprintf(text, sizeof(text), "%.12g", v));
}

void json_put_bool(struct json_writer *w, bool v)
{
	begin_value(w);
	put(w, v ? "true" : "false", v ? 4 : 5);
}

void json_put_null(struct json_writer *w)
{
	begin_value(w);
	put(w, "null", 4);
}

void json_member_text(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	json_put_string(w, text, strlen(text));
}

void json_member_int(struct json_writer *w, const char *key, int64_t v)
{
	json_key(w, key);
	json_put_int(w, v);
}
