// SPDX-License-Identifier: GPL-2.0-only
/* A command line's table: what each kind of row takes, what it refuses, and what usage shows. */
#include "harness/base/option.h"
#include "harness/selftest/support/check.h"

enum { ONE = 1, TWO = 2 };

static struct line {
	bool verbose, quiet, late;
	const char *output, *pair[2], *file;
	unsigned int number, word;
	uint64_t wide;
	struct jp_operands rest;
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

static const struct jp_option *more(void *context)
{
	static struct jp_option rows[3];

	rows[0] = (struct jp_option){"--deep", .text = context, .value = "TEXT"};
	rows[1] = (struct jp_option){"--even", .take = take_even, .context = context};
	return rows;
}

static const struct jp_option table[] = {
	{"-v", .set = &line.verbose, .help = "more"},
	{"--loud", .clear = &line.quiet},
	{"--output", "-o", "DIR", .text = &line.output},
	{"--pair", .text = &line.pair[0], .second = &line.pair[1], .modes = TWO},
	{"--number", .value = "N", .number = &line.number, .least = 2, .most = 9, .modes = ONE},
	{"--wide", .wide = &line.wide},
	{"--set", .number = &line.word, .words = words, .help = "one of two"},
	{"--when", .set = &line.late, .words = lates},
	{.more = more, .context = &line.file},
	{"REST", .rest = &line.rest},
	{0}};

/* What jp_options_read() gives for the words of @text. */
static int reads(const struct jp_option *options, const char *text, struct jp_error *err)
{
	static char buffer[200];
	char *argv[20] = {"command"};
	static char *kept[20];
	int argc = 1;

	line = (struct line){.quiet = true};
	snprintf(buffer, sizeof(buffer), "%s", text);
	for (char *next, *word = strtok_r(buffer, " ", &next); word;
	     word = strtok_r(NULL, " ", &next))
		argv[argc++] = strcmp(word, "''") ? word : "";
	memcpy(kept, argv, sizeof(kept));
	return jp_options_read(options, argc, kept, err);
}

static bool good(const char *text)
{
	struct jp_error err;

	return !reads(table, text, &err);
}

static bool bad(const char *text, const char *why)
{
	struct jp_error err = {""};

	return reads(table, text, &err) == -EINVAL && !strcmp(err.text, why);
}

static bool is(const char *text, const char *what)
{
	return text && !strcmp(text, what);
}

static void values(void)
{
	check(good("-v --loud") && line.verbose && !line.quiet, "switches set and clear");
	check(good("") && !line.verbose && line.quiet, "nothing changes by itself");
	check(good("--output=a") && is(line.output, "a") && good("--output b") &&
		      is(line.output, "b") && good("-o c") && is(line.output, "c") && good("-od") &&
		      is(line.output, "d"),
	      "a text in four ways");
	check(bad("--output", "expected a value after --output") &&
		      bad("--output=", "expected a value after --output") &&
		      bad("-o", "expected a value after --output"),
	      "an empty one is none");
	check(good("--number 9") && line.number == 9 &&
		      bad("--number=1", "--number=1: expected a number from 2 to 9") &&
		      bad("--number=10", "--number=10: expected a number from 2 to 9"),
	      "a number and its limits");
	check(good("--wide=18446744073709551615") && line.wide == UINT64_MAX &&
		      bad("--wide -1", "--wide=-1: expected a number"),
	      "a wide one has none");
	check(good("--set full") && line.word == 1 && good("--set=check") && !line.word &&
		      bad("--set=some", "--set=some: expected check|full"),
	      "one of some words");
	check(good("--when=late") && line.late && good("--when=early") && !line.late,
	      "the last of two words is a switch");
	check(good("--pair a b") && is(line.pair[0], "a") && is(line.pair[1], "b") &&
		      bad("--pair a", "expected two values after --pair"),
	      "two values");
	check(good("--deep x") && is(line.file, "x") && good("--even xx") && is(line.file, "xx") &&
		      bad("--even x", "--even=x: expected an even length"),
	      "a table in a table, and a value of its own kind");
}

static void words_between(void)
{
	char *argv[] = {"c", "a", "--wide", "1", "-", "b", NULL};
	struct jp_error err;

	check(bad("--no", "unknown option '--no'") && bad("--wid=1", "unknown option '--wid=1'") &&
		      bad("-v=1", "-v takes no value"),
	      "what no row takes");
	line = (struct line){0};
	check(!jp_options_read(table, 6, argv, &err) && line.rest.count == 3 &&
		      is(line.rest.list[0], "a") && is(line.rest.list[1], "-") &&
		      is(line.rest.list[2], "b") && line.wide == 1,
	      "operands move together");
	check(good("-- -v") && !line.verbose && line.rest.count == 1, "nor behind --");
	check(reads(table, "-v --help --no", &err) == 1 && reads(table, "-h", &err) == 1,
	      "help, whatever comes then");
	check(good("--pair a b --set full") &&
		      bad("--number 2 --pair a b", "--pair does not go with --number"),
	      "modes exclude each other");
}

static void operands(void)
{
	struct jp_option two[] = {
		{"FILE", .text = &line.file, .needed = true},
		{"WORD", .number = &line.word, .words = words},
		{"--must", .value = "X", .text = &line.output, .needed = true, .modes = TWO},
		{"--quiet", .set = &line.quiet, .modes = ONE | TWO},
		{0}};
	const struct jp_option start[] = {{"-v", .set = &line.verbose},
					  {"COMMAND", .rest = &line.rest, .verbatim = true},
					  {0}};
	struct jp_error err = {""};

	check(!reads(two, "--quiet a full", &err) && is(line.file, "a") && line.word == 1 &&
		      reads(two, "a b", &err) == -EINVAL &&
		      is(err.text, "WORD=b: expected check|full"),
	      "each operand in its place");
	check(reads(two, "a full c", &err) == -EINVAL && is(err.text, "one operand too many: 'c'"),
	      "not one more");
	check(reads(two, "", &err) == -EINVAL && is(err.text, "expected FILE"), "one is needed");
	two[3].modes = TWO;
	check(!reads(two, "a", &err) && reads(two, "a --quiet", &err) == -EINVAL &&
		      is(err.text, "expected --must X"),
	      "an option is needed by its mode alone");
	check(!reads(start, "-v run -v --help", &err) && line.rest.count == 3 &&
		      is(line.rest.list[1], "-v") && !reads(start, "-- -v", &err) &&
		      line.rest.count == 1 && !line.verbose,
	      "a command has options of its own");
}

static void one_word(void)
{
	struct jp_error err = {""};

	check(jp_option_take(table, "--wide=7", &err) == 1 && line.wide == 7 &&
		      !jp_option_take(table, "--other=7", &err) &&
		      jp_option_take(table, "--wide=x", &err) == -EINVAL &&
		      !jp_option_take(table, "--wide", &err) &&
		      !jp_option_take(table, "--loud=1", &err) &&
		      !jp_option_take(table, "-v", &err) &&
		      jp_option_take(table, "--loud", &err) == 1,
	      "one word at a time");
}

static void usage(void)
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
	check(is(text, expected), "usage, in 80 columns");
	free(text);
}

int main(void)
{
	values();
	words_between();
	operands();
	one_word();
	usage();
	return check_done();
}
