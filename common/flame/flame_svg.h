/*
 * A flame graph as a picture: SVG without scripts, in which each frame has its name, share and
 * value as a title, which viewers show as a tooltip. Pure.
 */
#ifndef COMMON_FLAME_FLAME_SVG_H
#define COMMON_FLAME_FLAME_SVG_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/flame/flame_tree.h"

#define FLAME_SVG_VALUE_BYTES 32u

struct flame_svg_texts {
	const char *title;
	const char *subtitle; /* "": none */
	/* Writes a value as text: "1.23 s". */
	void (*format)(int64_t value, char ret[static FLAME_SVG_VALUE_BYTES]);
};

/*
 * Appends the picture. Frames narrower than a twentieth of a pixel are left out. Returns 0,
 * -ENOMEM, or -EFBIG over the limit of out.
 */
int flame_svg_write(struct buf *out, const struct flame_view *v,
		    const struct flame_svg_texts *texts) MUST_CHECK;

#endif /* COMMON_FLAME_FLAME_SVG_H */
