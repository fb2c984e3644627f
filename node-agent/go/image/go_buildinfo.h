/*
 * Whether an executable was built by Go, and by which release, from its .go.buildinfo
 * section. Pure.
 *
 * Sources: debug/buildinfo and cmd/link/internal/ld/data.go. Since 1.18 the section contains
 * the version; before, it points to a string in the program's data.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_BUILDINFO_H
#define NODE_AGENT_GO_IMAGE_GO_BUILDINFO_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

#define GO_VERSION_BYTES 128u
/* Bytes of writable data that are searched in a file without section headers. */
#define GO_BUILDINFO_SCAN_MAX_BYTES UINT64_C(16777216)

struct go_buildinfo {
	uint64_t offset; /* in the file */
	uint64_t vaddr;
};

/*
 * Returns 0, -ENOENT if it is not a Go program, -ENOMEM, or -ENODATA, -EIO … if it cannot be
 * read.
 */
int go_buildinfo_find(struct go_buildinfo *ret, const struct elf_layout *layout,
		      const struct byte_source *file) MUST_CHECK;

/*
 * The minor version: 24 for "go1.24.3", "devel go1.24-0123" or "go1.24.3 X:…". `memory` is
 * the process's, `bias` what was added to addresses in the file. The file is preferred,
 * because a process may have changed its memory. Returns 0, -EBADMSG if this is not a
 * version, or an error as above.
 */
int go_buildinfo_minor(const struct go_buildinfo *b, const struct elf_layout *layout,
		       const struct byte_source *file, const struct byte_source *memory,
		       uint64_t bias, unsigned *ret_minor) MUST_CHECK;

/* Parses the text of a version. Returns 0 or -EBADMSG. */
int go_version_parse(const char *text, size_t len, unsigned *ret_minor) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_BUILDINFO_H */
