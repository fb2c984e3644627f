/*
 * Names in a string table that say something about their function: that it never returns, or that
 * it is a part of another one. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_NAMES_H
#define NODE_AGENT_UNWIND_CODE_CODE_NAMES_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "common/elf/file_windows.h"

/* More are not kept. */
#define CODE_NAMES_MAX 65536u

enum code_name {
	CODE_NAME_PLAIN,
	CODE_NAME_PART,  /* what gcc moves out of a function as rarely executed: "f.cold" */
	CODE_NAME_NEVER, /* of C libraries and run-time libraries: exit, abort, longjmp, ... */
};

struct code_names {
	struct code_name_place {
		uint32_t first, last; /* names that begin there, offsets in the table */
		uint32_t what;        /* enum code_name */
	} * items;                    /* ascending; owned */
	uint32_t n, max;
};

/* Returns 0, -ENOMEM, or an error of file_windows_get(). */
int code_names_find(struct code_names *ret, const struct elf_section *strings,
		    struct file_windows *windows) MUST_CHECK;
void code_names_fini(struct code_names *n);

enum code_name code_names_kind(const struct code_names *n, uint32_t name);

#endif /* NODE_AGENT_UNWIND_CODE_CODE_NAMES_H */
