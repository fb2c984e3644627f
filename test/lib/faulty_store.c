#include "test/lib/faulty_store.h"

#include <errno.h>

#include <zstd.h>

#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store_engine.h"
#include "test/lib/unit.h"

struct faulty_rows faulty;

static bool knows(const char *token)
{
	for (size_t i = 0; i < faulty.n_tokens; i++)
		if (strcmp(faulty.tokens[i], token) == 0)
			return true;
	return false;
}

/* Reads the number of the upload out of each row; in the column that says it. */
static size_t read_rows(enum store_table table, const struct store_frame *f, uint64_t *ret)
{
	AUTO_FREE char *rows = malloc(f->n_bytes);
	struct rowbinary_reader r;
	size_t n = 0, len;

	assert_non_null(rows);
	assert_int_equal(ZSTD_decompress(rows, f->n_bytes, f->data, f->len), f->n_bytes);
	rowbinary_reader_init(&r, rows, f->n_bytes);
	for (; rowbinary_has_more(&r); n++) {
		(void)rowbinary_get_string(&r, &len);
		if (table == STORE_STACKS) {
			ret[n] = rowbinary_get_u64(&r);
			(void)rowbinary_get_u64(&r);
			assert_int_equal(rowbinary_get_count(&r), 0);
			continue;
		}
		(void)rowbinary_get_string(&r, &len);
		(void)rowbinary_get_u64(&r);
		(void)rowbinary_get_u64(&r);
		if (table == STORE_SAMPLES) {
			assert_int_equal(rowbinary_get_count(&r), 0);
			ret[n] = rowbinary_get_u64(&r);
			(void)rowbinary_get_u64(&r);
			continue;
		}
		(void)rowbinary_get_string(&r, &len);
		for (int i = 0; i < 4; i++)
			(void)rowbinary_get_u64(&r);
		assert_int_equal(rowbinary_get_count(&r), 0);
		ret[n] = rowbinary_get_u64(&r);
		for (int i = 0; i < 4; i++)
			assert_int_equal(rowbinary_get_count(&r), 0);
		(void)rowbinary_get_u64(&r);
	}
	assert_int_equal(rowbinary_reader_finish(&r), 0);
	assert_int_equal(n, f->n_rows);
	return n;
}

/* Days begin at 18:30 UTC, as in India. */
static uint64_t day_of(uint64_t quarter)
{
	return (quarter + 22) / 96;
}

static int add(enum store_table table, const char *token, const struct store_frame *frames,
	       size_t n_frames)
{
	uint64_t rows[FAULTY_STORE_MAX_ROWS];
	size_t n = 0;

	for (size_t i = 0; i < n_frames; i++) {
		/* one partition */
		assert_int_equal(day_of(frames[i].quarter), day_of(frames[0].quarter));
		if (faulty.no_days)
			assert_int_equal(frames[i].quarter, frames[0].quarter);
		n += read_rows(table, &frames[i], rows + n);
	}
	for (size_t i = 0; i < n; i++)
		if (rows[i] == FAULTY_STORE_POISON)
			return -EREMOTEIO;
	if (knows(token))
		return 0;
	snprintf(faulty.tokens[faulty.n_tokens++], STORE_TOKEN_BYTES + 1, "%s", token);
	/* what store_insert() makes of NULL */
	faulty.n_fresh_tokens += strlen(token) == 32;
	if (faulty.forget == (int)table) {
		faulty.forget = -1;
		return -EAGAIN;
	}
	if (faulty.drops)
		return 0;
	assert_true(faulty.n_rows[table] + n <= FAULTY_STORE_MAX_ROWS);
	memcpy(faulty.rows[table] + faulty.n_rows[table], rows, n * sizeof(rows[0]));
	faulty.n_rows[table] += n;
	if (faulty.lose == (int)table) {
		faulty.lose = -1;
		return -EAGAIN;
	}
	if (faulty.die == (int)table) {
		faulty.die = -1;
		faulty.error = -EAGAIN;
		return -EAGAIN;
	}
	return 0;
}

static int insert(struct store *s, enum store_table table, const char *token,
		  const struct store_frame *frames, size_t n_frames, struct err *err)
{
	int r;

	(void)s;
	if (faulty.on_insert)
		faulty.on_insert(table);
	pthread_mutex_lock(&faulty.lock);
	faulty.n_inserts++;
	while (faulty.hangs && !faulty.stopped) {
		pthread_mutex_unlock(&faulty.lock);
		usleep(1000);
		pthread_mutex_lock(&faulty.lock);
	}
	if (faulty.stopped)
		r = -EPIPE;
	else if (faulty.error != 0)
		r = faulty.error;
	else if (faulty.max_frames > 0 && n_frames > faulty.max_frames)
		r = -ENOMEM;
	else
		r = add(table, token, frames, n_frames);
	pthread_mutex_unlock(&faulty.lock);
	return r < 0 ? err_set(err, r, "Code: 1. DB::Exception: %s", strerror(-r)) : 0;
}

static void stop_inserts(struct store *s)
{
	(void)s;
	pthread_mutex_lock(&faulty.lock);
	faulty.stopped = true;
	pthread_mutex_unlock(&faulty.lock);
}

/* Under the lock. */
static size_t count(enum store_table table, uint64_t value)
{
	size_t n = 0;

	for (size_t i = 0; i < faulty.n_rows[table]; i++)
		n += faulty.rows[table][i] == value;
	return n;
}

size_t faulty_store_count(enum store_table table, uint64_t value)
{
	size_t n;

	pthread_mutex_lock(&faulty.lock);
	n = count(table, value);
	pthread_mutex_unlock(&faulty.lock);
	return n;
}

static uint64_t param(const struct store_query *q, const char *name)
{
	for (size_t i = 0; i < q->n_params; i++)
		if (strcmp(q->params[i].name, name) == 0)
			return strtoull(q->params[i].value, NULL, 10);
	fail_msg("no parameter %s", name);
	return 0;
}

static void answer(struct buf *out, uint64_t v)
{
	struct rowbinary_writer w;

	rowbinary_writer_init(&w, out);
	rowbinary_put_u64(&w, v);
	assert_int_equal(rowbinary_writer_finish(&w), 0);
}

void faulty_store_claim(uint64_t upload, const char *claimant)
{
	pthread_mutex_lock(&faulty.lock);
	assert_true(faulty.n_claims < FAULTY_STORE_MAX_CLAIMS);
	faulty.claims[faulty.n_claims].upload = upload;
	snprintf(faulty.claims[faulty.n_claims++].claimant, STORE_TOKEN_BYTES + 1, "%s", claimant);
	pthread_mutex_unlock(&faulty.lock);
}

void faulty_store_add(enum store_table table, uint64_t upload)
{
	pthread_mutex_lock(&faulty.lock);
	faulty.rows[table][faulty.n_rows[table]++] = upload;
	pthread_mutex_unlock(&faulty.lock);
}

/* Calls fn for each number of "[1,2]". */
static const char *each_id(const char *at, void (*fn)(void *ctx, uint64_t id), void *ctx)
{
	while (*at == '[' || *at == ',') {
		char *end;
		uint64_t id = strtoull(at + 1, &end, 10);

		if (end != at + 1)
			fn(ctx, id);
		at = end;
	}
	return at;
}

struct claimed {
	const char *claimant;
	struct buf *out;
};

/* The newest claim of the upload. */
static void answer_claim(void *ctx, uint64_t id)
{
	const struct claimed *c = ctx;

	for (size_t i = faulty.n_claims; i-- > 0;) {
		if (faulty.claims[i].upload != id)
			continue;
		answer(c->out, id);
		answer(c->out, strcmp(faulty.claims[i].claimant, c->claimant) == 0);
		return;
	}
}

static void add_claim(void *ctx, uint64_t id)
{
	faulty_store_claim(id, ctx);
}

/* "INSERT INTO profiling_claims (Upload, Claimant) SELECT arrayJoin([1,2]), 'abc'" */
static int maintain(struct store *s, const char *sql, struct buf *out, struct err *err)
{
	const char *ids = strchr(sql, '['), *name = strchr(sql, '\'');
	char claimant[STORE_TOKEN_BYTES + 1];
	int error;

	(void)s, (void)out;
	assert_non_null(strstr(sql, "INSERT INTO profiling_claims "));
	assert_non_null(ids);
	assert_non_null(name);
	pthread_mutex_lock(&faulty.lock);
	error = faulty.error;
	pthread_mutex_unlock(&faulty.lock);
	if (error != 0)
		return err_set(err, error, "%s", strerror(-error));
	snprintf(claimant, sizeof(claimant), "%.32s", name + 1);
	(void)each_id(ids, add_claim, claimant);
	return 0;
}

static void answer_day(void *ctx, uint64_t quarter)
{
	struct rowbinary_writer w;
	uint64_t day = day_of(quarter);

	rowbinary_writer_init(&w, ctx);
	for (int i = 0; i < 4; i++)
		rowbinary_put_u8(&w, (uint8_t)(day >> 8 * i));
	assert_int_equal(rowbinary_writer_finish(&w), 0);
}

static int answer_days(const struct store_query *q, struct buf *out, struct err *err)
{
	if (faulty.error != 0)
		return err_set(err, faulty.error, "%s", strerror(-faulty.error));
	if (faulty.no_days)
		return err_set(err, -EREMOTEIO, "Code: 46. DB::Exception: Unknown function");
	(void)each_id(q->params[0].value, answer_day, out);
	return 0;
}

/* The questions of store_probe.h and store_claims.h. */
static int query(struct store *s, const struct store_query *q, struct buf *out, struct err *err)
{
	int r = 0;

	(void)s;
	pthread_mutex_lock(&faulty.lock);
	if (strstr(q->sql, "system.tables")) {
		answer(out, faulty.exact);
	} else if (strstr(q->sql, "quarters:")) {
		r = answer_days(q, out, err);
	} else if (strstr(q->sql, "profiling_claims")) {
		struct claimed c = {q->params[1].value, out};

		(void)each_id(q->params[0].value, answer_claim, &c);
	} else if (strstr(q->sql, "StackHash")) {
		answer(out, count(STORE_SAMPLES, param(q, "hash")));
	} else {
		const char *at = q->params[0].value;

		assert_string_equal(q->params[0].name, "ids");
		while (*at && *at != ']') {
			char *end;
			uint64_t id = strtoull(at + 1, &end, 10);

			if (count(STORE_QUALITY, id) > 0)
				answer(out, id);
			at = end;
		}
	}
	pthread_mutex_unlock(&faulty.lock);
	return r;
}

static int restore_types(struct store *s, int64_t from_ns, int64_t to_ns, struct err *err)
{
	(void)s;
	(void)err;
	assert_true(from_ns < to_ns);
	return 0;
}

static struct store_engine engine = {.insert = insert,
				     .maintain = maintain,
				     .query = query,
				     .restore_types = restore_types,
				     .stop_inserts = stop_inserts};
struct store faulty_store = {.engine = &engine};

void faulty_store_share(void)
{
	engine.is_shared = true;
}

void faulty_store_reset(void)
{
	memset(&faulty, 0, sizeof(faulty));
	engine.is_shared = false;
	pthread_mutex_init(&faulty.lock, NULL);
	faulty.lose = faulty.die = faulty.forget = -1;
}
