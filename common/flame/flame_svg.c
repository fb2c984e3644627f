/*
 * Nodes are in preorder, so the position of a frame is known when it comes: children of a node
 * follow each other from its left edge, and where the next child of each depth begins is all that
 * has to be remembered. The root is at the bottom.
 */
#include "common/flame/flame_svg.h"

#include <errno.h>

#include "common/text/utf8.h"

#define WIDTH 1200.0
#define ROW 17
#define TOP 46
#define MARGIN 6.0
#define CHARACTER 7.0 /* width in pixels of one of the font, at most */
#define MIN_WIDTH 0.05

struct picture {
	struct buf *out;
	const struct flame_view *v;
	const struct flame_svg_texts *texts;
	double *next; /* by depth: where the next child begins, in values */
	uint32_t depth;
	int error;
};

/* Adds text; what is not UTF-8 or not allowed in XML becomes '?'. */
static void put_text(struct picture *p, const char *s, size_t len)
{
	size_t from = p->out->len;

	for (size_t i = 0; i < len && p->error == 0; i++) {
		const char *as = s[i] == '&'   ? "&amp;"
				 : s[i] == '<' ? "&lt;"
				 : s[i] == '>' ? "&gt;"
				 : s[i] == '"' ? "&quot;"
					       : NULL;

		if (as)
			p->error = buf_add(p->out, as, strlen(as));
		else
			p->error = buf_add(p->out, s + i, 1);
	}
	if (p->error == 0)
		buf_truncate(p->out,
			     from + utf8_make_printable(p->out->data + from, p->out->len - from));
}

#define PUT(p, ...)                                                   \
	do {                                                          \
		if ((p)->error == 0)                                  \
			(p)->error = buf_addf((p)->out, __VA_ARGS__); \
	} while (0)

/* Warm colours for programs, blue for the kernel, grey for marks of our own. */
static void color_of(const char *name, size_t len, const char *file, size_t file_len,
		     char ret[static 24])
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	if (len > 0 && name[0] == '[')
		snprintf(ret, 24, "#bbb");
	else if (file_len == 8 && memcmp(file, "[kernel]", 8) == 0)
		snprintf(ret, 24, "hsl(%u,55%%,%u%%)", 200 + h % 20, 68 + (h >> 8) % 8);
	else
		snprintf(ret, 24, "hsl(%u,80%%,%u%%)", 10 + h % 45, 62 + (h >> 8) % 10);
}

/* Bytes of the name that fit. UTF-8 is not cut within a character. */
static size_t fitting(const char *name, size_t len, double width)
{
	size_t room = (size_t)((width - 6) / CHARACTER);

	if (width < 6 + 3 * CHARACTER)
		return 0;
	if (len <= room)
		return len;
	room -= 2;
	while (room > 0 && ((unsigned char)name[room] & 0xc0) == 0x80)
		room--;
	return room;
}

static void put_frame(struct picture *p, uint32_t i, double x, double width)
{
	const struct flame_view *v = p->v;
	const char *name = v->names[v->node_name[i]], *file = v->files[v->node_file[i]];
	size_t len = v->name_lens[v->node_name[i]], file_len = v->file_lens[v->node_file[i]];
	double share = 100.0 * (double)v->node_total[i] / (double)v->node_total[0];
	unsigned y = TOP + (p->depth - v->node_depth[i]) * ROW;
	size_t shown = fitting(name, len, width);
	char color[24], value[FLAME_SVG_VALUE_BYTES];

	color_of(name, len, file, file_len, color);
	p->texts->format(v->node_total[i], value);
	PUT(p, "<g><title>");
	put_text(p, name, len);
	PUT(p, "%s", file_len > 0 ? " (" : "");
	put_text(p, file, file_len);
	PUT(p, "%s: %s, %.2f%%</title>", file_len > 0 ? ")" : "", value, share);
	PUT(p, "<rect x=\"%.1f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>", x, y, width,
	    ROW - 1, color);
	if (shown > 0) {
		PUT(p, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + 12);
		put_text(p, name, shown);
		PUT(p, "%s</text>", shown < len ? ".." : "");
	}
	PUT(p, "</g>\n");
}

static void put_head(struct picture *p)
{
	unsigned height = TOP + (p->depth + 1) * ROW + 10;

	PUT(p,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" "
	    "viewBox=\"0 0 %.0f %u\" font-family=\"monospace\" font-size=\"11\">\n"
	    "<style>rect{stroke:#fff;stroke-width:.4}text{fill:#111}g:hover rect{stroke:#000;"
	    "stroke-width:1}</style>\n"
	    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fafafa\"/>\n"
	    "<text x=\"%.0f\" y=\"20\" font-size=\"15\">",
	    WIDTH, height, WIDTH, height, MARGIN);
	put_text(p, p->texts->title, strlen(p->texts->title));
	PUT(p, "</text>\n<text x=\"%.0f\" y=\"37\">", MARGIN);
	put_text(p, p->texts->subtitle, strlen(p->texts->subtitle));
	PUT(p, "</text>\n");
}

static void put_frames(struct picture *p)
{
	const struct flame_view *v = p->v;
	double scale = v->node_total[0] > 0 ? (WIDTH - 2 * MARGIN) / (double)v->node_total[0] : 0;

	for (uint32_t i = 0; i < v->n_nodes && p->error == 0; i++) {
		uint32_t d = v->node_depth[i];
		double at = p->next[d], width = (double)v->node_total[i] * scale;

		p->next[d] += (double)v->node_total[i];
		p->next[d + 1] = at;
		if (width >= MIN_WIDTH)
			put_frame(p, i, MARGIN + at * scale, width);
	}
}

int flame_svg_write(struct buf *out, const struct flame_view *v,
		    const struct flame_svg_texts *texts)
{
	struct picture p = {.out = out, .v = v, .texts = texts};
	AUTO_FREE double *next = NULL;

	for (uint32_t i = 0; i < v->n_nodes; i++)
		p.depth = v->node_depth[i] > p.depth ? v->node_depth[i] : p.depth;
	next = calloc((size_t)p.depth + 2, sizeof(*next));
	if (!next)
		return -ENOMEM;
	p.next = next;
	put_head(&p);
	put_frames(&p);
	PUT(&p, "</svg>\n");
	return p.error;
}
