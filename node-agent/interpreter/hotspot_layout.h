/*
 * Where HotSpot keeps what the names and lines of its methods are read from. The JVM describes it
 * itself (node-agent/hotspot/vm_structs.h), in variables that are set when its library is loaded.
 * So it is read from the first process that is seen with a file, and is the same for all of them.
 */
#ifndef NODE_AGENT_INTERPRETER_HOTSPOT_LAYOUT_H
#define NODE_AGENT_INTERPRETER_HOTSPOT_LAYOUT_H

#include <linux/types.h>

#include "common/base.h"
#include "node-agent/hotspot/vm_structs.h"

#include "bpf/frame_chain.h"

/* Offsets in bytes from the start of an object. 0: there is no such field. */
struct hotspot_layout {
	struct vm_variables variables; /* addresses in the file */
	bool complete;                 /* the rest is known */
	struct chain_jvm walk;         /* with addresses in the file */
	uint64_t call_stub; /* a variable: where Java returns to that the VM has called; 0: none */
	uint16_t nmethod_method;
	uint16_t nmethod_scopes_pcs;  /* PcDesc entries */
	uint16_t nmethod_pcs_end;     /* what is behind them */
	uint16_t nmethod_scopes_data; /* an offset of 32 bits; or a pointer, scopes_pointer */
	uint16_t nmethod_metadata;
	uint16_t nmethod_immutable; /* a pointer to scopes, which are in the nmethod otherwise */
	uint16_t blob_mutable;      /* a pointer to metadata, likewise, behind relocations */
	uint16_t blob_relocations;  /* 32 bits: their size */
	uint16_t blob_data;         /* what metadata of 16 bits counts from; 0: they have 32 */
	uint16_t const_constants;
	uint16_t const_words; /* 32 bits: size of all of it */
	uint16_t const_flags; /* 32 bits, or 16 */
	uint16_t const_code_bytes;
	uint16_t const_name;
	uint16_t const_bytes; /* of a ConstMethod without its code */
	uint16_t pool_holder;
	uint16_t pool_bytes;
	uint16_t klass_name;
	uint16_t symbol_length;
	uint16_t symbol_body;
	bool scopes_pointer;
	uint8_t lines_flag;  /* in const_flags: it has a table of lines */
	uint8_t byte_excess; /* by which each byte of a compressed number is larger */
};

#endif /* NODE_AGENT_INTERPRETER_HOTSPOT_LAYOUT_H */
