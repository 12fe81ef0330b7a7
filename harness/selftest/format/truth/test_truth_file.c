// SPDX-License-Identifier: GPL-2.0-only
/* A truth file that a process goes on with, or may not; who it is outside of its namespace. */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness/format/truth/write.h"
#include "harness/selftest/support/scratch.h"

/* What jp_truth_open() says in a process of its own: its error text, "" where it opens. */
static const char *opened(const char *path, uint64_t slots)
{
	static char text[1024];
	int ends[2];
	ssize_t got;
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
	got = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void go_on(void)
{
	const char *path = scratch_path("truth");
	char *bytes, *said;
	size_t size;
	static const struct {
		size_t at;
		const char *what;
	} fields[] = {
		{offsetof(struct jp_truth_header, magic), "magic"},
		{offsetof(struct jp_truth_header, version), "version"},
		{offsetof(struct jp_truth_header, record_size), "record size"},
		{offsetof(struct jp_truth_header, e_machine), "machine"},
		{offsetof(struct jp_truth_header, capacity), "capacity, larger"},
		{offsetof(struct jp_truth_header, capacity) + 7, "capacity, far too large"},
	};

	check(!*opened(path, 4), "a new one: %s", opened(path, 0));
	check(strstr(opened(path, 4), "another run is never added to") != NULL,
	      "is not made twice");
	check(!*opened(path, 0), "but gone on with");
	bytes = jp_file_read(path, 1 << 16, &size, NULL);
	if (!bytes)
		exit(99);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		bytes[fields[i].at] ^= 1 << 5;
		said = scratch_write(path, bytes, size) ? (char *)opened(path, 0) : "";
		check(strstr(said, "offset 0: not the truth of an earlier image") != NULL,
		      "another %s: %s", fields[i].what, said);
		bytes[fields[i].at] ^= 1 << 5;
	}
	scratch_write(path, bytes, size - 1);
	check(strstr(opened(path, 0), "unshortened") != NULL, "one that is shorter");
	scratch_write(path, bytes, 10);
	check(strstr(opened(path, 0), "offset 0") != NULL, "or has no header");
	free(bytes);
	check(strstr(opened("/dev/null", 0), "offset 0") != NULL, "no file: %s",
	      opened("/dev/null", 0));
	check(strstr(opened(scratch_path("none"), 0), "none: ") != NULL, "none at all");
	check(strstr(opened(scratch_path("huge"), UINT64_MAX / 2), "cannot make room") != NULL,
	      "more than fits into a file: %s", opened(scratch_path("huge2"), UINT64_MAX / 2));
	check(strstr(opened(scratch_path("large"), INT64_MAX / 65), "cannot make room") != NULL,
	      "or onto the disk");
}

static void outside(void)
{
	jp_cleanup_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	jp_cleanup_close int other = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	jp_cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	jp_cleanup_close int ended = -1;
	struct jp_truth_task_ids self;
	pid_t pid;

	check(jp_truth_outer_pid(-1, 77) == 77, "without an outside numbers are the same");
	check(jp_truth_set_outer_proc(other) == -ENOENT && jp_truth_outer_proc() == -1, "no /proc");
	check(!jp_truth_set_outer_proc(proc) && jp_truth_outer_proc() == proc, "ours");
	self = jp_truth_self();
	check(self.pid == (uint32_t)getpid() && self.tid == (uint32_t)gettid(), "who we are");
	check(jp_truth_outer_pid(pidfd, 77) == getpid(), "by a pidfd");
	check(jp_truth_outer_pid(12345, 77) == -ENOENT, "by none");
	check(jp_truth_outer_pid(proc, 77) == -ESRCH, "by a descriptor of no process");
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(0);
	ended = (int)syscall(SYS_pidfd_open, pid, 0);
	waitpid(pid, NULL, 0);
	check(jp_truth_outer_pid(ended, 77) == -ESRCH, "one that is gone");
}

int main(void)
{
	scratch_make("");
	check(jp_truth_reserve(3) == 0 && jp_truth_id() == 0, "without a file nothing is written");
	jp_truth_append(&(struct jp_truth_record){.type = JP_TRUTH_MARK});
	go_on();
	outside();
	return check_done();
}
