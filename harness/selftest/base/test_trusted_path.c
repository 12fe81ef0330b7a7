// SPDX-License-Identifier: GPL-2.0-only
/* What is to be run: only where nobody else could have put it. */
#include "harness/base/trusted_path.h"
#include "harness/selftest/support/scratch.h"

static char folder[128], file[128];

/* What is said of @path: @answer, and the file's own path or, where it is refused, @why. */
static void expect(const char *path, int answer, const char *why, const char *what)
{
	struct jp_error err = {""};
	char to[4096] = "";
	int got = jp_trusted_file(path, to, sizeof(to), &err);

	check(got == answer && (got ? strstr(err.text, why) != NULL : !strcmp(to, file)), "%s: %s",
	      what, got ? err.text : to);
}

static void modes(void)
{
	static const struct {
		mode_t folder, file;
		int answer;
		const char *why, *what;
	} rows[] = {
		{0755, 0644, 0, "", "ours alone"},
		{0755, 0646, -EPERM, "script.py can be written to by anyone", "anyone's file"},
		{0757, 0644, -EPERM, "folder can be written to by anyone", "anyone's folder"},
		{01777, 0644, 0, "", "a sticky folder"},
		{0775, 0664, 0, "", "our own group"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (check(!chmod(folder, rows[i].folder) && !chmod(file, rows[i].file),
			  "modes %o, %o", rows[i].folder, rows[i].file))
			expect(file, rows[i].answer, rows[i].why, rows[i].what);
	check(!chmod(folder, 0755) && !chmod(file, 0644), "as before");
}

static void others(void)
{
	if (geteuid()) {
		check(true, "# SKIP only root can give a file away");
		return;
	}
	check(!chown(file, 65534, 0), "another user's file");
	expect(file, -EPERM, "script.py belongs to another user", "is refused");
	check(!chown(file, 0, 65534) && !chmod(file, 0664), "another group's file");
	expect(file, -EPERM, "script.py can be written to by a group", "is refused");
	check(!chown(file, 0, 0) && !chown(folder, 65534, 0), "in another user's folder");
	expect(file, -EPERM, "folder belongs to another user", "is refused");
	check(!chown(folder, 0, 0), "as before");
}

/* @link leads to the file. */
static void links(const char *link)
{
	expect(link, 0, "", "a link leads to the file");
	if (geteuid()) {
		check(true, "# SKIP only root can give a link away");
		return;
	}
	check(!lchown(link, 65534, 0), "another user's link");
	expect(link, -EPERM, "link of another user's", "is not followed");
	check(!lchown(link, 0, 0), "as before");
}

static void folders(const char *link)
{
	struct jp_error err = {""};
	char to[4096];

	check(!jp_trusted_folder(folder, to, sizeof(to), &err) && !strcmp(to, folder), "a folder");
	check(jp_trusted_folder(link, to, sizeof(to), &err) == -EINVAL, "%s", err.text);
	check(!jp_trusted_folder("/", to, sizeof(to), &err) && !strcmp(to, "/"), "the root");
	check(!jp_trusted_programs(folder, to, sizeof(to), &err) && !strcmp(to, folder),
	      "a folder of programs");
	check(!chmod(folder, 01777) && !jp_trusted_folder(folder, to, sizeof(to), &err) &&
		      jp_trusted_programs(folder, to, sizeof(to), &err) == -EPERM,
	      "%s", err.text);
	check(!chmod(folder, 0777) && jp_trusted_folder(folder, to, sizeof(to), &err) == -EPERM,
	      "%s", err.text);
}

int main(void)
{
	char link[160];

	snprintf(folder, sizeof(folder), "%s", scratch_make("folder"));
	snprintf(file, sizeof(file), "%.100s/script.py", folder);
	snprintf(link, sizeof(link), "%.100s/link", folder);
	check(!mkdir(folder, 0755) && scratch_write(file, "", 0) && !symlink("script.py", link),
	      "a file and a link to it");
	modes();
	others();
	links(link);
	expect(folder, -EINVAL, "expected a regular file", "a folder is not run");
	expect("/nowhere/file", -ENOENT, "/nowhere/file", "what is not there");
	folders(link);
	return check_done();
}
