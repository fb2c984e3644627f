/*
 * What both agents refuse themselves at the start, whoever runs them: new privileges by starting
 * programs, core dumps (keys and other people's memory are in ours), being read by other processes
 * of the same user, and files that others may read.
 */
#ifndef COMMON_PRIVILEGE_PROCESS_HARDENING_H
#define COMMON_PRIVILEGE_PROCESS_HARDENING_H

/*
 * For the whole process; before any thread is started, as no_new_privs is a thread's. A kernel that
 * refuses a part of it is named in the log, and the rest holds.
 */
void process_harden(void);

#endif /* COMMON_PRIVILEGE_PROCESS_HARDENING_H */
