/* What the C workloads have in common: functions that stay functions, and work. */
#ifndef ACCURACY_CHAIN_H
#define ACCURACY_CHAIN_H

#include <stdint.h>

/* clang has no noclone */
#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif
/* Behind a call: keeps it from becoming a jump, which would leave no frame of the caller. */
#define STAY __asm__ volatile("" ::: "memory")

/* Of one turn: so short that all kinds of chains come along many times a second. */
#define SPINS 200000

/* In a library of its own, so that calls go through the PLT. */
unsigned acc_library_add(unsigned a, unsigned b);
unsigned acc_library_call(unsigned (*function)(unsigned), unsigned n);

#endif /* ACCURACY_CHAIN_H */
