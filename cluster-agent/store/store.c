#include "cluster-agent/store/store.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/random.h>

#include "cluster-agent/store/store_engine.h"

void store_close(struct store *s)
{
	if (s)
		s->engine->close(s);
}

static bool is_token(const char *token)
{
	size_t len = strlen(token);

	return len <= STORE_TOKEN_BYTES && strspn(token, "0123456789abcdef") == len;
}

int store_make_token(char ret[static STORE_RANDOM_TOKEN_SIZE], struct err *err)
{
	uint64_t n[2];

	if (getrandom(n, sizeof(n), 0) != (ssize_t)sizeof(n))
		return err_set(err, -EIO, "read random bytes: %m");
	snprintf(ret, STORE_RANDOM_TOKEN_SIZE, "%016" PRIx64 "%016" PRIx64, n[0], n[1]);
	return 0;
}

int store_insert(struct store *s, enum store_table table, const char *token,
		 const struct store_frame *frames, size_t n_frames, struct err *err)
{
	char fresh[STORE_RANDOM_TOKEN_SIZE];
	int r = 0;

	if (n_frames == 0)
		return 0;
	/*
	 * Without a token engines compare checksums of the rows, and how that is switched off
	 * depends on their version; a token that was never used does the same everywhere.
	 */
	if (!token)
		r = store_make_token(fresh, err);
	else if (!is_token(token)) /* engines paste it into SQL */
		r = err_set(err, -EINVAL, "bad insert token");
	if (r < 0)
		return r;
	return s->engine->insert(s, table, token ?: fresh, frames, n_frames, err);
}

int store_query(struct store *s, const struct store_query *q, struct buf *out, struct err *err)
{
	return s->engine->query(s, q, out, err);
}

void store_cancel(struct store *s, struct store_ticket *ticket)
{
	atomic_store(&ticket->cancelled, true);
	s->engine->cancel(s);
}

int store_restore_types(struct store *s, int64_t from_ns, int64_t to_ns, struct err *err)
{
	return s->engine->restore_types(s, from_ns, to_ns, err);
}

void store_stop_queries(struct store *s)
{
	s->engine->stop_queries(s);
}

void store_stop_inserts(struct store *s)
{
	if (s->engine->stop_inserts)
		s->engine->stop_inserts(s);
}

bool store_is_distributed(const struct store *s)
{
	return s->cluster != NULL;
}

bool store_is_shared(const struct store *s)
{
	return s->engine->is_shared;
}

const char *store_cluster(const struct store *s)
{
	return s->cluster;
}

uint64_t store_note_ttl(const struct store *s)
{
	return s->note_ttl_ns;
}

int store_maintain(struct store *s, const char *sql, struct buf *out, struct err *err)
{
	return s->engine->maintain(s, sql, out, err);
}

int store_ping(struct store *s)
{
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {.lane = STORE_FOR_AGENT, .sql = "SELECT 1", .format = "TSV"};
	int r = s->engine->ping ? s->engine->ping(s) : 0;

	buf_init(&out, 4096);
	return r < 0 ? r : store_query(s, &q, &out, NULL);
}

int store_exception_code(const char *text, size_t len)
{
	static const char prefix[] = "Code: ";
	size_t i = sizeof(prefix) - 1;
	int code = 0;

	if (len < i || memcmp(text, prefix, i) != 0)
		return 0;
	for (; i < len && isdigit((unsigned char)text[i]); i++) {
		if (code > (INT_MAX - 9) / 10)
			return 0;
		code = code * 10 + (text[i] - '0');
	}
	return i < len && text[i] == '.' ? code : 0;
}
