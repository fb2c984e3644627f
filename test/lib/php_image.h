/* Memory of a process with a function of PHP 8.2: Shop::pay(), at line 42 of /srv/shop.php. */
#ifndef TEST_LIB_PHP_IMAGE_H
#define TEST_LIB_PHP_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/php_layout.h"

#include "bpf/frame_chain.h"

#define PHP_IMAGE_BASE UINT64_C(0x10000)
#define PHP_IMAGE_BYTES 2048u

enum php_image_place {
	PHP_IMAGE_FUNCTION = 0,
	PHP_IMAGE_CLASS = 256,
	PHP_IMAGE_OPCODES = 384, /* two */
	PHP_IMAGE_NAME = 512,
	PHP_IMAGE_CLASS_NAME = 768,
	PHP_IMAGE_FILE = 1024,
};

static const struct php_layout php_image_layout = {.last = 80, .opcodes = 88, .filename = 152};

struct php_image {
	uint8_t bytes[PHP_IMAGE_BYTES];
	size_t n_bytes; /* that there are */
	unsigned n_reads;
	size_t n_read;
};

static inline int php_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct php_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (at < PHP_IMAGE_BASE || at - PHP_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - PHP_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - PHP_IMAGE_BASE), n);
	return 0;
}

static inline void php_image_word(struct php_image *image, unsigned at, uint64_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline void php_image_string(struct php_image *image, unsigned at, uint64_t hash,
				    const char *text, size_t len)
{
	php_image_word(image, at + 8, hash);
	php_image_word(image, at + 16, len);
	memcpy(image->bytes + at + 24, text, len);
}

static inline void php_image_fill(struct php_image *image)
{
	*image = (struct php_image){.n_bytes = PHP_IMAGE_BYTES};
	image->bytes[PHP_IMAGE_FUNCTION] = 2;
	php_image_word(image, 8, PHP_IMAGE_BASE + PHP_IMAGE_NAME);
	php_image_word(image, 16, PHP_IMAGE_BASE + PHP_IMAGE_CLASS);
	php_image_word(image, 80, 2);
	php_image_word(image, 88, PHP_IMAGE_BASE + PHP_IMAGE_OPCODES);
	php_image_word(image, 152, PHP_IMAGE_BASE + PHP_IMAGE_FILE);
	php_image_word(image, 160, 40);
	php_image_word(image, PHP_IMAGE_CLASS + 8, PHP_IMAGE_BASE + PHP_IMAGE_CLASS_NAME);
	php_image_word(image, PHP_IMAGE_OPCODES + 24, 41);
	php_image_word(image, PHP_IMAGE_OPCODES + 32 + 24, 42);
	php_image_string(image, PHP_IMAGE_NAME, 111, "pay", 3);
	php_image_string(image, PHP_IMAGE_CLASS_NAME, 0, "Shop", 4);
	php_image_string(image, PHP_IMAGE_FILE, 222 << 20, "/srv/shop.php", 13);
}

static inline uint64_t php_image_word_at(struct php_image *image, uint64_t at)
{
	uint64_t word;

	return php_image_read(image, at, &word, sizeof(word)) < 0 ? 0 : word;
}

/* As the walk computes it of what is there (chain_walk.bpf.h). */
static inline uint32_t php_image_check(struct php_image *image)
{
	uint64_t name = php_image_word_at(image, PHP_IMAGE_BASE + 8);
	uint64_t file = php_image_word_at(image, PHP_IMAGE_BASE + php_image_layout.filename);

	return chain_check(php_image_word_at(image, name + 8)) ^
	       chain_check(php_image_word_at(image, file + 8));
}

static inline struct interpreter_frame php_image_frame(void)
{
	return (struct interpreter_frame){
		.code = PHP_IMAGE_BASE,
		.check = chain_check(111) ^ chain_check(222 << 20),
		.at = PHP_IMAGE_BASE + PHP_IMAGE_OPCODES + 32,
	};
}

#endif /* TEST_LIB_PHP_IMAGE_H */
