/*
 * Any bytes as code: instructions lie within it, states come in the order of addresses and lead to
 * rules that the walk has. The first byte says where the entry point is.
 */
#include <assert.h>
#include <elf.h>

#include "common/elf/x86_decode.h"
#include "node-agent/unwind/code/code_rules.h"

#define TEXT 0x401000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t next, end;
};

static int see_state(void *ctx, uint64_t address, const struct code_state *s)
{
	struct seen *seen = ctx;
	struct unwind_rule rule;

	assert(address >= seen->next && address < seen->end);
	assert(seen->next != TEXT || address == TEXT);
	seen->next = address + 1;
	if (!s)
		return 0;
	rule = code_state_rule(s);
	assert(rule.base <= UNWIND_CFA_SIGNAL ||
	       (rule.base >= UNWIND_CFA_REGISTER && rule.base < UNWIND_CFA_REGISTER + 16));
	assert(rule.base != UNWIND_CFA_PLT);
	assert((rule.how & UNWIND_RA_MASK) == UNWIND_RA_BELOW_CFA);
	return 0;
}

static void decode_all(const uint8_t *code, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		struct x86_instruction i;
		size_t n = x86_decode(&i, code + at, len - at);

		assert(n <= len - at && n <= X86_INSTRUCTION_MAX_BYTES);
		assert(n == 0 || n == i.len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_layout l = {.machine = EM_X86_64, .text_start = TEXT};
	struct seen seen = {.next = TEXT};
	struct file_windows *windows;
	struct code_rules *rules;
	struct byte_source src;
	size_t len;

	if (size < 2 || size > 65536)
		return 0;
	len = size - 1;
	decode_all(data + 1, len);
	l.entry = TEXT + data[0];
	l.text_end = seen.end = TEXT + len;
	byte_source_from_memory(&src, data, size);
	if (file_windows_new(&windows, &src) < 0)
		return 0;
	if (code_rules_new(&rules, &l, windows) == 0) {
		assert(code_rules_run(rules, TEXT, TEXT + len, 1, see_state, &seen) == 0);
		code_rules_free(rules);
	}
	file_windows_free(windows);
	return 0;
}
