/*
 * The Go runtime of one open process: its modules, its variables, and what names its code. One thread.
 *
 * A variable is found by its symbol; where those were stripped, by the code of functions that use it,
 * whose names the pclntab always has. Either is remembered for all processes of the executable.
 * Whatever was found lies in writable data; what it leads to is checked by who reads it.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_RUNTIME_H
#define NODE_AGENT_GO_IMAGE_GO_RUNTIME_H

#include "common/base.h"
#include "node-agent/go/image/go_executables.h"
#include "node-agent/go/image/go_image.h"
#include "node-agent/go/target/go_target.h"
#include "node-agent/go/target/memory_windows.h"
#include "node-agent/go/target/page_cache.h"
#include "node-agent/profile/frame_resolver.h"

#define GO_RUNTIME_NAMES_MAX_NS \
	((uint64_t)10 * 1000 * 1000 * 1000)                 /* of all profiles of a process */
#define GO_RUNTIME_MAX_BYTES ((uint64_t)1024 * 1024 * 1024) /* read through windows in a round */

struct go_runtime {
	const struct go_target *target; /* borrowed */
	struct go_image image;
	struct go_executable *executable; /* borrowed */
	struct memory_windows *windows;   /* borrowed */
	struct byte_source constants;     /* of the file; by addresses, as is all that follows */
	struct page_cache *constants_pages;
	struct page_cache *memory_pages;
	struct byte_source file_tables;   /* constants and … */
	struct byte_source memory_tables; /* … memory, for what does not change; by way of pages */
	uint64_t deadline_ns;             /* on clock_monotonic_ns(), for naming code */
	bool uncached; /* go_runtime_find() ignores addresses that other processes led to */
	size_t n_modules;
	struct go_module modules[GO_IMAGE_MODULES_MAX]; /* the executable's first */
	struct go_range text[GO_IMAGE_MODULES_MAX];     /* their code, in the same order */
};

/* How a variable is found that has no symbol: its address in the process, or -ENOENT. */
typedef int go_find_fn(struct go_runtime *rt, uint64_t *ret);

/*
 * Of an open process; all is borrowed until go_runtime_close(). -ENOENT: not Go, or it cannot be
 * understood; -ENOTSUP: a release before 1.13; -ENOMEM; those of byte_source_read().
 */
int go_runtime_open(struct go_runtime **ret, const struct go_target *t, struct go_executables *x,
		    struct memory_windows *w) MUST_CHECK;
void go_runtime_close(struct go_runtime *rt);
DEFINE_CLEANUP(struct go_runtime *, go_runtime_close);

/*
 * Address in the process of a variable. symbol may be NULL; in_code may be NULL. -ENOENT: it cannot be found; -ENOMEM;
 * -EFBIG (gopclntab_find_named()); those of byte_source_read(). What is remembered may have been found in another process of
 * the executable, which could have written what it liked into its own memory: before anything is written
 * to this one, set rt->uncached and find the variable again.
 */
int go_runtime_find(struct go_runtime *rt, enum go_variable v, const char *symbol,
		    go_find_fn *in_code, uint64_t *ret) MUST_CHECK;

/* What is remembered is wrong in this process: it is sought again, here, when it is wanted next. */
void go_runtime_forget(struct go_runtime *rt, enum go_variable v);

/* Whether len bytes at this address are variables of the program. */
bool go_runtime_is_data(const struct go_runtime *rt, uint64_t address, size_t len);

/* What names addresses of this process; good until another process is opened. -ENOMEM. */
int go_runtime_resolver(struct go_runtime *rt, struct frame_resolver *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_RUNTIME_H */
