#include <errno.h>

#include "common/err.h"
#include "test/lib/unit.h"

TEST(wrap_puts_the_context_in_front)
{
	struct err err = {""};

	assert_int_equal(err_wrap(&err, err_set(&err, -ENOENT, "no symtab"), "load %s", "/bin/x"),
			 -ENOENT);
	assert_string_equal(err.msg, "load /bin/x: no symtab");
}

TEST(null_err_is_allowed)
{
	assert_int_equal(err_set(NULL, -EIO, "ignored"), -EIO);
}

TEST(a_long_message_is_marked_as_cut)
{
	struct err err = {""};

	err_set(&err, -EIO, "%300s", "x");
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_string_equal(err.msg + sizeof(err.msg) - 4, "...");
}
