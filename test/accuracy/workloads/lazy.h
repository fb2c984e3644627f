/* 256 functions that are called once: lazy_0000 … lazy_3333. */
#ifndef ACCURACY_LAZY_H
#define ACCURACY_LAZY_H

#define LAZY_4(f, name) f(name##0) f(name##1) f(name##2) f(name##3)
#define LAZY_16(f, name) LAZY_4(f, name##0) LAZY_4(f, name##1) LAZY_4(f, name##2) LAZY_4(f, name##3)
#define LAZY_64(f, name) \
	LAZY_16(f, name##0) LAZY_16(f, name##1) LAZY_16(f, name##2) LAZY_16(f, name##3)
#define EACH_LAZY(f) LAZY_64(f, lazy_0) LAZY_64(f, lazy_1) LAZY_64(f, lazy_2) LAZY_64(f, lazy_3)

#define LAZY_DECLARE(name) void name(void);
EACH_LAZY(LAZY_DECLARE)

#endif /* ACCURACY_LAZY_H */
