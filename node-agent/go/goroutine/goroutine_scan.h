/*
 * Reads all goroutines of a process and their stacks, and sorts them into groups. No
 * goroutine that stays where it is will be missing or counted twice; those that keep moving
 * are counted without a stack. Goroutines of the runtime are left out, by the rules of
 * runtime/pprof. For one thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_SCAN_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_SCAN_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/go/goroutine/goroutine_code.h"
#include "node-agent/go/goroutine/goroutine_groups.h"

struct goroutine_scan_config {
	const struct byte_source *memory; /* all pointers are borrowed */
	const struct goroutine_layout *layout;
	bool has_lr;               /* arm64 */
	const uint64_t *addresses; /* of all runtime.g, ascending */
	size_t n_addresses;
	uint64_t deadline_ns;     /* on clock_effort_ns() */
	uint64_t max_stack_bytes; /* of all stacks; the remaining goroutines are counted without */
};

/* Number of goroutines by outcome; see struct goroutine_reading. */
struct goroutine_tally {
	uint64_t n; /* the program's; all but n_bad are part of it */
	uint64_t n_running;
	uint64_t n_moved;
	uint64_t n_limited;
	uint64_t n_unreadable;
	uint64_t n_broken;
	uint64_t n_cut;
	uint64_t n_bad;
};

/*
 * Returns 0, -ETIME after the deadline, -EFBIG if more bytes would be read than a process of
 * that many goroutines can need, -ENOMEM, or an error of goroutine_groups_find() or
 * goroutine_code_find(). On error, `groups` is incomplete.
 */
int goroutine_scan(const struct goroutine_scan_config *cfg, struct goroutine_code *code,
		   struct goroutine_groups *groups, struct goroutine_tally *ret) MUST_CHECK;

/*
 * Counts the program's goroutines without reading stacks, as runtime.NumGoroutine() does.
 * Returns the same as above.
 */
int goroutine_scan_count(const struct goroutine_scan_config *cfg, struct goroutine_code *code,
			 uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_SCAN_H */
