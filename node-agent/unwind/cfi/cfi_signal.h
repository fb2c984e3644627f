/*
 * Code that signal handlers return to (signal_return.h). Pure.
 *
 * glibc describes its own as the frame of a signal handler. Those of musl, of Go and of arm64's
 * vDSO are recognized by their instructions.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_SIGNAL_H
#define NODE_AGENT_UNWIND_CFI_CFI_SIGNAL_H

#include <linux/types.h>

#include "common/base.h"

#include "bpf/unwind_table.h"

#define CFI_SIGNAL_FUNCTION_MAX_BYTES 64u

/* For such code and for the byte before it, where walks look return addresses up. */
extern const struct unwind_rule cfi_signal_rule;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_SIGNAL_H */
