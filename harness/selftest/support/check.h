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

/* Prints one TAP line; @fmt describes the condition. Returns @good. */
__attribute__((format(printf, 2, 3), unused)) static bool check(bool good, const char *fmt, ...)
{
	__builtin_va_list ap;

	printf("%s %u - ", good ? "ok" : "not ok", ++checks);
	__builtin_va_start(ap, fmt);
	vprintf(fmt, ap);
	__builtin_va_end(ap);
	putchar('\n');
	failures += !good;
	return good;
}

/* Prints the TAP plan. Returns the exit status of the test program. */
__attribute__((unused)) static int check_done(void)
{
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
