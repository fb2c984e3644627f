/* A library that calls back its caller, for churn.c; without frame pointers. */
int churn_call(int (*back)(int), int x);

__attribute__((noinline)) static int between(int (*back)(int), int x)
{
	return back(x) + 1;
}

int churn_call(int (*back)(int), int x)
{
	return between(back, x) + between(back, x + 1);
}
