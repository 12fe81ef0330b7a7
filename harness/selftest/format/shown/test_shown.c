// SPDX-License-Identifier: GPL-2.0-only
/* Readings of a file: their samples, or an error that states what was expected; and the
 * index, which reveals a missing or altered file. */
#include <string.h>
#include <sys/stat.h>

#include "harness/base/confine.h"
#include "harness/format/shown/shown.h"
#include "harness/selftest/support/scratch.h"

#define HEAD "jitproof-shown 1\nreader perf 7.3.4\nfile perf.data\n"

static struct jp_shown shown;
static struct jp_error err;

static int parse(const char *text, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy)
		exit(99);
	memcpy(copy, text, size);
	copy[size] = '\0';
	jp_shown_free(&shown);
	return jp_shown_parse(&shown, "file", copy, size, &err);
}

TEST(refusals)
{
	static const char top[] = "expected sample TIME PID TID TOP [FRAME...]",
			  frame[] = "expected a frame such as 0x7f12",
			  name[] = "expected a name, with %XX";
	static const struct {
		const char *text, *expected;
	} table[] = {
		{"", "expected a newline at its end"},
		{HEAD "failed x", "expected a newline at its end"},
		{"jitproof-shown 2\n", "line 1: expected jitproof-shown 1"},
		{"jitproof-shown 1\n", "expected a reader and a file"},
		{"jitproof-shown 1\nreader x\n", "expected a reader and a file"},
		{HEAD "\n", "line 4: expected sample, or one of each"},
		{HEAD "file other\n", "line 4: expected sample, or one of each"},
		{HEAD "failed \n", "line 4: expected sample, or one of each"},
		{HEAD "failed x\nfailed x\n", "line 5: expected sample, or one of each"},
		{HEAD "sample\n", top},
		{HEAD "sample 1 2 3\n", top},
		{HEAD "sample x 2 3 -\n", top},
		{HEAD "sample 1 4294967296 3 -\n", top},
		{HEAD "sample 1 2 3 0xg\n", frame},
		{HEAD "sample 1 2 3 - 0x12:a\n", frame},
		{HEAD "sample 1 2 3 - 0x12=\n", name},
		{HEAD "sample 1 2 3 - 0x12=a%4\n", name},
		{HEAD "sample 1 2 3 - 0x12=a=12\n", "expected a hexadecimal offset"},
		{HEAD "sample 1 2 3 - a=0x12\n", "expected a hexadecimal offset"},
		{HEAD "sample 1 2 3 -  0x12\n", "expected one blank between frames"},
		{HEAD "share 3 1 a\n", "or share after shares"},
		{HEAD "shares x\n", "expected shares NUMBER"},
		{HEAD "shares 1\n", "expected 1 shares, found 0"},
		{HEAD "shares 1\nshares 1\n", "or share after shares"},
		{HEAD "shares 1\nshare 3 0 a\n", "expected share TID SAMPLES NAME"},
		{HEAD "shares 1\nshare 3 1 a b\n", "expected share TID SAMPLES NAME"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		check(parse(table[i].text, strlen(table[i].text)) < 0 &&
			      strstr(err.text, table[i].expected),
		      "refusal %zu: \"%s\" has: %s", i, err.text, table[i].expected);
	check(parse(HEAD "\0\n", sizeof(HEAD) + 1) < 0 && strstr(err.text, "a NUL"),
	      "a NUL is refused");
}

TEST(samples)
{
	static const char text[] = HEAD "sample 9 1 2 0x10=a%20b=0x4 0x10=? jit\n"
					"sample 8 1 3 -\n"
					"shares 1\nshare 2 7 a%20b\n"
					"older too old\n";
	const struct jp_shown_frame *frames;

	if (!check(!parse(text, strlen(text)), "a file is read: %s", err.text))
		return;
	frames = shown.frames;
	check(!strcmp(shown.reader, "perf 7.3.4") && !strcmp(shown.file, "perf.data") &&
		      !strcmp(shown.older, "too old") && !shown.failure,
	      "the header is that of the file");
	check(shown.count == 2 && shown.samples[0].time == 8 && shown.samples[1].time == 9 &&
		      shown.samples[1].line == 4 && shown.samples[1].tid == 2,
	      "samples are sorted by time");
	check(!shown.samples[0].has_top && !shown.samples[0].top.placed &&
		      !shown.samples[0].top.name && !shown.samples[0].count,
	      "a sample has no top and no frame");
	check(shown.samples[1].has_top && shown.samples[1].top.addr == 16 &&
		      shown.samples[1].top.offset == 4 && !strcmp(shown.samples[1].top.name, "a b"),
	      "a top has address, name and offset");
	check(shown.has_shares && shown.nr_shares == 1 && shown.shares[0].tid == 2 &&
		      shown.shares[0].samples == 7 && !strcmp(shown.shares[0].name, "a b"),
	      "a share has a thread, a number of samples and a name");
	check(shown.samples[1].count == 2 && frames[0].placed && !frames[0].name &&
		      frames[0].offset == UINT64_MAX && !frames[1].placed &&
		      !strcmp(frames[1].name, "jit"),
	      "frames may lack the name or the address");
}

static bool is_gone; /* whether the last load() lists "/a\n" as gone, and not "/a" */

static int load(void)
{
	struct jp_shown_files files;
	const int ret = jp_shown_files_load(&files, scratch_folder(), &err);
	const int count = (int)files.count;

	is_gone = jp_shown_is_gone(&files, "/a\n") && !jp_shown_is_gone(&files, "/a");
	jp_shown_files_free(&files);
	return ret ?: count;
}

TEST(index)
{
	struct jp_arguments gone = {0};

	check(load() == 0, "a case without the folder has no reading");
	mkdir(scratch_path("shown"), 0755);
	scratch_write(scratch_path("shown/a"), HEAD, strlen(HEAD));
	scratch_write(scratch_path("shown/messages"), "x", 1);
	check(load() < 0, "a folder without an index is refused: %s", err.text);
	jp_arguments_add(&gone, "/a%c", '\n');
	check(!jp_shown_index_write(scratch_folder(), &gone, &err) && load() == 1 && is_gone,
	      "one reading, and a file that is gone, are in the index");
	jp_arguments_free(&gone);
	scratch_write(scratch_path("shown/b"), HEAD, strlen(HEAD));
	check(load() < 0 && strstr(err.text, "contains 2 readings, but its index lists 1"),
	      "an added reading is refused: %s", err.text);
	unlink(scratch_path("shown/b"));
	scratch_write(scratch_path("shown/a"), HEAD "sample 1 2 3 -\n", strlen(HEAD) + 15);
	check(load() < 0 && strstr(err.text, "its digest is"), "an altered reading is refused: %s",
	      err.text);
	unlink(scratch_path("shown/a"));
	check(load() < 0, "a missing reading is refused: %s", err.text);
	jp_shown_free(&shown);
}

/* The confined judge is not root, and may not enter a run directory in $TMPDIR by itself. */
TEST(capture_that_is_a_folder)
{
	const struct jp_confine confine = {.readable = {.input = scratch_folder()}};
	const struct jp_arguments gone = {0};
	struct jp_shown_files files;
	int status;

	chmod(scratch_folder(), 0700);
	mkdir(scratch_path("perf.data"), 0700);
	scratch_write(scratch_path("shown/a"), HEAD, strlen(HEAD));
	unlink(scratch_path("shown/index"));
	check(!jp_shown_index_write(scratch_folder(), &gone, &err), "the index is written");
	if (!jp_confine_enter(&confine, &status, &err))
		_exit(jp_shown_files_load(&files, scratch_folder(), &err) || files.count != 1 ||
		      !files.files[0].folder);
	check(status == 0, "the reading of a folder is known as such");
}
