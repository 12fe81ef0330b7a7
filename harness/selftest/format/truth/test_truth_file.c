// SPDX-License-Identifier: GPL-2.0-only
/* Continuing an existing truth file after an exec, and ids outside of the pid namespace. */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness/format/truth/write.h"
#include "harness/selftest/support/scratch.h"

/* Calls jp_truth_open() in a child. Returns its error message, or "" on success. */
static const char *open_in_child(const char *path, uint64_t slots)
{
	static char text[1024];
	int ends[2];
	ssize_t nr_read;
	pid_t pid;

	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC))
		exit(99);
	pid = fork();
	if (!pid) {
		struct jp_error err = {""};
		int ret = jp_truth_open(path, slots, &err);

		if (!ret && (jp_truth_open(path, 0, &err) != -EALREADY || jp_truth_id() == 0))
			snprintf(err.text, sizeof(err.text), "opened twice");
		else if (!ret)
			*err.text = '\0';
		_exit(write(ends[1], err.text, strlen(err.text)) < 0);
	}
	close(ends[1]);
	nr_read = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	text[nr_read > 0 ? nr_read : 0] = '\0';
	return text;
}

TEST(no_file)
{
	check(jp_truth_reserve(3) == 0 && jp_truth_id() == 0,
	      "without a file no record is written");
	jp_truth_append(&(struct jp_truth_record){.type = JP_TRUTH_MARK});
}

TEST(continue_truth_file)
{
	const char *path = scratch_path("truth");
	char *bytes, *message;
	size_t size;
	static const struct {
		size_t offset;
		const char *label;
	} fields[] = {
		{offsetof(struct jp_truth_header, magic), "magic"},
		{offsetof(struct jp_truth_header, version), "version"},
		{offsetof(struct jp_truth_header, record_size), "record size"},
		{offsetof(struct jp_truth_header, e_machine), "machine"},
		{offsetof(struct jp_truth_header, capacity), "capacity, larger"},
		{offsetof(struct jp_truth_header, capacity) + 7, "capacity, far too large"},
	};

	check(!*open_in_child(path, 4), "a new truth file is opened: %s", open_in_child(path, 0));
	check(strstr(open_in_child(path, 4), "does not append to the truth of another run") != NULL,
	      "an existing truth file is not created again");
	check(!*open_in_child(path, 0), "an existing truth file is continued");
	bytes = jp_file_read(path, 1 << 16, &size, NULL);
	if (!bytes)
		exit(99);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		bytes[fields[i].offset] ^= 1 << 5;
		message = scratch_write(path, bytes, size) ? (char *)open_in_child(path, 0) : "";
		check(strstr(message, "offset 0: not the truth of an earlier image") != NULL,
		      "a file with another %s is refused: %s", fields[i].label, message);
		bytes[fields[i].offset] ^= 1 << 5;
	}
	scratch_write(path, bytes, size - 1);
	check(strstr(open_in_child(path, 0), "not truncated") != NULL,
	      "a shortened file is refused");
	scratch_write(path, bytes, 10);
	check(strstr(open_in_child(path, 0), "offset 0") != NULL, "a cut header is refused");
	free(bytes);
	check(strstr(open_in_child("/dev/null", 0), "offset 0") != NULL, "a device is refused: %s",
	      open_in_child("/dev/null", 0));
	check(strstr(open_in_child(scratch_path("none"), 0), "none: ") != NULL,
	      "a missing file is an error");
	check(strstr(open_in_child(scratch_path("huge"), UINT64_MAX / 2), "cannot reserve space") !=
		      NULL,
	      "a size beyond that of files is an error: %s",
	      open_in_child(scratch_path("huge2"), UINT64_MAX / 2));
	check(strstr(open_in_child(scratch_path("large"), INT64_MAX / 65),
		     "cannot reserve space") != NULL,
	      "a size beyond that of the disk is an error");
}

TEST(trim)
{
	struct jp_truth_header header = {.magic = JP_TRUTH_MAGIC,
					 .record_size = sizeof(struct jp_truth_record),
					 .capacity = 9,
					 .next_slot = 2};
	const char *path = scratch_path("long");
	struct stat st = {0};

	scratch_write(path, &header, sizeof(header));
	check(!truncate(path, JP_TRUTH_PAGE + 9 * 64), "a file of 9 slots is made");
	jp_truth_trim(path);
	check(!stat(path, &st) && st.st_size == JP_TRUTH_PAGE + 2 * 64,
	      "7 unused slots are cut off");
	header.next_slot = 10;
	scratch_write(path, &header, sizeof(header));
	jp_truth_trim(path);
	check(!stat(path, &st) && st.st_size == sizeof(header), "a full file keeps its size");
	scratch_write(path, "other", 5);
	jp_truth_trim(path);
	check(!stat(path, &st) && st.st_size == 5, "another file keeps its size");
}

TEST(outer_ids)
{
	jp_cleanup_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	jp_cleanup_close int no_proc = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	jp_cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	jp_cleanup_close int ended = -1;
	struct jp_truth_task_ids self;
	pid_t pid;

	check(jp_truth_find_outer_pid(-1, 77) == 77, "without an outer /proc pids are unchanged");
	check(jp_truth_set_outer_proc(no_proc) == -ENOENT && jp_truth_get_outer_proc() == -1,
	      "a folder that is not /proc is refused");
	check(!jp_truth_set_outer_proc(proc) && jp_truth_get_outer_proc() == proc,
	      "/proc is accepted");
	self = jp_truth_get_own_ids();
	check(self.pid == (uint32_t)getpid() && self.tid == (uint32_t)gettid(),
	      "our ids are right");
	check(jp_truth_find_outer_pid(pidfd, 77) == getpid(), "a pidfd gives the outer pid");
	check(jp_truth_find_outer_pid(12345, 77) == -ENOENT, "a bad pidfd is an error");
	check(jp_truth_find_outer_pid(proc, 77) == -ESRCH,
	      "a descriptor of no process is an error");
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(0);
	ended = (int)syscall(SYS_pidfd_open, pid, 0);
	waitpid(pid, NULL, 0);
	check(jp_truth_find_outer_pid(ended, 77) == -ESRCH,
	      "an exited process's pidfd is an error");
}
