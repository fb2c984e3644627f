/*
 * Memory of a Go process with goroutines, their stacks and a pclntab; addresses are offsets.
 * There is no code, as only its addresses matter.
 */
#ifndef TEST_LIB_GOROUTINE_IMAGE_H
#define TEST_LIB_GOROUTINE_IMAGE_H

#include <assert.h>

#include "node-agent/go/goroutine/goroutine_layout.h"
#include "node-agent/go/pclntab/go_module.h"

#define GOROUTINE_IMAGE_BYTES 65536u
#define GOROUTINE_IMAGE_TEXT 0x400000u
#define GOROUTINE_IMAGE_TABLE 0x1000u
#define GOROUTINE_IMAGE_GS 0x4000u     /* one goroutine each 0x200 bytes */
#define GOROUTINE_IMAGE_STACKS 0x8000u /* of 0x400 bytes each */
#define GOROUTINE_IMAGE_STACK_BYTES 0x400u
#define GOROUTINE_IMAGE_MAX 24u
#define GOROUTINE_IMAGE_PROLOGUE 0x10u /* bytes of a function before it has pushed its frame */

/* Functions, each of 0x100 bytes of code, in this order. */
enum image_function {
	IMAGE_GOEXIT,
	IMAGE_MAIN,       /* runtime.main */
	IMAGE_PARK,       /* runtime.gopark */
	IMAGE_WORKER,     /* main.worker */
	IMAGE_CALLEE,     /* main.callee */
	IMAGE_SWEEPER,    /* runtime.bgsweep */
	IMAGE_FINALIZERS, /* runtime.runfinq */
	IMAGE_PREEMPT,    /* runtime.asyncPreempt */
	IMAGE_FUNCTIONS,
};

struct goroutine_image {
	_Alignas(8) uint8_t data[GOROUTINE_IMAGE_BYTES];
	bool is_arm;
	const struct goroutine_layout *layout;
	struct go_module module; /* its table alone */
	struct byte_source memory;
	uint64_t addresses[GOROUTINE_IMAGE_MAX];
	size_t n;
};

static inline void image_put(struct goroutine_image *im, uint64_t address, uint64_t v, size_t len)
{
	assert(address + len <= sizeof(im->data));
	memcpy(im->data + address, &v, len);
}

/*
 * Bytes that a function has pushed after its prologue; on arm64 including the saved link
 * register.
 */
static inline uint32_t image_frame_bytes(enum image_function f)
{
	return f == IMAGE_GOEXIT ? 0 : 0x20 + 0x10 * (uint32_t)f;
}

/* An address within a function, behind a call. */
static inline uint64_t image_pc(enum image_function f)
{
	return GOROUTINE_IMAGE_TEXT + 0x100 * (uint64_t)f + 0x40;
}

static inline uint64_t image_start(enum image_function f)
{
	return GOROUTINE_IMAGE_TEXT + 0x100 * (uint64_t)f;
}

/* A table of two values: 0 in the prologue, then the frame's bytes. */
static inline size_t image_values(uint8_t *to, uint32_t bytes, unsigned quantum)
{
	size_t n = 0;
	uint32_t rest = (0x100 - GOROUTINE_IMAGE_PROLOGUE) / quantum, delta = bytes * 2;

	to[n++] = 2; /* from -1 to 0 */
	to[n++] = (uint8_t)(GOROUTINE_IMAGE_PROLOGUE / quantum);
	if (bytes == 0)
		delta = 2; /* a wrong value, which is never used */
	for (; delta >= 0x80; delta >>= 7)
		to[n++] = (uint8_t)(delta | 0x80);
	to[n++] = (uint8_t)delta;
	for (; rest >= 0x80; rest >>= 7)
		to[n++] = (uint8_t)(rest | 0x80);
	to[n++] = (uint8_t)rest;
	to[n++] = 0;
	return n;
}

static inline void image_table(struct goroutine_image *im)
{
	static const char *const names[IMAGE_FUNCTIONS] = {
		"runtime.goexit", "runtime.main",    "runtime.gopark",  "main.worker",
		"main.callee",    "runtime.bgsweep", "runtime.runfinq", "runtime.asyncPreempt"};
	const uint64_t at = GOROUTINE_IMAGE_TABLE, names_at = 0x100, values_at = 0x400,
		       functions_at = 0x600;
	uint64_t name = 1, value = 1, record = 0x100;

	image_put(im, at, 0xfffffff1, 4);
	image_put(im, at + 6, im->is_arm ? 4 : 1, 1);
	image_put(im, at + 7, 8, 1);
	image_put(im, at + 8, IMAGE_FUNCTIONS, 8);
	image_put(im, at + 32, names_at, 8);
	image_put(im, at + 40, 0x380, 8);
	image_put(im, at + 48, 0x3c0, 8);
	image_put(im, at + 56, values_at, 8);
	image_put(im, at + 64, functions_at, 8);
	for (unsigned i = 0; i < IMAGE_FUNCTIONS; i++) {
		uint64_t f = at + functions_at + record;

		image_put(im, at + functions_at + i * 8, i * 0x100, 4);
		image_put(im, at + functions_at + i * 8 + 4, record, 4);
		image_put(im, f, i * 0x100, 4);
		image_put(im, f + 4, name, 4);
		image_put(im, f + 16, value, 4);
		image_put(im, f + 41, i == IMAGE_GOEXIT, 1);
		memcpy(im->data + at + names_at + name, names[i], strlen(names[i]) + 1);
		name += strlen(names[i]) + 1;
		value +=
			image_values(im->data + at + values_at + value,
				     image_frame_bytes((enum image_function)i), im->is_arm ? 4 : 1);
		record += 48;
	}
	image_put(im, at + functions_at + IMAGE_FUNCTIONS * 8, IMAGE_FUNCTIONS * 0x100, 4);
}

/* Writes the words at the start that tell the fuzz target where everything is. */
static inline void goroutine_image_init(struct goroutine_image *im, bool is_arm)
{
	int r;

	memset(im, 0, sizeof(*im));
	im->is_arm = is_arm;
	if (goroutine_layout_find(26, &im->layout) < 0)
		abort();
	image_table(im);
	byte_source_from_memory(&im->memory, im->data, sizeof(im->data));
	r = gopclntab_open_at(&im->module.table, &im->memory, GOROUTINE_IMAGE_TABLE, 0x1000,
			      GOROUTINE_IMAGE_TEXT);
	assert(r == 0);
	(void)r;
	im->module.source = &im->memory;
	image_put(im, 0, 26 - 13, 1); /* of the releases that are known */
	image_put(im, 1, is_arm, 1);
	image_put(im, 8, GOROUTINE_IMAGE_GS, 8);
	image_put(im, 24, GOROUTINE_IMAGE_TABLE, 8);
	image_put(im, 32, GOROUTINE_IMAGE_TEXT, 8);
}

/* Adds a goroutine without calls, and returns its address. */
static inline uint64_t image_add(struct goroutine_image *im, enum goroutine_status status,
				 enum image_function start)
{
	uint64_t g = GOROUTINE_IMAGE_GS + 0x200 * im->n;
	uint64_t lo = GOROUTINE_IMAGE_STACKS + GOROUTINE_IMAGE_STACK_BYTES * im->n;

	assert(im->n < GOROUTINE_IMAGE_MAX);
	image_put(im, g, lo, 8);
	image_put(im, g + 8, lo + GOROUTINE_IMAGE_STACK_BYTES, 8);
	image_put(im, g + im->layout->status, status, 4);
	image_put(im, g + im->layout->id, im->n + 1, 8);
	image_put(im, g + im->layout->start_pc, image_start(start), 8);
	im->addresses[im->n++] = g;
	image_put(im, 16, im->n, 8);
	return g;
}

/* Puts calls on its stack, leaf first; the last one is goexit. */
static inline void image_calls(struct goroutine_image *im, uint64_t g,
			       const enum image_function *calls, size_t n)
{
	uint64_t hi, sp, at;

	memcpy(&hi, im->data + g + 8, sizeof(hi));
	sp = hi - 0x20;
	for (size_t i = 0; i < n; i++)
		sp -= image_frame_bytes(calls[i]) + (im->is_arm ? 0 : 8);
	image_put(im, g + 56, sp, 8);
	image_put(im, g + 64, image_pc(calls[0]), 8);
	at = sp;
	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t bytes = image_frame_bytes(calls[i]);

		image_put(im, im->is_arm ? at : at + bytes, image_pc(calls[i + 1]), 8);
		at += bytes + (im->is_arm ? 0 : 8);
	}
}

#endif /* TEST_LIB_GOROUTINE_IMAGE_H */
