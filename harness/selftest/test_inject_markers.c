// SPDX-License-Identifier: GPL-2.0-only
/* Whose a jitdump is that two processes mapped; where it was moved, its inode tells nothing. */
#include "harness/base/untrusted_file.h"
#include "harness/inject/inject_markers.h"
#include "harness/inject/inject_summary.h"
#include "harness/selftest/scratch.h"

static char said[1024];

static void say(void *context, const char *line)
{
	const size_t length = strlen(said);

	snprintf(said + length, sizeof(said) - length, "%s; ", line);
}

/* What is said of the dump at @path below @root, which none of them mapped with its inode. */
static const char *read_below(int root, const char *path)
{
	struct jp_marker markers[] = {
		{.pid = 17, .named = 17, .path = (char *)path, .has_identity = true, .ino = 1},
		{.pid = 18, .named = 17, .path = (char *)path, .has_identity = true, .ino = 1},
	};
	struct jp_inject_dumps dumps = {.markers = markers, .nr_markers = 2};
	struct jp_inject_summary summary = {0};
	const struct jp_inject_read read = {.root = root, .summary = &summary, .said = say};
	struct jp_error err;

	*said = '\0';
	check(!jp_inject_read(&dumps, &read, &err) && summary.refused, "nobody's is read");
	return said;
}

static void moved(const char *what)
{
	jp_cleanup_close int root = jp_untrusted_folder(AT_FDCWD, scratch);

	check(!strcmp(read_below(root, "/jit-17.dump"),
		      "/jit-17.dump: the capture has no times of mapping records; "
		      "/jit-17.dump: mapped by process 18 too, whose code it is not; "),
	      "below a copied root, descriptor %s: the first one's: %s", what, said);
}

int main(void)
{
	const char *path = scratch_make("jit-17.dump");

	scratch_write(path, "", 0);
	read_below(-1, path);
	check(strstr(said, "another file than process 17 mapped") &&
		      strstr(said, "another file than process 18 mapped"),
	      "where it was mapped: neither's: %s", said);
	moved("of any number");
	close(STDIN_FILENO);
	moved("0");
	return check_done();
}
