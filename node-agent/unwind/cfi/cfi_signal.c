#include "node-agent/unwind/cfi/cfi_signal.h"

const struct unwind_rule cfi_signal_rule = {.base = UNWIND_CFA_SIGNAL};
