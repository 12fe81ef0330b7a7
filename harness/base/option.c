// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/option.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/base/number.h"
#include "harness/base/terminal.h"

/* Visits a row of the table. Returns true to end the search. */
typedef bool jp_option_visit(const struct jp_option *option, void *context);

static const struct jp_option *find_row(const struct jp_option *options, jp_option_visit *visit,
					void *context)
{
	const struct jp_option *option = NULL;

	for (; options && !option && (options->name || options->help || options->get_more);
	     options++) {
		if (options->get_more)
			option = find_row(options->get_more(options->context), visit, context);
		else if (visit(options, context))
			option = options;
	}
	return option;
}

static bool is_operand(const struct jp_option *option)
{
	return option->name && option->name[0] != '-';
}

static bool is_switch(const struct jp_option *option)
{
	return (option->set && !option->words) || option->clear;
}

/* A word of the command line, with the value that follows the option's name. */
struct typed_word {
	const char *text, *value; /* @value may be NULL */
};

static bool has_name(struct typed_word *word, const char *name)
{
	const size_t length = name ? strlen(name) : 0;
	const char *tail = word->text + length;

	if (!length || strncmp(word->text, name, length) != 0)
		return false;
	word->value = NULL;
	if (*tail == '=')
		word->value = tail + 1;
	else if (*tail && name[1] != '-')
		word->value = tail;
	return !*tail || word->value;
}

static bool is_named(const struct jp_option *option, void *word)
{
	return !is_operand(option) &&
	       (has_name(word, option->name) || has_name(word, option->brief));
}

static int take_number(const struct jp_option *option, const char *text, struct jp_error *err)
{
	const uint64_t max = option->max ?: option->number ? UINT_MAX : UINT64_MAX;
	uint64_t number;

	if (!jp_number(text, option->min, max, &number)) {
		if (!option->max && !option->min)
			return jp_fail(err, EINVAL, "%s=%s: expected a number", option->name, text);
		return jp_fail(err, EINVAL, "%s=%s: expected a number from %llu to %llu",
			       option->name, text, (unsigned long long)option->min,
			       (unsigned long long)max);
	}
	if (option->number)
		*option->number = (unsigned)number;
	else
		*option->number64 = number;
	return 0;
}

/* Joins words as in "check|full". */
static void join_words(const char *const *words, char *text, size_t size)
{
	size_t length = 0;

	for (*text = '\0'; *words && length < size; words++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? "|" : "",
					   *words);
}

static int take_word(const struct jp_option *option, const char *text, struct jp_error *err)
{
	char words[256];
	unsigned index = 0;

	while (option->words[index] && strcmp(option->words[index], text) != 0)
		index++;
	if (!option->words[index]) {
		join_words(option->words, words, sizeof(words));
		return jp_fail(err, EINVAL, "%s%s%s: expected %s",
			       *option->name == '-' ? option->name : "",
			       *option->name == '-' ? "=" : "", text, words);
	}
	if (option->set)
		*option->set = !option->words[index + 1];
	else
		*option->number = index;
	return 0;
}

static int take_value(const struct jp_option *option, const char *text, struct jp_error *err)
{
	if (option->parse)
		return option->parse(option, text, err);
	if (option->words)
		return take_word(option, text, err);
	if (!option->text)
		return take_number(option, text, err);
	if (!*text)
		return jp_fail(err, EINVAL, "expected a value after %s", option->name);
	*option->text = text;
	return 0;
}

static int apply_value(const struct jp_option *option, const char *value, struct jp_error *err)
{
	if (is_switch(option)) {
		if (value)
			return jp_fail(err, EINVAL, "%s takes no value", option->name);
		*(option->set ?: option->clear) = option->set;
		return 0;
	}
	if (!value)
		return jp_fail(err, EINVAL, "expected a value after %s", option->name);
	return take_value(option, value, err);
}

int jp_option_take(const struct jp_option *options, const char *arg, struct jp_error *err)
{
	struct typed_word word = {.text = arg};
	const struct jp_option *option = NULL;

	if (strncmp(arg, "--", 2) == 0)
		option = find_row(options, is_named, &word);
	/* Words such as "--switch=1", or "--name" without its value, are not ours: they may be
	 * another program's options. */
	if (!option || is_switch(option) != !word.value)
		return 0;
	return apply_value(option, word.value, err) ?: 1;
}

struct command_line {
	const struct jp_option *options;
	char **argv;
	int argc, position;
	int operands;                   /* number of operands; they move to the front */
	const struct jp_option *narrow; /* the option that last narrowed @modes */
	unsigned modes;
	bool verbatim; /* "--" came: only operands follow */
};

/* Checks that @option is allowed with the earlier options. */
static int check_modes(struct command_line *line, const struct jp_option *option,
		       struct jp_error *err)
{
	const unsigned modes = option->modes ?: UINT_MAX;

	if (!(line->modes & modes))
		return jp_fail(err, EINVAL, "%s does not go with %s", option->name,
			       line->narrow->name);
	if ((line->modes & modes) != line->modes)
		line->narrow = option;
	line->modes &= modes;
	return 0;
}

/* Offers an option that the help shows. */
static bool compare_option_name(const struct jp_option *option, void *nearest)
{
	if (option->name && option->help && !is_operand(option))
		jp_nearest_compare(nearest, option->name);
	return false;
}

static int refuse_option(const struct jp_option *options, const char *text, struct jp_error *err)
{
	char name[80], hint[120];
	struct jp_nearest nearest = {.word = name};

	/* Truncate a long text: it matches no name. */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
	find_row(options, compare_option_name, &nearest);
	return jp_fail(err, EINVAL, "unknown option '%s'%s", text,
		       jp_nearest_hint(&nearest, hint, sizeof(hint)));
}

static int read_option(struct command_line *line, struct jp_error *err)
{
	struct typed_word word = {.text = line->argv[line->position]};
	const struct jp_option *option = find_row(line->options, is_named, &word);
	int ret;

	if (!option)
		return refuse_option(line->options, word.text, err);
	if (!is_switch(option) && !word.value && line->position + 1 < line->argc)
		word.value = line->argv[++line->position];
	ret = check_modes(line, option, err) ?: apply_value(option, word.value, err);
	if (ret || !option->second)
		return ret;
	if (line->position + 1 == line->argc)
		return jp_fail(err, EINVAL, "expected two values after %s", option->name);
	*option->second = line->argv[++line->position];
	return 0;
}

/* Visitor of find_row() that finds the row of operand number *@data. */
static bool is_row_of_option(const struct jp_option *option, void *data)
{
	int *count = data;

	return is_operand(option) && (option->operands || !(*count)--);
}

static int read_operand(struct command_line *line, struct jp_error *err)
{
	char *text = line->argv[line->position], **destination = &line->argv[1 + line->operands];
	int before = line->operands;
	const struct jp_option *option = find_row(line->options, is_row_of_option, &before);

	if (!option)
		return jp_fail(err, EINVAL, "one operand too many: '%s'", text);
	if (check_modes(line, option, err))
		return -EINVAL;
	if (!option->operands) {
		*destination = text;
		line->operands++;
		return take_value(option, text, err);
	}
	if (!option->operands->count)
		option->operands->list =
			option->verbatim ? &line->argv[line->position] : destination;
	if (option->verbatim) {
		option->operands->count = line->argc - line->position;
		line->position = line->argc;
		return 0;
	}
	*destination = text;
	line->operands++;
	option->operands->count++;
	return 0;
}

/* Reads the word at line->at, with its values. Returns 0; 1 if the word is --help or -h; or
 * -EINVAL. */
static int read_word(struct command_line *line, struct jp_error *err)
{
	const char *text = line->argv[line->position];

	if (line->verbatim || text[0] != '-' || !text[1])
		return read_operand(line, err);
	if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)
		return 1;
	if (strcmp(text, "--") != 0)
		return read_option(line, err);
	line->verbatim = true;
	return 0;
}

static bool is_missing(const struct jp_option *option, void *mode)
{
	return option->is_required && !*option->text &&
	       (*(unsigned *)mode & (option->modes ?: ~0U));
}

int jp_options_read(const struct jp_option *options, int argc, char **argv, struct jp_error *err)
{
	struct command_line line = {.options = options, .argv = argv, .argc = argc, .modes = ~0U};
	const struct jp_option *missing;
	int ret = 0;

	for (line.position = 1; line.position < argc && !ret; line.position++)
		ret = read_word(&line, err);
	line.modes &= -line.modes;
	missing = ret ? NULL : find_row(options, is_missing, &line.modes);
	if (missing)
		ret = jp_fail(err, EINVAL, "expected %s%s%s", missing->name,
			      is_operand(missing) ? "" : " ",
			      is_operand(missing) ? "" : missing->value);
	return ret;
}

enum { WIDTH = 80, COLUMN = 22 };

static bool print_row(const struct jp_option *option, void *out)
{
	char label[128], words[80] = "";

	if (!option->help)
		return false;
	if (!option->name) {
		fputc('\n', out);
		jp_terminal_put_words(out, option->help, 0, WIDTH);
		return false;
	}
	if (option->words && !option->value && !is_operand(option))
		join_words(option->words, words, sizeof(words));
	snprintf(label, sizeof(label), "  %s%s%s%s%s", option->brief ?: "",
		 option->brief ? ", " : "", option->name,
		 is_switch(option) || is_operand(option) ? "" : " ", option->value ?: words);
	if (strlen(label) < COLUMN)
		fprintf(out, "%-*s", COLUMN, label);
	else
		fprintf(out, "%s\n%*s", label, COLUMN, "");
	jp_terminal_put_words(out, option->help, COLUMN, WIDTH);
	return false;
}

void jp_options_print(const struct jp_option *options, FILE *out)
{
	find_row(options, print_row, out);
}

/* Prints an option with its whole help text, which the shell cuts to the terminal's width. */
static bool print_name(const struct jp_option *option, void *line)
{
	const unsigned modes = option->modes ?: UINT_MAX;

	if (option->name && option->help && !is_operand(option) &&
	    (((struct command_line *)line)->modes & modes))
		printf("%s\t%s\n", option->name, option->help);
	return false;
}

void jp_option_print_values(const struct jp_option *option, FILE *out)
{
	if (option->print_values)
		option->print_values(out);
	else if (option->words)
		for (const char *const *word = option->words; *word; word++)
			fprintf(out, "%s\n", *word);
	else if (option->text || option->operands)
		fputs(JP_OPTION_FILES "\n", out);
}

void jp_options_complete(const struct jp_option *options, int argc, char **argv)
{
	struct command_line line = {.options = options, .argv = argv, .argc = argc, .modes = ~0U};
	struct typed_word word = {.text = argv[argc - 1]};
	const struct jp_option *option;
	struct jp_error ignored;

	for (line.position = 1; line.position < argc - 1; line.position++) {
		word.text = argv[line.position];
		read_word(&line, &ignored);
	}
	/* The last word may be the value of the word before it. */
	if (line.position == argc - 1)
		word.text = argv[argc - 1];
	option = line.verbatim ? NULL : find_row(options, is_named, &word);
	if (!option || (line.position < argc && !word.value)) {
		option = find_row(options, is_row_of_option, &line.operands);
		if (!line.verbatim && (word.text[0] == '-' || !option)) {
			puts("--help\tshow all options");
			find_row(options, print_name, &line);
			return;
		}
	}
	if (option)
		jp_option_print_values(option, stdout);
}
