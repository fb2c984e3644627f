/* The record that BPF makes of a code object, from memory that a test has. */
#ifndef TEST_LIB_MADE_CODE_H
#define TEST_LIB_MADE_CODE_H

#include <linux/types.h>

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"

#include "bpf/frame_chain.h"

static inline void made_code_piece(struct code_event *e, unsigned i, uint64_t at,
				   const struct interpreter_memory *m)
{
	e->at[i] = at;
	for (uint16_t n = sizeof(e->words[i]); n > 0 && e->n_bytes[i] == 0; n--) {
		if (interpreter_read(m, at, e->words[i], n) == 0)
			e->n_bytes[i] = n;
	}
}

static inline struct code_event made_code(uint32_t pid, const struct interpreter_frame *f,
					  const uint16_t texts[CHAIN_TEXTS],
					  const struct interpreter_memory *m)
{
	struct code_event e = {
		.header = {.type = EVENT_CODE, .size = sizeof(e), .tgid = pid},
		.entry = chain_entry(f->code, f->at, 0, f->check),
	};

	made_code_piece(&e, 0, f->code, m);
	for (unsigned i = 0; i < CHAIN_TEXTS; i++)
		made_code_piece(&e, 1 + i,
				texts[i] == CHAIN_TEXT_AT ? f->at : e.words[0][texts[i] / 8], m);
	return e;
}

#endif /* TEST_LIB_MADE_CODE_H */
