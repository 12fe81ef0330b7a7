// SPDX-License-Identifier: GPL-2.0-only
/* Processes in nested pid and mount namespaces. Each process has another pid inside its namespace,
 * its own /proc, and a file system that is invisible outside and contains the library whose code it
 * runs. The truth, like the capture, has the pids of the outer namespace. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "harness/base/excuse.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/folder.h"
#include "workloads/emit/object.h"
#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

static struct {
	struct jp_plan plan;
	const char *folder;
	unsigned depth; /* remaining levels of namespaces */
	bool user;      /* also create a user namespace, because we are not root */
	uid_t uid;
	gid_t gid;
} scene = {.plan = JP_PLAN(.protect = JP_PROTECT_FLIP), .depth = 1};

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Maps our user, and no other, to root of the new user namespace. Returns 0 or -errno. */
static int map_user(void)
{
	char text[64];
	int ret = write_text("/proc/self/setgroups", "deny");

	snprintf(text, sizeof(text), "0 %u 1", scene.uid);
	if (!ret)
		ret = write_text("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", scene.gid);
	return ret ?: write_text("/proc/self/gid_map", text);
}

/* Mounts a file system and a /proc for this namespace alone. Returns 0 or -errno. */
static int mount_private(const char *folder)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("inside", folder, "tmpfs", 0, "mode=0755") ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return -errno;
	return 0;
}

static int run_nested_process(void *context);

static int start_nested_process(struct jp_child *process)
{
	struct jp_fork fork = {.namespaces = CLONE_NEWPID | CLONE_NEWNS};

	if (scene.user)
		fork.namespaces |= CLONE_NEWUSER;
	return jp_process_fork(process, &fork, run_nested_process, NULL)
		       ?: jp_process_wait_ready(process);
}

/* Runs the first process of a namespace, with code in anonymous memory and in a file that only this
 * namespace has. */
static int run_nested_process(void *context)
{
	struct jp_child deeper = {0};
	struct jp_program program;
	struct jp_object object;
	struct jp_loaded loaded = {0};
	char path[PATH_MAX];
	int ret = scene.user ? map_user() : 0;

	if (!ret)
		ret = mount_private(scene.folder);
	scene.user = false; /* we are root in the namespaces below */
	snprintf(path, sizeof(path), "%.4000s/library%u.so", scene.folder, scene.depth);
	if (!ret)
		ret = jp_object_write(&object, path, scene.depth, NULL)
			      ?: jp_object_load(&object, path, 0, &loaded)
			      ?: jp_program_make(&program, &scene.plan);
	if (!ret && --scene.depth)
		ret = start_nested_process(
			&deeper); /* Do this before this process has other threads. */
	if (!ret)
		ret = jp_path_run_thread(program.paths, program.nr_paths)
			      ?: jp_path_run_thread(loaded.paths, JP_OBJECT_PATHS);
	ret = jp_path_serve_handshake("namespaces: inside", ret, NULL, NULL);
	return jp_process_stop(&deeper) ? EXIT_FAILURE : ret;
}

/* Tries the mounts of a namespace, in a process of its own. Returns errno as exit status. */
static int try_mounts(void *context)
{
	int ret = scene.user ? map_user() : 0;

	return ret ? -ret : -mount_private(scene.folder);
}

/* Checks whether namespaces can be created. Returns 0 or errno. */
static int try_namespaces(void)
{
	struct jp_fork fork = {.namespaces = CLONE_NEWPID | CLONE_NEWNS |
					     (scene.user ? CLONE_NEWUSER : 0)};
	struct jp_child process;

	return -jp_process_fork(&process, &fork, try_mounts, NULL) ?: jp_process_reap(&process);
}

static int run(int argc, char **argv)
{
	struct jp_child process = {0};
	int proc, ret = 0;

	scene.uid = geteuid();
	scene.gid = getegid();
	scene.user = scene.uid != 0;
	scene.folder = jp_folder();
	proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!scene.folder || proc < 0)
		return EXIT_FAILURE;
	ret = jp_truth_set_outer_proc(proc);
	if (!ret && (ret = try_namespaces())) {
		char reason[128];

		snprintf(reason, sizeof(reason),
			 "clone3 with CLONE_NEWPID and CLONE_NEWNS%s, or mount: %s",
			 scene.user ? " and CLONE_NEWUSER" : "", strerror(ret));
		jp_folder_remove();
		return jp_handshake_skip(reason);
	}
	if (!ret)
		ret = start_nested_process(&process);
	if (!ret)
		jp_handshake(NULL, NULL);
	ret = jp_process_stop(&process) ?: ret;
	jp_folder_remove();
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {{"--depth", .value = "N", .number = &scene.depth,
					    .min = 1, .max = 15,
					    .help = "levels of namespaces (default: 1)"},
					   {0}};

JP_DEFINE(workload, namespaces) = {
	.name = "namespaces",
	.help = "processes in pid and mount namespaces of their own",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"namespaces.map", "namespaces publish=[mb]*", "load.unnamed names.unnamed",
	 "no-map not-published", "forked", "the name of the map has the pid inside"},
	{"namespaces.jitdump", "namespaces publish=[jb]*", "load.unnamed names.unnamed",
	 "not-published", "forked",
	 "each process is pid 1 and writes to the same file, one after the other "
	 "(perf.inject-namespace)"},
	{"namespaces.strays", "namespaces publish=[jb]*", "order.stray", "no-code wrong-owner",
	 "load.unnamed", "the jitdump has the pid inside"},
	{"namespaces.injected", "namespaces publish=[jb]*", "injected.mappings inject.stray",
	 "no-code wrong-owner unwatched", "order.stray",
	 "each process gets the code of the last that wrote to the file (perf.inject-rewritten)"},
};
JP_REGISTER_ROWS(excuse, excuses);
