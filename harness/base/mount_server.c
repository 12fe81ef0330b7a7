// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/mount_server.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "harness/base/cleanup.h"
#include "harness/base/number.h"

/* Parses one line of mountinfo: "ID PARENT MAJOR:MINOR ROOT POINT ... - TYPE SOURCE OPTIONS". */
static bool parse_server(const char *line, dev_t dev, uid_t *user)
{
	static const char option[] = "user_id=";
	const char *type = strstr(line, " - fuse"), *option_text;
	unsigned int major, minor;
	uint64_t number;

	if (!type || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
	    makedev(major, minor) != dev)
		return false;
	option_text = strstr(type, option);
	if (!option_text)
		return false;
	option_text += strlen(option);
	if (!jp_number_take(&option_text, 10, UINT32_MAX, &number))
		return false;
	*user = (uid_t)number;
	return true;
}

bool jp_mount_find_server(dev_t dev, uid_t *user)
{
	jp_cleanup_fclose FILE *file = fopen("/proc/self/mountinfo", "re");
	jp_cleanup_free char *line = NULL;
	bool has_server = false;
	size_t size = 0;

	while (file && !has_server && getline(&line, &size, file) > 0)
		has_server = parse_server(line, dev, user);
	return has_server;
}
