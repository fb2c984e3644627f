#include <fcntl.h>
#include <sys/stat.h>

#include "node-agent/host_identity.h"
#include "test/lib/unit.h"

static void write_file(const char *dir, const char *name, const char *text)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void make_dir(const char *dir, const char *name)
{
	AUTO_FREE char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void remove_entry(const char *dir, const char *name)
{
	AUTO_FREE char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	assert_int_equal(remove(path), 0);
}

TEST(the_machine_id_is_cleaned)
{
	const char *dir = temp_dir();
	struct host_identity id;

	make_dir(dir, "etc");
	write_file(dir, "etc/machine-id", "3D1219C7-c4c5-404a\nsecond line");
	host_identity_read(&id, dir, NULL);
	assert_string_equal(id.id, "3d1219c7c4c5404a");
	remove_entry(dir, "etc/machine-id");
	remove_entry(dir, "etc");
	remove_entry(dir, "");
}

TEST(a_host_without_an_id_has_an_empty_one)
{
	const char *dir = temp_dir();
	struct host_identity id;

	host_identity_read(&id, dir, "");
	assert_string_equal(id.id, "");
	assert_true(id.name[0] != '\0');
	remove_entry(dir, "");
}

TEST(a_given_name_wins)
{
	const char *dir = temp_dir();
	struct host_identity id;

	host_identity_read(&id, dir, "node-7.example");
	assert_string_equal(id.name, "node-7.example");
	remove_entry(dir, "");
}
