/* What differs between the releases of Erlang/OTP. Pure. */
#ifndef NODE_AGENT_INTERPRETER_ERLANG_RELEASE_H
#define NODE_AGENT_INTERPRETER_ERLANG_RELEASE_H

#include <linux/types.h>

#include "common/base.h"
#include "common/elf/elf_layout.h"

#include "bpf/frame_chain.h"

struct erlang_release {
	uint8_t otp;
	uint8_t current_process; /* in the data of a scheduler: the process that it runs */
	uint16_t functions;      /* erlang_layout.functions */
	struct chain_scan scan;  /* without the address */
};

/* The release that the text at this address names; NULL and *error, if it is none of those. */
const struct erlang_release *erlang_release_find(const struct elf_layout *layout,
						 const struct byte_source *src, uint64_t text,
						 int *error);

#endif /* NODE_AGENT_INTERPRETER_ERLANG_RELEASE_H */
