// SPDX-License-Identifier: GPL-2.0-only
/* Folders and small files of a run are created, and never replace anything. */
#include "harness/format/rundir/capture_info.h"
#include "harness/format/rundir/snapshots.h"
#include "harness/format/rundir/watched.h"
#include "harness/selftest/support/scratch.h"

static char long_name[5000];

/* Checks that @path is refused with error @code and @words. */
static void check_refusal(const char *path, int code, const char *words)
{
	struct jp_run_dir dir;
	struct jp_error err = {""};
	int ret = jp_run_dir_make(&dir, path, &err);

	check(ret == -code && strstr(err.text, words), "%.60s is refused: %s", path, err.text);
}

TEST(long_name)
{
	memset(long_name, 'x', sizeof(long_name) - 1);
}

TEST(folders)
{
	struct jp_run_dir dir;
	struct jp_error err = {""};
	char path[4096];

	check(!jp_run_dir_make(&dir, scratch_path("new"), &err) && !dir.temporary &&
		      !access(dir.path, W_OK),
	      "a new folder is made");
	check(!jp_run_dir_make(&dir, scratch_path("new"), &err), "an empty folder is accepted");
	check(!jp_run_dir_make(&dir, scratch_path("slashes///"), &err) &&
		      !strcmp(dir.path, scratch_path("slashes")),
	      "slashes at the end are removed: %s", dir.path);
	check(!jp_run_dir_case(&dir, "study/case", path, sizeof(path), &err) &&
		      !strcmp(path, scratch_path("slashes/study/case")) && !access(path, W_OK),
	      "a case's folder is made");
	check(!jp_run_dir_case(&dir, "study/other", path, sizeof(path), &err),
	      "another case is made");
	check(jp_run_dir_case(&dir, "study/case", path, sizeof(path), &err) == -EEXIST &&
		      strstr(err.text, "study/case"),
	      "an existing case's folder is refused: %s", err.text);
	check(jp_run_dir_case(&dir, long_name, path, sizeof(path), &err) == -ENAMETOOLONG,
	      "a too long case name is refused");
	check_refusal(scratch_path("slashes"), EEXIST, "expected a new or an empty directory");
	check(!rmdir(scratch_path("slashes/study/case")) &&
		      !rmdir(scratch_path("slashes/study/other")) &&
		      !rmdir(scratch_path("slashes/study")) && !rmdir(dir.path),
	      "no other folder was made");
	check(jp_run_dir_case(&dir, "a/b", path, sizeof(path), &err) == -ENOENT,
	      "a case in a missing folder is an error: %s", err.text);
	check(scratch_write(scratch_path("file"), "", 0), "a file is made");
	check_refusal(scratch_path("file"), EEXIST, "expected a new or an empty directory");
	check_refusal(scratch_path("none/below"), ENOENT, "none");
	check(!symlink(scratch_path("new"), scratch_path("link")), "a link is made");
	check_refusal(scratch_path("link"), EEXIST, "expected a new or an empty directory");
	check(jp_run_dir_case(&(struct jp_run_dir){.path = "/proc/self"}, "a/b", path, sizeof(path),
			      &err) < 0 &&
		      strstr(err.text, "/proc/self/a: "),
	      "a folder that cannot be made is an error: %s", err.text);
}

static bool is_for_others(const char *path)
{
	struct stat st;

	return lstat(path, &st) || st.st_mode & S_IWOTH;
}

TEST(permissions)
{
	const mode_t before = umask(0);
	struct jp_run_dir dir;
	struct jp_error err = {""};
	char path[4096];

	check(!jp_run_dir_make(&dir, scratch_path("open"), &err) && !is_for_others(dir.path) &&
		      !jp_run_dir_case(&dir, "study/case", path, sizeof(path), &err) &&
		      !is_for_others(path) && !is_for_others(scratch_path("open/study")),
	      "others cannot write to folders %s", err.text);
	check(!jp_run_dir_write(path, "text", "", &err) &&
		      !jp_watched_write(&(struct jp_watched_info){0}, path, &err) &&
		      !is_for_others(scratch_path("open/study/case/text")) &&
		      !is_for_others(scratch_path("open/study/case/watched")),
	      "others cannot write to files %s", err.text);
	umask(before);
}

TEST(working_folder)
{
	struct jp_run_dir dir;
	struct jp_error err = {""};
	char old_folder[4096], expected[160];

	if (!getcwd(old_folder, sizeof(old_folder)) || chdir(scratch_folder()))
		exit(99);
	check(!jp_run_dir_make(&dir, "here", &err) &&
		      !strcmp(dir.path, realpath("here", expected) ?: ""),
	      "a name without a slash is in the working folder: %s", dir.path);
	if (chdir(old_folder))
		exit(99);
	check_refusal("/", EEXIST, "expected a new or an empty directory");
}

TEST(temporary_folder)
{
	struct jp_run_dir dir;
	struct jp_error err = {""};

	setenv("TMPDIR", scratch_folder(), 1);
	check(!jp_run_dir_make(&dir, NULL, &err) && dir.temporary &&
		      !strncmp(dir.path, scratch_folder(), strlen(scratch_folder())),
	      "a temporary folder is made in TMPDIR");
	check(!jp_run_dir_remove(dir.path) && access(dir.path, F_OK), "the folder is removed");
	setenv("TMPDIR", scratch_path("none"), 1);
	check(jp_run_dir_make(&dir, NULL, &err) == -ENOENT && strstr(err.text, "/none: "),
	      "a missing TMPDIR is an error: %s", err.text);
	check(!mkdir(scratch_path("none"), 0700) && !chmod(scratch_path("none"), 0777) &&
		      jp_run_dir_make(&dir, NULL, &err) == -EPERM &&
		      strstr(err.text, "can be written to by anyone"),
	      "a TMPDIR that anyone can write is refused: %s", err.text);
	check(!rmdir(scratch_path("none")), "no folder was made there");
	setenv("TMPDIR", "", 1);
	check(!jp_run_dir_make(&dir, NULL, &err) && !strncmp(dir.path, "/tmp/", 5),
	      "an empty TMPDIR means /tmp");
	jp_run_dir_remove(dir.path);
	unsetenv("TMPDIR");
	check(!jp_run_dir_make(&dir, NULL, &err) && !strncmp(dir.path, "/tmp/", 5),
	      "without TMPDIR, /tmp is used");
	jp_run_dir_remove(dir.path);
	check(jp_run_dir_remove(scratch_path("none")) == -ENOENT,
	      "removing a missing folder is an error");
}

TEST(files)
{
	struct jp_error err = {""};
	size_t size;
	char *text;

	check(!jp_run_dir_write(scratch_folder(), "text", "words", &err), "a text is written");
	text = jp_run_dir_read(scratch_folder(), "text", &size);
	check(text && size == 5 && !strcmp(text, "words"), "the text is read back");
	free(text);
	check(jp_run_dir_write(scratch_folder(), "text", "other", &err) == -EEXIST &&
		      strstr(err.text, "/text: "),
	      "an existing file is not replaced: %s", err.text);
	check(jp_run_dir_write(scratch_folder(), long_name, "", &err) == -ENAMETOOLONG,
	      "a too long name is not written");
	check(!jp_run_dir_read(scratch_folder(), long_name, &size), "a too long name is not read");
	check(!jp_run_dir_read(scratch_folder(), "none", &size), "a missing file is not read");
	check(!symlink("text", scratch_path("to")) &&
		      !jp_run_dir_read(scratch_folder(), "to", &size),
	      "a link is not followed");
	check(jp_run_dir_create("/dev", "full", &err) == -EEXIST, "an existing device is refused");
}

#define TIMES  "started 1\nbegun 2\nending 3\nended 4\n"
#define OTHERS "slack 5\nmax_stack 6\nchain 1\nstack_dump 8\nuser_only 0\n"
#define LATER  "cpus 1\ntask_clock 0\nsynth 2\n"

TEST(watched_file)
{
	static const struct {
		const char *text, *words;
	} bad_files[] = {
		{"", "watched:1: expected \"started NUMBER\""},
		{TIMES, "watched:5: expected \"slack NUMBER\""},
		{"started\n", "watched:1: expected"},
		{"startes 1\n", "watched:1: expected"},
		{"started_1\n", "watched:1: expected"},
		{"started x\n", "watched:1: expected"},
		{"started 0\nbegun 2\nending 3\nended 4\n" OTHERS, "expected started <= begun"},
		{"started 3\nbegun 2\nending 3\nended 4\n" OTHERS, "expected started <= begun"},
		{"started 1\nbegun 4\nending 3\nended 4\n" OTHERS, "expected started <= begun"},
		{"started 1\nbegun 2\nending 5\nended 4\n" OTHERS, "expected started <= begun"},
		{TIMES OTHERS "cpus 1\n", "watched:11: expected \"task_clock NUMBER\""},
		{TIMES OTHERS LATER "more 1\n", "watched:13: expected \"silent NUMBER\""},
		{TIMES OTHERS LATER "silent 3\nmore 1\n",
		 "watched:14: expected \"witness NUMBER\""},
		{TIMES OTHERS LATER "silent 3\nwitness 7\nmore 1\n",
		 "watched:15: expected \"witness_since NUMBER\""},
		{TIMES OTHERS LATER "silent 3\nwitness 7\nwitness_since 2\nmore 1\n",
		 "watched:16: expected the end"},
		{TIMES OTHERS LATER "stolen 1\nstolen 1\n",
		 "watched:13: expected \"silent NUMBER\""},
		{TIMES OTHERS LATER "silent 2\n", "expected ending <= silent <= ended"},
		{TIMES OTHERS LATER "silent 5\n", "expected ending <= silent <= ended"},
	};
	struct jp_watched_info info = {0}, reread = {0};
	struct jp_error err;
	char text[512];
	char *text_read;
	size_t size;

	for (size_t i = 0; i < sizeof(bad_files) / sizeof(*bad_files); i++) {
		strcpy(text, bad_files[i].text);
		*err.text = '\0';
		check(jp_watched_parse(&reread, "watched", text, &err) &&
			      strstr(err.text, bad_files[i].words),
		      "bad watched file %zu is refused: %s", i, err.text);
	}
	strcpy(text, TIMES OTHERS);
	check(!jp_watched_parse(&info, "watched", text, &err) && info.stack_dump == 8 && !info.cpus,
	      "a file of older runs is read");
	strcpy(text, TIMES OTHERS LATER "stolen 9\nsilent 3\n");
	check(!jp_watched_parse(&info, "watched", text, &err) && info.silent == 3,
	      "a file of older runs with stolen time is read");
	info = (struct jp_watched_info){.started = 1, .sampling_since = 2, .ending = 3, .ended = 4};
	info.cpus = 4;
	check(!jp_watched_write(&info, scratch_folder(), &err), "a watched file is written");
	text_read = jp_run_dir_read(scratch_folder(), "watched", &size);
	check(text_read && !jp_watched_parse(&reread, "watched", text_read, &err) &&
		      !memcmp(&info, &reread, sizeof(info)),
	      "it is read back");
	free(text_read);
	check(jp_watched_write(&info, scratch_path("none"), &err) && strstr(err.text, "none"),
	      "a missing folder is an error: %s", err.text);
	check(jp_watched_write(&info, long_name, &err) == -ENAMETOOLONG, "a long path is an error");
	check(jp_capture_info_write(&(struct jp_capture_info){0}, long_name, &err) == -ENAMETOOLONG,
	      "a too long path of capture is an error");
}

TEST(snapshot_order)
{
	static const char text[] = "# pid 7 before 30 after 31\n# pid 7 before 10 after 11\n";
	struct jp_snapshots snapshots = {0};
	struct jp_error err = {""};
	int ret = jp_snapshots_parse(&snapshots, "maps", text, strlen(text), &err);

	check(!ret && snapshots.count == 2 && jp_snapshots_find(&snapshots, 7)->before == 10,
	      "the first snapshot of a process is the first by time: %s", err.text);
	jp_snapshots_free(&snapshots);
}
