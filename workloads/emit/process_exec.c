// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "workloads/emit/image.h"
#include "workloads/emit/process.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/thread.h"
#include "workloads/emit/workload.h"

extern char **environ;

static const char *const birth_names[JP_BIRTHS] = {
	[JP_BIRTH_FORK_EXEC] = "fork+exec",
	[JP_BIRTH_VFORK_EXEC] = "vfork+exec",
	[JP_BIRTH_SPAWN] = "posix_spawn",
	[JP_BIRTH_THREAD_EXEC] = "thread-exec",
};

const char *jp_birth_get_name(enum jp_birth birth)
{
	return birth < JP_BIRTHS ? birth_names[birth] : "?";
}

void jp_birth_print(FILE *out)
{
	for (unsigned birth = 0; birth < JP_BIRTHS; birth++)
		fprintf(out, "%s\n", birth_names[birth]);
}

enum jp_birth jp_birth_find(const char *text)
{
	unsigned birth = 0;

	while (birth < JP_BIRTHS && strcmp(birth_names[birth], text))
		birth++;
	return birth;
}

/* File and arguments of the new image. */
struct next_image {
	char file[PATH_MAX];
	struct jp_arguments arguments;
	char *birth_args,
		*exec_tid_arg; /* two arguments of ROOM bytes, filled right before the exec */
	int error[2]; /* pipe with the errno of a failed exec; end of file: the exec succeeded */
};

enum { ROOM = 48 };

/* Adds an argument with room for ROOM bytes, which the caller fills in later. Returns the argument,
 * or NULL if out of memory. */
static char *add_placeholder_argument(struct jp_arguments *arguments)
{
	jp_arguments_add(arguments, "%*s", ROOM - 1, "");
	return arguments->failed ? NULL : arguments->list[arguments->count - 1];
}

static int find_file(struct next_image *image, const char *file)
{
	static const char program[] = "/proc/self/exe";

	if (file && strlen(file) >= sizeof(image->file))
		return -ENAMETOOLONG;
	if (file)
		strcpy(image->file, file);
	else if (jp_image_program(image->file) || access(image->file, X_OK))
		strcpy(image->file, program); /* our file was replaced or removed */
	return 0;
}

static int describe_image(struct next_image *image, const char *file, const char *const *argv,
			  const int child_ends[2])
{
	const struct jp_handshake_setup *setup = jp_handshake_setup();
	const struct jp_truth_task_ids self = jp_truth_get_own_ids();
	struct jp_arguments *arguments = &image->arguments;

	jp_arguments_add(arguments, "jitproof");
	jp_arguments_add(arguments, "workload");
	jp_arguments_add(arguments, "%s", argv[0]);
	jp_arguments_add(arguments, "--truth=%s", setup->truth);
	jp_arguments_add(arguments, "--seed=%" PRIu64, setup->seed);
	jp_arguments_add(arguments, "--shorter=%" PRIu64, setup->shorter);
	jp_arguments_add(arguments, "--ready-fd=%d", child_ends[0]);
	jp_arguments_add(arguments, "--control-fd=%d", child_ends[1]);
	if (jp_truth_get_outer_proc() >= 0)
		jp_arguments_add(arguments, "--outside-proc=%d", jp_truth_get_outer_proc());
	image->birth_args = add_placeholder_argument(arguments);
	image->exec_tid_arg = add_placeholder_argument(arguments);
	jp_arguments_add(arguments, "--parent=%u:%u", self.pid, self.tid);
	if (jp_publish_get_choice())
		jp_arguments_add(arguments, "--publish=%s", jp_publish_get_choice());
	if (jp_publish_get_choice() && jp_publish_dir())
		jp_arguments_add(arguments, "--publish-dir=%s", jp_publish_dir());
	jp_arguments_add_all(arguments, (char *const *)argv + 1);
	return arguments->failed ? -ENOMEM : find_file(image, file);
}

static void fill_placeholders(struct next_image *image, uint32_t creator)
{
	snprintf(image->exec_tid_arg, ROOM, "--exec-tid=%u", creator);
	snprintf(image->birth_args, ROOM, "--started=%" PRIu64, jp_clock_now());
}

static void *exec_image(void *arg)
{
	struct next_image *image = arg;
	int code;

	fill_placeholders(image, jp_truth_get_own_ids().tid);
	execv(image->file, image->arguments.list);
	code = errno;
	if (write(image->error[1], &code, sizeof(code)) != sizeof(code))
		code = EIO; /* the exit status still reports the error */
	jp_child_end(127);
}

/* Runs in the child. A vfork child shares our memory, so change little. */
static void __attribute__((noreturn))
exec_child(struct next_image *image, bool thread, const int child_ends[2])
{
	pthread_t spare_thread;

	fcntl(child_ends[0], F_SETFD, 0);
	fcntl(child_ends[1], F_SETFD, 0);
	if (jp_truth_get_outer_proc() >= 0)
		fcntl(jp_truth_get_outer_proc(), F_SETFD, 0);
	if (!thread)
		exec_image(image);
	if (jp_thread_make(&spare_thread, exec_image, image))
		jp_child_end(127);
	for (;;)
		pause(); /* wait until the exec ends this thread */
}

/* Starts the image with posix_spawn(), which clones inside the C library. So the new image itself
 * records its start, as an interval that begins before this call. No emitted code runs in between.
 */
static pid_t spawn_image(struct next_image *image, const int child_ends[2])
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int ret = posix_spawn_file_actions_init(&actions);

	/* A dup2 of a descriptor onto itself clears FD_CLOEXEC (POSIX.1-2024, glibc 2.29). */
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&actions, child_ends[0], child_ends[0])
			      ?: posix_spawn_file_actions_adddup2(&actions, child_ends[1],
								  child_ends[1]);
	if (!ret && jp_truth_get_outer_proc() >= 0)
		ret = posix_spawn_file_actions_adddup2(&actions, jp_truth_get_outer_proc(),
						       jp_truth_get_outer_proc());
	fill_placeholders(image, 0);
	if (!ret)
		ret = posix_spawn(&pid, image->file, &actions, NULL, image->arguments.list,
				  environ);
	posix_spawn_file_actions_destroy(&actions);
	return ret ? -ret : pid;
}

static pid_t start_image(struct next_image *image, enum jp_birth birth, const int child_ends[2])
{
	struct jp_truth_task_ids parent = jp_truth_get_own_ids();
	uint64_t before = jp_clock_now();
	pid_t pid;

	if (birth == JP_BIRTH_SPAWN)
		return spawn_image(image, child_ends);
	if (birth == JP_BIRTH_VFORK_EXEC) {
		pid = vfork();
		if (!pid) {
			jp_child_begin(before, parent, JP_START_VFORK);
			exec_child(image, false, child_ends);
		}
		/* The vfork child changed the cached ids in the memory that we share. */
		jp_truth_new_task();
		return pid < 0 ? -errno : pid;
	}
	pid = fork();
	if (!pid) {
		jp_child_begin(before, parent, JP_START_FORK);
		exec_child(image, birth == JP_BIRTH_THREAD_EXEC, child_ends);
	}
	return pid < 0 ? -errno : pid;
}

int jp_process_exec(struct jp_child *process, enum jp_birth birth, const char *file,
		    const char *const *argv)
{
	struct next_image *image = calloc(1, sizeof(*image));
	int child_ends[2], ret, code;
	pid_t pid;

	if (!image)
		return -ENOMEM;
	ret = jp_child_open(process, child_ends);
	if (ret) {
		free(image);
		return ret;
	}
	jp_children_lock();
	ret = describe_image(image, file, argv, child_ends);
	if (!ret && pipe2(image->error, O_CLOEXEC) < 0)
		ret = -errno;
	process->absent_at = jp_clock_now();
	pid = ret ? ret : start_image(image, birth, child_ends);
	if (!ret)
		close(image->error[1]);
	ret = jp_child_keep(process, pid, child_ends);
	jp_children_unlock();
	/* Wait until the exec is complete. */
	if (!ret && read(image->error[0], &code, sizeof(code)) == sizeof(code)) {
		jp_process_reap(process);
		ret = -code;
	}
	if (image->error[0])
		close(image->error[0]);
	jp_arguments_free(&image->arguments);
	free(image);
	return ret;
}
