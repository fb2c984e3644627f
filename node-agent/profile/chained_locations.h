/*
 * Locations of frames of interpreters. Most frames are in many stacks of a profile, so those that
 * were found last are remembered.
 */
#ifndef NODE_AGENT_PROFILE_CHAINED_LOCATIONS_H
#define NODE_AGENT_PROFILE_CHAINED_LOCATIONS_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/process/process_snapshot.h"
#include "node-agent/symbol/symbolizer.h"

/*
 * Stores the name of a frame. Returns 0; -ENODATA if it is not to be shown; -ENXIO if the native
 * frame is, which says more; or another -errno if it has no name.
 */
typedef int interpreter_name_fn(void *ctx, const struct process_snapshot *s,
				const struct interpreter_frame *f, struct interpreter_name *ret);

struct chained_frame {
	const struct process_snapshot *process;
	struct interpreter_frame frame;
	const struct symbol_location *location; /* NULL: it is not shown */
	bool is_native;                         /* but the native frame is */
	uint8_t n_callers;                      /* this and is_root: as in interpreter_name */
	bool is_root;
	unsigned profile; /* its number; 0: none */
};

#define CHAINED_LOCATIONS 1024u /* a power of two */

/* All zero at first, but for these. */
struct chained_locations {
	struct symbolizer *symbolizer;
	interpreter_name_fn *find_name; /* NULL: none has a name */
	void *name_ctx;
	struct chained_frame recent[CHAINED_LOCATIONS];
};

/* Valid until the next call. profile is a number, as locations are those of one profile. */
const struct chained_frame *chained_locations_find(struct chained_locations *c, unsigned profile,
						   const struct process_snapshot *p,
						   const struct interpreter_frame *f);

#endif /* NODE_AGENT_PROFILE_CHAINED_LOCATIONS_H */
