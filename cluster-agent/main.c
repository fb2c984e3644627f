#include <stdio.h>

#include "version.h"

int main(void)
{
	printf("coroot-cluster-agent %s\n", VERSION);
	return 0;
}
