/* The other end of symbol_reader.h: a program without rights that makes tables of ELF files. */
#ifndef CLUSTER_AGENT_SYMBOLS_SYMBOL_HELPER_H
#define CLUSTER_AGENT_SYMBOLS_SYMBOL_HELPER_H

#include "common/err.h"

#define SYMBOL_HELPER_COMMAND "internal-symbol-reader"

/* A message to the helper; descriptors of file, table and, if there is one, program go with it. */
struct symbol_request {
	uint32_t number; /* counts requests; not 0 */
	bool has_program;
};

struct symbol_reply {
	uint32_t number;
	int32_t result; /* of struct symbol_reader_answer */
	char why[256];
};

/* For one request. */
#define SYMBOL_HELPER_CPU_MS 120000u
#define SYMBOL_HELPER_WALL_S 300u
#define SYMBOL_HELPER_HEAP_MAX_BYTES (UINT64_C(384) << 20)

/*
 * Serves requests from HELPER_PROCESS_SOCKET until its other end is closed. Returns 0, or -errno
 * with a sentence in err if that is no such socket or rights cannot be given up.
 */
int symbol_helper_run(struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SYMBOLS_SYMBOL_HELPER_H */
