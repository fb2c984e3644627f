/*
 * What was learned about executables and libraries, so that they need not be parsed again for
 * each process and each round: ELF headers, and whether their file system answers. Keyed by
 * what changes whenever a file's content does. No file is kept open. Bounded: a full cache is
 * emptied as a whole. For one thread.
 */
#ifndef NODE_AGENT_TARGET_PROGRAM_FILE_CACHE_H
#define NODE_AGENT_TARGET_PROGRAM_FILE_CACHE_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/procfs/file_id.h"

/*
 * Remembers small facts about a file by 64-bit keys: number → number. Bounded: a new
 * note replaces the oldest of a full set. For one thread.
 */

#define FILE_NOTES_MAX 128u

struct file_note;

/* Empty when zeroed. */
struct file_notes {
	struct file_note *table;
};

void file_notes_clear(struct file_notes *n);

/* Returns the note with this key, or 0 if there is none. */
uint8_t file_notes_get(const struct file_notes *n, uint64_t key);

/*
 * Adds a note other than 0 with a key that has none. It is a cache, so the note is just not
 * kept if there is no memory for it.
 */
void file_notes_add(struct file_notes *n, uint64_t key, uint8_t note);

#define PROGRAM_FILE_CACHE_MAX 128u

struct program_file_cache;

/* What is cached of a file. */
struct program_file_facts {
	bool may_hang; /* its file system may not answer, so it is opened with a deadline */
	struct elf_layout layout;
	struct file_notes notes; /* owned by the cache */
};

/* Returns 0 or -ENOMEM. */
int program_file_cache_new(struct program_file_cache **ret) MUST_CHECK;
void program_file_cache_free(struct program_file_cache *c);
DEFINE_CLEANUP(struct program_file_cache *, program_file_cache_free);

/* Returns NULL if the file is not cached. Borrowed until the next program_file_cache_add(). */
struct program_file_facts *program_file_cache_find(const struct program_file_cache *c,
						   const struct file_version *file);

/* Adds a file that is not cached. facts->notes must be empty. Returns 0 or -ENOMEM. */
int program_file_cache_add(struct program_file_cache *c, const struct file_version *file,
			   const struct program_file_facts *facts) MUST_CHECK;

#endif /* NODE_AGENT_TARGET_PROGRAM_FILE_CACHE_H */
