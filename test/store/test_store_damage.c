/*
 * A store whose files were removed or damaged opens with what is left of a table and says so, or
 * not at all; it is never empty without a word. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>
#include <sys/stat.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define T(s) ((struct row_text){s, sizeof(s) - 1})

static const char *dir;

static int make_dir(void **state)
{
	(void)state;
	dir = temp_dir();
	return 0;
}

static int open_store(struct store **ret, struct err *err)
{
	const struct store_chdb_config cfg = {dir, UINT64_C(86400) * NS_PER_S,
					      getenv("CHDB_LIBRARY")};

	*err = (struct err){0};
	return store_chdb_open(ret, &cfg, err);
}

static void insert(struct store *s)
{
	const int64_t now = (int64_t)clock_realtime_ns();
	const struct sample_row row = {T("/svc"), T("a:b:c"), now - 1, now, NULL, 0, 1, 1};
	CLEANUP(row_batch_fini) struct row_batch b;
	const struct store_frame *frames;
	size_t n;

	row_batch_init(&b, 100000, 100000);
	assert_int_equal(row_batch_add_sample(&b, &row), 0);
	assert_int_equal(row_batch_finish(&b), 0);
	frames = row_batch_frames(&b, STORE_SAMPLES, &n);
	assert_int_equal(store_insert(s, STORE_SAMPLES, NULL, frames, n, NULL), 0);
}

static void make_store(void)
{
	struct store *s;
	struct err err;

	if (open_store(&s, &err) < 0)
		fail_msg("open: %s", err.msg);
	insert(s);
	insert(s);
	store_close(s);
}

static void shell(const char *command)
{
	char text[500];

	assert_true(snprintf(text, sizeof(text), "cd %s && %s", dir, command) < (int)sizeof(text));
	assert_int_equal(system(text), 0);
}

static uint64_t count_rows(struct store *s)
{
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {.sql = "SELECT toString(count()) FROM profiling_samples",
				      .format = "TSV"};

	buf_init(&out, 100);
	assert_int_equal(store_query(s, &q, &out, NULL), 0);
	return strtoull(out.data, NULL, 10);
}

TEST_FIXTURE(what_is_missing_or_unreadable_is_named, make_dir, NULL)
{
	static const struct {
		const char *command;
		const char *name; /* in the error */
		int error;
	} cases[] = {
		{"rm clickhouse/metadata/coroot.sql", "coroot.sql", -ENOENT},
		{"truncate -s 0 clickhouse/metadata/coroot.sql", "coroot.sql", -ENOENT},
		{"truncate -s 30 clickhouse/metadata/coroot.sql", "coroot.sql", -EIO},
		{"rm clickhouse/store/*/*/profiling_samples.sql", "profiling_samples.sql", -ENOENT},
		{"truncate -s 60 clickhouse/store/*/*/profiling_samples.sql", "profiling_samples",
		 -EIO},
		{"for f in clickhouse/store/*/*/format_version.txt; do : >$f; done",
		 "load table coroot.profiling_", -EIO},
		{"rm -r clickhouse/metadata", "metadata/coroot.sql", -ENOENT},
		{"rm -r clickhouse/store", "clickhouse/store/", -ENOENT},
		{"rm -r clickhouse", "clickhouse/metadata/coroot.sql", -ENOENT},
		{"truncate -s 20 STORE", "/STORE is damaged", -EBADMSG},
	};

	make_store();
	shell("mkdir ../$(basename $PWD).whole && cp -a . ../$(basename $PWD).whole");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store *s;
		struct err err;
		int r;

		shell(cases[i].command);
		r = open_store(&s, &err);
		if (r != cases[i].error || !strstr(err.msg, cases[i].name))
			fail_msg("%s: %d %s", cases[i].command, r, err.msg);
		shell("rm -rf ./* && cp -a ../$(basename $PWD).whole/. .");
	}
	shell("rm -r ../$(basename $PWD).whole");
}

TEST_FIXTURE(a_damaged_part_leaves_the_others, make_dir, NULL)
{
	struct store *s;
	struct err err;

	make_store();
	shell("truncate -s 0 $(find clickhouse -path '*_1_1_0/count.txt' | "
	      "while read f; do [ -f ${f%/*}/minmax_Start.idx ] && echo $f; done)");
	assert_int_equal(open_store(&s, &err), 0);
	assert_int_equal(count_rows(s), 1);
	store_close(s);
}

static mode_t mode_of(const char *name)
{
	char path[100];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

TEST_FIXTURE(nobody_else_can_read_an_existing_directory, make_dir, NULL)
{
	struct store *s;
	struct err err;

	make_store();
	shell("chmod 0755 . clickhouse && chmod -R go+rX clickhouse && mkdir -p tmp/a/b && "
	      "touch tmp/a/b/c tmp/d && chmod 0777 tmp");
	assert_int_equal(open_store(&s, &err), 0);
	assert_int_equal(mode_of("."), 0700);
	assert_int_equal(mode_of("clickhouse"), 0700);
	assert_int_equal(mode_of("tmp"), 0700);
	shell("test -z \"$(find tmp -name '[a-d]')\"");
	insert(s);
	store_close(s);
	shell("test -z \"$(find clickhouse/store -path '*_3_3_*' -perm /077)\"");
}

TEST_FIXTURE(a_link_in_place_of_a_directory_is_refused, make_dir, NULL)
{
	struct store *s;
	struct err err;

	make_store();
	shell("rmdir tmp && ln -s /etc tmp");
	assert_int_equal(open_store(&s, &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, "/tmp"));
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(NULL, NULL);
}
