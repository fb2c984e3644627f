#include "node-agent/profile/chained_locations.h"

#include <errno.h>

static void find_name(struct chained_locations *c, struct chained_frame *f)
{
	struct interpreter_name name;
	int r = c->find_name ? c->find_name(c->name_ctx, f->process, &f->frame, &name) : -ENOENT;

	f->is_native = r == -ENXIO;
	if (r == -ENODATA || f->is_native)
		return;
	if (r < 0) {
		f->location = symbolizer_frame(c->symbolizer, "[unknown]", "[interpreter]");
		return;
	}
	f->location = symbolizer_known_frame(c->symbolizer, &(struct symbol_frame){
								    .function = name.function,
								    .file = name.file,
								    .line = name.line,
								    .start_line = name.start_line,
							    });
	f->n_callers = name.n_callers;
	f->is_root = name.is_root;
}

const struct chained_frame *chained_locations_find(struct chained_locations *c, unsigned profile,
						   const struct process_snapshot *p,
						   const struct interpreter_frame *f)
{
	uint64_t hash = (f->code ^ f->at << 24 ^ f->level) * UINT64_C(0x9e3779b97f4a7c15);
	struct chained_frame *r = &c->recent[hash >> 32 & (CHAINED_LOCATIONS - 1)];

	if (r->profile != profile || r->process != p || !interpreter_frame_is_same(&r->frame, f)) {
		*r = (struct chained_frame){.process = p, .frame = *f, .profile = profile};
		find_name(c, r);
	}
	return r;
}
