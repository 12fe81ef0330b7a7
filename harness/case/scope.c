// SPDX-License-Identifier: GPL-2.0-only
#include "harness/case/scope.h"

#include <ctype.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/base/number.h"

static bool looks_like_version(const char *text)
{
	bool digit = false;

	for (; *text; text++) {
		if (!isdigit((unsigned char)*text) && !(*text == '.' && digit))
			return false;
		digit = *text != '.';
	}
	return digit;
}

bool jp_scope_parse(const char *tool, const char *range, struct jp_scope *scope)
{
	const char *dots = strstr(range, "..");
	size_t length = dots ? (size_t)(dots - range) : strlen(range);
	const char *last = dots ? dots + 2 : range;

	if (!tool[0] || strlen(tool) >= sizeof(scope->tool) ||
	    length >= sizeof(scope->first_version) || strlen(last) >= sizeof(scope->last_version) ||
	    (!length && !last[0]))
		return false;
	strcpy(scope->tool, tool);
	memcpy(scope->first_version, range, length);
	scope->first_version[length] = '\0';
	strcpy(scope->last_version, last);
	return (!length || looks_like_version(scope->first_version)) &&
	       (!last[0] || looks_like_version(scope->last_version));
}

/* Returns the number at *@text, or 0 if there is none, and moves *@text behind the number and the
 * dot after it. */
static uint64_t parse_number(const char **text)
{
	uint64_t number = isdigit((unsigned char)**text) ? UINT64_MAX : 0;

	/* A number that is too large to parse stays UINT64_MAX. */
	if (!jp_number_take(text, 10, UINT64_MAX, &number))
		*text += strspn(*text, "0123456789");
	*text += **text == '.';
	return number;
}

/* Compares only as many numbers of @version as @bound has; missing numbers of @version are 0.
 * Returns a value below, equal to or above 0. */
static int compare_versions(const char *version, const char *bound)
{
	while (*bound) {
		uint64_t number = parse_number(&version), bound_number = parse_number(&bound);

		if (number != bound_number)
			return number < bound_number ? -1 : 1;
	}
	return 0;
}

/* Returns whether @environment, text of env.json, records the machine @name, such as aarch64. */
static bool is_machine(const char *environment, const char *name)
{
	static const char *const machine[] = {"machine", NULL};
	char value[32];

	return jp_json_find(environment, machine, value, sizeof(value)) && !strcmp(value, name);
}

bool jp_scope_holds(const struct jp_scope *scope, const char *environment)
{
	static const char *const kernel[] = {"kernel", NULL}, *const cpu[] = {"cpu", NULL};
	const char *const tool[] = {"tools", scope->tool, NULL};
	const bool qemu = strcmp(scope->tool, "qemu") == 0;
	char value[256];
	const char *version = value;

	if (!scope->tool[0])
		return true;
	if (!environment || !jp_json_find(environment,
					  qemu ? cpu
					  : strcmp(scope->tool, "kernel") == 0 ||
							  is_machine(environment, scope->tool)
						  ? kernel
						  : tool,
					  value, sizeof(value)))
		return false;
	/* An emulated CPU's name is such as "QEMU Virtual CPU version 2.5+". With KVM it is the
	 * name of the real CPU. */
	if (qemu && strncmp(value, "QEMU ", 5) != 0)
		return false;
	/* Skip the words before the number, as in "perf version 6.1.170". */
	version += strcspn(version, "0123456789");
	return *version &&
	       (!scope->first_version[0] || compare_versions(version, scope->first_version) >= 0) &&
	       (!scope->last_version[0] || compare_versions(version, scope->last_version) <= 0);
}
