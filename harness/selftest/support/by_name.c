// SPDX-License-Identifier: GPL-2.0-only
/* Runs the unit test that has the name of the program, such as build/selftest/base/test_array. The
 * makefile gives main() of each unit test the test's own name. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (const char *name = argv[0]; name; name = strchr(name, '/')) {
		int (*test)(int argc, char **argv);

		name += *name == '/';
		*(void **)&test = dlsym(RTLD_DEFAULT, name);
		if (test)
			return test(argc, argv);
	}
	fprintf(stderr, "%s: expected the name of a unit test, such as selftest/base/test_array\n",
		argv[0]);
	return 99;
}
