/*
 * All goroutines of a process, into groups. It is not stopped, so each goroutine is read again after its stack:
 * when it has moved meanwhile it is tried once more, and then counted without a stack. No goroutine that stood still
 * is missing or counted twice.
 *
 * Which goroutines are the program's is decided as runtime/pprof does. One thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_SCAN_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_SCAN_H

#include "common/base.h"
#include "node-agent/elf/byte_source.h"
#include "node-agent/go/goroutine/goroutine_code.h"
#include "node-agent/go/goroutine/goroutine_groups.h"

struct goroutine_scan_config {
	const struct byte_source *memory; /* borrowed, as is everything here */
	const struct goroutine_layout *layout;
	bool has_lr;               /* arm64 */
	const uint64_t *addresses; /* of all goroutines, in order */
	size_t n_addresses;
	uint64_t deadline_ns;     /* on clock_monotonic_ns() */
	uint64_t max_stack_bytes; /* of all stacks; beyond, goroutines are counted without */
};

/* What became of the goroutines. */
struct goroutine_tally {
	uint64_t n;            /* the program's */
	uint64_t n_running;    /* of these, without a stack: it changes all the time */
	uint64_t n_moved;      /* without a stack: moved while they were read, twice */
	uint64_t n_limited;    /* without a stack: max_stack_bytes */
	uint64_t n_unreadable; /* without a stack: it cannot be read */
	uint64_t n_broken;     /* whose stack ends in the middle, with what could be read */
	uint64_t n_cut;        /* with the calls next to the leaf, because there are so many */
	uint64_t n_bad;        /* not counted: these are no goroutines */
};

/*
 * 0; -ETIME: the deadline; -EFBIG: more bytes of goroutines than there can be; -ENOMEM; errors of goroutine_groups_find() and
 * goroutine_code_find(). groups is incomplete then.
 */
int goroutine_scan(const struct goroutine_scan_config *cfg, struct goroutine_code *code,
		   struct goroutine_groups *groups, struct goroutine_tally *ret) MUST_CHECK;

/* How many there are of the program's: runtime.NumGoroutine(). Results as above. */
int goroutine_scan_count(const struct goroutine_scan_config *cfg, struct goroutine_code *code,
			 uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_SCAN_H */
