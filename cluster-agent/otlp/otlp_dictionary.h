/*
 * The tables that all profiles of an OTLP request share, read and checked as a whole: every
 * reference among them is in range, so that profiles can use them without further checks. Pure;
 * foreign data.
 *
 * Locations become frames as our own agent writes them:
 *
 *	named, with a source file	name, file, line
 *	named, without			name, "[libc.so.6]"
 *	not named			"libc.so.6+0x2a3b0", "[libc.so.6:<build id>]"
 *	of the kernel			name or "[unknown]", "[kernel]"
 *
 * The address of a frame without a name is the offset in the file if the mapping says where the
 * file is in memory, else the location's address as it is: profilers of whole machines send
 * addresses of the file, and mappings without a place. The build id is kept with these frames so
 * that they can be named later, and so that those of another build are not taken for the same.
 *
 * Element 0 of a table stands for "none". Requests in which it holds something are refused: they
 * are of an older version of the format, whose fields mean something else.
 */
#ifndef CLUSTER_AGENT_OTLP_OTLP_DICTIONARY_H
#define CLUSTER_AGENT_OTLP_OTLP_DICTIONARY_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/otlp/otlp_messages.h"
#include "common/pprof/profile.h"

/* The attributes that are read. */
enum otlp_key {
	OTLP_KEY_OTHER,
	OTLP_KEY_SERVICE,      /* service.name, of a sample */
	OTLP_KEY_EXECUTABLE,   /* process.executable.name, of a sample */
	OTLP_KEY_FRAME_TYPE,   /* profile.frame.type, of a location */
	OTLP_KEY_BUILD_ID,     /* process.executable.build_id.gnu or .go, of a mapping */
	OTLP_KEY_BUILD_HASH,   /* process.executable.build_id.htlhash, of a mapping */
	OTLP_KEY_PROFILE_TYPE, /* coroot.profile.type: the type as stored */
	OTLP_KEY_COMMENT,      /* pprof.profile.comment */
	OTLP_KEY_BASE,         /* pprof::base, of a sample: "true" if it was subtracted */
};

struct otlp_dictionary_attribute {
	enum otlp_key key;
	struct otlp_value value; /* a reference to a string is resolved: OTLP_VALUE_STRING */
};

struct otlp_stack {
	const uint32_t *locations; /* leaf first; indexes into locations */
	uint32_t n;
	uint64_t text_bytes; /* of its frames, at least 1 for each */
};

/* Everything is in the arena or in the request's bytes. */
struct otlp_dictionary {
	struct otlp_bytes *strings;
	uint32_t n_strings;
	struct otlp_dictionary_attribute *attributes;
	uint32_t n_attributes;
	struct profile_function *functions;
	uint32_t n_functions;
	struct profile_location *locations; /* each has at least one line, but number 0 */
	uint32_t n_locations;
	struct otlp_stack *stacks; /* number 0 is the empty stack */
	uint32_t n_stacks;
	/*
	 * Locations have profile.frame.type, and it is "native" or "kernel", or differs: their
	 * stacks cross languages, as only a profiler outside of the process sees them.
	 */
	bool crosses_languages;
	bool has_base; /* there is an attribute OTLP_KEY_BASE */
};

/*
 * request is a whole ExportProfilesServiceRequest. Returns 0, -EBADMSG if it is not valid, -EFBIG
 * if a limit is exceeded (both with one line in err), or -ENOMEM.
 */
int otlp_dictionary_read(struct otlp_dictionary *ret, struct arena *arena,
			 struct otlp_bytes request, struct err *err) MUST_CHECK;

/* The attribute with that number, or NULL. */
const struct otlp_dictionary_attribute *otlp_dictionary_attribute(const struct otlp_dictionary *d,
								  uint64_t index);
/* The string with that number; empty if there is none. */
struct otlp_bytes otlp_dictionary_string(const struct otlp_dictionary *d, int32_t index);

#endif /* CLUSTER_AGENT_OTLP_OTLP_DICTIONARY_H */
