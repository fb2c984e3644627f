/*
 * The resident pages of programs and libraries that nothing writes to: code, constants, symbol
 * tables.
 *
 * They are pages of files, which the kernel maps in groups of sixteen around each that is touched,
 * and keeps. Most of an agent's are those of its start, when the dynamic linker and the libraries'
 * own initialization read everything once.
 */
#ifndef COMMON_SYSTEM_CODE_PAGES_H
#define COMMON_SYSTEM_CODE_PAGES_H

/*
 * Gives them back, from any thread. What is needed again is mapped again, by a page fault for each
 * group, from the kernel's cache of the file. Breakpoints that a debugger or a uprobe has set
 * there are lost.
 */
void code_pages_release(void);

#endif /* COMMON_SYSTEM_CODE_PAGES_H */
