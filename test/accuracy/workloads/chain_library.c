#include "chain.h"

KEEP unsigned acc_library_add(unsigned a, unsigned b)
{
	return a * 31 + b;
}

KEEP unsigned acc_library_call(unsigned (*function)(unsigned), unsigned n)
{
	unsigned result = function(n);

	STAY;
	return result;
}
