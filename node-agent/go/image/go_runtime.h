/*
 * The Go runtime of one open process: its modules (code and data ranges, function tables), the
 * addresses of its variables, and the names of its code. For one thread.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_RUNTIME_H
#define NODE_AGENT_GO_IMAGE_GO_RUNTIME_H

#include "common/base.h"
#include "node-agent/go/image/go_executables.h"
#include "node-agent/go/image/go_image.h"
#include "node-agent/profile/frame_resolver.h"
#include "node-agent/target/memory_windows.h"
#include "node-agent/target/page_cache.h"
#include "node-agent/target/program_target.h"

/* Time for naming code, for all profiles of a process together. */
#define GO_RUNTIME_NAMES_MAX_NS ((uint64_t)10 * 1000 * 1000 * 1000)
#define GO_RUNTIME_MAX_BYTES ((uint64_t)1024 * 1024 * 1024) /* read through windows per opening */

struct go_runtime {
	const struct program_target *target; /* borrowed */
	struct go_image image;
	struct go_executable *executable; /* borrowed */
	struct memory_windows *windows;   /* borrowed */
	/* sources of bytes by addresses in the process */
	struct byte_source constants; /* constant parts of the file; see byte_source_from_image() */
	struct page_cache *constants_pages;
	struct page_cache *memory_pages;
	struct byte_source file_tables;   /* the same as constants, through constants_pages */
	struct byte_source memory_tables; /* memory, through memory_pages: for what never changes */
	uint64_t deadline_ns;             /* for naming code, on clock_effort_ns() */
	bool uncached; /* go_runtime_find() searches in this very process; see there */
	size_t n_modules;
	struct go_module modules[GO_IMAGE_MODULES_MAX]; /* the executable's first */
	struct go_range text[GO_IMAGE_MODULES_MAX];     /* the code of each module */
};

/* Finds a variable that has no symbol. Returns 0 and its address, -ENOENT, or another error. */
typedef int go_find_fn(struct go_runtime *rt, uint64_t *ret);

/*
 * Borrows all arguments until go_runtime_close(). Returns 0, -ENOENT if the process is not a
 * Go program or has no valid module data, -ENOTSUP for a release before 1.13, -ENOMEM, or an
 * error of byte_source_read().
 */
int go_runtime_open(struct go_runtime **ret, const struct program_target *t,
		    struct go_executables *x, struct memory_windows *w) MUST_CHECK;
void go_runtime_close(struct go_runtime *rt);
DEFINE_CLEANUP(struct go_runtime *, go_runtime_close);

/*
 * The address of a variable in the process, by its symbol, or else by in_code; either may be
 * NULL. Returns 0, -ENOENT if it cannot be found, -ENOMEM, -EFBIG (gopclntab_find_named()),
 * or an error of byte_source_read().
 *
 * Results, -ENOENT included, are cached for all processes of the executable. The process in
 * which the variable was found may have manipulated its own memory. So whatever the address
 * leads to must be validated, and before anything is written to a process, set rt->uncached
 * and call this again.
 */
int go_runtime_find(struct go_runtime *rt, enum go_variable v, const char *symbol,
		    go_find_fn *in_code, uint64_t *ret) MUST_CHECK;

/*
 * Drops a cached address that turned out wrong; the next go_runtime_find() searches in this
 * process.
 */
void go_runtime_forget(struct go_runtime *rt, enum go_variable v);

/* Whether len bytes at this address lie in the writable data of the program. */
bool go_runtime_is_data(const struct go_runtime *rt, uint64_t address, size_t len);

/* Names addresses of this process; valid until another process is opened. Returns 0 or -ENOMEM. */
int go_runtime_resolver(struct go_runtime *rt, struct frame_resolver *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_RUNTIME_H */
