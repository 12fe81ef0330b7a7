// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool jp_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t number;

	if (!jp_number_take(&text, 10, max, &number) || *text || number < min)
		return false;
	*value = number;
	return true;
}

bool jp_number_take(const char **text, int base, uint64_t max, uint64_t *value)
{
	unsigned char first = **text;
	int old_errno = errno, error;
	uint64_t number;
	char *end;

	if (base == 16 ? !isxdigit(first) : !isdigit(first))
		return false;
	errno = 0;
	number = strtoull(*text, &end, base);
	error = errno;
	errno = old_errno;
	if (error || number > max)
		return false;
	*text = end;
	*value = number;
	return true;
}

bool jp_number_take_real(const char **text, double *value)
{
	int old_errno = errno;
	double number;
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	number = strtod(*text, &end);
	errno = old_errno;
	if (!isfinite(number))
		return false;
	*text = end;
	*value = number;
	return true;
}
