#include "common/http/http_text.h"

#include <curl/curl.h>
#include <errno.h>
#include <strings.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t http_percent_decode(char *s)
{
	char *out = s;
	const char *in = s;

	while (*in) {
		int high = *in == '%' ? hex_digit(in[1]) : -1;
		int low = high >= 0 ? hex_digit(in[2]) : -1;

		if (low >= 0 && (high | low) != 0) {
			*out++ = (char)(high << 4 | low);
			in += 3;
		} else {
			*out++ = *in++;
		}
	}
	*out = '\0';
	return (size_t)(out - s);
}

/* Bytes that need no encoding in a query: the unreserved set of RFC 3986, and '/'. */
static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~' || c == '/';
}

int http_percent_encode(struct buf *out, const char *s)
{
	int r = 0;

	for (; *s && r == 0; s++) {
		unsigned char c = (unsigned char)*s;

		r = is_plain(c) ? buf_add(out, s, 1) : buf_addf(out, "%%%02X", c);
	}
	return r;
}

/* Whether parameters like ";q=0.5" give a weight of zero: "q=0" and then no digit but 0. */
static bool weight_is_zero(const char *params, const char *end)
{
	const char *q = params;

	while (q < end && (*q == ';' || *q == ' ' || *q == '\t'))
		q++;
	if (end - q < 3 || (q[0] | 0x20) != 'q' || q[1] != '=' || q[2] != '0')
		return false;
	for (q += 3; q < end; q++)
		if (*q >= '1' && *q <= '9')
			return false;
	return true;
}

bool http_accepts(const char *value, const char *coding)
{
	size_t coding_len = strlen(coding);
	bool star = false;

	while (value && *value) {
		const char *end, *params;
		size_t len;

		value += strspn(value, " \t,");
		end = value + strcspn(value, ",");
		len = strcspn(value, " \t,;");
		params = value + len;
		if (len == coding_len && strncasecmp(value, coding, len) == 0)
			return !weight_is_zero(params, end);
		if (len == 1 && *value == '*')
			star = !weight_is_zero(params, end);
		value = end;
	}
	return star;
}

int http_parse_date(const char *value, int64_t *ret_s)
{
	time_t t = curl_getdate(value, NULL);

	if (t < 0)
		return -EINVAL;
	*ret_s = t;
	return 0;
}
