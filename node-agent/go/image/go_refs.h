/*
 * Finds variables of a Go program by the functions that refer to them, for programs without
 * symbols. The pclntab has the names of all functions even in a stripped program.
 *
 * Callers know from Go's source which variables a function uses. References that lie outside
 * the program's writable data are dropped; the rest has to be unambiguous (go_code.h finds
 * references that are none, too).
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_REFS_H
#define NODE_AGENT_GO_IMAGE_GO_REFS_H

#include "common/base.h"
#include "node-agent/go/image/go_code.h"
#include "node-agent/go/image/go_runtime.h"

#define GO_RUNTIME_REFS_MAX 512u

/* Whether it refers in this way to a word, which is the size of pointers and rates. */
bool go_ref_is_word(const struct go_ref *r, enum go_ref_kind kind);

/*
 * References of a function to writable data, in the order of its code. Returns their number,
 * -ENOENT if there is no such function, -ENOMEM, -EFBIG (gopclntab_find_named()), or an error
 * of byte_source_read().
 */
int go_runtime_refs(struct go_runtime *rt, const char *function, struct go_ref *refs,
		    size_t max) MUST_CHECK;

/* The same for a module whose runtime is not open yet. */
int go_module_refs(const struct go_module *m, uint16_t machine, const char *function,
		   struct go_ref *refs, size_t max) MUST_CHECK;

/*
 * The same for the first function of a NULL-terminated list that exists. In a program built
 * with a profile (-pgo) the compiler may have inlined a function; list its callers after it.
 */
int go_runtime_refs_any(struct go_runtime *rt, const char *const *functions, struct go_ref *refs,
			size_t max) MUST_CHECK;

/*
 * Address of the one word that a function refers to in this way. Returns 0, -ENOENT if there is
 * none, more than one or no such function, or an error as above.
 */
int go_runtime_only_word(struct go_runtime *rt, const char *function, enum go_ref_kind kind,
			 uint64_t *ret) MUST_CHECK;

/* The same for the one word that both functions refer to in this way. */
int go_runtime_common_word(struct go_runtime *rt, const char *a, const char *b,
			   enum go_ref_kind kind, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_REFS_H */
