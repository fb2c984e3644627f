#include <elf.h>

#include "node-agent/go/image/go_code.h"
#include "test/lib/unit.h"

#define BASE 0x401000u

static void check(const struct go_ref *r, uint64_t target, unsigned size, enum go_ref_kind kind)
{
	assert_int_equal(r->target, target);
	assert_int_equal(r->size_bytes, size);
	assert_int_equal(r->kind, kind);
}

TEST(test_amd64_references_are_found_among_other_code)
{
	static const uint8_t code[] = {
		0x90,                                                 /* nop */
		0x48, 0x8b, 0x0d, 0x10, 0x00, 0x00, 0x00,             /* mov 0x10(%rip),%rcx */
		0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff,                   /* mov -0x10(%rip),%eax */
		0x80, 0x3d, 0x20, 0x00, 0x00, 0x00, 0x00,             /* cmpb $0,0x20(%rip) */
		0x48, 0xc7, 0x05, 0x30, 0,    0,    0,    0, 0, 0, 0, /* movq $0,0x30(%rip) */
		0x48, 0x8d, 0x05, 0x40, 0x00, 0x00, 0x00,             /* lea 0x40(%rip),%rax */
		0x48, 0x8b, 0x48, 0x10,                               /* mov 0x10(%rax),%rcx */
		0xc3,
	};
	struct go_ref refs[16];

	assert_int_equal(go_code_refs(EM_X86_64, code, sizeof(code), BASE, refs, 16), 5);
	check(&refs[0], BASE + 8 + 0x10, 8, GO_REF_LOAD);
	check(&refs[1], BASE + 14 - 0x10, 4, GO_REF_LOAD);
	check(&refs[2], BASE + 21 + 0x20, 1, GO_REF_LOAD);
	check(&refs[3], BASE + 32 + 0x30, 8, GO_REF_STORE);
	check(&refs[4], BASE + 39 + 0x40, 8, GO_REF_ADDRESS);
}

TEST(test_arm64_pages_and_offsets_are_put_together)
{
	static const uint32_t code[] = {
		0xb0000080, /* adrp x0, 0x412000 */
		0xf9401001, /* ldr x1, [x0, #32] */
		0x91004002, /* add x2, x0, #16 */
		0xc8dffc43, /* ldar x3, [x2] */
		0x39000840, /* strb w0, [x2, #2] */
		0x94000010, /* bl: clobbers x0 to x17 */
		0xf9401001, /* ldr x1, [x0, #32] */
	};
	struct go_ref refs[16];

	assert_int_equal(
		go_code_refs(EM_AARCH64, (const uint8_t *)code, sizeof(code), BASE, refs, 16), 4);
	check(&refs[0], 0x412000 + 32, 8, GO_REF_LOAD);
	check(&refs[1], 0x412000 + 16, 8, GO_REF_ADDRESS);
	check(&refs[2], 0x412000 + 16, 8, GO_REF_LOAD);
	check(&refs[3], 0x412000 + 18, 1, GO_REF_STORE);
}

TEST(test_truncated_code_and_unknown_machines_have_no_references)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x0d, 0x10, 0x00, 0x00, 0x00};
	struct go_ref refs[4];

	for (size_t len = 0; len < sizeof(code); len++)
		assert_int_equal(go_code_refs(EM_X86_64, code, len, BASE, refs, 4), 0);
	assert_int_equal(go_code_refs(EM_RISCV, code, sizeof(code), BASE, refs, 4), 0);
	assert_int_equal(go_code_refs(EM_X86_64, code, sizeof(code), BASE, refs, 0), 0);
}
