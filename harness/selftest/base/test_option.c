// SPDX-License-Identifier: GPL-2.0-only
/* Tests tables of options: what each kind of row accepts and refuses, and the usage text. */
#include "harness/base/option.h"
#include "harness/selftest/support/check.h"

enum { ONE = 1, TWO = 2 };

static struct line {
	bool verbose, quiet, late;
	const char *output, *pair[2], *file;
	unsigned int number, word;
	uint64_t number64;
	struct jp_operands operands;
} line;

static const char *const words[] = {"check", "full", NULL};
static const char *const lates[] = {"early", "late", NULL};

static int take_even(const struct jp_option *option, const char *text, struct jp_error *err)
{
	if (strlen(text) % 2)
		return jp_fail(err, EINVAL, "%s=%s: expected an even length", option->name, text);
	*(const char **)option->context = text;
	return 0;
}

static const struct jp_option *get_more_rows(void *context)
{
	static struct jp_option rows[3];

	rows[0] = (struct jp_option){"--deep", .text = context, .value = "TEXT"};
	rows[1] = (struct jp_option){"--even", .parse = take_even, .context = context};
	return rows;
}

static const struct jp_option table[] = {
	{"-v", .set = &line.verbose, .help = "more"},
	{"--loud", .clear = &line.quiet},
	{"--output", "-o", "DIR", .text = &line.output},
	{"--pair", .text = &line.pair[0], .second = &line.pair[1], .modes = TWO},
	{"--number", .value = "N", .number = &line.number, .min = 2, .max = 9, .modes = ONE},
	{"--wide", .number64 = &line.number64},
	{"--set", .number = &line.word, .words = words, .help = "one of two"},
	{"--when", .set = &line.late, .words = lates},
	{.get_more = get_more_rows, .context = &line.file},
	{"REST", .operands = &line.operands},
	{0}};

/* Parses the words of @text by @options. Returns the result of jp_options_read(). */
static int read_line(const struct jp_option *options, const char *text, struct jp_error *err)
{
	static char buffer[200];
	char *argv[20] = {"command"};
	static char *copy[20];
	int argc = 1;

	line = (struct line){.quiet = true};
	snprintf(buffer, sizeof(buffer), "%s", text);
	for (char *next, *word = strtok_r(buffer, " ", &next); word;
	     word = strtok_r(NULL, " ", &next))
		argv[argc++] = strcmp(word, "''") ? word : "";
	memcpy(copy, argv, sizeof(copy));
	return jp_options_read(options, argc, copy, err);
}

static bool accepts(const char *text)
{
	struct jp_error err;

	return !read_line(table, text, &err);
}

static bool refuses(const char *text, const char *reason)
{
	struct jp_error err = {""};

	return read_line(table, text, &err) == -EINVAL && !strcmp(err.text, reason);
}

static bool equals(const char *text, const char *expected)
{
	return text && !strcmp(text, expected);
}

TEST(values)
{
	check(accepts("-v --loud") && line.verbose && !line.quiet, "switches set or clear flags");
	check(accepts("") && !line.verbose && line.quiet, "an empty command line changes nothing");
	check(accepts("--output=a") && equals(line.output, "a") && accepts("--output b") &&
		      equals(line.output, "b") && accepts("-o c") && equals(line.output, "c") &&
		      accepts("-od") && equals(line.output, "d"),
	      "an option's value can be given in four ways");
	check(refuses("--output", "expected a value after --output") &&
		      refuses("--output=", "expected a value after --output") &&
		      refuses("-o", "expected a value after --output"),
	      "an empty value is refused");
	check(accepts("--number 9") && line.number == 9 &&
		      refuses("--number=1", "--number=1: expected a number from 2 to 9") &&
		      refuses("--number=10", "--number=10: expected a number from 2 to 9"),
	      "a number must be within its limits");
	check(accepts("--wide=18446744073709551615") && line.number64 == UINT64_MAX &&
		      refuses("--wide -1", "--wide=-1: expected a number"),
	      "a 64-bit number has no limits");
	check(accepts("--set full") && line.word == 1 && accepts("--set=check") && !line.word &&
		      refuses("--set=some", "--set=some: expected check|full"),
	      "a value must be one of the listed words");
	check(accepts("--when=late") && line.late && accepts("--when=early") && !line.late,
	      "the last of two words sets a flag");
	check(accepts("--pair a b") && equals(line.pair[0], "a") && equals(line.pair[1], "b") &&
		      refuses("--pair a", "expected two values after --pair"),
	      "an option can have two values");
	check(accepts("--deep x") && equals(line.file, "x") && accepts("--even xx") &&
		      equals(line.file, "xx") &&
		      refuses("--even x", "--even=x: expected an even length"),
	      "nested tables and custom parsers work");
}

TEST(option_order)
{
	char *argv[] = {"c", "a", "--wide", "1", "-", "b", NULL};
	struct jp_error err;

	check(refuses("--no", "unknown option '--no'") &&
		      refuses("--wid=1", "unknown option '--wid=1'") &&
		      refuses("-v=1", "-v takes no value"),
	      "unknown options and unexpected values are refused");
	line = (struct line){0};
	check(!jp_options_read(table, 6, argv, &err) && line.operands.count == 3 &&
		      equals(line.operands.list[0], "a") && equals(line.operands.list[1], "-") &&
		      equals(line.operands.list[2], "b") && line.number64 == 1,
	      "operands between options are collected");
	check(accepts("-- -v") && !line.verbose && line.operands.count == 1, "-- begins operands");
	check(read_line(table, "-v --help --no", &err) == 1 && read_line(table, "-h", &err) == 1,
	      "--help wins over later errors");
	check(accepts("--pair a b --set full") &&
		      refuses("--number 2 --pair a b", "--pair does not go with --number"),
	      "options of different modes exclude each other");
}

TEST(operands)
{
	struct jp_option two[] = {
		{"FILE", .text = &line.file, .is_required = true},
		{"WORD", .number = &line.word, .words = words},
		{"--must", .value = "X", .text = &line.output, .is_required = true, .modes = TWO},
		{"--quiet", .set = &line.quiet, .modes = ONE | TWO},
		{0}};
	const struct jp_option start[] = {{"-v", .set = &line.verbose},
					  {"COMMAND", .operands = &line.operands, .verbatim = true},
					  {0}};
	struct jp_error err = {""};

	check(!read_line(two, "--quiet a full", &err) && equals(line.file, "a") && line.word == 1 &&
		      read_line(two, "a b", &err) == -EINVAL &&
		      equals(err.text, "b: expected check|full"),
	      "each operand is parsed by its row");
	check(read_line(two, "a full c", &err) == -EINVAL &&
		      equals(err.text, "one operand too many: 'c'"),
	      "one operand too many is refused");
	check(read_line(two, "", &err) == -EINVAL && equals(err.text, "expected FILE"),
	      "a missing operand is refused");
	two[3].modes = TWO;
	check(!read_line(two, "a", &err) && read_line(two, "a --quiet", &err) == -EINVAL &&
		      equals(err.text, "expected --must X"),
	      "an option is required only in its mode");
	check(!read_line(start, "-v run -v --help", &err) && line.operands.count == 3 &&
		      equals(line.operands.list[1], "-v") && !read_line(start, "-- -v", &err) &&
		      line.operands.count == 1 && !line.verbose,
	      "options behind a command belong to the command");
}

TEST(usage)
{
	static const char expected[] =
		"  --set check|full    one of two\n"
		"  -q, --quiet         word word word word word word word word word word word\n"
		"                      word end\n"
		"  --a-name-that-is-long VALUE\n"
		"                      short\n"
		"\nText.\n";
	const struct jp_option rows[] = {
		{"--set", .number = &line.word, .words = words, .help = "one of two"},
		{"--hidden", .set = &line.quiet},
		{"--quiet", "-q", .set = &line.quiet,
		 .help = "word word word word word word word word word word word word end"},
		{"--a-name-that-is-long", .value = "VALUE", .text = &line.file, .help = "short"},
		{.help = "Text."},
		{0}};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	jp_options_print(rows, out);
	fclose(out);
	check(equals(text, expected), "the usage text is wrapped at 80 columns");
	free(text);
}
