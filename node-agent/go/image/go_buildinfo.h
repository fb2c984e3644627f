/*
 * Whether an executable is Go's, and of which release: the .go.buildinfo section. Pure.
 *
 * Facts are those of debug/buildinfo and cmd/link/internal/ld/data.go: the version is written into
 * the section since 1.18; before, the section points to a string in the program's data.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_BUILDINFO_H
#define NODE_AGENT_GO_IMAGE_GO_BUILDINFO_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"

#define GO_VERSION_BYTES 128u
/* Of writable data that is searched in a file without section headers. */
#define GO_BUILDINFO_SCAN_MAX_BYTES UINT64_C(16777216)

struct go_buildinfo {
	uint64_t offset; /* in the file */
	uint64_t vaddr;
};

/* Where it is. -ENOENT: not a Go program; -ENODATA, -EIO …: cannot be read. */
int go_buildinfo_find(struct go_buildinfo *ret, const struct elf_layout *layout,
		      const struct byte_source *file) MUST_CHECK;

/*
 * The 24 of "go1.24.3", "devel go1.24-0123", "go1.24.3 X:…". memory is the process's, and bias what
 * was added to its addresses: what the file leads to comes first, as a process may have written into its memory.
 * -EBADMSG: not a version; else as above.
 */
int go_buildinfo_minor(const struct go_buildinfo *b, const struct elf_layout *layout,
		       const struct byte_source *file, const struct byte_source *memory,
		       uint64_t bias, unsigned *ret_minor) MUST_CHECK;

/* The same of the text alone. -EBADMSG. */
int go_version_parse(const char *text, size_t len, unsigned *ret_minor) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_BUILDINFO_H */
