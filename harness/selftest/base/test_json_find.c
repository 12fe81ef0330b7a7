// SPDX-License-Identifier: GPL-2.0-only
/* Values found in JSON that another wrote: strings, numbers, and whether it is whole. */
#include "harness/base/json_find.h"

#include <string.h>

#include "harness/selftest/support/check.h"

static const char text[] = " {\"a\": \"}{\", \"n\": 20, \"t\": {\"x\": [1, {}], \"y\": \"z\"}, "
			   "\"big\": 18446744073709551616, \"less\": -1, \"none\": null}\n";

static void find(void)
{
	const char *const deep[] = {"t", "y", NULL}, *const n[] = {"n", NULL};
	const char *const big[] = {"big", NULL}, *const less[] = {"less", NULL};
	const char *const none[] = {"none", NULL}, *const missing[] = {"t", "n", NULL};
	uint64_t number = 0;
	char value[8];

	check(jp_json_find(text, deep, value, sizeof(value)) && !strcmp(value, "z"), "a string");
	check(!jp_json_find(text, n, value, sizeof(value)), "no string");
	check(jp_json_find_number(text, n, &number) && number == 20, "a number");
	check(!jp_json_find_number(text, deep, &number) &&
		      !jp_json_find_number(text, big, &number) &&
		      !jp_json_find_number(text, less, &number) &&
		      !jp_json_find_number(text, none, &number) &&
		      !jp_json_find_number(text, missing, &number),
	      "no numbers");
}

static void be_whole(void)
{
	char cut[sizeof(text)];

	check(jp_json_is_object(text) && jp_json_is_object("{}"), "objects");
	for (size_t length = 0; length < sizeof(text) - 2; length++) {
		memcpy(cut, text, length);
		cut[length] = '\0';
		check(!jp_json_is_object(cut), "no object: the first %zu bytes", length);
	}
	check(!jp_json_is_object("[1]") && !jp_json_is_object("{} {}") &&
		      !jp_json_is_object("\"a\""),
	      "no object");
}

int main(void)
{
	find();
	be_whole();
	return check_done();
}
