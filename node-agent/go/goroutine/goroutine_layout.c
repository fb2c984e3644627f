#include "node-agent/go/goroutine/goroutine_layout.h"

#include <errno.h>

#define STACK_LO 0u
#define STACK_HI 8u
#define SCHED_SP 56u
#define SCHED_PC 64u
#define SCAN_BIT 0x1000u /* _Gscan: the garbage collector is scanning its stack */

static const struct {
	unsigned first, last; /* minors */
	struct goroutine_layout layout;
} layouts[] = {
	{13, 16, {96, 112, 144, 152, 168, 176, 296, 304}},
	{17, 20, {96, 112, 144, 152, 168, 176, 312, 320}},
	{21, 22, {96, 112, 144, 152, 168, 176, 296, 304}},
	{23, 24, {96, 112, 152, 160, 176, 184, 304, 312}},
	{25, 25, {88, 104, 144, 152, 168, 176, 296, 304}},
	{26, 27, {88, 104, 144, 152, 168, 176, 304, 312}},
};

int goroutine_layout_find(unsigned minor, const struct goroutine_layout **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (minor >= layouts[i].first && minor <= layouts[i].last) {
			*ret = &layouts[i].layout;
			return 0;
		}
	}
	return -ENOTSUP;
}

static uint64_t word(const uint8_t *bytes, size_t offset)
{
	uint64_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

static bool has_stack(const struct goroutine *g)
{
	return g->stack_lo != 0 && g->stack_lo % 8 == 0 && g->stack_lo < g->stack_hi &&
	       g->stack_hi - g->stack_lo <= GOROUTINE_STACK_MAX_BYTES;
}

int goroutine_decode(const struct goroutine_layout *l, const uint8_t *bytes, struct goroutine *ret)
{
	uint64_t syscall_sp = word(bytes, l->syscall_sp);
	struct goroutine g = {
		.stack_lo = word(bytes, STACK_LO),
		.stack_hi = word(bytes, STACK_HI),
		.sp = word(bytes, SCHED_SP),
		.pc = word(bytes, SCHED_PC),
		.lr = word(bytes, l->lr),
		.id = word(bytes, l->id),
		.start_pc = word(bytes, l->start_pc),
		.wait_since_ns = word(bytes, l->wait_since),
		.wait_reason = bytes[l->wait_reason],
		.in_syscall = syscall_sp != 0,
	};
	uint32_t status;

	memcpy(&status, bytes + l->status, sizeof(status));
	status &= ~SCAN_BIT;
	if (status >= GOROUTINE_STATUS_MAX)
		return -EBADMSG;
	g.status = (uint8_t)status;
	if (g.in_syscall) {
		g.sp = syscall_sp;
		g.pc = word(bytes, l->syscall_sp + 8u);
		g.lr = 0;
	}
	if (g.status != GOROUTINE_WAITING && g.status != GOROUTINE_LEAKED) {
		g.wait_reason = 0;
		g.wait_since_ns = 0;
	}
	if (!goroutine_is_dead(&g) && !has_stack(&g))
		return -EBADMSG;
	*ret = g;
	return 0;
}

bool goroutine_is_same(const struct goroutine *a, const struct goroutine *b)
{
	return a->id == b->id && a->status == b->status && a->sp == b->sp && a->pc == b->pc &&
	       a->lr == b->lr && a->stack_lo == b->stack_lo && a->stack_hi == b->stack_hi;
}
