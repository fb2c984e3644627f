/*
 * Assembly without unwinding tables that uses rbp like any other register, as GraalVM's native
 * images do: frames are found by the stack pointer, and the function that calls it all has saved
 * rbp for those that need it.
 *   borrowed SECONDS
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "chain.h"

/* clang-format off */
__asm__(".text\n"
	".type acc_borrow, @function\n"
	"acc_borrow:\n"
	"	push %rbp\n"
	"	call acc_borrow_1\n"
	"	pop %rbp\n"
	"	ret\n"
	".size acc_borrow, . - acc_borrow\n"
	".type acc_borrow_1, @function\n"
	"acc_borrow_1:\n"
	"	sub $24, %rsp\n"
	"	lea 8(%rdi), %rbp\n"
	"	call acc_borrow_2\n"
	"	add %rbp, %rax\n"
	"	add $24, %rsp\n"
	"	ret\n"
	".size acc_borrow_1, . - acc_borrow_1\n"
	".type acc_borrow_2, @function\n"
	"acc_borrow_2:\n"
	"	sub $40, %rsp\n"
	"	mov %rdi, 16(%rsp)\n"
	"	call acc_borrow_3\n"
	"	mov 16(%rsp), %rbp\n"
	"	add %rbp, %rax\n"
	"	mov %rax, %rbp\n"
	"	add $40, %rsp\n"
	"	ret\n"
	".size acc_borrow_2, . - acc_borrow_2\n"
	".type acc_borrow_3, @function\n"
	"acc_borrow_3:\n"
	"	sub $8, %rsp\n"
	"	mov $200000, %ebp\n"
	"	xor %eax, %eax\n"
	"1:	add %rbp, %rax\n"
	"	imul $69069, %rax\n"
	"	dec %ebp\n"
	"	jnz 1b\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".size acc_borrow_3, . - acc_borrow_3\n");
/* clang-format on */
uint64_t acc_borrow(uint64_t n);

static volatile uint64_t sink;

KEEP static void acc_turn(uint64_t n)
{
	sink += acc_borrow(n);
	STAY;
}

int main(int argc, char **argv)
{
	double until = argc > 1 ? strtod(argv[1], NULL) : 2;

	for (uint64_t n = 0; (double)clock() / CLOCKS_PER_SEC < until; n++)
		acc_turn(n);
	return 0;
}
