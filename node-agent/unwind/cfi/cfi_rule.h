/*
 * What call frame information says about an instruction → the rule that the walk follows there
 * (bpf/unwind_table.h). Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_RULE_H
#define NODE_AGENT_UNWIND_CFI_CFI_RULE_H

#include <linux/types.h>

#include "common/base.h"
#include "node-agent/unwind/cfi/cfi_state.h"

#include "bpf/unwind_table.h"

/*
 * is_signal is the CIE's. Returns false if the walk has no such rule; *ret is then "unknown".
 */
bool cfi_rule_of(struct unwind_rule *ret, const struct cfi_state *s,
		 const struct cfi_registers *registers, bool is_signal);

/*
 * Code that signal handlers return to (signal_return.h). glibc describes its own as the frame of a
 * signal handler. That of musl, of Go and of arm64's vDSO is recognized by its instructions; this
 * is its rule, also for the byte before it, where walks look return addresses up.
 */
#define CFI_SIGNAL_FUNCTION_MAX_BYTES 64u
extern const struct unwind_rule cfi_signal_rule;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_RULE_H */
