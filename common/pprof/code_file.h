/*
 * Texts of frames whose code has no name, of which only the file and the address are known. Pure.
 *
 *	"libc.so.6+0x2a1c9" in "[libc.so.6:<build id>]"	the offset in the file
 *	"libc.so.6+0x2a1c9" in "[libc.so.6@<build id>]"	the ELF virtual address: of the node agent
 *
 * Either is the same in every process that maps the file, so equal code has equal names, and the
 * build id says in which table of symbols the name can be found later.
 */
#ifndef COMMON_PPROF_CODE_FILE_H
#define COMMON_PPROF_CODE_FILE_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/pprof/profile.h"

/* More than any text of these functions takes. */
#define CODE_FILE_TEXT_BYTES 512u

/* A mapping as a sender describes it; borrowed. Any text may be empty. */
struct code_file {
	struct profile_string path;
	struct profile_string build_id;
	uint64_t memory_start; /* 0: addresses are those of the file already */
	uint64_t offset;       /* of memory_start in the file */
};

/* A text without blanks and control characters, which may stand for a file in a stored frame. */
struct profile_string code_file_text(struct arena *a, const char *text, size_t len);

/*
 * "[libc.so.6]", or "[libc.so.6:<build id>]"; "" without both. A name in brackets, such as
 * "[vdso]", is used as it is. The result is in the arena; its data is NULL if there is no room.
 */
struct profile_string code_file_module(const struct code_file *f, bool with_build_id,
				       struct arena *a);

/*
 * "libc.so.6+0x2a1c9", with the offset in the file; "0x7f1c2a1c9" without a path; "[unknown]"
 * without an address as well. As above.
 */
struct profile_string code_file_frame(const struct code_file *f, uint64_t address, struct arena *a);

enum code_file_kind { CODE_FILE_OFFSET, CODE_FILE_ADDRESS };

/* A frame without a name, of a known build; texts are borrowed. */
struct code_place_text {
	struct profile_string file;
	struct profile_string build_id; /* as the sender wrote it */
	enum code_file_kind kind;
	uint64_t number;
};

/*
 * The way back: whether name is "<file>+0x<number>" and module "[<file>:<build id>]" or with "@".
 * Without a build id the number may be an address in memory, and nothing says of which build. Texts
 * point into module.
 */
bool code_file_parse(struct profile_string name, struct profile_string module,
		     struct code_place_text *ret);

#endif /* COMMON_PPROF_CODE_FILE_H */
