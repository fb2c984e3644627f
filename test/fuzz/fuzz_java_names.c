/* Any bytes as the name of a class: the result is short, printable, and folding it is done once. */
#include <assert.h>

#include "common/jfr/java_names.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct java_name *n)
{
	assert(n->len <= JAVA_NAME_MAX_BYTES && strlen(n->text) == n->len);
	assert(utf8_is_valid(n->text, n->len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name = (const char *)data;
	struct java_name n;

	java_name_of_class(&n, name, size);
	check(&n);
	java_name_of_file(&n, name, size);
	check(&n);
	java_name_of_text(&n, name, size);
	check(&n);
	return 0;
}
