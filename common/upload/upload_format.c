#include "common/upload/upload_format.h"

#include <errno.h>

#include "common/http/http_text.h"
#include "common/otlp/otlp_encode.h"

#define OTLP_PATH "/v1development/profiles"

static int encode_otlp(const struct upload_format *f, const struct upload_item *item,
		       struct buf *out)
{
	const struct otlp_encode_config cfg = {
		.query = item->query, .scope = f->program, .version = f->version};

	return otlp_encode(item->body, item->body_len, &cfg, out);
}

/* Of a header: letters, digits and what RFC 9110 calls a token besides. */
static bool is_name(const char *s)
{
	return s[0] && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "!#$%&'*+-.^_`|~")] == '\0';
}

static bool is_value(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && end[-1] == ' ')
		*--end = '\0';
	return s + strspn(s, " ");
}

/* Appends "name: value" at *text, which has room for it. */
static int add_header(struct upload_format *f, char *pair, char **text, struct err *err)
{
	char *value = strchr(pair, '='), *name;
	int n;

	if (!value)
		return err_set(err, -EINVAL, "--otlp-headers: \"%.40s\" is not name=value", pair);
	*value++ = '\0';
	name = trim(pair);
	value = trim(value);
	http_percent_decode(value);
	if (!is_name(name) || !is_value(value))
		return err_set(err, -EINVAL, "--otlp-headers: \"%.40s\" cannot be a header", name);
	if (f->n_headers == UPLOAD_FORMAT_MAX_HEADERS)
		return err_set(err, -EINVAL, "--otlp-headers: too many");
	f->headers[f->n_headers++] = *text;
	n = snprintf(*text, strlen(name) + strlen(value) + 3, "%s: %s", name, value);
	*text += n + 1;
	return 0;
}

static int add_headers(struct upload_format *f, const char *headers, struct err *err)
{
	AUTO_FREE char *copy = strdup(headers);
	char *at = copy, *pair, *text;
	int r = 0;

	/* "name=value" grows by one byte and its end */
	f->text = text = calloc(2, strlen(headers) + 3);
	if (!copy || !text)
		return -ENOMEM;
	while (r == 0 && (pair = strsep(&at, ",")))
		if (*trim(pair))
			r = add_header(f, pair, &text, err);
	return r;
}

int upload_format_new_otlp(struct upload_format **ret, const char *headers, const char *program,
			   const char *version, struct err *err)
{
	CLEANUP(upload_format_freep) struct upload_format *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return -ENOMEM;
	f->headers[f->n_headers++] = "Content-Type: application/x-protobuf";
	f->headers[f->n_headers++] = "Content-Encoding: gzip";
	f->encode = encode_otlp;
	f->is_stored = otlp_answer_is_success;
	f->program = program;
	f->version = version;
	if (headers)
		r = add_headers(f, headers, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void upload_format_free(struct upload_format *f)
{
	if (!f)
		return;
	free(f->text);
	free(f);
}

int upload_format_otlp_url(char **ret, const char *endpoint)
{
	size_t len = strlen(endpoint), path_len = strlen(OTLP_PATH);
	char *url;

	while (len > 0 && endpoint[len - 1] == '/')
		len--;
	if (len >= path_len && memcmp(endpoint + len - path_len, OTLP_PATH, path_len) == 0)
		len -= path_len;
	if (asprintf(&url, "%.*s" OTLP_PATH, (int)len, endpoint) < 0)
		return -ENOMEM;
	*ret = url;
	return 0;
}
