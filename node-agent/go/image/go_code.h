/*
 * Which global variables a piece of Go code refers to, in the order of the code. Pure.
 *
 * Not a disassembler: it knows the few instructions by which the Go compiler reaches a global
 * (cmd/compile/internal/{amd64,arm64}), and on amd64, whose instructions have no fixed length,
 * looks at every byte. So references that are none are found as well; callers drop what is not in
 * writable data and demand that the rest is unambiguous.
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
	uint8_t size_bytes; /* of what is loaded or stored */
	enum go_ref_kind kind;
};

/*
 * code lies at address; machine is EM_X86_64 or EM_AARCH64 (else nothing is found). Writes at most
 * max references and returns their number.
 */
size_t go_code_refs(uint16_t machine, const uint8_t *code, size_t len, uint64_t address,
		    struct go_ref *refs, size_t max);

#endif /* NODE_AGENT_GO_IMAGE_GO_CODE_H */
