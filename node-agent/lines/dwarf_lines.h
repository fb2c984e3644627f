/*
 * Source lines and inlined calls of an address, from the DWARF of one file, by libdw.
 *
 * libdw trusts the file more than we do, and maps it. So this runs in a process that may crash
 * (line_helper.h), never in the agent.
 */
#ifndef NODE_AGENT_LINES_DWARF_LINES_H
#define NODE_AGENT_LINES_DWARF_LINES_H

#include "node-agent/lines/line_answer.h"

struct dwarf_lines;

/*
 * Reads the units of the file at fd. package_fd is of the package that has the functions of its
 * split units, or negative. Both are borrowed until dwarf_lines_free(). Returns 0, -ENOENT if it
 * has no DWARF that libdw understands, or -ENOMEM.
 */
int dwarf_lines_new(struct dwarf_lines **ret, int fd, int package_fd) MUST_CHECK;
void dwarf_lines_free(struct dwarf_lines *d);
DEFINE_CLEANUP(struct dwarf_lines *, dwarf_lines_free);

/*
 * The frames of an address of the file: functions that are inlined there, and the one around them.
 * Returns 0, or -ENOENT if nothing is known about it.
 */
int dwarf_lines_find(struct dwarf_lines *d, uint64_t vaddr, struct line_answer *ret) MUST_CHECK;

#endif /* NODE_AGENT_LINES_DWARF_LINES_H */
