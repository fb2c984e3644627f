/* A client of TCP that sends what it is given, for tests of servers. Failures fail the test. */
#ifndef TEST_LIB_RAW_CLIENT_H
#define TEST_LIB_RAW_CLIENT_H

#include "common/base.h"

/* Connects to 127.0.0.1. The caller closes the descriptor. */
int raw_client_connect(unsigned port);
/* The same with an address of its own, such as "127.0.0.2". */
int raw_client_connect_from(const char *address, unsigned port);

void raw_client_send(int fd, const char *text);
/* False if the server has closed the connection. */
bool raw_client_try_send(int fd, const char *text);
/*
 * Reads until the server closes the connection, or until the text wanted has arrived. Returns what
 * was read, for free(3).
 */
char *raw_client_read(int fd, const char *wanted);
/* Closes with a reset instead of a FIN. */
void raw_client_reset(int fd);

#endif /* TEST_LIB_RAW_CLIENT_H */
