#include <errno.h>

#include "common/flame/folded_text.h"
#include "test/lib/unit.h"

#define F(s)                       \
	{                          \
		(s), sizeof(s) - 1 \
	}

TEST(a_line_is_root_to_leaf_and_the_value)
{
	static const struct flame_frame frames[] = {F("leaf a.c:3"), F("mid b.c:0:inlined"),
						    F("main :0")};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(folded_text_add(&out, frames, 3, (struct stack_value){7, 5}, false), 0);
	assert_int_equal(folded_text_add(&out, frames, 1, (struct stack_value){7, 5}, true), 0);
	assert_int_equal(folded_text_add(&out, NULL, 0, (struct stack_value){1, 0}, false), 0);
	assert_string_equal(out.data, "main;mid;leaf 7\nleaf 5 7\n[no frames] 1\n");
}

TEST(names_cannot_break_a_line)
{
	static const struct flame_frame frames[] = {F("block 12 :0"), F("a;b\nc 9 1\r\t :0")};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(folded_text_add(&out, frames, 2, (struct stack_value){7, 0}, false), 0);
	assert_string_equal(out.data, "a:b c 9 1  ;block_12 7\n");
}

TEST(names_cannot_command_a_terminal)
{
	static const struct flame_frame frames[] = {F("\xc2\x9b"
						      "31m\xe2\x80\xae\xe2\x80\xa8 :0"),
						    F("caf\xc3\xa9\xff :0"),
						    F("\x1b[31mred\x1b[0m :0")};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(folded_text_add(&out, frames, 3, (struct stack_value){7, 0}, false), 0);
	assert_string_equal(out.data, " [31mred [0m;caf\xc3\xa9?;  31m       7\n");
}

TEST(names_cannot_be_formulas)
{
	static const struct flame_frame frames[] = {F("@objc f :0"), F("-[Foo bar] :0"), F("+x :0"),
						    F("=cmd|' /C calc'!A0 :0")};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(folded_text_add(&out, frames, 4, (struct stack_value){7, 0}, false), 0);
	assert_string_equal(out.data, "'=cmd|' /C calc'!A0;'+x;-[Foo bar];'@objc f 7\n");
}

TEST(what_does_not_fit_is_an_error)
{
	static const struct flame_frame frames[] = {F("leaf a.c:3")};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 4);
	assert_int_equal(folded_text_add(&out, frames, 1, (struct stack_value){7, 0}, false),
			 -EFBIG);
}
