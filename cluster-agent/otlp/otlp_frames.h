/*
 * Locations of an OTLP dictionary → functions and locations of a profile, with the texts of our
 * frames: see otlp_dictionary.h. Used by otlp_dictionary.c only. Pure.
 */
#ifndef CLUSTER_AGENT_OTLP_OTLP_FRAMES_H
#define CLUSTER_AGENT_OTLP_OTLP_FRAMES_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/otlp/otlp_messages.h"
#include "common/pprof/profile.h"

/* A mapping. */
struct otlp_file {
	struct otlp_bytes path;
	struct otlp_bytes build_id;
	uint64_t memory_start; /* 0: addresses are those of the file already */
	uint64_t offset;
};

/* A function. */
struct otlp_name {
	struct otlp_bytes name; /* empty: unknown */
	struct otlp_bytes file;
	/* of otlp_frames.c: the function made of it last, and for which file; 0: none yet */
	uint32_t made;
	uint32_t made_for;
	bool made_kernel;
};

struct otlp_frames {
	struct arena *arena;
	const struct otlp_file *files;
	uint32_t n_files;
	struct otlp_name *names;
	uint32_t n_names;
	/* of otlp_frames.c: what was made */
	struct profile_function *functions; /* in the arena */
	uint32_t n_functions;
	uint32_t max_functions;
};

struct otlp_frame_source {
	struct otlp_bytes message; /* the Location */
	uint32_t file;             /* index into files; 0: none */
	uint64_t address;
	uint32_t n_lines;
	bool is_kernel;
};

/*
 * Fills *ret with at least one line. Returns 0, -ENOENT if a line refers to a function that does
 * not exist, -EBADMSG, or -ENOMEM if the arena has no room.
 */
int otlp_frames_make(struct otlp_frames *f, const struct otlp_frame_source *source,
		     struct profile_location *ret) MUST_CHECK;

#endif /* CLUSTER_AGENT_OTLP_OTLP_FRAMES_H */
