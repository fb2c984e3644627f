/*
 * Memory of a process with Perl 5.36: the sub Shop::pay(), at line 42 of /srv/Shop.pm, and what
 * else a frame may have as its code.
 */
#ifndef TEST_LIB_PERL_IMAGE_H
#define TEST_LIB_PERL_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/perl/perl_offsets.h"
#include "node-agent/interpreter/perl_layout.h"

#include "bpf/frame_chain.h"

#define PERL_IMAGE_BASE UINT64_C(0x10000)
#define PERL_IMAGE_BYTES 4096u /* a page */

enum perl_image_place {
	PERL_IMAGE_GV = 0, /* of the sub; its head, and so on */
	PERL_IMAGE_GV_BODY = 64,
	PERL_IMAGE_GP = 128,
	PERL_IMAGE_CV = 256, /* a named sub */
	PERL_IMAGE_CV_BODY = 320,
	PERL_IMAGE_STASH = 448, /* the package */
	PERL_IMAGE_STASH_BODY = 512,
	PERL_IMAGE_STASH_ARRAY = 640, /* of 5.34 and older, with 8 elements */
	PERL_IMAGE_COP = 768,
	PERL_IMAGE_FILE_GV = 896, /* of a build without threads */
	PERL_IMAGE_FILE_GV_BODY = 960,
	PERL_IMAGE_NAME = 1024, /* texts */
	PERL_IMAGE_PACKAGE = 1088,
	PERL_IMAGE_FILE_NAME = 1152,
	PERL_IMAGE_FILE = 1280,
	PERL_IMAGE_NAMES = 1408, /* of a package that has several */
	PERL_IMAGE_END = 1472,
};

#define PERL_IMAGE_LINE 42u
#define PERL_IMAGE_STATEMENT_TYPE 0x1b5u

static const struct perl_layout perl_image_layout = {.threaded = true, .name_in_body = true};

struct perl_image {
	uint8_t bytes[PERL_IMAGE_BYTES];
	size_t n_bytes; /* that there are */
	unsigned n_reads;
	size_t n_read;
};

static inline int perl_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct perl_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (at < PERL_IMAGE_BASE || at - PERL_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - PERL_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - PERL_IMAGE_BASE), n);
	return 0;
}

static inline void perl_image_word(struct perl_image *image, unsigned at, uint64_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline void perl_image_address(struct perl_image *image, unsigned at, unsigned place)
{
	perl_image_word(image, at, PERL_IMAGE_BASE + place);
}

static inline void perl_image_half(struct perl_image *image, unsigned at, uint32_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

/* A HEK. */
static inline void perl_image_name(struct perl_image *image, unsigned at, const char *text)
{
	perl_image_half(image, at + PERL_HEK_LENGTH, (uint32_t)strlen(text));
	memcpy(image->bytes + at + PERL_HEK_TEXT, text, strlen(text) + 1);
}

static inline void perl_image_sv(struct perl_image *image, unsigned at, unsigned body,
				 uint32_t flags)
{
	perl_image_address(image, at + PERL_SV_BODY, body);
	perl_image_half(image, at + PERL_SV_FLAGS, flags);
}

static inline void perl_image_fill(struct perl_image *i)
{
	*i = (struct perl_image){.n_bytes = PERL_IMAGE_BYTES};
	perl_image_sv(i, PERL_IMAGE_GV, PERL_IMAGE_GV_BODY, PERL_TYPE_GV);
	perl_image_address(i, PERL_IMAGE_GV + PERL_SV_UNION, PERL_IMAGE_GP);
	perl_image_address(i, PERL_IMAGE_GV_BODY + PERL_GV_NAME, PERL_IMAGE_NAME);
	perl_image_address(i, PERL_IMAGE_GV_BODY + PERL_GV_STASH, PERL_IMAGE_STASH);
	perl_image_address(i, PERL_IMAGE_GP + PERL_GP_EGV, PERL_IMAGE_GV);
	perl_image_sv(i, PERL_IMAGE_CV, PERL_IMAGE_CV_BODY, PERL_TYPE_CV);
	perl_image_address(i, PERL_IMAGE_CV_BODY + PERL_CV_STASH, PERL_IMAGE_STASH);
	perl_image_address(i, PERL_IMAGE_CV_BODY + PERL_CV_NAME, PERL_IMAGE_NAME);
	perl_image_half(i, PERL_IMAGE_CV_BODY + PERL_CV_FLAGS, PERL_CV_NAMED);
	perl_image_sv(i, PERL_IMAGE_STASH, PERL_IMAGE_STASH_BODY, PERL_TYPE_HV | PERL_HV_HAS_NAME);
	perl_image_address(i, PERL_IMAGE_STASH + PERL_SV_UNION, PERL_IMAGE_STASH_ARRAY);
	perl_image_word(i, PERL_IMAGE_STASH_BODY + PERL_HV_MAX, 7);
	perl_image_address(i, PERL_IMAGE_STASH_BODY + PERL_HV_BODY_BYTES, PERL_IMAGE_PACKAGE);
	perl_image_half(i, PERL_IMAGE_COP + PERL_COP_TYPE_LINE, PERL_IMAGE_STATEMENT_TYPE);
	perl_image_half(i, PERL_IMAGE_COP + PERL_COP_TYPE_LINE + 4, PERL_IMAGE_LINE);
	perl_image_address(i, PERL_IMAGE_COP + PERL_COP_FILE, PERL_IMAGE_FILE);
	perl_image_sv(i, PERL_IMAGE_FILE_GV, PERL_IMAGE_FILE_GV_BODY, PERL_TYPE_GV);
	perl_image_address(i, PERL_IMAGE_FILE_GV_BODY + PERL_GV_NAME, PERL_IMAGE_FILE_NAME);
	perl_image_name(i, PERL_IMAGE_NAME, "pay");
	perl_image_name(i, PERL_IMAGE_PACKAGE, "Shop");
	perl_image_name(i, PERL_IMAGE_FILE_NAME, "_</srv/Shop.pm");
	memcpy(i->bytes + PERL_IMAGE_FILE, "/srv/Shop.pm", sizeof("/srv/Shop.pm"));
}

static inline uint64_t perl_image_word_at(const struct perl_image *image, unsigned at)
{
	uint64_t word;

	memcpy(&word, image->bytes + at, sizeof(word));
	return word;
}

/* A frame as the walk sends it; code_place PERL_IMAGE_END: its code is this kind. */
static inline struct interpreter_frame perl_image_frame(const struct perl_image *image,
							unsigned code_place, uint64_t kind)
{
	const unsigned place = PERL_IMAGE_COP;
	uint32_t of_code = 0;

	if (code_place != PERL_IMAGE_END)
		of_code = chain_check(perl_image_word_at(image, code_place));
	return (struct interpreter_frame){
		.code = code_place == PERL_IMAGE_END ? kind : PERL_IMAGE_BASE + code_place,
		.check = chain_check_both(
			of_code,
			chain_check_place(perl_image_word_at(image, place + PERL_COP_TYPE_LINE),
					  perl_image_word_at(image, place + PERL_COP_FILE))),
		.at = PERL_IMAGE_BASE + place,
	};
}

#endif /* TEST_LIB_PERL_IMAGE_H */
