/* Removing what a test has made. */
#ifndef TEST_LIB_REMOVE_TREE_H
#define TEST_LIB_REMOVE_TREE_H

/* Removes a directory with everything in it; does not follow links. Returns 0, or -1 with errno. */
int remove_tree(const char *dir);

#endif /* TEST_LIB_REMOVE_TREE_H */
