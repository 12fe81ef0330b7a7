// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that is linked statically: no dynamic loader, the C library in the program's own text.
 * What runs in it is the workload anon_exec.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/folder.h"
#include "workloads/process.h"
#include "workloads/workload.h"

/* It lies beside the program that runs here. 0 or -errno. */
static int find_program(char path[PATH_MAX], const char *name)
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *end;

	if (length < 0)
		return -errno;
	path[length] = '\0';
	end = strrchr(path, '/') + 1;
	if (end - path + strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(end, name);
	return access(path, X_OK) ? -errno : 0;
}

/* @path becomes that of a copy, which nobody else needs. */
static int copy_program(char path[PATH_MAX])
{
	const char *folder = jp_folder();
	char copy[PATH_MAX];
	int ret;

	if (!folder)
		return -EIO;
	snprintf(copy, sizeof(copy), "%.4000s/program", folder);
	ret = jp_folder_copy(path, copy);
	strcpy(path, copy);
	return ret;
}

static int run(int argc, char **argv)
{
	static const char *const of_child[] = {"anon_exec", NULL};
	const char *name = "jitproof-static";
	int gone = 0;
	struct jp_process process = {0};
	char path[PATH_MAX];
	int ret;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--gone")) {
			gone = 1;
			continue;
		}
		if (strcmp(argv[i], "--pie")) {
			fprintf(stderr, "jitproof workload %s: unknown option '%s' (see --help)\n",
				argv[0], argv[i]);
			return 2;
		}
		name = "jitproof-static-pie";
	}
	ret = find_program(path, name);
	if (ret == -ENOENT)
		return jp_stage_skip("a static program beside jitproof (make it where there is a "
				     "static C library)");
	if (!ret && gone)
		ret = copy_program(path);
	if (!ret)
		ret = jp_process_exec(&process, JP_BIRTH_FORK_EXEC, path, of_child);
	if (!ret)
		ret = jp_process_wait_ready(&process);
	if (!ret && gone && unlink(path))
		ret = -errno;
	if (!ret)
		jp_stage(NULL, NULL);
	if (process.pid) {
		jp_process_tell_stop(&process);
		if (jp_process_reap(&process))
			ret = -ECHILD;
	}
	jp_folder_remove();
	if (ret)
		fprintf(stderr, "jitproof workload %s: %s\n", argv[0], strerror(-ret));
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const struct jp_workload static_binary = {
	.name = "static_binary",
	.help = "emitted code in a statically linked program",
	.options = "  --pie            linked for any address, not for a fixed one\n"
		   "  --gone           the file is deleted while it runs\n",
	.run = run,
};
JP_REGISTER(workload, static_binary);
