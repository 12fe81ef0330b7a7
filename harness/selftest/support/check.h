/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* With what nearly every test needs. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TAP of one test program: a line for each check, the plan at the end. */
static unsigned int checks, failures;

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

__attribute__((unused)) static int check_done(void)
{
	printf("1..%u\n", checks);
	return failures || !checks;
}

/* The next of the same row of random numbers; @state is not 0. */
__attribute__((unused)) static uint64_t check_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
