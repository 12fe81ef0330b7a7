// SPDX-License-Identifier: GPL-2.0-only
/* What a confined process may still do, and what is done for it. */
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

/* What the confined process found, shared with the one that stays. */
static struct confine_found {
	struct {
		bool good;
		char what[80];
	} all[MOST];
	unsigned int count;
} * found;

static void note(bool good, const char *what)
{
	if (found->count == MOST)
		return;
	found->all[found->count].good = good;
	snprintf(found->all[found->count++].what, sizeof(found->all[0].what), "%s", what);
}

static bool reads(const char *path, const char *text)
{
	char bytes[64] = "";
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, -1, &size, NULL);

	return fd >= 0 && read(fd, bytes, sizeof(bytes) - 1) >= 0 && !strcmp(bytes, text);
}

static bool refused(const char *path)
{
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, -1, &size, NULL);

	return fd < 0;
}

static bool harmless(const char *path, bool alone, const unsigned char *head, size_t size)
{
	return size >= 4 && !memcmp(head, "good", 4);
}

static void try_reading(void)
{
	note(reads(scratch_path("in/file"), "mine"), "a file of the input's folder is opened");
	note(reads(scratch_path("in/deeper/file"), "deep"), "and one below");
	note(refused(scratch_path("else/good")), "one elsewhere is not, harmless or not");
	note(refused(scratch_path("else/secret")), "another is not");
	note(refused(scratch_path("in/../else/secret")), "nor is it by ..");
	note(refused(scratch_path("in/link")), "nor by a link");
	note(refused(scratch_path("in/fifo")), "nor is a FIFO waited for");
	note(refused(scratch_path("in/shared/file")), "nor what others could have put there");
	note(refused(scratch_path("in-other/secret")), "nor what begins with the same letters");
	note(jp_untrusted_there(scratch_path("in/none"), NULL) == -ENOENT, "none is none");
}

static void try_acting(pid_t parent)
{
	jp_cleanup_close int fd = open("/proc/self/status", O_RDONLY);
	int to_write = open(scratch_path("open/file"), O_WRONLY);

	note(fd >= 0, "reading is allowed");
	note(to_write < 0, "writing to a file is not");
	note(open(scratch_path("open/new"), O_WRONLY | O_CREAT, 0600) < 0, "nor is making one");
	note(unlink(scratch_path("open/file")) < 0, "nor removing one");
	note(rename(scratch_path("open/file"), scratch_path("open/x")) < 0, "nor renaming");
	note(mkdir(scratch_path("open/x"), 0700) < 0, "nor a folder");
#ifndef __SANITIZE_ADDRESS__
	note(chmod(scratch_path("open/file"), 0777) < 0, "nor chmod()");
	note(socket(AF_INET, SOCK_STREAM, 0) < 0, "nor a socket");
	note(kill(parent, 0) < 0 && errno == EPERM, "nor a signal");
	note(fork() < 0, "nor fork()");
	note(execl("/bin/true", "true", NULL) < 0, "nor exec()");
	note(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		     MAP_FAILED,
	     "nor executable memory");
#endif
}

static void try_outputs(struct jp_new_file *file)
{
	struct jp_error err = {""};
	int fd;

	note(!jp_new_file_keep(file, &err), "an output takes its name");
	fd = jp_output_folder_create("one", &err);
	note(fd >= 0 && write(fd, "1", 1) == 1 && !jp_output_folder_publish("one", &err),
	     "a file in the output folder is made");
	fd = jp_output_folder_create("one", &err);
	note(fd >= 0 && jp_output_folder_publish("one", &err) == -EEXIST, "and none replaced");
	note(jp_output_folder_existing("one", &err) >= 0, "it can be read");
	note(jp_output_folder_create("../one", &err) < 0, "a file elsewhere is not made");
}

static bool make(void)
{
	static const char *const folders[] = {"in",   "in/deeper", "in/shared",
					      "else", "in-other",  "open"};
	static const char *const files[][2] = {
		{"in/file", "mine"},          {"in/deeper/file", "deep"}, {"else/good", "good"},
		{"else/secret", "secret"},    {"in/shared/file", "any"},  {"open/file", "open"},
		{"in-other/secret", "secret"}};
	bool good = true;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		good &= !mkdir(scratch_path(folders[i]), 0700);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		good &= scratch_write(scratch_path(files[i][0]), files[i][1],
				      strlen(files[i][1])) &&
			!chmod(scratch_path(files[i][0]), 0600);
	return good && !symlink("../else/secret", scratch_path("in/link")) &&
	       !mkfifo(scratch_path("in/fifo"), 0666) && !chmod(scratch_path("in/shared"), 0777) &&
	       !chmod(scratch_path("open"), 0777) && !chmod(scratch_path("open/file"), 0666) &&
	       !chmod(scratch, 0711);
}

/* With few descriptors left: an error that says so, or all folders are open. */
static void few_descriptors(const char *in, const char *other)
{
	const struct jp_readable readable = {.input = in, .folders = {other}};
	struct rlimit old, few;
	bool opened = false;
	int refused = 0;

	getrlimit(RLIMIT_NOFILE, &old);
	for (rlim_t most = 3; most < MOST && !opened; most++) {
		struct jp_delegate delegate;
		struct jp_error err = {""};
		int failed;

		few = (struct rlimit){most, old.rlim_max};
		setrlimit(RLIMIT_NOFILE, &few);
		failed = jp_delegate_open(&delegate, &readable, &err);
		setrlimit(RLIMIT_NOFILE, &old);
		opened = !failed;
		refused += failed == -EMFILE;
		check(failed ? failed == -EMFILE && strstr(err.text, strerror(EMFILE))
			     : delegate.folders[0].fd >= 0 && delegate.folders[1].fd >= 0,
		      "%d descriptors: %s", (int)most, failed ? err.text : "enough");
		jp_delegate_close(&delegate);
	}
	check(opened && refused > 1, "enough in the end");
}

int main(void)
{
	const struct jp_confine confine = {
		.readable = {.input = scratch_make("in"), .harmless = harmless}};
	struct jp_error err = {""};
	struct jp_new_file file;
	char kept[128], other[128];
	const pid_t own = getpid();
	const bool root = !geteuid();
	int status = -1, ret;

	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (!check(make(), "files"))
		return check_done();
	snprintf(kept, sizeof(kept), "%s", scratch_path("kept"));
	check(jp_new_file_open(&file, kept, 0600, &err) >= 0 &&
		      !jp_output_folder_begin(scratch_path("made"), &err),
	      "outputs %s", err.text);
	snprintf(other, sizeof(other), "%s", scratch_path("else"));
	few_descriptors(confine.readable.input, other);
	ret = jp_confine_enter(&confine, &status, &err);
	if (!ret) {
		if (root) { /* else all of it is our own, and refused to nobody */
			note(getuid() == 65534 && geteuid() == 65534 && getegid() == 65534,
			     "root is nobody");
			try_reading();
		}
		try_acting(own);
		try_outputs(&file);
		_exit(7);
	}
	check(ret == 1 && status == 7, "its status is ours %s", err.text);
	for (unsigned int i = 0; i < found->count; i++)
		check(found->all[i].good, "%s", found->all[i].what);
	check(found->count > 10, "%u of it", found->count);
	check(!access(kept, F_OK) && !access(scratch_path("made/one"), F_OK), "outputs are there");
	check(waitpid(-1, NULL, 0) < 0, "and no process");
	return check_done();
}
