/*
 * Signatures by which compiled code calls generic methods with arguments: a method, and the types
 * that are put in. Pure.
 *
 * Source: "Method signatures" of readytorun-format.md of dotnet/runtime; ECMA-335 II.23.2.
 */
#ifndef NODE_AGENT_DOTNET_METHOD_SIGNATURE_H
#define NODE_AGENT_DOTNET_METHOD_SIGNATURE_H

#include "common/base.h"
#include "node-agent/dotnet/native_reader.h"

/* Which method a signature is of. */
struct method_signature {
	uint32_t row; /* of MethodDef, or of MemberRef */
	bool member_ref;
	bool elsewhere; /* in another assembly */
};

/* How long the signature at an RVA is. Returns 0, -EBADMSG or an error of the reader. */
int method_signature_length(struct native_reader *r, uint32_t rva, uint32_t *ret) MUST_CHECK;

int method_signature_read(struct native_reader *r, uint32_t rva,
			  struct method_signature *ret) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_METHOD_SIGNATURE_H */
