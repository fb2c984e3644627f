#include "test/lib/key_files.h"

#include "test/lib/unit.h"

char key_file[64], other_key_file[64];

static const char *dir;

int key_files_set_up(void **state)
{
	(void)state;
	dir = temp_dir();
	snprintf(key_file, sizeof(key_file), "%s/keys", dir);
	snprintf(other_key_file, sizeof(other_key_file), "%s/other", dir);
	return 0;
}

void key_file_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}
