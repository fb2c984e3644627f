#include "cluster-agent/symbols/asked_builds.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/text/parse.h"

#define FIRST_LINE "builds without symbols at "
/* A clock that was set back must not keep builds unasked for years. */
#define SETTLED_MAX_NS (30 * UINT64_C(86400) * NS_PER_S)

const char *const asked_reason_names[ASKED_REASONS] = {
	[ASKED_ABSENT] = "absent",         [ASKED_TOO_LARGE] = "too_large",
	[ASKED_NOT_VALID] = "not_valid",   [ASKED_NO_SYMBOLS] = "no_symbols",
	[ASKED_NO_OFFSETS] = "no_offsets", [ASKED_READER] = "reader",
	[ASKED_SERVER] = "server",         [ASKED_DISK] = "disk",
};

const char *const asked_reason_texts[ASKED_REASONS] = {
	[ASKED_ABSENT] = "no debuginfod server has its symbols",
	[ASKED_TOO_LARGE] = "its debug file is larger than --debuginfod-max-size, or its symbols "
			    "than a table may be",
	[ASKED_NOT_VALID] = "the debug file of the debuginfod server is damaged, or of another "
			    "build",
	[ASKED_NO_SYMBOLS] = "its debug file has no symbols",
	[ASKED_NO_OFFSETS] = "the debuginfod server does not have the program itself, which says "
			     "where its code is",
	[ASKED_READER] = "reading its debug file crashed, or took too much memory or time",
	[ASKED_SERVER] = "the debuginfod server failed several times to send its debug file",
	[ASKED_DISK] = "there was no room on disk for its debug file",
};

struct entry {
	struct asked_build b; /* first; b.key is the key */
	UT_hash_handle hh;
};

struct asked_builds {
	struct entry *entries;
	struct asked_counts counts;
};

int asked_builds_new(struct asked_builds **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void uncount(struct asked_builds *a, const struct asked_build *b)
{
	a->counts.n_waiting -= b->state == ASKED_WAITING;
	a->counts.n_asking -= b->state == ASKED_NOW;
	a->counts.n_settled -= b->state == ASKED_SETTLED;
}

static void drop(struct asked_builds *a, struct entry *e)
{
	uncount(a, &e->b);
	HASH_DEL(a->entries, e);
	free(e);
}

void asked_builds_free(struct asked_builds *a)
{
	if (!a)
		return;
	while (a->entries)
		drop(a, a->entries);
	free(a);
}

static void set_state(struct asked_builds *a, struct asked_build *b, enum asked_state state)
{
	uncount(a, b);
	b->state = state;
	a->counts.n_waiting += b->state == ASKED_WAITING;
	a->counts.n_asking += b->state == ASKED_NOW;
	a->counts.n_settled += b->state == ASKED_SETTLED;
}

static struct entry *find(const struct asked_builds *a, const struct build_key *k)
{
	struct entry *e;

	HASH_FIND(hh, a->entries, k, sizeof(*k), e);
	return e;
}

const struct asked_build *asked_builds_find(const struct asked_builds *a, const struct build_key *k)
{
	struct entry *e = find(a, k);

	return e ? &e->b : NULL;
}

static struct entry *add(struct asked_builds *a, const struct build_key *k)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->b.key = *k;
	HASH_ADD(hh, a->entries, b.key, sizeof(e->b.key), e);
	if (!TABLE_ADDED(hh, e)) {
		free(e);
		return NULL;
	}
	return e;
}

/* ---- what waits ---- */

/* Of two builds that wait, the one with less weight; e may be NULL. */
static struct entry *colder(struct entry *e, struct entry *other)
{
	return !e || other->b.weight < e->b.weight ? other : e;
}

/* Keeps within the limit. Returns false if e itself was forgotten. */
static bool forget_coldest(struct asked_builds *a, const struct entry *e)
{
	struct entry *coldest = NULL;
	bool kept;

	if (a->counts.n_waiting <= ASKED_BUILDS_WAITING_MAX)
		return true;
	for (struct entry *i = a->entries; i; i = i->hh.next)
		if (i->b.state == ASKED_WAITING)
			coldest = colder(coldest, i);
	if (!coldest)
		return true;
	kept = coldest != e;
	a->counts.n_forgotten++;
	drop(a, coldest);
	return kept;
}

/* Whether the build has to be asked for again: its answer has expired, or more would do now. */
static bool is_outdated(const struct asked_build *b, const struct asked_want *w, uint64_t now_ns)
{
	return b->until_ns <= now_ns || b->until_ns - now_ns > SETTLED_MAX_NS ||
	       (b->reason == ASKED_NO_OFFSETS && !w->needs_offsets);
}

const struct asked_build *asked_builds_want(struct asked_builds *a, const struct asked_want *w,
					    uint64_t now_ns)
{
	struct entry *e = find(a, &w->key);

	if (!e)
		e = add(a, &w->key);
	if (!e)
		return NULL;
	e->b.weight = w->weight;
	e->b.needs_offsets |= w->needs_offsets;
	if (e->b.state == ASKED_SETTLED && is_outdated(&e->b, w, now_ns)) {
		e->b = (struct asked_build){.key = e->b.key,
					    .state = ASKED_SETTLED,
					    .weight = w->weight,
					    .needs_offsets = w->needs_offsets};
		set_state(a, &e->b, ASKED_WAITING);
	} else if (e->b.state == ASKED_NEVER) {
		set_state(a, &e->b, ASKED_WAITING);
	}
	return forget_coldest(a, e) ? &e->b : NULL;
}

struct asked_build *asked_builds_next(struct asked_builds *a, uint64_t now_ns)
{
	struct entry *hottest = NULL;

	for (struct entry *e = a->entries; e; e = e->hh.next)
		if (e->b.state == ASKED_WAITING && e->b.until_ns <= now_ns &&
		    (!hottest || e->b.weight > hottest->b.weight))
			hottest = e;
	if (!hottest)
		return NULL;
	set_state(a, &hottest->b, ASKED_NOW);
	return &hottest->b;
}

uint64_t asked_builds_due_ns(const struct asked_builds *a)
{
	uint64_t due_ns = UINT64_MAX;

	for (const struct entry *e = a->entries; e; e = e->hh.next)
		if (e->b.state == ASKED_WAITING && e->b.until_ns < due_ns)
			due_ns = e->b.until_ns;
	return due_ns;
}

/* ---- what became of it ---- */

void asked_builds_found(struct asked_builds *a, struct asked_build *b)
{
	struct entry *e = find(a, &b->key);

	if (e)
		drop(a, e);
}

static void forget_earliest(struct asked_builds *a)
{
	struct entry *earliest = NULL;

	for (struct entry *e = a->entries; e; e = e->hh.next)
		if (e->b.state == ASKED_SETTLED &&
		    (!earliest || e->b.until_ns < earliest->b.until_ns))
			earliest = e;
	if (earliest)
		drop(a, earliest);
}

void asked_builds_settle(struct asked_builds *a, struct asked_build *b, enum asked_reason reason,
			 uint64_t until_ns)
{
	if (a->counts.n_settled >= ASKED_BUILDS_SETTLED_MAX)
		forget_earliest(a);
	b->reason = reason;
	b->until_ns = until_ns;
	set_state(a, b, ASKED_SETTLED);
}

void asked_builds_retry(struct asked_builds *a, struct asked_build *b, uint64_t until_ns)
{
	b->until_ns = until_ns;
	set_state(a, b, ASKED_WAITING);
}

struct asked_counts asked_builds_counts(const struct asked_builds *a)
{
	return a->counts;
}

/* ---- as text ---- */

int asked_builds_write(const struct asked_builds *a, const char *servers, struct buf *out)
{
	char id[BUILD_KEY_TEXT_BYTES];
	int r = buf_addf(out, FIRST_LINE "%s\n", servers);

	for (const struct entry *e = a->entries; e && r == 0; e = e->hh.next) {
		if (e->b.state != ASKED_SETTLED)
			continue;
		build_key_text(&e->b.key, id);
		r = buf_addf(out, "%s %s %llu\n", id, asked_reason_names[e->b.reason],
			     (unsigned long long)(e->b.until_ns / NS_PER_S));
	}
	return r;
}

static bool parse_reason(enum asked_reason *ret, const char *text, size_t len)
{
	for (unsigned i = 0; i < ASKED_REASONS; i++) {
		if (strlen(asked_reason_names[i]) != len ||
		    memcmp(asked_reason_names[i], text, len) != 0)
			continue;
		*ret = (enum asked_reason)i;
		return true;
	}
	return false;
}

/* Returns whether the line is one: "<build id> <reason> <seconds since the epoch>". */
static bool parse_line(struct asked_build *ret, const char *line, size_t len)
{
	const char *reason = memchr(line, ' ', len), *until;
	const char *end = line + len;
	uint64_t until_s;

	if (!reason)
		return false;
	reason++;
	until = memchr(reason, ' ', (size_t)(end - reason));
	if (!until)
		return false;
	until++;
	if (!build_key_parse(&ret->key, line, (size_t)(reason - 1 - line)) ||
	    !parse_reason(&ret->reason, reason, (size_t)(until - 1 - reason)) ||
	    parse_u64(until, (size_t)(end - until), 0, UINT64_MAX / NS_PER_S, &until_s) < 0)
		return false;
	ret->until_ns = until_s * NS_PER_S;
	return true;
}

static int read_line(struct asked_builds *a, const char *line, size_t len, uint64_t now_ns)
{
	struct asked_build b = {.weight = 0};
	struct entry *e;

	if (!parse_line(&b, line, len) || b.until_ns <= now_ns || find(a, &b.key) ||
	    a->counts.n_settled >= ASKED_BUILDS_SETTLED_MAX)
		return 0;
	e = add(a, &b.key);
	if (!e)
		return -ENOMEM;
	asked_builds_settle(a, &e->b, b.reason, b.until_ns);
	return 0;
}

int asked_builds_read(struct asked_builds *a, const char *servers, const char *text, size_t len,
		      uint64_t now_ns)
{
	const char *at = text, *end = text + len;
	bool is_first = true;
	int r = 0;

	while (r == 0 && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t n = next ? (size_t)(next - at) : (size_t)(end - at);

		if (!is_first)
			r = read_line(a, at, n, now_ns);
		else if (n != strlen(FIRST_LINE) + strlen(servers) ||
			 memcmp(at, FIRST_LINE, strlen(FIRST_LINE)) != 0 ||
			 memcmp(at + strlen(FIRST_LINE), servers, strlen(servers)) != 0)
			return 0;
		is_first = false;
		at += n + 1;
	}
	return r;
}
