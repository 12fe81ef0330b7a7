// SPDX-License-Identifier: GPL-2.0-only
/* Tests that reducing a perf.data removes only data that identify the machine and its user. */
#include "harness/format/perfdata/read.h"
#include "harness/format/perfdata/reduce.h"
#include "harness/selftest/support/made_perf_data.h"

enum { STACK = 64 };

static struct perf_file file, sample;
static unsigned char last_stack[STACK]; /* the stack of the last sample read */

static int store_stack(void *context, const struct jp_event *event)
{
	if (event->type == JP_EVENT_SAMPLE)
		memcpy(last_stack, event->sample.stack, STACK);
	return 0;
}

/* Makes a file of one sample with the dump @stack, then zeros; @is_packed: compressed. */
static void begin_file(const char *stack, size_t size, bool is_packed)
{
	const struct jp_perf_attr attr = {.type = 1,
					  .size = 120,
					  .sample_type =
						  JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_STACK_USER,
					  .sample_stack_user = STACK};
	unsigned char body[8 + 8 + STACK + 8] = {0};
	const uint64_t dumped = STACK;

	memcpy(body + 8, &dumped, sizeof(dumped));
	memcpy(body + 16, stack, size);
	memcpy(body + 16 + STACK, &dumped, sizeof(dumped));
	sample.size = 0;
	perf_file_record(&sample, JP_PERF_RECORD_SAMPLE, JP_PERF_MISC_USER, body, sizeof(body));
	perf_file_begin(&file, &attr);
	if (is_packed)
		perf_file_add_compressed(&file, sample.bytes, sample.size);
	else
		perf_file_put(&file, sample.bytes, sample.size);
	perf_file_end_data(&file);
}

static int reduce_file(struct jp_reduced *reduced, struct jp_error *err)
{
	const char *path = perf_file_store(&file, "perf.data");
	jp_cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);

	*reduced = (struct jp_reduced){0};
	return jp_perfdata_reduce(path, fd, reduced, err);
}

#define TEXT(text) text, sizeof(text) - 1

static const struct {
	const char *label, *before;
	size_t size;
	const char *after;
	const char *name; /* name of the variable that is removed, or NULL */
} dumps[] = {
	{"a variable", TEXT("\0HOME=/root\0"), "\0HOME=xxxxx\0", "HOME"},
	{"a variable up to the dump's end", TEXT("\0\0LANG=C.UTF-8 and more"),
	 "\0\0LANG=xxxxxxxxxxxxxxxx", "LANG"},
	{"a variable with blanks", TEXT("\0PS1=a\tb\nc\033[0m\0"), "\0PS1=xxxxxxxxx\0", "PS1"},
	{"a variable in UTF-8", TEXT("\0A.B=\xc3\xa9\xe2\x82\xac\0"), "\0A.B=xxxxx\0", "A.B"},
	{"a shell function", TEXT("\0F%%()=() { a; }\0"), "\0F%%()=xxxxxxxxx\0", "F%%()"},
	{"a variable not behind NUL", TEXT("xHOME=/root\0"), "xHOME=/root\0", NULL},
	{"a name that begins with a digit", TEXT("\0001A=value more\0"), "\0001A=value more\0",
	 NULL},
	{"a name of one letter", TEXT("\0A=value, more\0"), "\0A=value, more\0", NULL},
	{"an empty name", TEXT("\0=value, and more\0"), "\0=value, and more\0", NULL},
	{"a value with a control character", TEXT("\0HOME=/ro\001ot and more\0"),
	 "\0HOME=/ro\001ot and more\0", NULL},
	{"an address that looks like a variable", TEXT("\0AB=\x7f\0\0\0\0"), "\0AB=\x7f\0\0\0\0",
	 NULL},
	{"a value of invalid UTF-8", TEXT("\0ABCDEF=\x80\x81\0"), "\0ABCDEF=\x80\x81\0", NULL},
	{"a value with DEL", TEXT("\0ABCDEF=a\x7f\0"), "\0ABCDEF=a\x7f\0", NULL},
	{"a name with all allowed characters", TEXT("\0A_-.%()z=1\0"), "\0A_-.%()z=x\0",
	 "A_-.%()z"},
	{"a name with a forbidden character", TEXT("\0HOME+=/root and more\0"),
	 "\0HOME+=/root and more\0", NULL},
	{"a name without a value", TEXT("\0HOME\0"), "\0HOME\0", NULL},
};

TEST(stacks)
{
	struct jp_reduced reduced;
	struct jp_error err;

	for (size_t i = 0; i < sizeof(dumps) / sizeof(*dumps); i++) {
		unsigned char expected[STACK] = {0};
		size_t size = dumps[i].size;

		/* The dump's end truncates a variable. */
		if (i == 1) {
			static char full_stack[STACK];

			memset(full_stack, 'a', sizeof(full_stack));
			memcpy(full_stack, "\0\0LANG=", 7);
			begin_file(full_stack, STACK, false);
			memset(expected, 'x', STACK);
			memcpy(expected, full_stack, 7);
		} else {
			begin_file(dumps[i].before, size, false);
			memcpy(expected, dumps[i].after, size);
		}
		check(!reduce_file(&reduced, &err) &&
			      !jp_perfdata_read(scratch_path("perf.data"), store_stack, NULL, NULL,
						&err) &&
			      !memcmp(last_stack, expected, STACK),
		      "%s: the dump is as expected", dumps[i].label);
		check(dumps[i].name ? reduced.variables.count == 1 &&
					      !strcmp(reduced.variables.words[0], dumps[i].name)
				    : !reduced.variables.count,
		      "%s: %s", dumps[i].label, dumps[i].name ?: "no variable is listed");
		jp_reduced_free(&reduced);
	}
}

TEST(features)
{
	static const char command[] = "\3\0\0\0\4\0\0\0one\0\10\0\0\0two\0\0\0\0\0\377\0\0\0";
	static const struct perf_file_feature all[] = {
		{3, "host name of ours", 17},
		{JP_PERF_FEATURE_VERSION, "\4\0\0\0006.1", 8},
		{JP_PERF_FEATURE_CMDLINE, command, sizeof(command) - 1},
		{13, "topology", 8},
	};
	struct jp_perf_file_header header;
	struct jp_perf_section table[4];
	struct jp_reduced reduced;
	struct jp_error err = {""};
	char *bytes;
	size_t size;

	begin_file("", 0, false);
	perf_file_add_features(&file, all, 4);
	check(!reduce_file(&reduced, &err), "features are removed %s", err.text);
	check(reduced.commands.count == 2 && !strcmp(reduced.commands.words[0], "one") &&
		      !strcmp(reduced.commands.words[1], "two"),
	      "the readable part of the command line is listed");
	jp_reduced_free(&reduced);
	bytes = jp_file_read(scratch_path("perf.data"), PERF_FILE_MOST, &size, NULL);
	if (!bytes)
		exit(99);
	memcpy(&header, bytes, sizeof(header));
	memcpy(table, bytes + header.data.offset + header.data.size, sizeof(table));
	check(header.features[0] == (1 << JP_PERF_FEATURE_VERSION | 1 << JP_PERF_FEATURE_CMDLINE) &&
		      size == file.size,
	      "two features stay");
	check(!memcmp(bytes + table[0].offset, all[1].bytes, table[0].size) &&
		      table[1].size == sizeof(command) - 1 && !table[2].size && !table[3].offset,
	      "their contents stay in place");
	check(!memmem(bytes, size, "host", 4) && !memmem(bytes, size, "topology", 8),
	      "the contents of the others are removed");
	free(bytes);
}

/* Tests a file with the old header, which has no feature bits. */
TEST(old_header)
{
	struct jp_reduced reduced;
	struct jp_error err = {""};
	jp_cleanup_free char *bytes = NULL;
	size_t size;

	begin_file("\0AB=value and more", 18, false);
	perf_file_shorten_header(&file);
	check(!reduce_file(&reduced, &err) && reduced.variables.count == 1,
	      "a file with an old header is reduced %s", err.text);
	jp_reduced_free(&reduced);
	bytes = jp_file_read(scratch_path("perf.data"), PERF_FILE_MOST, &size, NULL);
	check(bytes && size == file.size && !memcmp(bytes, file.bytes, size - STACK - 8) &&
		      memmem(bytes, size, "AB=xxxx", 7),
	      "the rest of it is unchanged");
}

static char large[(1 << 20) + 1];

/* Checks that reducing the file fails with @words and the file's name. */
static void check_refusal(const char *label, const char *words)
{
	struct jp_reduced reduced;
	struct jp_error err = {""};

	check(reduce_file(&reduced, &err) < 0 && strstr(err.text, words) &&
		      strstr(err.text, "/perf.data: "),
	      "%s: %s", label, err.text);
	jp_reduced_free(&reduced);
}

TEST(refusals)
{
	static const struct perf_file_feature one[] = {{3, "12345678", 8}};
	static const struct perf_file_feature command[] = {
		{JP_PERF_FEATURE_CMDLINE, large, sizeof(large)},
	};
	static const struct {
		const char *label, *words;
		struct jp_perf_section section;
	} places[] = {
		{"a feature behind the end",
		 "offset 336: expected a feature within the",
		 {1000000, 8}},
		{"one before the data's end",
		 "feature 3 is at 16, 8 bytes; expected behind the data",
		 {16, 8}},
	};

	for (size_t i = 0; i < 2; i++) {
		begin_file("", 0, false);
		perf_file_add_features(&file, one, 1);
		memcpy(file.bytes + perf_file_header(&file)->data.offset +
			       perf_file_header(&file)->data.size,
		       &places[i].section, sizeof(places[i].section));
		check_refusal(places[i].label, places[i].words);
	}
	begin_file("", 0, false);
	perf_file_add_features(&file, command, 1);
	check_refusal("a command line of more than 1 MiB",
		      "the command line of perf has 1048577 bytes");
	perf_file_begin(&file, &(struct jp_perf_attr){.type = 1, .size = 120});
	perf_file_end_data(&file);
	perf_file_add_features(&file, one, 1);
	check_refusal("a file without records", "contains no record");
	begin_file("\0HOME=/root", 12, true);
	if (PERF_FILE_ZSTD)
		check_refusal("a variable in compressed data",
			      "environment variables in compressed data");
	file.size = 4;
	check_refusal("no perf.data", "offset 0");
	file.size = 0;
	perf_file_put(&file, &(uint64_t[]){JP_PERF_MAGIC, 16}, 16);
	check_refusal("a stream",
		      "a pipe stream; data about the machine cannot be removed from it in place");
}
