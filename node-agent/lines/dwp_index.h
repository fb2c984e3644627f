/*
 * Where a package of split DWARF (.dwp) has the parts of a unit: its .debug_cu_index, in the form
 * of DWARF 5, section 7.3.5, or of GNU for DWARF 4. Pure.
 */
#ifndef NODE_AGENT_LINES_DWP_INDEX_H
#define NODE_AGENT_LINES_DWP_INDEX_H

#include "common/base.h"

/* Sections that a unit has a part of. */
enum dwp_section {
	DWP_INFO,
	DWP_ABBREV,
	DWP_STR_OFFSETS,
	DWP_RNGLISTS, /* DWARF 5 only */
	DWP_SECTIONS,
};

struct dwp_part {
	uint32_t offset;
	uint32_t bytes; /* 0: the unit has none */
};

/*
 * Finds the parts of a unit by the id that its skeleton has. They are as the index says, possibly
 * beyond their sections. Returns 0, -ENOENT if there is no such unit, or -EBADMSG.
 */
int dwp_index_find(const uint8_t *index, size_t len, uint64_t unit_id,
		   struct dwp_part ret[static DWP_SECTIONS]) MUST_CHECK;

#endif /* NODE_AGENT_LINES_DWP_INDEX_H */
