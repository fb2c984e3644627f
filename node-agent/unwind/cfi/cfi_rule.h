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

#endif /* NODE_AGENT_UNWIND_CFI_CFI_RULE_H */
