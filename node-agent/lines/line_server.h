/* The second process of line_helper.h: it has the files, and no right but to read them. */
#ifndef NODE_AGENT_LINES_LINE_SERVER_H
#define NODE_AGENT_LINES_LINE_SERVER_H

#include "common/base.h"

/* What the first process must know to answer for one that has died; shared memory. */
struct line_serving {
	uint32_t number; /* of the request that is being served; 0: none */
};

/*
 * Serves requests from the socket until none has come for LINE_HELPER_IDLE_MS or its other end is
 * closed. For a process of one thread, which ends here.
 */
_Noreturn void line_server_run(int socket, struct line_serving *serving);

#endif /* NODE_AGENT_LINES_LINE_SERVER_H */
