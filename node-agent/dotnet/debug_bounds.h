/*
 * Which instruction of a method's intermediate language the machine code at an offset comes from,
 * as .NET's compilers write it down for debuggers. Pure; all bytes are hostile.
 *
 * Sources: vm/debuginfostore.cpp, inc/patchpointinfo.h and docs/design/datacontracts/DebugInfo.md
 * of dotnet/runtime.
 */
#ifndef NODE_AGENT_DOTNET_DEBUG_BOUNDS_H
#define NODE_AGENT_DOTNET_DEBUG_BOUNDS_H

#include "common/base.h"
#include "common/elf/byte_source.h"

enum debug_bounds_form {
	DEBUG_BOUNDS_UNKNOWN,
	DEBUG_BOUNDS_NIBBLES,     /* to .NET 9: numbers of three bits each */
	DEBUG_BOUNDS_PACKED,      /* .NET 10: entries of as many bits as the largest needs */
	DEBUG_BOUNDS_PACKED_WIDE, /* from .NET 11 on: with another bit */
};

struct debug_info {
	const struct byte_source *src; /* borrowed */
	uint64_t at;                   /* in the source */
	uint8_t form;                  /* enum debug_bounds_form */
	bool has_flags; /* of code that was compiled at run time, before .NET 11: a byte of them */
};

/*
 * Stores the offset in the intermediate language of what was compiled to the code at an offset from
 * the method's start. Returns 0; -ENOENT if that is not said; -ENOTSUP if the form is not known;
 * -EBADMSG if it is damaged; or an error of byte_source_read().
 */
int debug_bounds_find(const struct debug_info *d, uint32_t native_offset,
		      uint32_t *ret_il_offset) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_DEBUG_BOUNDS_H */
