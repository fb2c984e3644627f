/*
 * Two variables are needed: allgs, the slice with the addresses of all goroutines, and
 * waitReasonStrings, an array of strings (runtime/proc.go and runtime2.go, 1.13 to 1.27).
 * Without symbols they are found by the functions that use them: allgadd() appends to allgs,
 * and waitReason.String() or goroutineheader() index the strings. Each candidate must prove
 * itself:
 *
 * - allgs: its first elements point to valid goroutines, at least one of them alive. A
 *   process that just started has none; then nothing is concluded, and a later round searches
 *   again.
 * - waitReasonStrings: the text of reason 1 is the one it has had in all releases.
 *
 * Addresses are cached per executable (go_runtime_find()), and the process in which one was
 * found may have lied. So a cached address that turns out wrong here is searched again in
 * this process.
 */
#include "node-agent/go/goroutine/goroutine_variables.h"

#include <errno.h>

#include "node-agent/go/goroutine/goroutine_layout.h"
#include "node-agent/go/goroutine/memory_ranges.h"
#include "node-agent/go/image/go_refs.h"

#define REASONS_MAX 128u
#define CAPACITY_MAX (UINT64_C(1) << 32)
#define HEADER_TRIES 8
#define CHECKED 16u                    /* elements of a list that must be goroutines */
#define REASON_ONE "GC assist marking" /* of reason 1, since 1.13 at least; reason 0 is empty */

/* A Go slice. */
struct list {
	uint64_t address;
	uint64_t n;
	uint64_t capacity;
};

/* A Go string. */
struct text {
	uint64_t address;
	uint64_t len;
};

/* ---- the list ---- */

/* The check of a list's first elements. */
struct check {
	const struct byte_source *memory;
	const struct goroutine_layout *layout;
	uint64_t addresses[CHECKED];
	struct memory_range ranges[CHECKED];
	int n_alive;
};

static int check_one(void *ctx, uint32_t tag, const uint8_t *bytes)
{
	uint8_t own[GOROUTINE_MAX_BYTES];
	struct check *c = ctx;
	struct goroutine g;
	int r = 0;

	/* The batched read failed; read this one alone to learn its error. */
	if (!bytes)
		r = byte_source_read(c->memory, c->addresses[tag], own, c->layout->size_bytes);
	if (r < 0)
		return r;
	r = goroutine_decode(c->layout, bytes ? bytes : own, &g);
	if (r < 0)
		return r;
	c->n_alive += !goroutine_is_dead(&g);
	return 0;
}

static int check_elements(struct check *c, uint32_t n)
{
	struct memory_ranges reader;
	int r;

	for (uint32_t i = 0; i < n; i++) {
		if (c->addresses[i] == 0 || c->addresses[i] % 8 != 0)
			return -EBADMSG;
		c->ranges[i] = (struct memory_range){c->addresses[i], c->layout->size_bytes, i};
	}
	memory_ranges_sort(c->ranges, n);
	r = memory_ranges_init(&reader, c->memory, UINT64_MAX, UINT64_MAX);
	if (r < 0)
		return r;
	r = memory_ranges_read(&reader, c->ranges, n, check_one, c);
	memory_ranges_fini(&reader);
	return r;
}

/*
 * Returns how many of the first elements are live goroutines, or -EBADMSG if one is no
 * goroutine.
 */
static int check_list(struct go_runtime *rt, const struct list *l)
{
	uint32_t n = l->n < CHECKED ? (uint32_t)l->n : CHECKED;
	struct check c = {.memory = rt->image.memory};
	int r;

	if (l->n == 0 || l->n > l->capacity || l->capacity > CAPACITY_MAX || l->address % 8 != 0)
		return -EBADMSG;
	r = goroutine_layout_find(rt->image.minor, &c.layout);
	if (r == 0)
		r = byte_source_read(c.memory, l->address, c.addresses, n * sizeof(*c.addresses));
	if (r == 0)
		r = check_elements(&c, n);
	return r < 0 ? r : c.n_alive;
}

/*
 * Returns -EBADMSG, which is not cached, rather than -ENOENT if no candidate has a live
 * goroutine: the process may have just started and not have any yet.
 */
static int find_in_code(struct go_runtime *rt, uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	int n = go_runtime_refs(rt, "runtime.allgadd", refs, ARRAY_SIZE(refs));

	for (int i = 0; i < n; i++) {
		struct list l;
		int r = byte_source_read(rt->image.memory, refs[i].target, &l, sizeof(l));

		if (r < 0 || check_list(rt, &l) <= 0)
			continue;
		*ret = refs[i].target;
		return 0;
	}
	return n < 0 ? n : -EBADMSG;
}

/*
 * When the array grows the runtime replaces the three words of the slice one after the other,
 * so they are read until two readings agree.
 */
static int read_header(struct go_runtime *rt, uint64_t address, struct list *ret)
{
	struct list again;
	int r = byte_source_read(rt->image.memory, address, ret, sizeof(*ret));

	for (int i = 0; r == 0 && i < HEADER_TRIES; i++) {
		r = byte_source_read(rt->image.memory, address, &again, sizeof(again));
		if (r == 0 && again.address == ret->address && again.capacity == ret->capacity)
			return 0;
		*ret = again;
	}
	return r < 0 ? r : -EBADMSG;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int find_list(struct go_runtime *rt, struct list *ret)
{
	uint64_t address = 0;
	int r;

	r = go_runtime_find(rt, GO_ALL_GOROUTINES, "runtime.allgs", find_in_code, &address);
	if (r < 0)
		return r;
	r = read_header(rt, address, ret);
	if (r < 0)
		return r;
	if (ret->n > GOROUTINE_MAX)
		return -E2BIG;
	return check_list(rt, ret);
}

int goroutine_variables_list(struct go_runtime *rt, uint64_t **ret, size_t *ret_n)
{
	AUTO_FREE uint64_t *list = NULL;
	struct list l = {0};
	const struct goroutine_layout *layout;
	int r = goroutine_layout_find(rt->image.minor, &layout), again;

	if (r == 0)
		r = find_list(rt, &l);
	/* the cached address may come from another process, which can have lied: search again */
	if (r < 0 && r != -ENOMEM && r != -ENOENT) {
		go_runtime_forget(rt, GO_ALL_GOROUTINES);
		again = find_list(rt, &l);
		r = again >= 0 || again == -ENOMEM ? again : r;
	}
	if (r < 0 || l.n == 0)
		return r < 0 ? r : -EBADMSG;
	list = malloc((size_t)l.n * sizeof(*list));
	if (!list)
		return -ENOMEM;
	r = byte_source_read(rt->image.memory, l.address, list, (size_t)l.n * sizeof(*list));
	if (r < 0)
		return r;
	qsort(list, (size_t)l.n, sizeof(*list), by_value);
	*ret = TAKE_PTR(list);
	*ret_n = (size_t)l.n;
	return 0;
}

/* ---- wait reasons ---- */

static int read_text(struct go_runtime *rt, uint64_t table, uint8_t reason, char *to)
{
	struct text t;
	int r = byte_source_read(rt->image.memory, table + reason * sizeof(t), &t, sizeof(t));

	if (r < 0)
		return r;
	if (t.len >= GOROUTINE_REASON_BYTES)
		return -ENOENT;
	r = byte_source_read(rt->image.memory, t.address, to, (size_t)t.len);
	to[t.len] = '\0';
	for (size_t i = 0; r == 0 && i < t.len; i++) {
		if (to[i] < ' ' || to[i] > '~')
			r = -ENOENT;
	}
	return r;
}

static bool is_table(struct go_runtime *rt, uint64_t address)
{
	char text[GOROUTINE_REASON_BYTES];

	return read_text(rt, address, 1, text) == 0 && strcmp(text, REASON_ONE) == 0;
}

/*
 * Searches the functions that print a wait reason. Returns -EBADMSG, which is not cached, if
 * they exist but refer to no such table: that may be so in this process alone.
 */
static int find_texts(struct go_runtime *rt, uint64_t *ret)
{
	static const char *const names[] = {"runtime.waitReason.String", "runtime.goroutineheader"};
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	int n = 0, result = -ENOENT;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		n = go_runtime_refs(rt, names[k], refs, ARRAY_SIZE(refs));
		for (int i = 0; i < n; i++) {
			if (!is_table(rt, refs[i].target))
				continue;
			*ret = refs[i].target;
			return 0;
		}
		if (n < 0 && n != -ENOENT)
			return n;
		if (n > 0)
			result = -EBADMSG;
	}
	return result;
}

static int find_table(struct go_runtime *rt, uint64_t *ret)
{
	return go_runtime_find(rt, GO_WAIT_REASONS, "runtime.waitReasonStrings", find_texts, ret);
}

int goroutine_variables_reason(struct go_runtime *rt, uint8_t reason, char *ret)
{
	uint64_t table = 0;
	int r = find_table(rt, &table);

	/* the cached address may come from another process, which can have lied: search again */
	if (r == 0 && !is_table(rt, table)) {
		go_runtime_forget(rt, GO_WAIT_REASONS);
		r = find_table(rt, &table);
	}
	if (r == -EBADMSG)
		r = -ENOENT;
	if (r == 0 && reason >= REASONS_MAX)
		r = -ENOENT;
	if (r == 0)
		r = read_text(rt, table, reason, ret);
	return r == 0 && ret[0] == '\0' ? -ENOENT : r;
}
