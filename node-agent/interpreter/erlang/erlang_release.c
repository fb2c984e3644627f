/*
 * Offsets are those of struct process (erl_process.h), ErtsSchedulerData and BeamCodeHeader
 * (beam_code.h) on x86-64. The function that calls generated code has put its return address above
 * ErtsSchedulerRegisters and 64 bytes of room, in whose alignment to 64 bytes some more are lost
 * (process_main.cpp).
 */
#include "node-agent/interpreter/erlang/erlang_release.h"

#include <errno.h>

#define PROCESS_STOP 88u
#define REGISTERS_ROOM 64u /* ERTS_CACHE_LINE_SIZE */

/* Of the JIT for x86-64: mov %rbp,%rsp, or mov 88(%r13),%rsp (emit_leave_runtime()). */
#define FROM_RBP 0xec8948u
#define FROM_PROCESS (0x658b49u | PROCESS_STOP << 24)

static const struct erlang_release releases[] = {
	{
		.otp = 25,
		.current_process = 168,
		.functions = 96,
		.scan = {.back_at = 16592 + REGISTERS_ROOM,
			 .top = PROCESS_STOP,
			 .lowest = 128,
			 .end = 136,
			 .from_frame_pointer = FROM_RBP,
			 .from_process = FROM_PROCESS},
	},
	{
		.otp = 27,
		.current_process = 168,
		.functions = 136,
		.scan = {.back_at = 16528 + REGISTERS_ROOM,
			 .top = PROCESS_STOP,
			 .lowest = 192,
			 .end = 200,
			 .from_frame_pointer = FROM_RBP,
			 .from_process = FROM_PROCESS},
	},
};

const struct erlang_release *erlang_release_find(const struct elf_layout *layout,
						 const struct byte_source *src, uint64_t text,
						 int *error)
{
	uint64_t offset;
	char otp[3] = "";

	*error = elf_layout_offset(layout, text, &offset);
	if (*error == 0)
		*error = byte_source_read(src, offset, otp, sizeof(otp));
	if (*error < 0)
		return NULL;
	*error = -ENOTSUP;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		const struct erlang_release *r = &releases[i];

		if (otp[0] == '0' + r->otp / 10 && otp[1] == '0' + r->otp % 10 && otp[2] == '\0')
			return r;
	}
	return NULL;
}
