// SPDX-License-Identifier: GPL-2.0-only
/* Tests what a confined process may do, and what its unconfined parent does for it. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "harness/base/confine.h"
#include "harness/base/new_file.h"
#include "harness/base/output_folder.h"
#include "harness/base/untrusted_file.h"
#include "harness/selftest/support/scratch.h"

enum { MOST = 64 };

/* Results of the confined process, in memory shared with its parent. */
static struct confined_results {
	struct {
		bool succeeded;
		char label[80];
	} results[MOST];
	unsigned int count;
} * shared;

static void note_result(bool passed, const char *call_name)
{
	if (shared->count == MOST)
		return;
	shared->results[shared->count].succeeded = passed;
	snprintf(shared->results[shared->count++].label, sizeof(shared->results[0].label), "%s",
		 call_name);
}

static bool can_read(const char *path, const char *text)
{
	char bytes[64] = "";
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, -1, &size, NULL);

	return fd >= 0 && read(fd, bytes, sizeof(bytes) - 1) >= 0 && !strcmp(bytes, text);
}

static bool is_refused(const char *path)
{
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, -1, &size, NULL);

	return fd < 0;
}

static bool is_harmless(const char *path, bool is_alone, const unsigned char *head, size_t size)
{
	return size >= 4 && !memcmp(head, "good", 4);
}

static void try_reading(void)
{
	note_result(can_read(scratch_path("in/file"), "mine"), "an input folder's file is read");
	note_result(can_read(scratch_path("in/deeper/file"), "deep"), "a file below it is read");
	note_result(is_refused(scratch_path("else/good")), "a harmless file elsewhere is refused");
	note_result(is_refused(scratch_path("else/secret")), "a secret file elsewhere is refused");
	note_result(is_refused(scratch_path("in/../else/secret")), "a path through .. is refused");
	note_result(is_refused(scratch_path("in/link")), "a symbolic link is refused");
	note_result(is_refused(scratch_path("in/fifo")), "a FIFO is refused without waiting");
	note_result(is_refused(scratch_path("in/shared/file")),
		    "a file in a folder that anyone can write is refused");
	note_result(is_refused(scratch_path("in-other/secret")),
		    "a folder whose name only begins like the input's is refused");
	note_result(jp_untrusted_check_exists(scratch_path("in/none")) == -ENOENT,
		    "no file: ENOENT");
}

static void try_acting(pid_t parent)
{
	jp_cleanup_close int fd = open("/proc/self/status", O_RDONLY);
	int to_write = open(scratch_path("open/file"), O_WRONLY);

	note_result(fd >= 0, "/proc can be read");
	note_result(to_write < 0, "opening a file for writing fails");
	note_result(open(scratch_path("open/new"), O_WRONLY | O_CREAT, 0600) < 0, "creat() fails");
	note_result(unlink(scratch_path("open/file")) < 0, "unlink() fails");
	note_result(rename(scratch_path("open/file"), scratch_path("open/x")) < 0, "rename fails");
	note_result(mkdir(scratch_path("open/x"), 0700) < 0, "mkdir() fails");
#ifndef __SANITIZE_ADDRESS__
	note_result(chmod(scratch_path("open/file"), 0777) < 0, "chmod() fails");
	note_result(socket(AF_INET, SOCK_STREAM, 0) < 0, "socket() fails");
	note_result(kill(parent, 0) < 0 && errno == EPERM, "kill() fails");
	note_result(fork() < 0, "fork() fails");
	note_result(execl("/bin/true", "true", NULL) < 0, "exec() fails");
	note_result(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			    MAP_FAILED,
		    "mapping executable memory fails");
#endif
}

static void try_outputs(struct jp_new_file *file)
{
	struct jp_error err = {""};
	int fd;

	note_result(!jp_new_file_publish(file, &err), "an output file gets its name");
	fd = jp_output_folder_create("one", &err);
	note_result(fd >= 0 && write(fd, "1", 1) == 1 && !jp_output_folder_publish("one", &err),
		    "a file in the output folder is published");
	fd = jp_output_folder_create("one", &err);
	note_result(fd >= 0 && jp_output_folder_publish("one", &err) == -EEXIST,
		    "a published file is not replaced");
	note_result(jp_output_folder_existing("one", &err) >= 0, "a published file can be read");
	note_result(jp_output_folder_create("../one", &err) < 0,
		    "a file outside of the output folder is refused");
}

static bool make_files(void)
{
	static const char *const folders[] = {"in",   "in/deeper", "in/shared",
					      "else", "in-other",  "open"};
	static const char *const files[][2] = {
		{"in/file", "mine"},          {"in/deeper/file", "deep"}, {"else/good", "good"},
		{"else/secret", "secret"},    {"in/shared/file", "any"},  {"open/file", "open"},
		{"in-other/secret", "secret"}};
	bool passed = true;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		passed &= !mkdir(scratch_path(folders[i]), 0700);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		passed &= scratch_write(scratch_path(files[i][0]), files[i][1],
					strlen(files[i][1])) &&
			  !chmod(scratch_path(files[i][0]), 0600);
	return passed && !symlink("../else/secret", scratch_path("in/link")) &&
	       !mkfifo(scratch_path("in/fifo"), 0666) && !chmod(scratch_path("in/shared"), 0777) &&
	       !chmod(scratch_path("open"), 0777) && !chmod(scratch_path("open/file"), 0666) &&
	       !chmod(scratch_folder(), 0711);
}

static void test_few_descriptors(const char *path, const char *folder)
{
	const struct jp_readable readable = {.input = path, .folders = {folder}};
	struct rlimit old_limit, limit;
	bool is_opened = false;
	int nr_refused = 0;

	getrlimit(RLIMIT_NOFILE, &old_limit);
	for (rlim_t max = 3; max < MOST && !is_opened; max++) {
		struct jp_delegate delegate;
		struct jp_error err = {""};
		int failed;

		limit = (struct rlimit){max, old_limit.rlim_max};
		setrlimit(RLIMIT_NOFILE, &limit);
		failed = jp_delegate_open(&delegate, &readable, &err);
		setrlimit(RLIMIT_NOFILE, &old_limit);
		is_opened = !failed;
		nr_refused += failed == -EMFILE;
		check(failed ? failed == -EMFILE && strstr(err.text, strerror(EMFILE))
			     : delegate.folders[0].fd >= 0 && delegate.folders[1].fd >= 0,
		      "a limit of %d descriptors: %s", (int)max, failed ? err.text : "enough");
		jp_delegate_close(&delegate);
	}
	check(is_opened && nr_refused > 1, "%d limits are too low, the next is enough", nr_refused);
}

TEST(confine)
{
	const struct jp_confine confine = {
		.readable = {.input = scratch_make("in"), .harmless = is_harmless}};
	struct jp_error err = {""};
	struct jp_new_file file;
	char kept_path[128], other_path[128];
	const pid_t own_pid = getpid();
	const bool root = !geteuid();
	int status = -1, ret;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (!check(make_files(), "files are made"))
		return;
	snprintf(kept_path, sizeof(kept_path), "%s", scratch_path("kept"));
	check(jp_new_file_open(&file, kept_path, 0600, &err) >= 0 &&
		      !jp_output_folder_begin(scratch_path("made"), &err),
	      "outputs are opened %s", err.text);
	snprintf(other_path, sizeof(other_path), "%s", scratch_path("else"));
	test_few_descriptors(confine.readable.input, other_path);
	ret = jp_confine_enter(&confine, &status, &err);
	if (!ret) {
		if (root) { /* an ordinary user may read all files, as their owner */
			note_result(getuid() == 65534 && geteuid() == 65534 && getegid() == 65534,
				    "root has become nobody");
			try_reading();
		}
		try_acting(own_pid);
		try_outputs(&file);
		_exit(7);
	}
	check(ret == 1 && status == 7, "the parent gets the exit status %s", err.text);
	for (unsigned int i = 0; i < shared->count; i++)
		check(shared->results[i].succeeded, "%s", shared->results[i].label);
	check(shared->count > 10, "the confined process reported %u results", shared->count);
	check(!access(kept_path, F_OK) && !access(scratch_path("made/one"), F_OK),
	      "both outputs exist");
	check(waitpid(-1, NULL, 0) < 0, "no child process is left");
}
