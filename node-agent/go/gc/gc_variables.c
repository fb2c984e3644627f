/*
 * Without symbols, both variables are found by the functions that take their address (1.13 to
 * 1.27): stkbucket() passes that of memstats.buckhash_sys to the allocator, and gcStart()
 * that of gcController to a method. These functions take other addresses too, so each is
 * tried as the variable: the one whose content gc_counters.h accepts is the right one. If two
 * are accepted, or none because a process that just started has hardly anything set, a later
 * round decides.
 */
#include "node-agent/go/gc/gc_variables.h"

#include <errno.h>

#include "node-agent/go/gc/gc_counters.h"
#include "node-agent/go/image/go_refs.h"

#define MINOR_WITH_CONTROLLER 17u

/* Returns 1 if the variable is at this address, 0 if not, -EAGAIN if it may be, or an error. */
typedef int accept_fn(struct go_runtime *rt, const struct gc_layout *l, uint64_t address);

/* Reads a candidate of n_bytes. Returns 1 if it was read, or 0 if it is not data of the program. */
static int read_candidate(struct go_runtime *rt, uint64_t address, uint8_t *to, size_t n_bytes)
{
	int r;

	if (!go_runtime_is_data(rt, address, n_bytes))
		return 0;
	r = byte_source_read(rt->image.memory, address, to, n_bytes);
	return r < 0 ? r : 1;
}

static int accept_memstats(struct go_runtime *rt, const struct gc_layout *l, uint64_t address)
{
	uint8_t memory[GC_MEMSTATS_MAX_BYTES];
	struct gc_counters c = {0};
	int r = read_candidate(rt, address, memory, l->memstats.n_bytes);

	if (r <= 0)
		return r == -EBADMSG ? 0 : r;
	r = gc_counters_add_memstats(&c, l, memory, memory);
	return r == -EBADMSG ? 0 : r < 0 ? r : 1;
}

static int accept_controller(struct go_runtime *rt, const struct gc_layout *l, uint64_t address)
{
	uint8_t memory[GC_PACER_MAX_BYTES];
	struct gc_counters c = {0};
	int r = read_candidate(rt, address, memory, l->pacer.n_bytes);

	if (r > 0)
		r = gc_counters_add_pacer(&c, l, memory) < 0 ? 0 : 1;
	/* the bytes of other variables look like a pacer that is changing, hence no -EAGAIN */
	return r == -EBADMSG || r == -EAGAIN ? 0 : r;
}

/*
 * The function in the list that exists takes some addresses; tries each, minus `offset`, and
 * returns the one that is accepted.
 */
static int find_accepted(struct go_runtime *rt, const char *const *functions, uint64_t offset,
			 accept_fn *accept, uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	struct gc_layout l;
	uint64_t found = 0;
	int n = gc_layout_get(rt->image.minor, &l);

	if (n == 0)
		n = go_runtime_refs_any(rt, functions, refs, ARRAY_SIZE(refs));
	for (int i = 0; i < n; i++) {
		uint64_t address = refs[i].target - offset;
		int r;

		if (refs[i].kind != GO_REF_ADDRESS || address % 8 != 0 || address == found)
			continue;
		r = accept(rt, &l, address);
		if (r < 0 && r != -EAGAIN)
			return r;
		if (r == 1 && found != 0)
			return -EAGAIN;
		if (r == 1)
			found = address;
	}
	if (n < 0)
		return n;
	*ret = found;
	return found == 0 ? -EAGAIN : 0;
}

static int find_memstats(struct go_runtime *rt, uint64_t *ret)
{
	static const char *const functions[] = {"runtime.stkbucket", "runtime.mProf_Malloc", NULL};
	struct gc_layout l;
	int r = gc_layout_get(rt->image.minor, &l);

	return r < 0 ? r
		     : find_accepted(rt, functions, l.memstats.buckhash_sys, accept_memstats, ret);
}

static int find_controller(struct go_runtime *rt, uint64_t *ret)
{
	static const char *const functions[] = {"runtime.gcStart", NULL};

	return find_accepted(rt, functions, 0, accept_controller, ret);
}

int gc_variables_memstats(struct go_runtime *rt, uint64_t *ret)
{
	return go_runtime_find(rt, GO_MEMORY_STATISTICS, "runtime.memstats", find_memstats, ret);
}

int gc_variables_pacer(struct go_runtime *rt, const struct gc_layout *l, uint64_t *ret)
{
	if (l->minor < MINOR_WITH_CONTROLLER)
		return gc_variables_memstats(rt, ret);
	return go_runtime_find(rt, GO_GC_CONTROLLER, "runtime.gcController", find_controller, ret);
}
