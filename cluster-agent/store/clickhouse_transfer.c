/*
 * Rows are sent in chunks, without a length in advance: servers before 22.10 take a body that ends
 * too early for a short one if it has a length, and would insert a part of the rows under the token
 * that makes its repetition do nothing. A chunked body has an end that they miss.
 *
 * The server keeps an answer back until it is complete (wait_end_of_query), so that an exception
 * halfway becomes a status and a header instead of text between the rows. What comes halfway
 * nevertheless (a disk that is full, a proxy) is found by the mark that recent servers put at the
 * end, and by the chunk that is then missing.
 *
 * Silence is judged here and not by libcurl's low-speed limit, because a server may think about a
 * query for long without a byte: only an upload that does not move is stalled.
 */
#include "cluster-agent/store/clickhouse_transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>

#include "cluster-agent/store/clickhouse_body.h"
#include "common/system/clock.h"

#define CONNECT_TIMEOUT_MS 5000L
#define STALL_NS (30 * NS_PER_S)
#define MAX_URL_BYTES ((size_t)512 * 1024)
#define MAX_EXCEPTION_BYTES ((size_t)64 * 1024)
#define MAX_HEADERS_BYTES ((size_t)64 * 1024)
#define UPLOAD_BUFFER_BYTES 262144L

/* Everything that a transfer allocates. */
struct request {
	struct clickhouse_transfer *t;
	CURL *easy;
	struct clickhouse_body body;
	struct buf url;
	struct buf exception; /* the body of an answer that is not 200 */
	struct curl_slist *headers;
	curl_mime *form;
	size_t out_start; /* length of t->out before the answer */
	size_t header_bytes;
	curl_off_t n_sent;
	uint64_t moved_ns; /* when n_sent changed last */
	bool body_ended;
	int failure; /* -errno of our own callbacks */
	const char *why;
	char msg[CURL_ERROR_SIZE];
};

static void request_fini(struct request *q)
{
	clickhouse_body_fini(&q->body);
	buf_fini(&q->url);
	buf_fini(&q->exception);
	curl_slist_free_all(q->headers);
	curl_mime_free(q->form);
}

static size_t fail_write(struct request *q, int error, const char *why)
{
	q->failure = error;
	q->why = why;
	return CURL_WRITEFUNC_ERROR;
}

/* ---- libcurl's callbacks ---- */

static size_t on_answer(char *data, size_t size, size_t n, void *request)
{
	struct request *q = request;
	size_t len = size * n, room;
	long status = 0;
	int r = 0;

	curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200) {
		room = MAX_EXCEPTION_BYTES - q->exception.len;
		r = buf_add(&q->exception, data, len < room ? len : room);
	} else if (q->t->out) {
		r = buf_add(q->t->out, data, len);
	}
	if (r == 0)
		return len;
	return fail_write(q, r, r == -EFBIG ? "the answer is too large" : "out of memory");
}

static size_t on_header(char *data, size_t size, size_t n, void *request)
{
	struct request *q = request;

	(void)data;
	q->header_bytes += size * n;
	if (q->header_bytes <= MAX_HEADERS_BYTES)
		return size * n;
	return fail_write(q, -EAGAIN, "the headers of the answer are too long");
}

static size_t on_read(char *ret, size_t size, size_t n, void *request)
{
	struct request *q = request;
	ssize_t len = clickhouse_body_read(&q->body, ret, size * n);

	if (len < 0) {
		q->failure = (int)len;
		q->why = "a frame of rows is damaged";
		return CURL_READFUNC_ABORT;
	}
	q->body_ended = len == 0;
	return (size_t)len;
}

/* libcurl starts again if a kept connection turns out to be closed. */
static int on_seek(void *request, curl_off_t offset, int origin)
{
	struct request *q = request;

	if (offset != 0 || origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	clickhouse_body_rewind(&q->body);
	q->body_ended = false;
	return CURL_SEEKFUNC_OK;
}

static int on_progress(void *request, curl_off_t expected, curl_off_t received, curl_off_t to_send,
		       curl_off_t sent)
{
	struct request *q = request;
	uint64_t now = clock_monotonic_ns();

	(void)expected, (void)received, (void)to_send;
	if (q->t->stop && atomic_load(q->t->stop)) {
		q->failure = -EPIPE;
		q->why = "shutting down";
		return 1;
	}
	if (q->t->st->cancelled && atomic_load(q->t->st->cancelled)) {
		q->failure = -ECANCELED;
		q->why = "the query was cancelled";
		return 1;
	}
	if (sent != q->n_sent || q->body_ended || q->t->st->n_frames == 0)
		q->moved_ns = now;
	q->n_sent = sent;
	if (now - q->moved_ns < STALL_NS)
		return 0;
	q->failure = -EAGAIN;
	q->why = "the server does not read the rows";
	return 1;
}

/* ---- the request ---- */

static int add_header(struct request *q, const char *name, const char *value)
{
	CLEANUP(buf_fini) struct buf line;
	struct curl_slist *longer;
	int r;

	buf_init(&line, 16384);
	r = buf_addf(&line, "%s: %s", name, value);
	if (r < 0)
		return r;
	longer = curl_slist_append(q->headers, line.data);
	explicit_bzero(line.data, line.len);
	if (!longer)
		return -ENOMEM;
	q->headers = longer;
	return 0;
}

static int add_headers(struct request *q)
{
	const struct clickhouse_transfer *t = q->t;
	int r = add_header(q, "X-ClickHouse-User", t->user);
	struct curl_slist *longer;

	if (r == 0 && t->password[0])
		r = add_header(q, "X-ClickHouse-Key", t->password);
	if (r == 0 && t->st->n_frames > 0) {
		r = add_header(q, "Transfer-Encoding", "chunked");
		if (r == 0 && !t->inflate)
			r = add_header(q, "Content-Encoding", "zstd");
	}
	if (r == 0 && !q->form)
		r = add_header(q, "Content-Type", "application/octet-stream");
	if (r < 0)
		return r;
	/* libcurl would wait a second for "100 Continue" */
	longer = curl_slist_append(q->headers, "Expect:");
	if (!longer)
		return -ENOMEM;
	q->headers = longer;
	return 0;
}

static int add_part(curl_mime *form, const char *prefix, const char *name, const char *value)
{
	curl_mimepart *part = curl_mime_addpart(form);
	char full[128];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	return part && curl_mime_name(part, full) == CURLE_OK &&
			       curl_mime_data(part, value, CURL_ZERO_TERMINATED) == CURLE_OK
		       ? 0
		       : -ENOMEM;
}

static int make_form(struct request *q)
{
	const struct clickhouse_statement *st = q->t->st;
	int r;

	q->form = curl_mime_init(q->easy);
	if (!q->form)
		return -ENOMEM;
	r = add_part(q->form, "", "query", st->sql);
	for (size_t i = 0; i < st->n_params && r == 0; i++)
		r = add_part(q->form, "param_", st->params[i].name, st->params[i].value);
	return r;
}

static int make_query_id(char ret[static CLICKHOUSE_QUERY_ID_BYTES])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(ret, CLICKHOUSE_QUERY_ID_BYTES, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return 0;
}

static void set_callbacks(struct request *q)
{
	CURL *easy = q->easy;

	/* these cannot fail: none of them allocates */
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, q->msg);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, q);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, q);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, q);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
}

/* What the last statement on this handle has set must not remain. */
static void set_body(struct request *q)
{
	const struct clickhouse_statement *st = q->t->st;
	CURL *easy = q->easy;

	curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	if (q->form) {
		curl_easy_setopt(easy, CURLOPT_MIMEPOST, q->form);
		return;
	}
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	if (st->n_frames == 0) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, st->sql);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(st->sql));
		return;
	}
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(easy, CURLOPT_READDATA, q);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, q);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES);
}

static int prepare(struct request *q)
{
	const struct clickhouse_transfer *t = q->t;
	char query_id[CLICKHOUSE_QUERY_ID_BYTES];
	uint64_t now = clock_monotonic_ns();
	int r = make_query_id(query_id);

	if (now >= t->deadline_ns)
		return -ETIMEDOUT;
	if (r == 0)
		r = clickhouse_request_url(t->st, t->base, query_id, &q->url);
	if (r == 0)
		r = clickhouse_body_init(&q->body, t->st->frames, t->st->n_frames, t->inflate);
	if (r == 0 && clickhouse_request_needs_form(t->st))
		r = make_form(q);
	if (r == 0)
		r = add_headers(q);
	if (r < 0)
		return r;
	q->moved_ns = now;
	if (curl_easy_setopt(q->easy, CURLOPT_URL, q->url.data) != CURLE_OK ||
	    curl_easy_setopt(q->easy, CURLOPT_HTTPHEADER, q->headers) != CURLE_OK)
		return -ENOMEM;
	curl_easy_setopt(q->easy, CURLOPT_TIMEOUT_MS,
			 (long)((t->deadline_ns - now) / NS_PER_MS) + 1);
	set_callbacks(q);
	set_body(q);
	return 0;
}

/* ---- the answer ---- */

static const char *header(CURL *easy, const char *name)
{
	struct curl_header *h;

	return curl_easy_header(easy, name, 0, CURLH_HEADER | CURLH_TRAILER, -1, &h) == CURLHE_OK
		       ? h->value
		       : NULL;
}

static bool is_of_clickhouse(CURL *easy)
{
	static const char prefix[] = "X-ClickHouse-";
	struct curl_header *h = NULL;

	while ((h = curl_easy_nextheader(easy, CURLH_HEADER, -1, h))) {
		if (strncasecmp(h->name, prefix, sizeof(prefix) - 1) == 0)
			return true;
	}
	return false;
}

/* The first line of a text from outside, without what a terminal would act on. */
static int set_line(struct err *err, int error, const char *text, size_t len)
{
	char line[sizeof(err->msg)];
	size_t n = 0;

	while (n < len && n < sizeof(line) - 1 && text[n] != '\n' && text[n] != '\r' && text[n]) {
		line[n] = (unsigned char)text[n] < ' ' || text[n] == '\x7f' ? ' ' : text[n];
		n++;
	}
	line[n] = '\0';
	return err_set(err, error, "%s", line);
}

static void truncate_out(struct request *q)
{
	if (q->t->out)
		buf_truncate(q->t->out, q->out_start);
}

/* Puts the exception into out instead of an answer. text must not be in out. */
static int report_exception(struct request *q, int code, const char *text, size_t len,
			    struct err *err)
{
	struct clickhouse_transfer *t = q->t;

	t->failure.code = code;
	t->failure.advice = clickhouse_advice(code, text, len);
	truncate_out(q);
	if (t->out) {
		size_t room = t->out->limit - t->out->len;

		if (buf_add(t->out, text, len < room ? len : room) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return set_line(err, -EREMOTEIO, text, len);
}

/* An answer with another status than 200. */
static int judge_failure(struct request *q, long status, struct err *err)
{
	struct clickhouse_transfer *t = q->t;
	const char *text = q->exception.data ?: "", *number;
	int code = clickhouse_code(text, q->exception.len);

	number = header(q->easy, "X-ClickHouse-Exception-Code");
	if (code == 0 && number)
		code = (int)strtol(number, NULL, 10);
	if (code > 0)
		return report_exception(q, code, text, q->exception.len, err);
	t->failure.advice = CLICKHOUSE_ELSEWHERE;
	if (status == 401 || status == 403)
		t->failure.advice = CLICKHOUSE_DENIED;
	if (status == 413) {
		t->failure.advice = CLICKHOUSE_TOO_LARGE;
		return err_set(err, -EREMOTEIO, "HTTP status 413: the request is too large");
	}
	set_line(err, -EAGAIN, text, q->exception.len);
	if (status >= 300 && status < 400)
		return err_set(err, -EAGAIN, "HTTP status %ld: redirects are not followed", status);
	if (err && err->msg[0])
		return err_wrap(err, -EAGAIN, "HTTP status %ld", status);
	return err_set(err, -EAGAIN, "HTTP status %ld", status);
}

/* An answer with status 200. */
static int judge_success(struct request *q, struct err *err)
{
	struct clickhouse_transfer *t = q->t;
	const char *tag = header(q->easy, "X-ClickHouse-Exception-Tag"), *text;
	CLEANUP(buf_fini) struct buf copy;
	size_t len;

	buf_init(&copy, MAX_EXCEPTION_BYTES);
	if (!is_of_clickhouse(q->easy)) {
		truncate_out(q);
		t->failure.advice = CLICKHOUSE_ELSEWHERE;
		return err_set(err, -EAGAIN, "the answer is not that of a ClickHouse server");
	}
	if (!t->out || !tag ||
	    !clickhouse_find_trailer(t->out->data + q->out_start, t->out->len - q->out_start, tag,
				     &text, &len))
		return 0;
	if (buf_add(&copy, text, len < MAX_EXCEPTION_BYTES ? len : MAX_EXCEPTION_BYTES) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return report_exception(q, clickhouse_code(copy.data, copy.len), copy.data, copy.len, err);
}

/* The transfer ended before the answer did. */
static int judge_transport(struct request *q, CURLcode result, struct err *err)
{
	struct clickhouse_transfer *t = q->t;
	long n_connects = 0, status = 0;

	curl_easy_getinfo(q->easy, CURLINFO_NUM_CONNECTS, &n_connects);
	curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &status);
	truncate_out(q);
	t->failure.advice = CLICKHOUSE_ELSEWHERE;
	t->was_idle = !q->failure && n_connects == 0 && status == 0 &&
		      (result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
		       result == CURLE_GOT_NOTHING);
	if (result == CURLE_OUT_OF_MEMORY)
		return err_set(err, -ENOMEM, "out of memory");
	if (q->failure)
		return err_set(err, q->failure, "%s", q->why);
	/* a server that refuses rows may answer and hang up before it has read them */
	if (status >= 400)
		return judge_failure(q, status, err);
	return err_set(err, -EAGAIN, "%s", q->msg[0] ? q->msg : curl_easy_strerror(result));
}

int clickhouse_transfer_run(struct clickhouse_transfer *t, CURL *easy, struct err *err)
{
	CLEANUP(request_fini) struct request q = {.t = t, .easy = easy};
	CURLcode result;
	long status = 0;
	int r;

	t->failure = (struct clickhouse_failure){0};
	t->was_idle = false;
	q.out_start = t->out ? t->out->len : 0;
	buf_init(&q.url, MAX_URL_BYTES);
	buf_init(&q.exception, MAX_EXCEPTION_BYTES);
	r = prepare(&q);
	if (r == -ETIMEDOUT)
		return err_set(err, -EAGAIN, "no time is left");
	if (r < 0)
		return err_set(err, r, "make the request: %s", strerror(-r));
	result = curl_easy_perform(easy);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (result != CURLE_OK)
		r = judge_transport(&q, result, err);
	else if (status != 200)
		r = judge_failure(&q, status, err);
	else
		r = judge_success(&q, err);
	/* they are gone when this function has returned */
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(easy, CURLOPT_MIMEPOST, NULL);
	return r;
}
