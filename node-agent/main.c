#include <stdio.h>

#include "version.h"

int main(void)
{
	printf("coroot-node-agent %s\n", VERSION);
	return 0;
}
