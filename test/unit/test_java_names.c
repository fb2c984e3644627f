#include "common/jfr/java_names.h"
#include "test/lib/unit.h"

struct example {
	const char *name;
	const char *class_name;
	const char *file;
};

static const struct example examples[] = {
	/* plain, nested and array classes */
	{"java/util/HashMap", "java.util.HashMap", "java/util/HashMap"},
	{"java/util/HashMap$Node", "java.util.HashMap$Node", "java/util/HashMap"},
	{"java.util.HashMap$Node", "java.util.HashMap$Node", "java/util/HashMap"},
	{"Main", "Main", "Main"},
	{"Main$1", "Main$1", "Main"},
	{"[I", "int[]", ""},
	{"[[Z", "boolean[][]", ""},
	{"[Ljava/lang/String;", "java.lang.String[]", ""},
	{"[[Ljava/util/Map$Entry;", "java.util.Map$Entry[][]", ""},
	{"int", "int", "int"},
	{"I", "I", "I"},
	{"", "", ""},
	{"$", "$", "$"},
	{"a/$Foo", "a.$Foo", "a/$Foo"},
	/* lambdas of JDK 8, 9 to 14, 15 to 20, and later; async-profiler has a dot */
	{"a/Foo$$Lambda$14/1234567890", "a.Foo$$Lambda", "a/Foo"},
	{"a/Foo$$Lambda$14/0x0000000800060840", "a.Foo$$Lambda", "a/Foo"},
	{"W$$Lambda$9.0x00007f1b9c002220", "W$$Lambda", "W"},
	{"a/Foo$$Lambda+0x00007f1b9c002220", "a.Foo$$Lambda", "a/Foo"},
	{"a.Foo$$Lambda/0x00007f1b9c002220", "a.Foo$$Lambda", "a/Foo"},
	{"W$$Lambda$92+0x00007fef7c008668/2147046752", "W$$Lambda", "W"},
	{"a/Foo$$Lambda$14", "a.Foo$$Lambda", "a/Foo"},
	{"a/Foo$Bar$$Lambda$3.0x1", "a.Foo$Bar$$Lambda", "a/Foo"},
	/* hidden and anonymous classes, and names that only look so */
	{"a/Foo/0x0000000800060840", "a.Foo", "a/Foo"},
	{"a/Foo.0x0000000800060840", "a.Foo", "a/Foo"},
	{"a/Foo/1234567", "a.Foo", "a/Foo"},
	{"a/Foo0x12", "a.Foo0x12", "a/Foo0x12"},
	{"a/b2", "a.b2", "a/b2"},
	{"a/Base64", "a.Base64", "a/Base64"},
	{"0x12", "0x12", "0x12"},
	/* method handles, reflection */
	{"java/lang/invoke/LambdaForm$MH.0x00007f1b9c001c00", "java.lang.invoke.LambdaForm$MH", ""},
	{"java/lang/invoke/LambdaForm$DMH/0x0000000800c00400", "java.lang.invoke.LambdaForm$DMH",
	 ""},
	{"java/lang/invoke/LambdaForm$MH012/99", "java.lang.invoke.LambdaForm$MH", ""},
	{"java/lang/invoke/LambdaForm$Kind", "java.lang.invoke.LambdaForm$Kind",
	 "java/lang/invoke/LambdaForm"},
	{"jdk/internal/reflect/GeneratedMethodAccessor42",
	 "jdk.internal.reflect.GeneratedMethodAccessor", ""},
	{"sun/reflect/GeneratedConstructorAccessor7", "sun.reflect.GeneratedConstructorAccessor",
	 ""},
	{"sun/reflect/GeneratedSerializationConstructorAccessor7",
	 "sun.reflect.GeneratedSerializationConstructorAccessor", ""},
	/* proxies */
	{"$Proxy12", "$Proxy", ""},
	{"com/sun/proxy/$Proxy5", "com.sun.proxy.$Proxy", ""},
	{"jdk/proxy2/$Proxy5", "jdk.proxy.$Proxy", ""},
	{"jdk/proxy2x/Foo", "jdk.proxy2x.Foo", "jdk/proxy2x/Foo"},
	{"a/Foo$Proxy", "a.Foo$Proxy", "a/Foo"},
	/* frameworks */
	{"a/Foo$$EnhancerBySpringCGLIB$$a1b2c3", "a.Foo$$EnhancerBySpringCGLIB", "a/Foo"},
	{"a/Foo$$FastClassBySpringCGLIB$$a1b2c3", "a.Foo$$FastClassBySpringCGLIB", "a/Foo"},
	{"a/Foo$$EnhancerBySpringCGLIB$$a1b2c3$$FastClassBySpringCGLIB$$d4e5f6",
	 "a.Foo$$EnhancerBySpringCGLIB$$FastClassBySpringCGLIB", "a/Foo"},
	{"a/Foo$$SpringCGLIB$$0", "a.Foo$$SpringCGLIB", "a/Foo"},
	{"a/Foo$$EnhancerByGuice$$12345678", "a.Foo$$EnhancerByGuice", "a/Foo"},
	{"a/Foo$$beef", "a.Foo$$beef", "a/Foo"},
	{"a/Foo$$EnhancerByCGLIB$$Helper", "a.Foo$$EnhancerByCGLIB$$Helper", "a/Foo"},
	{"a/Foo$ByteBuddy$k3YbQ9xZ", "a.Foo$ByteBuddy", "a/Foo"},
	{"a/Foo$ByteBuddy$Helper", "a.Foo$ByteBuddy$Helper", "a/Foo"},
	{"a/Foo$ByteBuddy$k3YbQ9xZ$auxiliary$Xy12ab34", "a.Foo$ByteBuddy$auxiliary", "a/Foo"},
	{"a/Foo$MockitoMock$1927364524", "a.Foo$MockitoMock", "a/Foo"},
	{"a/Foo$HibernateProxy$Ab1Cd2Ef", "a.Foo$HibernateProxy", "a/Foo"},
	{"a/Foo_$$_jvst8f3_0", "a.Foo_$$_jvst", "a/Foo"},
	{"a/Foo_$$_javassist_12", "a.Foo_$$_javassist", "a/Foo"},
	{"a/Foo__Accessor_hg3zq1", "a.Foo__Accessor", "a/Foo__Accessor"},
	{"jdk/jfr/internal/handlers/EventHandler1299_1795426697126-11552",
	 "jdk.jfr.internal.handlers.EventHandler", "jdk/jfr/internal/handlers/EventHandler"},
	{"Script12", "Script", "Script"},
	{"Script12$_run_closure1", "Script$_run_closure1", "Script"},
	{"Scripts", "Scripts", "Scripts"},
	/* what a compiler numbered stays */
	{"a/Foo$$anonfun$run$2", "a.Foo$$anonfun$run$2", "a/Foo"},
	{"a/Foo$", "a.Foo$", "a/Foo"},
	{"a/FooKt$main$1", "a.FooKt$main$1", "a/FooKt"},
	{"a/Foo$$ExternalSyntheticLambda0", "a.Foo$$ExternalSyntheticLambda0", "a/Foo"},
};

TEST(names_are_the_same_in_each_process)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		struct java_name n;

		java_name_of_class(&n, e->name, strlen(e->name));
		assert_string_equal(n.text, e->class_name);
		assert_int_equal(n.len, strlen(n.text));
		java_name_of_file(&n, e->name, strlen(e->name));
		assert_string_equal(n.text, e->file);
		assert_int_equal(n.len, strlen(n.text));
	}
}

TEST(folding_a_name_again_changes_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct java_name once, twice;

		java_name_of_class(&once, examples[i].name, strlen(examples[i].name));
		java_name_of_class(&twice, once.text, once.len);
		assert_string_equal(twice.text, once.text);
	}
}

TEST(long_and_unprintable_names_are_bounded_text)
{
	char name[3 * JAVA_NAME_MAX_BYTES];
	struct java_name n;

	memset(name, '[', sizeof(name));
	java_name_of_class(&n, name, sizeof(name));
	assert_int_equal(n.len, JAVA_NAME_MAX_BYTES);
	memset(name, 'x', sizeof(name));
	name[0] = '[';
	name[1] = 'L';
	name[sizeof(name) - 1] = ';';
	java_name_of_class(&n, name, sizeof(name));
	assert_int_equal(n.len, JAVA_NAME_MAX_BYTES);
	java_name_of_class(&n, "a/B\0\n\x80\xc3\xa9", 8);
	assert_string_equal(n.text, "a.B???\xc3\xa9");
	java_name_of_text(&n, "os::PlatformEvent::park\t", 24);
	assert_string_equal(n.text, "os::PlatformEvent::park?");
	java_name_of_text(&n, "I2C/C2I adapters(0xbbebaabaaaa)", 31);
	assert_string_equal(n.text, "I2C/C2I adapters");
	java_name_of_text(&n, "f(0x)", 5);
	assert_string_equal(n.text, "f(0x)");
}
