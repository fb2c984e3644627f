/*
 * An ELF file with a Go runtime as loaded by one process, and its modules. Pure: the file and
 * the memory are read through byte sources.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_IMAGE_H
#define NODE_AGENT_GO_IMAGE_GO_IMAGE_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/go/pclntab/go_module.h"

#define GO_IMAGE_MODULES_MAX 64u

struct go_image {
	const struct elf_layout *layout;  /* all pointers are borrowed */
	const struct byte_source *file;   /* the ELF file */
	const struct byte_source *memory; /* of the process; offsets are addresses */
	uint64_t bias;                    /* added to addresses in the file */
	unsigned minor;                   /* the release is 1.minor */
};

/*
 * Makes src read the constant parts of the file by their addresses in the process: segments
 * that are not writable, and RELRO, which is read-only after relocation (in the file it is
 * not relocated). Reading anything else returns -ENODATA. image is borrowed.
 */
void byte_source_from_image(struct byte_source *src, struct go_image *image);

/*
 * The address of the file's own module. `file` is a byte_source_from_image(). Returns 0,
 * -ENOENT if there is none, -ENOMEM, or -ENODATA, -EIO … if memory cannot be read.
 */
int go_image_find_module(const struct go_image *image, const struct byte_source *file,
			 uint64_t *ret) MUST_CHECK;

/*
 * Reads the module at this address, which go_image_find_module() found, then the plugins that
 * it leads to, which are other files. Returns the number of modules, or -errno.
 */
int go_image_modules(const struct go_image *image, const struct byte_source *file, uint64_t address,
		     struct go_module *modules, size_t max) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_IMAGE_H */
