#include "cluster-agent/web/web_answer.h"

#include <inttypes.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define SETTLED_AFTER_NS (INT64_C(60) * (int64_t)NS_PER_S)
#define ETAG_BYTES 40u
#define MAX_PART_BYTES 100

void web_answer_header(struct http_exchange *x, const char *name, const char *value)
{
	if (http_exchange_set_header(x, name, value) < 0)
		log_debug("answering without a header", "name=%s", name);
}

/*
 * If-None-Match may list several tags, and proxies prefix them with W/. Ours are quoted hex, so a
 * substring match is exact.
 */
bool web_answer_is_known(const struct http_exchange *x, const char *etag)
{
	const char *known = http_exchange_header(x, "If-None-Match");

	return known && (strcmp(known, "*") == 0 || strstr(known, etag));
}

/* Appends text with each run of other characters than letters and digits as one '-'. */
static size_t add_plain(char *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._";
	size_t n = 0;

	while (*text && n < MAX_PART_BYTES) {
		size_t len = strspn(text, plain);

		if (len == 0) {
			if (n > 0 && out[n - 1] != '-')
				out[n++] = '-';
			text++;
			continue;
		}
		/* a file whose name begins with a dot is hidden, and may be read by a shell */
		if (n == 0 && *text == '.') {
			text++;
			continue;
		}
		out[n++] = *text++;
	}
	while (n > 0 && out[n - 1] == '-')
		n--;
	return n;
}

void web_answer_file_name(char ret[static WEB_FILE_NAME_BYTES], const struct query_filter *f,
			  const char *suffix)
{
	time_t start_s = (time_t)(f->from_ns / (int64_t)NS_PER_S);
	struct tm tm = {0};
	size_t n = add_plain(ret, f->service ? f->service : "");

	if (n > 0)
		ret[n++] = '-';
	n += add_plain(ret + n, f->type ? f->type : "");
	if (gmtime_r(&start_s, &tm))
		n += strftime(ret + n, 20, n > 0 ? "-%Y%m%dT%H%M%SZ" : "%Y%m%dT%H%M%SZ", &tm);
	snprintf(ret + n, WEB_FILE_NAME_BYTES - n, "%s", suffix);
}

/* Whether the same question will have the same answer, apart from profiles that arrive late. */
static bool is_settled(const struct web_endpoint *e, const struct query_request *p, uint64_t now_ns)
{
	int64_t to_ns = p->filter.to_ns;

	if (p->has_base && p->base.to_ns > to_ns)
		to_ns = p->base.to_ns;
	return e->is_constant || (!e->method && to_ns <= (int64_t)now_ns - SETTLED_AFTER_NS);
}

/* Weak, because the body is gzipped for some clients. */
static void hash_body(char ret[static ETAG_BYTES], const char *body, size_t len)
{
	XXH128_hash_t h = XXH3_128bits(body ? body : "", len);

	snprintf(ret, ETAG_BYTES, "W/\"%016" PRIx64 "%016" PRIx64 "\"", h.high64, h.low64);
}

void web_answer_send(struct http_exchange *x, const struct web_endpoint *e,
		     const struct query_request *p, uint64_t now_ns, char *body_adopt, size_t len)
{
	char etag[ETAG_BYTES], header[WEB_FILE_NAME_BYTES + 32], name[WEB_FILE_NAME_BYTES];

	if (is_settled(e, p, now_ns)) {
		hash_body(etag, body_adopt, len);
		web_answer_header(x, "ETag", etag);
		web_answer_header(x, "Cache-Control", "private, no-cache");
		if (web_answer_is_known(x, etag + strlen("W/"))) {
			free(body_adopt);
			http_respond(x, 304, NULL, NULL, 0);
			return;
		}
	}
	if (e->suffix) {
		web_answer_file_name(name, &p->filter, e->suffix);
		snprintf(header, sizeof(header), "attachment; filename=\"%s\"", name);
		web_answer_header(x, "Content-Disposition", header);
	}
	http_respond(x, 200, p->format == QUERY_FORMAT_COLUMNS ? WEB_COLUMNS_TYPE : e->content_type,
		     body_adopt, len);
}
