/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Writes the results of a test program as TAP, and includes headers that nearly every test
 * needs. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int checks, failures;

/* Prints one TAP line; @fmt describes the condition. Returns @condition. */
__attribute__((format(printf, 2, 3), unused)) static bool check(bool condition, const char *fmt,
								...)
{
	__builtin_va_list ap;

	printf("%s %u - ", condition ? "ok" : "not ok", ++checks);
	__builtin_va_start(ap, fmt);
	vprintf(fmt, ap);
	__builtin_va_end(ap);
	putchar('\n');
	failures += !condition;
	return condition;
}

/* A test of the program. */
struct check_test {
	void (*run)(void);
	int line;
	struct check_test *next;
};
static struct check_test *check_tests; /* by line */

/* Defines the function test_@name(), which main() calls in the order of the lines. Constructors of
 * a file may run in any order. */
#define TEST(name)                                                                                 \
	static void test_##name(void);                                                             \
	CHECK_ADD_BEFORE_MAIN(test_##name)                                                         \
	static void test_##name(void)
#define CHECK_ADD_BEFORE_MAIN(test)                                                                \
	static struct check_test test##_entry = {test, __LINE__, NULL};                            \
	__attribute__((constructor)) static void test##_add(void)                                  \
	{                                                                                          \
		check_add(&test##_entry);                                                          \
	}

__attribute__((unused)) static void check_add(struct check_test *test)
{
	struct check_test **link = &check_tests;

	while (*link && (*link)->line < test->line)
		link = &(*link)->next;
	test->next = *link;
	*link = test;
}

static char **check_arguments; /* arguments of the test program */

/* Runs the tests, and prints the TAP plan. */
int main(int argc, char **argv)
{
	check_arguments = argv + 1;
	for (const struct check_test *test = check_tests; test; test = test->next)
		test->run();
	printf("1..%u\n", checks);
	return failures || !checks;
}

/* Returns the next number of a xorshift generator, and updates its state *@state, which must not
 * be 0. */
__attribute__((unused)) static uint64_t check_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
