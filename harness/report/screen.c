// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/terminal.h"
#include "harness/report/fault.h"
#include "harness/report/figures.h"

/* Limits of the output, so that a terminal of 24 lines shows all of it, the command line and the
 * next prompt. */
enum { MOST_ROWS = 12, MOST_REASONS = 3, MOST_WHY = 4, INDENT = 6, LINE = 4096 };

void jp_screen_begin(struct jp_screen *screen, bool verbose)
{
	screen->verbose = verbose;
	screen->is_terminal = isatty(STDOUT_FILENO);
	screen->width = jp_terminal_width(STDOUT_FILENO);
	screen->started = jp_clock_now();
}

bool jp_screen_is_failure(enum jp_outcome outcome)
{
	return outcome != JP_PASS && outcome != JP_SKIP && outcome != JP_XFAIL;
}

/* Prints one line, cut to the width. */
__attribute__((format(printf, 2, 3))) static void put_line(const struct jp_screen *screen,
							   const char *fmt, ...)
{
	char line[LINE], short_text[LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	puts(jp_terminal_shorten(line, screen->width, JP_CUT_END, short_text, sizeof(short_text)));
}

/* Prints @word, quoted for a shell. Returns the number of columns. */
static unsigned int put_word(const char *word)
{
	const bool plain = !word[strcspn(word, " '\"\\$`*?[](){}<>|&;#!~")];
	unsigned int columns = plain ? 0 : (unsigned int)printf("'");

	for (; *word; word++)
		columns += (unsigned int)printf(*word == '\'' ? "'\\''" : "%c", *word);
	return columns + (plain ? 0 : (unsigned int)printf("'"));
}

/* Prints @words after @label as a command to copy: lines break between words, with a backslash.
 * Returns the number of lines. */
static int put_command(const struct jp_screen *screen, const char *label, const char *const *words)
{
	unsigned int column = INDENT;
	int lines = 1;

	printf("%-*s", INDENT, label);
	for (size_t i = 0; words[i]; i++) {
		const size_t length = strlen(words[i]);

		if (i && column + 1 + length + (words[i + 1] ? 2 : 0) > screen->width) {
			printf(" \\\n%*s", INDENT + 2, "");
			column = INDENT + 2;
			lines++;
		} else if (i) {
			column += (unsigned int)printf(" ");
		}
		column += put_word(words[i]);
	}
	putchar('\n');
	return lines;
}

/* Prints the lines of @text, indented; at most @max of them. */
static void put_lines(const struct jp_screen *screen, const char *text, int max)
{
	char line[2048];

	for (int i = 0; *text && i < max; i++) {
		const size_t length = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		printf("%*s", INDENT, "");
		jp_terminal_put_words(stdout, line, INDENT, screen->width);
		text += length + (text[length] == '\n');
	}
}

void jp_screen_result(const struct jp_screen *screen, const struct jp_result *result)
{
	const bool failed = jp_screen_is_failure(result->outcome);
	char mark[INDENT + 1];

	if (!failed && !screen->verbose)
		return;
	put_line(screen, "%-5s %s", jp_outcome_text(result->outcome), result->cas->name);
	put_lines(screen, result->reasons, screen->verbose ? INT16_MAX : MOST_WHY);
	if (screen->verbose) {
		snprintf(mark, sizeof(mark), "%*s", INDENT, "");
		jp_figures_print(stdout, result, mark, screen->width);
		jp_accounts_print(stdout, &result->findings.accounts, mark, screen->width);
	}
	fflush(stdout);
}

/* Prints each reason for skipping once, with the number of cases that were skipped for it. */
static void put_skips(const struct jp_screen *screen, const struct jp_result *results, size_t count)
{
	int reasons = 0;

	for (size_t i = 0; i < count && reasons < MOST_REASONS; i++) {
		size_t nr_before = 0, times = 0;

		for (size_t j = 0; j < count; j++) {
			const bool is_same = results[j].outcome == JP_SKIP &&
					     strcmp(results[j].reasons, results[i].reasons) == 0;

			nr_before += is_same && j < i;
			times += is_same;
		}
		if (results[i].outcome != JP_SKIP || nr_before)
			continue;
		reasons++;
		put_line(screen, "SKIP  %zu: %.*s", times, (int)strcspn(results[i].reasons, "\n"),
			 results[i].reasons);
	}
}

/* Prints failures, two lines each or more if the command is long, until MOST_ROWS lines are full.
 */
static void put_failures(const struct jp_screen *screen, const struct jp_result *results,
			 size_t count, const char *dir)
{
	size_t nr_hidden = 0;
	int rows = 0;
	char fault[2048];

	for (size_t i = 0; i < count; i++) {
		const struct jp_result *result = &results[i];

		if (!jp_screen_is_failure(result->outcome))
			continue;
		if (rows >= MOST_ROWS) {
			nr_hidden++;
			continue;
		}
		put_line(screen, "%-5s %s", jp_outcome_text(result->outcome),
			 jp_fault_describe(result, fault, sizeof(fault)));
		rows += 1 +
			put_command(screen, "",
				    (const char *[]){program_invocation_name, dir ? "show" : "run",
						     result->cas->name, dir, NULL});
	}
	if (nr_hidden)
		put_line(screen, "and %zu more", nr_hidden);
}

static void put_totals(const struct jp_screen *screen, const struct jp_result *results,
		       size_t count, size_t plan)
{
	static const char *const words[JP_OUTCOMES] = {
		[JP_PASS] = "passed",
		[JP_FAIL] = "failed",
		[JP_SKIP] = "skipped",
		[JP_ERROR] = "could not be judged",
		[JP_XFAIL] = "failed as expected",
		[JP_XPASS] = "passed against expectation",
		[JP_TIMEOUT] = "ran out of time",
		[JP_CRASH] = "crashed",
	};
	const double seconds = (double)(jp_clock_now() - screen->started) / (double)JP_NS_PER_S;
	char text[400];
	int length = snprintf(text, sizeof(text), "%zu", count);

	if (count < plan)
		length += snprintf(text + length, sizeof(text) - (size_t)length, " of %zu", plan);
	length += snprintf(text + length, sizeof(text) - (size_t)length, " %s in %.1f s",
			   plan == 1 ? "case" : "cases", seconds);
	for (int outcome = 0; outcome < JP_OUTCOMES; outcome++) {
		size_t times = 0;

		for (size_t i = 0; i < count; i++)
			times += results[i].outcome == (enum jp_outcome)outcome;
		if (times)
			length += snprintf(text + length, sizeof(text) - (size_t)length,
					   "%s %zu %s", length > 0 && strchr(text, ':') ? "," : ":",
					   times, words[outcome]);
	}
	put_line(screen, "%s", text);
}

void jp_screen_summary(const struct jp_screen *screen, const struct jp_result *results,
		       size_t count, size_t plan, const char *cut_short)
{
	bool failed = false;
	const char *dir;

	for (size_t i = 0; i < count; i++)
		failed |= jp_screen_is_failure(results[i].outcome);
	dir = screen->temporary && (!failed || cut_short) ? NULL : screen->dir;
	if (cut_short)
		put_line(screen, "cut short: %s", cut_short);
	put_totals(screen, results, count, plan);
	put_failures(screen, results, count, dir);
	put_skips(screen, results, count);
	if (dir)
		put_command(screen, "More:",
			    (const char *[]){program_invocation_name, "judge", "-v", dir, NULL});
	else
		put_line(screen, "More: -v shows all figures, -o DIR keeps all files.");
	fflush(stdout);
}
