/*
 * A Go executable as one process has loaded it, and where the variables of the memory profiler
 * are in it. Pure, given what reads the file and the memory.
 *
 * Addresses come from .symtab; where that was stripped, from the code of functions that use the
 * variables, whose names the pclntab always has; where the names were changed too, the list of
 * records is known by its records' hashes. Whatever was found lies in writable data, and the
 * list is used only while what it leads to are records (heap_bucket.h).
 */
#ifndef NODE_AGENT_HEAP_GO_IMAGE_H
#define NODE_AGENT_HEAP_GO_IMAGE_H

#include "common/base.h"
#include "node-agent/heap/go_module.h"
#include "node-agent/heap/heap_bucket.h"
#include "node-agent/symbol/elf_layout.h"

/* What zeroed data is searched for the list; reading it makes the process map it. */
#define GO_IMAGE_SCAN_MAX_BYTES UINT64_C(8388608)
#define GO_IMAGE_MINOR_MIN 13u /* the first release whose records are known */
#define GO_IMAGE_MODULES_MAX 64u

struct go_image {
	const struct elf_layout *layout;  /* all borrowed */
	const struct byte_source *file;   /* the executable */
	const struct byte_source *memory; /* the process's; offsets are addresses */
	uint64_t bias;                    /* added to the file's addresses */
	unsigned minor;
};

/* Without the bias: they are the same in each process of an executable. 0: not found. */
struct go_addresses {
	uint64_t module;   /* runtime.firstmoduledata */
	uint64_t buckets;  /* runtime.mbuckets */
	uint64_t rate;     /* runtime.MemProfileRate */
	uint64_t disabled; /* runtime.disableMemoryProfiling; since 1.17 */
};

/*
 * Of buckets and disabled, what neither symbols nor code tell is 0. -ENOENT: no
 * module data, or no rate; -ENOMEM; -ENODATA, -EIO …: cannot be read.
 */
int go_image_locate(const struct go_image *image, struct go_addresses *ret) MUST_CHECK;

/* The executable's module first, then its plugins. Their number, or -errno. */
int go_image_modules(const struct go_image *image, const struct go_addresses *at,
		     struct go_module *modules, size_t max) MUST_CHECK;

/*
 * Searches the data of a module for a variable that points to a record. 0; -ENOENT: none, or more
 * than one; -EFBIG and others of memory_windows_read().
 */
int go_image_scan_buckets(struct memory_windows *w, const struct go_module *module,
			  const struct heap_bucket_format *format, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_HEAP_GO_IMAGE_H */
