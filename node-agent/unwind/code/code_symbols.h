/*
 * What a file's symbols say about its code: where functions begin, and which ones never return, of
 * this file and of those that it is linked with; and what its relocations do: of which code data
 * has the address. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_SYMBOLS_H
#define NODE_AGENT_UNWIND_CODE_CODE_SYMBOLS_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "common/elf/file_windows.h"

/* Functions that are kept, in 1 MiB. */
#define CODE_SYMBOLS_MAX 262144u
/* Symbols that are read, of each of the two tables; and relocations likewise. */
#define CODE_SYMBOLS_READ_MAX 2097152u
/* Functions that never return, which there are few of. */
#define CODE_SYMBOLS_NEVER_MAX 128u

struct code_symbols {
	/* Where functions begin: offsets from the start of the text; owned; ascending */
	uint32_t *starts;
	uint32_t n_starts, max_starts;
	/* What data has the address of, likewise; CODE_SYMBOLS_MAX at most. */
	uint32_t *taken;
	uint32_t n_taken, max_taken;
	uint64_t never[CODE_SYMBOLS_NEVER_MAX]; /* addresses of functions */
	uint32_t n_never;
	/* Where the loader puts the addresses of such functions of other files. */
	uint64_t slots[CODE_SYMBOLS_NEVER_MAX];
	uint32_t n_slots;
};

/*
 * Reads what is said of code between these addresses, and of functions that never return. Returns
 * 0, -ENOMEM, or an error of file_windows_get(). A file without symbols has none.
 */
int code_symbols_read(struct code_symbols *ret, const struct elf_layout *layout,
		      struct file_windows *windows, uint64_t start, uint64_t end) MUST_CHECK;
void code_symbols_fini(struct code_symbols *s);

/* The first start at or behind an offset; an index, n_starts if there is none. */
uint32_t code_symbols_from(const struct code_symbols *s, uint64_t offset);
uint32_t code_symbols_taken_from(const struct code_symbols *s, uint64_t offset);

bool code_symbols_have_slot(const struct code_symbols *s, uint64_t address);

#endif /* NODE_AGENT_UNWIND_CODE_CODE_SYMBOLS_H */
