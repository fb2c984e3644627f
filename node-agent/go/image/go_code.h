/*
 * Lists the global variables that a piece of Go code refers to, in the order of the code. Pure.
 *
 * False positives are possible (see go_code.c): callers must drop references outside the
 * program's writable data, and demand that the rest is unambiguous.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_CODE_H
#define NODE_AGENT_GO_IMAGE_GO_CODE_H

#include "common/base.h"

enum go_ref_kind {
	GO_REF_LOAD,
	GO_REF_STORE,
	GO_REF_ADDRESS,
};

struct go_ref {
	uint64_t target;
	uint8_t size_bytes; /* loaded or stored */
	enum go_ref_kind kind;
};

/*
 * `code` lies at `address`. Nothing is found unless machine is EM_X86_64 or EM_AARCH64.
 * Stores at most max references and returns their number.
 */
size_t go_code_refs(uint16_t machine, const uint8_t *code, size_t len, uint64_t address,
		    struct go_ref *refs, size_t max);

#endif /* NODE_AGENT_GO_IMAGE_GO_CODE_H */
