#include "node-agent/unwind/cfi/cfi_signal.h"

#include <elf.h>
#include <errno.h>

const struct unwind_rule cfi_signal_rule = {.base = UNWIND_CFA_SIGNAL};

struct pattern {
	uint16_t machine;
	uint8_t len;
	uint8_t code[CFI_SIGNAL_CODE_MAX_BYTES];
};

static const struct pattern patterns[] = {
	/* mov $15, %rax; syscall */
	{EM_X86_64, 9, {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}},
	/* mov $15, %eax; syscall */
	{EM_X86_64, 7, {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}},
	/* mov x8, #139; svc #0 */
	{EM_AARCH64, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}},
};

int cfi_signal_find(uint16_t machine, const uint8_t *code, size_t len)
{
	const uint8_t *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		const uint8_t *p;

		if (patterns[i].machine != machine)
			continue;
		p = memmem(code, len, patterns[i].code, patterns[i].len);
		if (p && (!first || p < first))
			first = p;
	}
	return first ? (int)(first - code) : -ENOENT;
}
