/*
 * An ELF file with a Go runtime in it as one process has loaded it, and its modules. Pure, given what
 * reads the file and the memory.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_IMAGE_H
#define NODE_AGENT_GO_IMAGE_GO_IMAGE_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/go/pclntab/go_module.h"

#define GO_IMAGE_MODULES_MAX 64u

struct go_image {
	const struct elf_layout *layout;  /* all borrowed */
	const struct byte_source *file;   /* the ELF file */
	const struct byte_source *memory; /* the process's; offsets are addresses */
	uint64_t bias;                    /* added to the file's addresses */
	unsigned minor;                   /* of the release: 1.minor */
};

/*
 * What a process cannot rightly change of the file that it has loaded, as the file has it: segments that are not
 * writable, and what is read-only once it is relocated, without the relocations. Offsets are the addresses in the process; image is
 * borrowed. -ENODATA for all else.
 */
void byte_source_from_image(struct byte_source *src, struct go_image *image);

/*
 * Address of the module of the file itself; file is a byte_source_from_image(). -ENOENT: none; -ENOMEM; -ENODATA, -EIO …: cannot
 * be read.
 */
int go_image_find_module(const struct go_image *image, const struct byte_source *file,
			 uint64_t *ret) MUST_CHECK;

/*
 * The module at this address (of a go_image_find_module()) first, then its plugins, which are other files. Their number,
 * or -errno.
 */
int go_image_modules(const struct go_image *image, const struct byte_source *file, uint64_t address,
		     struct go_module *modules, size_t max) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_IMAGE_H */
