// SPDX-License-Identifier: GPL-2.0-only
/* Runs the workload anon_exec in a statically linked program, which has no dynamic loader and has
 * the C library in its own text. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/own_machine.h"
#include "harness/base/own_program.h"
#include "workloads/emit/folder.h"
#include "workloads/emit/process.h"
#include "workloads/emit/workload.h"

static bool is_of_own_machine(const char *path)
{
	ElfW(Ehdr) header = {.e_machine = EM_NONE};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t nr_read = fd < 0 ? 0 : read(fd, &header, sizeof(header));

	if (fd >= 0)
		close(fd);
	return nr_read == sizeof(header) && header.e_machine == jp_get_own_machine();
}

/* Copies the program @path and replaces @path by the path of the copy. Returns 0 or -errno. */
static int copy_program(char path[PATH_MAX])
{
	char copy[JP_FOLDER_PATH] = "";
	int ret = jp_folder_path(copy, "program") ?: jp_folder_copy(path, copy);

	strcpy(path, copy);
	return ret;
}

static bool pie, is_removed;

static int run(int argc, char **argv)
{
	static const char *const of_child[] = {"anon_exec", NULL};
	struct jp_child process = {0};
	char path[PATH_MAX];
	struct jp_error err;
	int ret =
		jp_find_program_beside(path, pie ? "jitproof-static-pie" : "jitproof-static", &err);

	if (ret == -ENOENT || (!ret && !is_of_own_machine(path)))
		return jp_handshake_skip(
			"a static program of this machine beside jitproof (make it where there is "
			"a static C library)");
	if (ret)
		fprintf(stderr, "jitproof workload: %s\n", err.text);
	if (!ret && is_removed)
		ret = copy_program(path);
	if (!ret)
		ret = jp_process_exec(&process, JP_BIRTH_FORK_EXEC, path, of_child)
			      ?: jp_process_wait_ready(&process);
	if (!ret && is_removed && unlink(path))
		ret = -errno;
	if (!ret)
		jp_handshake(NULL, NULL);
	ret = jp_process_stop(&process) ?: ret;
	jp_folder_remove();
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--pie", .set = &pie, .help = "linked for any address, not for a fixed one"},
	{"--gone", .set = &is_removed, .help = "the file is deleted while it runs"},
	{0}};

JP_DEFINE(workload, static_binary) = {
	.name = "static_binary",
	.help = "emitted code in a statically linked program",
	.options = options,
	.run = run,
};
