#include "common/symbols/demangle.h"
#include "test/lib/unit.h"

static void check(const char *mangled, const char *expected)
{
	char name[1025];

	assert_int_equal(demangle(mangled, name, sizeof(name)), strlen(expected));
	assert_string_equal(name, expected);
}

TEST(names_that_are_not_mangled_stay)
{
	check("main", "main");
	check("_start", "_start");
	check("__libc_start_main", "__libc_start_main");
	check("foo.bar", "foo.bar");
	check("foo.1", "foo.1");
	check(".cold", ".cold");
	check("_Znonsense", "_Znonsense");
	check("", "");
	check("_", "_");
}

TEST(versions_are_taken_off)
{
	check("memcpy@@GLIBC_2.14", "memcpy");
	check("_ZNSs6appendEPKc@@GLIBCXX_3.4", "std::string::append(char const*)");
	check("@odd", "@odd");
}

TEST(cpp_has_parameters_and_no_clone_suffixes)
{
	check("_ZN3foo3barEiPKc", "foo::bar(int, char const*)");
	check("_ZN3foo3barEi.cold", "foo::bar(int)");
	check("_ZN3foo3barEi.part.0.isra.0", "foo::bar(int)");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi",
	      "std::vector<int, std::allocator<int> >::push_back(int const&)");
	check("_ZN1AC2Ev", "A::A()");
}

TEST(parts_and_copies_of_a_function_have_its_name)
{
	static const char *const parts[] = {
		"f.cold",        "f.cold.1",        "f.part.0",       "f.constprop.0",
		"f.isra.0",      "f.part.0.isra.0", "f.lto_priv.0",   "f.llvm.1234567890",
		"f.localalias",  "f.part.0.cold",   "f.constprop.12", "f.__uniq.123.cold",
		"f.localalias.3"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		check(parts[i], "f");
	check("_ZN3foo3barEi.llvm.77", "foo::bar(int)");
	check("_RNvC7mycrate3foo.llvm.77", "mycrate::foo");
	check("cold", "cold");
	check("f.party", "f.party");
	check("inner.0", "inner.0");
}

TEST(other_languages_are_readable)
{
	check("__heat_MOD_step", "heat::step");
	check("__heat_MOD_step.constprop.0", "heat::step");
	check("__HEAT_MOD_step", "__HEAT_MOD_step");
	check("___MOD_", "___MOD_");
	check("camlStdlib__List__map_271", "Stdlib.List.map");
	check("camlStdlib__List.map_271", "Stdlib.List.map");
	check("camlDune__exe__Main__fun_1234", "Dune.exe.Main.fun_1234");
	check("camlMain__$2b$2b_12", "Main.++");
	check("caml_main", "caml_main");
	check("camlfoo__x_1", "camlfoo__x_1");
	check("base_GHCziBase_map_info", "GHC.Base.map");
	check("base_GHCziBase_zpzp_info", "GHC.Base.++");
	check("containerszm0zi6zi5zi1_DataziMapziInternal_zdwinsert_info",
	      "Data.Map.Internal.$winsert");
	check("SSL_CTX_get_info", "SSL_CTX_get_info");
	check("x_AziB_zX_info", "x_AziB_zX_info");
	check("x_AziB_z_info", "x_AziB_z_info");
	check("_info", "_info");
	check("a__info", "a__info");
}

TEST(long_names_that_differ_at_their_end_differ)
{
	char symbols[2][3000], names[2][1025];

	for (unsigned i = 0; i < 2; i++) {
		memset(symbols[i], 'x', sizeof(symbols[i]));
		symbols[i][sizeof(symbols[i]) - 1] = '\0';
	}
	symbols[1][2500] = 'y';
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(demangle(symbols[i], names[i], sizeof(names[i])), 1024);
	assert_memory_equal(names[0], names[1], 1000);
	assert_string_not_equal(names[0], names[1]);
	/* of a version of it, and of a part */
	memcpy(&symbols[0][2900], ".cold@V1", 9);
	symbols[1][2500] = 'x';
	symbols[1][2900] = '\0';
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(demangle(symbols[i], names[i], sizeof(names[i])), 1024);
	assert_string_equal(names[0], names[1]);
}

TEST(rust_has_no_hashes)
{
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	      "3bar17h930b740aa94f1d3aE",
	      "<Test + 'static as foo::Bar<Test>>::bar");
	check("_RNvC7mycrate3foo", "mycrate::foo");
	check("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
	      "std::path::PathBuf::new");
	check("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	      "utf8_idents::საჭმელად_გემრიელი_სადილი");
}

/* Each level doubles the readable form: complete, it would have 2^40 parts. */
TEST(an_explosion_is_cut)
{
	char mangled[2048], name[1025];
	size_t n = 0;

	n += (size_t)snprintf(mangled + n, sizeof(mangled) - n, "_Z1f1a");
	n += (size_t)snprintf(mangled + n, sizeof(mangled) - n, "1pIS_S_E");
	for (int i = 0; i < 34; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

		n += (size_t)snprintf(mangled + n, sizeof(mangled) - n, "S0_IS%c_S%c_E",
				      digits[i + 1], digits[i + 1]);
	}
	assert_int_equal(demangle(mangled, name, sizeof(name)), sizeof(name) - 1);
}

/* The same with Rust's back references, which repeat what began at a position of the name. */
TEST(a_rust_explosion_is_cut)
{
	char mangled[512] = "_RINvC1a1fTu", name[1025];
	size_t n = strlen(mangled), last = n - 2 - 2; /* position of T, counted behind "_R" */

	n += (size_t)snprintf(mangled + n, sizeof(mangled) - n, "uE");
	for (int i = 0; i < 20; i++) {
		static const char base62[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t here = n - 2;
		char ref[8];

		if (last == 0)
			snprintf(ref, sizeof(ref), "B_");
		else if (last <= 62)
			snprintf(ref, sizeof(ref), "B%c_", base62[last - 1]);
		else
			snprintf(ref, sizeof(ref), "B%c%c_", base62[(last - 1) / 62],
				 base62[(last - 1) % 62]);
		n += (size_t)snprintf(mangled + n, sizeof(mangled) - n, "T%s%sE", ref, ref);
		last = here;
	}
	snprintf(mangled + n, sizeof(mangled) - n, "E");
	assert_int_equal(demangle(mangled, name, sizeof(name)), sizeof(name) - 1);
	assert_memory_equal(name, "a::f::<", 7);
}

TEST(a_name_that_is_too_long_stays_mangled)
{
	static char mangled[2 * DEMANGLE_INPUT_MAX_BYTES];
	char name[65];

	memset(mangled, 'i', sizeof(mangled) - 1);
	memcpy(mangled, "_Z1f", 4);
	assert_int_equal(demangle(mangled, name, sizeof(name)), 64);
	assert_memory_equal(name, mangled, 64 - 17);
	assert_int_equal(name[64 - 17], '~');
}

TEST(bytes_that_are_no_text_become_question_marks)
{
	check("a\x01\x7f\xff"
	      "b",
	      "a???b");
	check("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	check("\xed\xa0\x80", "???");      /* a surrogate */
	check("\xc0\xaf", "??");           /* a slash in too many bytes */
	check("\xf4\x90\x80\x80", "????"); /* beyond Unicode */
	check("\xc2\x85", "??");           /* a control character */
}

TEST(a_character_is_not_cut_in_two)
{
	char name[6];

	assert_int_equal(demangle("abcd\xc3\xbc", name, sizeof(name)), 4);
	assert_string_equal(name, "abcd");
}
