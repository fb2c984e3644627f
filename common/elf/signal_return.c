#include "common/elf/signal_return.h"

#include <elf.h>
#include <errno.h>

struct pattern {
	uint16_t machine;
	uint8_t len;
	uint8_t code[SIGNAL_RETURN_CODE_MAX_BYTES];
};

static const struct pattern patterns[] = {
	/* mov $15, %rax; syscall */
	{EM_X86_64, 9, {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}},
	/* mov $15, %eax; syscall */
	{EM_X86_64, 7, {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}},
	/* mov x8, #139; svc #0 */
	{EM_AARCH64, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}},
};

int signal_return_find(uint16_t machine, const uint8_t *code, size_t len)
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

bool signal_return_is_at(const struct elf_layout *layout, const struct byte_source *src,
			 uint64_t vaddr)
{
	uint8_t code[SIGNAL_RETURN_CODE_MAX_BYTES] = {0};
	uint64_t offset;

	return elf_layout_offset(layout, vaddr, &offset) == 0 &&
	       byte_source_read(src, offset, code, sizeof(code)) == 0 &&
	       signal_return_find(layout->machine, code, sizeof(code)) == 0;
}
