/* What the errors of reading a Go process mean, for messages of commands. Pure. */
#ifndef NODE_AGENT_GO_IMAGE_GO_READER_ERRORS_H
#define NODE_AGENT_GO_IMAGE_GO_READER_ERRORS_H

/* A static text; that of strerror(3) if there is no better one. */
const char *go_reader_error(int error);

#endif /* NODE_AGENT_GO_IMAGE_GO_READER_ERRORS_H */
