/*
 * Any bytes as registers, stack, mappings, tables, rules and the layout of an interpreter: the walk
 * ends, stays inside its blocks, and its record is one that user space accepts.
 */
#include "test/lib/host_bpf.h"

#define BLOCKS 16u
#define BLOCK_BYTES 160u /* of each block that come from the input */
#define TABLES 4u

struct input {
	const uint8_t *data;
	size_t left;
};

/* Fills what the input has bytes for; the rest is 0. */
static void take(struct input *in, void *ret, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(ret, 0, n);
	if (have > 0)
		memcpy(ret, in->data, have);
	in->data += have;
	in->left -= have;
}

static void take_process(struct input *in)
{
	struct unwind_process *p = &host.slab[1].processes[0];

	host.process = (struct unwind_ref){.block = 1};
	take(in, p, sizeof(*p));
	p->tgid = HOST_TGID;
	p->start_boottime_ns = HOST_START_TIME;
}

/* A process whose padding is not 0 has an interpreter. */
static void take_chain(struct input *in)
{
	struct unwind_process *p = &host.slab[1].processes[0];

	if (p->pad[0] == 0)
		return;
	p->chain = (struct unwind_ref){.block = BLOCKS};
	take(in, &host.slab[BLOCKS], sizeof(struct chain_layout));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct scratch *s = &host.scratch;
	enum walk_end end;

	memset(s->recent, 0, sizeof(s->recent));
	take(&in, s->walk.registers, sizeof(s->walk.registers));
	s->walk.ip = s->walk.registers[0];
	s->walk.sp = s->walk.registers[1];
	s->walk.fp = s->walk.registers[2];
	s->walk.compat = false;
	host.chain.thread_pointer = s->walk.registers[3];
	take_process(&in);
	take(&in, &host.tables[UNWIND_TABLE_FIRST], TABLES * sizeof(*host.tables));
	for (unsigned i = 2; i < BLOCKS; i++)
		take(&in, &host.slab[i], BLOCK_BYTES);
	take_chain(&in);
	take(&in, host.stack, sizeof(host.stack));

	end = host_walk();
	assert(end < WALK_END_MAX);
	assert(s->n_user >= 1 && s->n_user <= SAMPLER_USER_FRAMES);
	assert(s->event.root_at == 0 ||
	       (s->event.root_at == SAMPLER_ROOT_AT && s->n_user == SAMPLER_USER_FRAMES));
	assert(s->n_switches <= SAMPLER_STACK_SWITCHES);
	assert(!s->walk.chained || (host.chain.event.n_chain < CHAIN_ENTRIES &&
				    host.chain.n_taken <= CHAIN_TAKES + 1 + WALK_MAX_FRAMES));
	return 0;
}
