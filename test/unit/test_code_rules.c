#include <elf.h>
#include <errno.h>

#include "node-agent/unwind/code/code_rules.h"
#include "test/lib/unit.h"

#define TEXT 0x401000u
#define CODE_MAX 512u

struct fixture {
	uint8_t code[CODE_MAX];
	size_t len;
	uint64_t entry; /* offset; 0: none */
	struct unwind_rule rules[CODE_MAX];
	uint64_t last; /* offset + 1 of the last state */
	int stop;
};

static int keep(void *ctx, uint64_t address, const struct code_state *s)
{
	static const struct unwind_rule unknown = {.base = UNWIND_CFA_UNKNOWN};
	struct fixture *f = ctx;
	uint64_t at = address - TEXT;

	assert_true(at >= f->last && at < f->len);
	f->last = at + 1;
	for (; at < f->len; at++)
		f->rules[at] = s ? code_state_rule(s) : unknown;
	return f->stop;
}

static int run(struct fixture *f)
{
	struct elf_layout l = {.machine = EM_X86_64, .text_start = TEXT};
	CLEANUP(file_windows_freep) struct file_windows *windows = NULL;
	CLEANUP(code_rules_freep) struct code_rules *rules = NULL;
	struct byte_source src;
	int r;

	l.text_end = TEXT + f->len;
	l.segments[0] = (struct elf_segment){
		.vaddr = TEXT,
		.file_bytes = f->len,
		.memory_bytes = f->len,
		.executable = true,
	};
	l.n_segments = 1;
	l.entry = f->entry ? TEXT + f->entry : 0;
	f->last = 0;
	byte_source_from_memory(&src, f->code, f->len);
	r = file_windows_new(&windows, &src);
	if (r == 0)
		r = code_rules_new(&rules, &l, windows);
	return r == 0 ? code_rules_run(rules, TEXT, TEXT + f->len, 0, keep, f) : r;
}

static void analyse(struct fixture *f, const uint8_t *code, size_t len)
{
	*f = (struct fixture){.len = len};
	assert_true(len <= CODE_MAX);
	memcpy(f->code, code, len);
	assert_int_equal(run(f), 0);
}

#define ANALYSE(f, ...) \
	analyse((f), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void expect(const struct fixture *f, size_t at, unsigned base, unsigned cfa)
{
	if (f->rules[at].base != base || f->rules[at].cfa != cfa)
		print_message("at %zu: base %u, cfa %u\n", at, f->rules[at].base, f->rules[at].cfa);
	assert_int_equal(f->rules[at].base, base);
	assert_int_equal(f->rules[at].cfa, cfa);
}

TEST(pushes_and_pops_move_the_frame)
{
	struct fixture f;

	ANALYSE(&f, 0x55,             /* 0 push %rbp */
		0x53,                 /* 1 push %rbx */
		0x48, 0x83, 0xec, 24, /* 2 sub $24, %rsp */
		0x31, 0xed,           /* 6 xor %ebp, %ebp */
		0x48, 0x83, 0xc4, 24, /* 8 add $24, %rsp */
		0x5b,                 /* 12 pop %rbx */
		0x5d,                 /* 13 pop %rbp */
		0xc3);                /* 14 ret */
	expect(&f, 0, UNWIND_CFA_SP, 1);
	expect(&f, 1, UNWIND_CFA_SP, 2);
	expect(&f, 2, UNWIND_CFA_SP, 3);
	expect(&f, 6, UNWIND_CFA_SP, 6);
	assert_int_equal(f.rules[8].how, UNWIND_FP_AT_CFA);
	assert_int_equal(f.rules[8].fp, -2);
	expect(&f, 12, UNWIND_CFA_SP, 3);
	expect(&f, 13, UNWIND_CFA_SP, 2);
	expect(&f, 14, UNWIND_CFA_SP, 1);
	assert_int_equal(f.rules[14].how, UNWIND_FP_SAME);
}

/* Not saved: callers are found all the same, as long as none needs it. */
TEST(a_register_like_any_other_does_not_hide_the_frame)
{
	struct fixture f;

	ANALYSE(&f, 0x48, 0x83, 0xec, 24, /* 0 sub $24, %rsp */
		0x48, 0x8d, 0x68, 8,      /* 4 lea 8(%rax), %rbp */
		0x48, 0x01, 0xe8,         /* 8 add %rbp, %rax */
		0x48, 0x83, 0xc4, 24,     /* 11 add $24, %rsp */
		0xc3);                    /* 15 ret */
	assert_int_equal(f.rules[4].how, UNWIND_FP_SAME);
	assert_int_equal(f.rules[4].fp, 0);
	expect(&f, 8, UNWIND_CFA_SP, 4);
	assert_int_equal(f.rules[8].fp, UNWIND_FP_LOST);
	expect(&f, 15, UNWIND_CFA_SP, 1);
	assert_int_equal(f.rules[15].fp, UNWIND_FP_LOST);
	/* where it is saved, its place is known */
	ANALYSE(&f, 0x55,            /* 0 push %rbp */
		0x48, 0x8d, 0x68, 8, /* 1 lea 8(%rax), %rbp */
		0x5d,                /* 5 pop %rbp */
		0xc3);               /* 6 ret */
	assert_int_equal(f.rules[5].how, UNWIND_FP_AT_CFA);
	assert_int_equal(f.rules[5].fp, -2);
}

/* The two ways to 13 differ in it: behind a call, and from a branch before it is used. */
TEST(ways_that_agree_but_for_a_lost_register_meet)
{
	struct fixture f;

	ANALYSE(&f, 0x50,               /* 0 push %rax */
		0x85, 0xff,             /* 1 test %edi, %edi */
		0x74, 8,                /* 3 je 13 */
		0x89, 0xfd,             /* 5 mov %edi, %ebp */
		0xe8, 0xf4, 0x01, 0, 0, /* 7 call elsewhere */
		0x90,                   /* 12 nop */
		0x58,                   /* 13 pop %rax */
		0xc3);                  /* 14 ret */
	expect(&f, 12, UNWIND_CFA_SP, 2);
	expect(&f, 13, UNWIND_CFA_SP, 2);
	assert_int_equal(f.rules[13].fp, UNWIND_FP_LOST);
	expect(&f, 14, UNWIND_CFA_SP, 1);
}

TEST(frame_pointers_serve_where_the_stack_pointer_is_lost)
{
	struct fixture f;

	ANALYSE(&f, 0x55,               /* 0 push %rbp */
		0x48, 0x89, 0xe5,       /* 1 mov %rsp, %rbp */
		0x48, 0x29, 0xc4,       /* 4 sub %rax, %rsp */
		0xe8, 0xf4, 0x01, 0, 0, /* 7 call elsewhere */
		0xc9,                   /* 12 leave */
		0xc3);                  /* 13 ret */
	expect(&f, 1, UNWIND_CFA_SP, 2);
	expect(&f, 4, UNWIND_CFA_FP, 2);
	expect(&f, 7, UNWIND_CFA_FP, 2);
	expect(&f, 12, UNWIND_CFA_FP, 2);
	expect(&f, 13, UNWIND_CFA_SP, 1);
}

TEST(a_realigned_stack_keeps_the_frame_in_a_word)
{
	struct fixture f;

	ANALYSE(&f, 0x4c, 0x8d, 0x54, 0x24, 8, /* 0 lea 8(%rsp), %r10 */
		0x48, 0x83, 0xe4, 0xc0,        /* 5 and $-64, %rsp */
		0x41, 0xff, 0x72, 0xf8,        /* 9 push -8(%r10) */
		0x55,                          /* 13 push %rbp */
		0x48, 0x89, 0xe5,              /* 14 mov %rsp, %rbp */
		0x41, 0x52,                    /* 17 push %r10 */
		0x48, 0x29, 0xc4,              /* 19 sub %rax, %rsp */
		0xe8, 0xf4, 0x01, 0, 0,        /* 22 call elsewhere */
		0x4c, 0x8b, 0x55, 0xf8,        /* 27 mov -8(%rbp), %r10 */
		0xc9,                          /* 31 leave */
		0x49, 0x8d, 0x62, 0xf8,        /* 32 lea -8(%r10), %rsp */
		0xc3);                         /* 36 ret */
	expect(&f, 5, UNWIND_CFA_SP, 1);
	expect(&f, 9, UNWIND_CFA_REGISTER + 10, 0);
	expect(&f, 19, UNWIND_CFA_AT_FP, (uint16_t)-1);
	expect(&f, 22, UNWIND_CFA_AT_FP, (uint16_t)-1);
	assert_int_equal(f.rules[22].how, UNWIND_FP_AT_FP);
	assert_int_equal(f.rules[22].fp, 0);
	expect(&f, 32, UNWIND_CFA_REGISTER + 10, 0);
	expect(&f, 36, UNWIND_CFA_SP, 1);
}

TEST(ways_that_disagree_leave_nothing_known)
{
	struct fixture f;

	ANALYSE(&f, 0x85, 0xff, /* 0 test %edi, %edi */
		0x74, 1,        /* 2 je 5 */
		0x50,           /* 4 push %rax */
		0x90,           /* 5 nop */
		0xeb, 0xfd);    /* 6 jmp 5 */
	expect(&f, 4, UNWIND_CFA_SP, 1);
	expect(&f, 5, UNWIND_CFA_UNKNOWN, 0);
}

TEST(a_call_that_does_not_return_is_found_out)
{
	struct fixture f;

	ANALYSE(&f, 0x85, 0xff,         /* 0 test %edi, %edi */
		0xe8, 0xf4, 0x01, 0, 0, /* 2 call */
		0x74, 6,                /* 7 je 15 */
		0x50,                   /* 9 push %rax */
		0xe8, 0xf4, 0x01, 0, 0, /* 10 call abort */
		0xc3);                  /* 15 ret */
	expect(&f, 10, UNWIND_CFA_SP, 2);
	expect(&f, 15, UNWIND_CFA_SP, 1);
}

TEST(a_loop_that_probes_the_stack_ends_at_its_register)
{
	struct fixture f;

	ANALYSE(&f, 0x4c, 0x8d, 0x9c, 0x24, 0, 0xc0, 0xff, 0xff, /* 0 lea -0x4000(%rsp), %r11 */
		0x48, 0x81, 0xec, 0, 0x10, 0, 0,                 /* 8 sub $0x1000, %rsp */
		0x48, 0x83, 0x0c, 0x24, 0,                       /* 15 orq $0, (%rsp) */
		0x4c, 0x39, 0xdc,                                /* 20 cmp %r11, %rsp */
		0x75, 0xef,                                      /* 23 jne 8 */
		0x90,                                            /* 25 nop */
		0x48, 0x81, 0xc4, 0, 0x40, 0, 0,                 /* 26 add $0x4000, %rsp */
		0xc3);                                           /* 33 ret */
	expect(&f, 8, UNWIND_CFA_REGISTER + 11, 0x4008 / 8);
	expect(&f, 15, UNWIND_CFA_REGISTER + 11, 0x4008 / 8);
	expect(&f, 25, UNWIND_CFA_SP, 0x4008 / 8);
	expect(&f, 33, UNWIND_CFA_SP, 1);
}

TEST(cases_of_a_switch_have_the_state_of_its_jump)
{
	struct fixture f;

	ANALYSE(&f, 0x53,   /* 0 push %rbx */
		0xff, 0xe0, /* 1 jmp *%rax */
		0x5b,       /* 3 pop %rbx */
		0xc3,       /* 4 ret */
		0x90,       /* 5 nop */
		0xeb, 0xfb, /* 6 jmp 3 */
		0x5b,       /* 8 pop %rbx */
		0x5b,       /* 9 pop %rbx */
		0xc3);      /* 10 ret */
	expect(&f, 3, UNWIND_CFA_SP, 2);
	expect(&f, 4, UNWIND_CFA_SP, 1);
	expect(&f, 6, UNWIND_CFA_SP, 2);
	expect(&f, 8, UNWIND_CFA_UNKNOWN, 0); /* fits neither the jump nor a function */
}

TEST(outermost_functions_end_the_stack)
{
	static const uint8_t start[] = {
		0xc3,                   /* 0 ret */
		0x31, 0xed,             /* 1 xor %ebp, %ebp */
		0x48, 0x89, 0xe7,       /* 3 mov %rsp, %rdi */
		0xe8, 0xf4, 0x01, 0, 0, /* 6 call */
		0xf4,                   /* 11 hlt */
	};
	static const uint8_t clone[] = {
		0x0f, 0x05,       /* 0 syscall */
		0x85, 0xc0,       /* 2 test %eax, %eax */
		0x75, 6,          /* 4 jne 12 */
		0x31, 0xed,       /* 6 xor %ebp, %ebp */
		0x5f,             /* 8 pop %rdi */
		0x41, 0xff, 0xd1, /* 9 call *%r9 */
		0xc3,             /* 12 ret */
	};
	struct fixture f = {.len = sizeof(start), .entry = 1};

	memcpy(f.code, start, sizeof(start));
	assert_int_equal(run(&f), 0);
	expect(&f, 0, UNWIND_CFA_SP, 1);
	expect(&f, 1, UNWIND_CFA_END, 0);
	expect(&f, 6, UNWIND_CFA_END, 0);
	analyse(&f, clone, sizeof(clone));
	expect(&f, 4, UNWIND_CFA_SP, 1);
	expect(&f, 9, UNWIND_CFA_END, 0);
	expect(&f, 12, UNWIND_CFA_SP, 1);
}

/* How musl starts main, of which it is not known that it never returns. */
TEST(what_code_has_the_address_of_is_a_function)
{
	struct fixture f;

	ANALYSE(&f, 0x53,                     /* 0 push %rbx */
		0x48, 0x8d, 0x05, 4, 0, 0, 0, /* 1 lea 12(%rip), %rax */
		0x5b,                         /* 8 pop %rbx */
		0xff, 0xe0,                   /* 9 jmp *%rax */
		0xcc,                         /* 11 */
		0x41, 0x55,                   /* 12 push %r13 */
		0xff, 0xd3,                   /* 14 call *%rbx */
		0xe8, 0xe8, 0x03, 0, 0);      /* 16 call, of exit() */
	expect(&f, 12, UNWIND_CFA_SP, 1);
	expect(&f, 14, UNWIND_CFA_SP, 2);
	/* the code before it is found with it */
	ANALYSE(&f, 0xc3,                                 /* 0 ret */
		0x41, 0x55,                               /* 1 push %r13 */
		0xff, 0xd3,                               /* 3 call *%rbx */
		0xf4,                                     /* 5 hlt */
		0x48, 0x8d, 0x05, 0xf4, 0xff, 0xff, 0xff, /* 6 lea 1(%rip), %rax */
		0xc3);                                    /* 13 ret */
	expect(&f, 3, UNWIND_CFA_SP, 2);
	expect(&f, 5, UNWIND_CFA_SP, 2);
}

/* The labels of a switch are taken as well; their state is that of the jump. */
TEST(a_label_whose_address_is_taken_is_no_function)
{
	struct fixture f;

	ANALYSE(&f, 0x53,                     /* 0 push %rbx */
		0x48, 0x8d, 0x05, 2, 0, 0, 0, /* 1 lea 10(%rip), %rax */
		0xff, 0xe0,                   /* 8 jmp *%rax */
		0x5b,                         /* 10 pop %rbx */
		0xc3);                        /* 11 ret */
	expect(&f, 10, UNWIND_CFA_SP, 2);
	expect(&f, 11, UNWIND_CFA_SP, 1);
}

/* Descriptions lie between them. */
TEST(calls_and_last_jumps_lead_from_one_stretch_of_code_to_the_next)
{
	static const uint8_t code[] = {
		0xe8, 11,   0,    0,    0,    /* 0 call 16 */
		0xe9, 10,   0,    0,    0,    /* 5 jmp 20 */
		0xcc, 0xcc,                   /* 10 */
		0xcc, 0xcc, 0xcc, 0xcc,       /* 12: described */
		0x53, 0xff, 0xd0, 0xf4,       /* 16 push %rbx; call *%rax; hlt */
		0x55, 0x53, 0xff, 0xd0, 0xf4, /* 20 push %rbp; push %rbx; call *%rax; hlt */
	};
	struct elf_layout l = {.machine = EM_X86_64, .text_start = TEXT, .n_segments = 1};
	CLEANUP(file_windows_freep) struct file_windows *windows = NULL;
	CLEANUP(code_rules_freep) struct code_rules *rules = NULL;
	struct fixture f = {.len = sizeof(code)};
	struct byte_source src;

	l.text_end = TEXT + sizeof(code);
	l.segments[0] = (struct elf_segment){
		.vaddr = TEXT, .file_bytes = sizeof(code), .memory_bytes = sizeof(code)};
	l.segments[0].executable = true;
	byte_source_from_memory(&src, code, sizeof(code));
	assert_int_equal(file_windows_new(&windows, &src), 0);
	assert_int_equal(code_rules_new(&rules, &l, windows), 0);
	assert_int_equal(code_rules_run(rules, TEXT, TEXT + 12, 0, keep, &f), 0);
	assert_int_equal(code_rules_run(rules, TEXT + 16, l.text_end, 16, keep, &f), 0);
	expect(&f, 17, UNWIND_CFA_SP, 2);
	expect(&f, 20, UNWIND_CFA_SP, 1);
	expect(&f, 22, UNWIND_CFA_SP, 3);
}

/* Bytes of code, one after another. */
static void append(struct fixture *f, const uint8_t *code, size_t len)
{
	assert_true(f->len + len <= CODE_MAX);
	memcpy(f->code + f->len, code, len);
	f->len += len;
}

TEST(what_follows_a_call_without_return_is_a_function_if_it_begins_like_one)
{
	/* push %rbp; mov %rsp,%rbp; push %rbx; jmp *%rax */
	static const uint8_t before[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0xff, 0xe0};
	/* test %edi,%edi; je to the call; pop %rbx; pop %rbp; ret; call: a case of a switch */
	static const uint8_t a_case[] = {0x85, 0xff, 0x74, 3,    0x5b, 0x5d,
					 0xc3, 0xe8, 0xed, 0xff, 0xff, 0xff};
	/* push %rbp; mov %rsp,%rbp; pop %rbp; ret */
	static const uint8_t next[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3};
	struct fixture f = {.len = 0};

	append(&f, before, sizeof(before));
	append(&f, a_case, sizeof(a_case));
	append(&f, next, sizeof(next));
	assert_int_equal(run(&f), 0);
	expect(&f, 7, UNWIND_CFA_FP, 2);  /* the case has the frame of its function */
	expect(&f, 14, UNWIND_CFA_FP, 2); /* the call */
	expect(&f, 19, UNWIND_CFA_SP, 1); /* and the next function its own */
	expect(&f, 20, UNWIND_CFA_SP, 2);
}

/* Functions, with code that nothing leads to and that has a call after them. */
static size_t put_functions(struct fixture *f, unsigned n, const uint8_t *first, size_t first_len)
{
	/* push %rbp; mov %rsp,%rbp; pop %rbp; ret */
	static const uint8_t function[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3};
	/* mov %rax,%rcx; call *%rcx; hlt */
	static const uint8_t lost[] = {0x48, 0x89, 0xc1, 0xff, 0xd1, 0xf4};

	*f = (struct fixture){.len = 0};
	append(f, first, first_len);
	for (unsigned i = 0; i < n; i++)
		append(f, function, sizeof(function));
	append(f, lost, sizeof(lost));
	return f->len - 3;
}

TEST(calls_have_a_frame_where_all_code_keeps_frame_pointers)
{
	static const uint8_t ret[] = {0xc3}, uses[] = {0x55, 0x48, 0x89, 0xfd, 0x5d, 0xc3};
	struct fixture f;
	size_t call = put_functions(&f, 40, ret, sizeof(ret));

	assert_int_equal(run(&f), 0);
	expect(&f, call - 3, UNWIND_CFA_UNKNOWN, 0); /* it may be before the frame is set up */
	expect(&f, call, UNWIND_CFA_FP, 2);
	call = put_functions(&f, 40, uses, sizeof(uses)); /* mov %rdi,%rbp */
	assert_int_equal(run(&f), 0);
	expect(&f, call, UNWIND_CFA_UNKNOWN, 0);
	call = put_functions(&f, 4, ret, sizeof(ret)); /* too few */
	assert_int_equal(run(&f), 0);
	expect(&f, call, UNWIND_CFA_UNKNOWN, 0);
}

TEST(nothing_is_known_once_the_return_address_was_moved)
{
	struct fixture f;

	ANALYSE(&f, 0xe8, 1, 0, 0, 0, /* 0 call 6 */
		0xc3,                 /* 5 ret */
		0x53,                 /* 6 push %rbx */
		0x5b,                 /* 7 pop %rbx */
		0x58,                 /* 8 pop %rax */
		0x51,                 /* 9 push %rcx */
		0x50,                 /* 10 push %rax */
		0x48, 0x89, 0xe5,     /* 11 mov %rsp, %rbp */
		0xc3);                /* 14 ret */
	expect(&f, 8, UNWIND_CFA_SP, 1);
	expect(&f, 9, UNWIND_CFA_UNKNOWN, 0);
	expect(&f, 14, UNWIND_CFA_UNKNOWN, 0);
	ANALYSE(&f, 0x48, 0x89, 0x04, 0x24, /* 0 mov %rax, (%rsp) */
		0xc3);                      /* 4 ret */
	expect(&f, 0, UNWIND_CFA_UNKNOWN, 0);
}

TEST(what_is_no_code_is_unknown)
{
	struct fixture f;

	ANALYSE(&f, 0xc3, /* 0 ret */
		0x06, 0x07, 0x06, 0x07, 0x06, 0x07, 0x06, 0x07, 0x06, 0x07, 0x06, 0x07, 0x06, 0x07,
		0x06, 0x07, 0x06, 0x07);
	expect(&f, 0, UNWIND_CFA_SP, 1);
	expect(&f, 1, UNWIND_CFA_UNKNOWN, 0);
}

TEST(the_caller_can_end_an_analysis)
{
	struct fixture f = {.code = {0xc3}, .len = 1, .stop = -ENOSPC};

	assert_int_equal(run(&f), -ENOSPC);
}

static int run_without_memory(void *arg)
{
	return run(arg);
}

TEST(every_allocation_may_fail)
{
	struct fixture f = {
		.code = {0x53, 0xff, 0xe0, 0x74, 0, 0x5b, 0xc3, 0xe8, 0, 0, 0, 1, 0xc3},
		.len = 13,
	};

	check_oom(run_without_memory, &f);
}
