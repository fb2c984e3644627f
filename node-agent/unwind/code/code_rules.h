/*
 * Finds callers in code that has no call frame information, by reading its instructions. Pure.
 *
 * C libraries and programs that are built without unwinding tables have none, nor has most code in
 * assembly: on Alpine, that is what everything calls. Only x86-64 is understood.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_RULES_H
#define NODE_AGENT_UNWIND_CODE_CODE_RULES_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "common/elf/file_windows.h"
#include "node-agent/unwind/code/code_state.h"

/* A section whose code leads to other files, such as .plt.sec, is not larger. */
#define CODE_STUBS_MAX_BYTES 262144u

/* Before and after a part of code, so much is analysed with it: functions may begin there. */
#define CODE_AROUND_BYTES 32768u

/* Whether so many bytes of code are worth reading all symbols of the file. */
bool code_rules_need_symbols(const struct elf_layout *layout, uint64_t len);

struct code_rules;

/*
 * For one file. layout and windows are borrowed. Memory is taken as code is analysed, at most some
 * 6 MiB. Returns 0 or -ENOMEM.
 */
int code_rules_new(struct code_rules **ret, const struct elf_layout *layout,
		   struct file_windows *windows) MUST_CHECK;
/*
 * Only the code between these addresses will be analysed, or up to CODE_AROUND_BYTES from it: what
 * symbols say of other code is not kept.
 */
void code_rules_limit(struct code_rules *c, uint64_t start, uint64_t end);
void code_rules_free(struct code_rules *c);
DEFINE_CLEANUP(struct code_rules *, code_rules_free);

/* The state holds from this address on; NULL: not known. A result other than 0 ends it all. */
typedef int code_state_fn(void *ctx, uint64_t address, const struct code_state *s);

/*
 * Analyses the code from `from` to `to`, whose bytes begin at this offset of the file. Calls
 * on_state in ascending order, for `from` first. Returns 0, -ENOMEM, an error of
 * file_windows_get(), or what on_state returned.
 */
int code_rules_run(struct code_rules *c, uint64_t from, uint64_t to, uint64_t offset,
		   code_state_fn *on_state, void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CODE_CODE_RULES_H */
