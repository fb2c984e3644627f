#include "test/bench/chained_frames.h"

#include <stdlib.h>

#define N CHAINED_FRAMES
#define LINE_WORDS 32u /* objects are in lines of the cache of their own */

/* Four for each frame. */
typedef uint64_t chained_objects[N][4][LINE_WORDS];

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static struct chain_path path_to(const void *variable)
{
	return (struct chain_path){
		.origin = CHAIN_FIXED, .n_steps = 1, .steps = {(int64_t)(uintptr_t)variable}};
}

/*
 * Frames lie on a stack of the interpreter, each behind its caller's, with as many words as small
 * functions have; other objects are far from each other.
 */

/* ---- plain: a list, whose last frame is no end ---- */

#define PLAIN_WORDS 18u

static void make_plain(struct chain_layout *l)
{
	static chained_objects objects;
	static uint64_t frames[N][PLAIN_WORDS], *first = frames[N - 1];

	for (unsigned i = 0; i < N; i++) {
		uint64_t *frame = frames[N - 1 - i];

		objects[i][0][1] = i * 12345;
		frame[0] = i + 1 < N ? address(frame - PLAIN_WORDS) : 0;
		frame[1] = address(objects[i][0]);
		frame[2] = i * 2;
	}
	l->paths[0] = path_to(&first);
	l->frames = (struct chain_frames){
		.next_is = CHAIN_NEXT_WORD,
		.end_is = CHAIN_END_BETWEEN,
		.n_bytes = 32,
		.code = 8,
		.at = 16,
		.end = 24,
		.end_at = CHAIN_END_HERE,
		.check = 8,
		.at_mask = ~0ULL,
		.end_mask = ~0ULL,
		.end_value = 1,
	};
}

/* ---- PHP: a list; the check is of two strings ---- */

#define PHP_FILE 152u
#define PHP_WORDS 22u

static void make_php(struct chain_layout *l)
{
	static chained_objects objects;
	static uint64_t frames[N][PHP_WORDS], *first = frames[N - 1];

	for (unsigned i = 0; i < N; i++) {
		uint64_t(*o)[LINE_WORDS] = objects[i], *frame = frames[N - 1 - i];

		o[0][0] = 2; /* a function that was compiled */
		o[0][1] = address(o[1]);
		o[0][PHP_FILE / 8] = address(o[2]);
		o[1][1] = i * 12345;
		o[2][1] = i * 54321;
		frame[0] = address(&o[3][i]);
		frame[3] = address(o[0]);
		frame[5] = i + 1 < N ? 0 : 1U << 17;
		frame[6] = i + 1 < N ? address(frame - PHP_WORDS) : 0;
	}
	l->paths[0] = path_to(&first);
	l->frames = (struct chain_frames){
		.next_is = CHAIN_NEXT_WORD,
		.end_is = CHAIN_END_LAST,
		.n_bytes = 56,
		.code = 24,
		.at = 0,
		.next = 48,
		.end = 40,
		.end_at = CHAIN_END_HERE,
		.end_code = 6,
		.check = 8,
		.check_more = PHP_FILE,
		.check_at = 8,
		.at_mask = ~0ULL,
		.end_mask = 1U << 17,
		.end_value = 1U << 17,
	};
}

/*
 * ---- Ruby: an array; the owner is in an environment, on a stack. Each second frame is a block,
 * whose method is further down that stack. ----
 */

#define RUBY_ENVIRONMENT 8u /* words */

static void make_ruby(struct chain_layout *l)
{
	static chained_objects objects;
	static uint64_t environments[2 * N + 1][RUBY_ENVIRONMENT];
	static uint64_t frames[N + 1][7], *first = frames[0];

	for (unsigned i = 0; i <= N; i++) {
		uint64_t(*o)[LINE_WORDS] = objects[i < N ? i : 0];
		uint64_t *environment = &environments[2 * (N - i)][RUBY_ENVIRONMENT - 1];
		uint64_t *around = environment - RUBY_ENVIRONMENT;

		frames[i][4] = address(environment);
		if (i == N) {
			environment[0] = 0x79990001; /* stands for no frame */
			break;
		}
		o[0][2] = address(o[1]); /* its body */
		o[1][1] = address(o[2]); /* its words */
		frames[i][0] = address(&o[2][i]);
		frames[i][2] = address(o[0]);
		environment[0] = i + 1 < N ? 2 : 0x22; /* none is around; the last one */
		o[1][8] = 0x601a;                      /* a method */
		environment[-2] = address(&o[1][8]);
		if (i % 2) { /* a block: the method is around it */
			around[0] = 2;
			around[-2] = environment[-2];
			environment[0] -= 2;
			environment[-1] = address(around);
			environment[-2] = 0;
		}
	}
	l->paths[0] = path_to(&first);
	l->frames = (struct chain_frames){
		.next_is = CHAIN_NEXT_STRIDE,
		.end_is = CHAIN_END_LAST,
		.n_bytes = 40,
		.code = 16,
		.at = 0,
		.next = 56,
		.end = 32,
		.end_at = 0,
		.at_mask = ~0ULL,
		.end_mask = 0x20,
		.end_value = 0x20,
		.stop_mask = 0x7fff0001,
		.stop_value = 0x79990001,
		.owner = {.environment = 32,
			  .value = -16,
			  .next = -8,
			  .last = 0,
			  .last_mask = 2,
			  .kind_mask = 0xf01f,
			  .kind = 0x601a,
			  .box = 0x201a,
			  .box_value = 8,
			  .body = 16,
			  .first = 8},
	};
}

/* ---- Perl: elements of a stack, every second one a loop ---- */

#define PERL_ELEMENT 104u
#define PERL_SUB 9u
#define PERL_LOOP 5u

static void make_perl(struct chain_layout *l)
{
	static chained_objects objects;
	static uint64_t elements[2 * N][PERL_ELEMENT / 8], stack[8], *first = stack, *statement;

	for (unsigned i = 0; i < N; i++) {
		uint64_t(*o)[LINE_WORDS] = objects[i], *sub = elements[2 * i];

		o[0][0] = address(o[1]);     /* the sub's body */
		o[1][7] = address(o[2]);     /* its name */
		o[2][0] = i * 12345;         /* what is checked of that */
		o[3][4] = (i + 1ULL) << 32;  /* a statement: its line, */
		o[3][6] = address(&o[3][7]); /* its file */
		sub[0] = PERL_SUB;
		sub[2] = address(o[3]);
		sub[6] = address(o[3]);
		sub[9] = address(o[0]);
		elements[2 * i + 1][0] = PERL_LOOP;
	}
	statement = objects[0][3];
	stack[1] = address(elements);
	stack[4] = 2 * N - 1;
	l->paths[0] = path_to(&first);
	l->first_at = path_to(&statement);
	l->frames = (struct chain_frames){
		.next_is = CHAIN_NEXT_ELEMENT,
		.n_bytes = 80,
		.code = 72,
		.at = 16,
		.next = -(int)PERL_ELEMENT,
		.end = 48,
	};
	l->stacks = (struct chain_stacks){
		.elements = 8,
		.below = 16,
		.last = 32,
		.frames = 1U << 0 | 7U << PERL_SUB,
		.coded = 3U << PERL_SUB,
		.mark = 64,
		.hidden_mask = 0x4f,
		.hidden = 0x4b,
		.hidden_mask_too = 0x8f,
		.hidden_too = 0x89,
		.joined_mask = 0x4f,
		.joined_too = 0x49,
		.name = 56,
		.flags = 92,
		.at_check = 32,
		.at_check_more = 48,
		.named = 0x8000,
	};
}

const struct chained_language chained_plain = {"plain", make_plain, N};
static const struct chained_language php = {"PHP", make_php, N};
static const struct chained_language ruby = {"Ruby", make_ruby, N};
static const struct chained_language perl = {"Perl", make_perl, N + 1}; /* the script itself */
const struct chained_language *const chained_languages[] = {&php, &ruby, &perl, NULL};
