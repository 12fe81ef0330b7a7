// SPDX-License-Identifier: GPL-2.0-only
/* Finding strings and numbers in foreign JSON, and detecting truncated JSON. */
#include "harness/base/json.h"

#include "harness/selftest/support/check.h"

static const char text[] = " {\"a\": \"}{\", \"n\": 20, \"t\": {\"x\": [1, {}], \"y\": \"z\"}, "
			   "\"big\": 18446744073709551616, \"less\": -1, \"none\": null}\n";

TEST(find)
{
	const char *const deep[] = {"t", "y", NULL}, *const n[] = {"n", NULL};
	const char *const big[] = {"big", NULL}, *const smaller[] = {"less", NULL};
	const char *const absent_path[] = {"none", NULL}, *const missing[] = {"t", "n", NULL};
	uint64_t number = 0;
	char value[8];

	check(jp_json_find(text, deep, value, sizeof(value)) && !strcmp(value, "z"),
	      "a string is found");
	check(!jp_json_find(text, n, value, sizeof(value)), "a number is not found as a string");
	check(jp_json_find_number(text, n, &number) && number == 20, "a number is found");
	check(!jp_json_find_number(text, deep, &number) &&
		      !jp_json_find_number(text, big, &number) &&
		      !jp_json_find_number(text, smaller, &number) &&
		      !jp_json_find_number(text, absent_path, &number) &&
		      !jp_json_find_number(text, missing, &number),
	      "strings, huge, negative, null and missing values are not found as numbers");
}

TEST(truncation)
{
	char truncated[sizeof(text)];

	check(jp_json_is_object(text) && jp_json_is_object("{}"), "complete objects are accepted");
	for (size_t length = 0; length < sizeof(text) - 2; length++) {
		memcpy(truncated, text, length);
		truncated[length] = '\0';
		check(!jp_json_is_object(truncated), "the first %zu bytes alone are no object",
		      length);
	}
	check(!jp_json_is_object("[1]") && !jp_json_is_object("{} {}") &&
		      !jp_json_is_object("\"a\""),
	      "arrays, two objects and strings are no object");
}
