/*
 * Which counters are "in use"? runtime/pprof reports the active ones, unless no record has
 * any active count yet (before the second garbage collection): then it adds the future ones
 * to all records (MemProfile in runtime/mprof.go). The runtime needs a first pass over all
 * records to decide; we read each record once. So in-use values are taken from the future
 * counters until the first record with active counters appears. At that point all earlier
 * records are known to have none, and the in-use values collected so far are simply reset
 * (stack_profile_forget()).
 */
#include "node-agent/go/heap/heap_profile.h"

#include <errno.h>
#include <math.h>

enum { ALLOC_OBJECTS, ALLOC_BYTES, INUSE_OBJECTS, INUSE_BYTES, TYPES };

struct heap_profile {
	struct stack_profile *stacks;
	uint64_t rate;   /* values are scaled by this one; 1 if they are wanted raw */
	uint64_t period; /* the pprof reports this one */
	bool any_active; /* a record with active counters was seen */
};

int heap_profile_new(struct heap_profile **ret, const struct heap_profile_config *cfg)
{
	const struct stack_profile_config stacks = {
		.resolver = cfg->resolver,
		.types = {"go_runtime:heap_alloc_objects:count",
			  "go_runtime:heap_alloc_space:bytes",
			  "go_runtime:heap_inuse_objects:count",
			  "go_runtime:heap_inuse_space:bytes"},
		.units = {"count", "bytes", "count", "bytes"},
		.n_types = TYPES,
		.period_type = "space",
		.period_unit = "bytes",
		.tentative = true,
		.max_bytes = cfg->max_bytes,
		.out = cfg->out,
		.more = cfg->more,
	};
	CLEANUP(heap_profile_freep) struct heap_profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->rate = cfg->raw ? 1 : cfg->rate;
	p->period = cfg->rate;
	r = stack_profile_new(&p->stacks, &stacks);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void heap_profile_free(struct heap_profile *p)
{
	if (!p)
		return;
	stack_profile_free(p->stacks);
	free(p);
}

static void note_active(struct heap_profile *p, const struct heap_pair *active)
{
	if (p->any_active || (active->allocs == 0 && active->frees == 0))
		return;
	p->any_active = true;
	stack_profile_forget(p->stacks, INUSE_OBJECTS, INUSE_BYTES);
}

int heap_profile_add(struct heap_profile *p, const struct go_bucket *b, const struct heap_counts *c,
		     struct heap_growth allocs)
{
	const struct stack_profile_stack stack = {
		.addresses = b->stack,
		.n = b->n_stack,
		.hide_runtime = true,
	};
	struct stack_values values = {{0}};
	const struct heap_pair *use;
	struct heap_amount alloc, inuse;

	note_active(p, &c->active);
	use = p->any_active ? &c->active : &c->future;
	if (allocs.now == allocs.before && use->allocs == use->frees)
		return 0;
	alloc = heap_scale_growth(allocs, b->size, p->rate);
	inuse = heap_scale(use->allocs - use->frees, b->size, p->rate);
	values.v[ALLOC_OBJECTS] = alloc.objects;
	values.v[ALLOC_BYTES] = alloc.bytes;
	values.v[INUSE_OBJECTS] = inuse.objects;
	values.v[INUSE_BYTES] = inuse.bytes;
	return stack_profile_add(p->stacks, &stack, &values);
}

int heap_profile_finish(struct heap_profile *p, int64_t end_ns, int64_t duration_ns,
			size_t *ret_samples)
{
	const struct stack_profile_times times = {
		.end_ns = end_ns,
		.duration_ns = duration_ns,
		.period = (int64_t)p->period,
	};

	return stack_profile_finish(p->stacks, &times, ret_samples);
}

/* ---- counts ---- */

/*
 * A record of the memory profiler has four cycles of counters: "active", and a ring of three
 * "future" ones. The runtime counts an event in a future cycle and moves a whole cycle into
 * active once the garbage collection that makes its frees comparable with its allocs is
 * complete (memRecord and mProf_FlushLocked in runtime/mprof.go). We read without stopping
 * the program, so such a move may be half done. There is no lock or version to check; instead
 * the numbers must be consistent: bytes are count times size, and nothing is freed that was
 * not allocated.
 */

#define MINOR_WITHOUT_BYTES 27u
#define CYCLES 4u /* active, and three future ones */
#define CYCLE_WORDS 2u
#define CYCLE_WORDS_WITH_BYTES 4u

uint32_t heap_counts_words(unsigned minor)
{
	return CYCLES * (minor < MINOR_WITHOUT_BYTES ? CYCLE_WORDS_WITH_BYTES : CYCLE_WORDS);
}

int heap_counts_decode(const struct go_bucket *b, uint32_t n_words, struct heap_counts *ret)
{
	size_t per_cycle = n_words / CYCLES;

	*ret = (struct heap_counts){0};
	for (size_t i = 0; i < CYCLES; i++) {
		const uint64_t *c = b->words + i * per_cycle;

		if (per_cycle == CYCLE_WORDS_WITH_BYTES &&
		    (c[2] != c[0] * b->size || c[3] != c[1] * b->size))
			return -EAGAIN;
		if (i == 0) {
			ret->active = (struct heap_pair){c[0], c[1]};
		} else {
			ret->future.allocs += c[0];
			ret->future.frees += c[1];
		}
	}
	return ret->active.frees <= ret->active.allocs &&
			       ret->active.frees + ret->future.frees <=
				       ret->active.allocs + ret->future.allocs
		       ? 0
		       : -EAGAIN;
}

/* ---- scaling ---- */

/*
 * The runtime samples allocated bytes as a Poisson process with one sample per `rate` bytes
 * on average. An object of s bytes is therefore sampled with probability 1 - exp(-s/rate),
 * and each sampled one stands for 1 / (1 - exp(-s/rate)) objects. Small objects are scaled a
 * lot, those of many times the rate hardly at all.
 *
 * Results are whole numbers. Scaling what one interval has counted would lose a fraction of an
 * object per record and interval: a third of all objects, if each interval has one that stands for
 * 1.5. So the counters are scaled and then subtracted, which loses nothing over time and needs
 * no memory for remainders.
 */

/* Saturates: counters of a broken process can have any value. */
static int64_t to_int64(double v)
{
	return v < 0x1p62 ? (int64_t)v : INT64_C(1) << 62;
}

struct heap_amount heap_scale(uint64_t count, uint64_t size, uint64_t rate)
{
	double bytes = (double)count * (double)size;
	double scale;

	if (count == 0 || size == 0)
		return (struct heap_amount){0, 0};
	if (rate <= 1)
		return (struct heap_amount){to_int64((double)count), to_int64(bytes)};
	/* bytes / count instead of size: the runtime has only sums, and rounding must agree */
	scale = 1 / (1 - exp(-(bytes / (double)count) / (double)rate));
	return (struct heap_amount){to_int64((double)count * scale), to_int64(bytes * scale)};
}

struct heap_amount heap_scale_growth(struct heap_growth count, uint64_t size, uint64_t rate)
{
	struct heap_amount from, to;

	if (count.now <= count.before)
		return (struct heap_amount){0, 0};
	from = heap_scale(count.before, size, rate);
	to = heap_scale(count.now, size, rate);
	/* so large that they are no longer exact, both may be rounded to a lower number */
	return (struct heap_amount){to.objects > from.objects ? to.objects - from.objects : 0,
				    to.bytes > from.bytes ? to.bytes - from.bytes : 0};
}
