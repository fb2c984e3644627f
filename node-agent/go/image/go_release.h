/*
 * Whether a file has a Go runtime, and of which release. Pure.
 *
 * Both are in the build info (go_buildinfo.h), which linkers add since 1.13. Some programs are
 * published without it; what they cannot do without are the table of functions and the module
 * data.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_RELEASE_H
#define NODE_AGENT_GO_IMAGE_GO_RELEASE_H

#include "common/base.h"
#include "node-agent/go/image/go_image.h"

/*
 * Returns 1 if the file has a Go runtime, 0 if not, -ENOMEM, or an error of byte_source_read()
 * other than -ENODATA.
 */
int go_release_detect(const struct elf_layout *layout, const struct byte_source *file) MUST_CHECK;

/*
 * The minor version of the release, for a loaded file; image->minor is not used. Returns 0, -ENOENT
 * if the file is not Go's, -ENOTSUP if it is but its release is unknown, -ENOMEM, or another error
 * of byte_source_read().
 */
int go_release_minor(const struct go_image *image, unsigned *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_RELEASE_H */
