/*
 * Headers of executables and libraries as they were parsed, by what says that a file is the same and has not been
 * written to. No file is kept open. Bounded: a full table is forgotten as a whole. One thread.
 */
#ifndef NODE_AGENT_GO_TARGET_GO_LAYOUTS_H
#define NODE_AGENT_GO_TARGET_GO_LAYOUTS_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/process/file_id.h"

#define GO_LAYOUTS_MAX 256u

struct go_layouts;

int go_layouts_new(struct go_layouts **ret) MUST_CHECK;
void go_layouts_free(struct go_layouts *l);
DEFINE_CLEANUP(struct go_layouts *, go_layouts_free);

#define GO_FILE_NOTES 128u

/* Small facts that were found in the file and nowhere else, by a hash; those for which there is no room are forgotten. */
struct go_file_notes {
	struct {
		uint64_t key;
		uint8_t note; /* 0: none */
	} at[GO_FILE_NOTES];
};

/* 0: none. */
uint8_t go_file_notes_get(const struct go_file_notes *n, uint64_t key);
/* Of a key that has none. */
void go_file_notes_add(struct go_file_notes *n, uint64_t key, uint8_t note);

struct go_known_file {
	bool may_hang; /* its file system may not answer */
	struct elf_layout layout;
	struct go_file_notes notes;
};

/* NULL: not known. Borrowed until the next is added. */
struct go_known_file *go_layouts_find(const struct go_layouts *l, const struct file_version *file);

/* One that is not known. -ENOMEM. */
int go_layouts_add(struct go_layouts *l, const struct file_version *file,
		   const struct go_known_file *known) MUST_CHECK;

#endif /* NODE_AGENT_GO_TARGET_GO_LAYOUTS_H */
