/* A directory with files of keys, for tests of who reads them. For a group of tests. */
#ifndef TEST_LIB_KEY_FILES_H
#define TEST_LIB_KEY_FILES_H

/* The file that is read, and one to rename to it. */
extern char key_file[64], other_key_file[64];

int key_files_set_up(void **state);
void key_file_write(const char *path, const char *text);

#endif /* TEST_LIB_KEY_FILES_H */
