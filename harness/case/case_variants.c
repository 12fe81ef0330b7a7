// SPDX-License-Identifier: GPL-2.0-only
/* Handles axes, and the variants of lines that name them (docs/expected-format.md). */
#include <errno.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/case/case_parser.h"

static const struct jp_case_axis *find_axis(struct jp_case_parser *p, const char *name,
					    size_t length)
{
	for (size_t i = 0; i < p->nr_axes; i++)
		if (strlen(p->axes[i].name) == length &&
		    strncmp(p->axes[i].name, name, length) == 0)
			return &p->axes[i];
	return NULL;
}

/* Returns the value of @axis that equals the @length bytes at @text, or NULL. */
static const char *find_value(const struct jp_case_axis *axis, const char *text, size_t length)
{
	for (size_t i = 0; i < axis->nr_values; i++)
		if (strlen(axis->values[i]) == length &&
		    strncmp(axis->values[i], text, length) == 0)
			return axis->values[i];
	return NULL;
}

int jp_case_parse_axis(struct jp_case_parser *p, char *text)
{
	char *words[JP_CASE_WORDS];
	struct jp_case_axis *axis;
	int count = jp_case_split_words(p, text, words);

	if (count < 0)
		return count;
	if (count < 2 || count > JP_CASE_VALUES + 1)
		return jp_case_refuse(p, "axis", count ? words[0] : "",
				      "axis NAME VALUE..., at most 32 values");
	for (int i = 0; i < count; i++)
		if (!jp_case_name_ok(words[i], false))
			return jp_case_refuse(p, i ? "value" : "axis", words[i],
					      "letters, digits, . _ + and -");
	if (find_axis(p, words[0], strlen(words[0])))
		return jp_case_refuse(p, "second axis", words[0], "a name that is not defined yet");
	axis = jp_array_push(&p->axes, &p->nr_axes, &p->axes_capacity);
	if (!axis)
		return jp_case_no_memory(p);
	axis->name = words[0];
	axis->values = jp_case_alloc(p->cases, (size_t)count * sizeof(*axis->values));
	if (!axis->values)
		return jp_case_no_memory(p);
	for (int i = 1; i < count; i++) {
		if (find_value(axis, words[i], strlen(words[i])))
			return jp_case_refuse(p, "second value", words[i], "each value once");
		axis->values[axis->nr_values++] = words[i];
	}
	return 0;
}

/* Returns the length of the first item in the comma-separated list from @text to @end. */
static size_t measure_item(const char *text, const char *end)
{
	size_t length = strcspn(text, ",");

	return length < (size_t)(end - text) ? length : (size_t)(end - text);
}

/* Returns whether the comma-separated list from @text to @end contains @value. */
static bool is_listed(const char *text, const char *end, const char *value)
{
	for (size_t length; text <= end; text += length + 1) {
		length = measure_item(text, end);
		if (strlen(value) == length && strncmp(text, value, length) == 0)
			return true;
	}
	return false;
}

/* Checks that each item in the comma-separated list is a value of @axis. */
static int check_list(struct jp_case_parser *p, const struct jp_case_axis *axis, const char *text,
		      const char *end)
{
	for (size_t length; text <= end; text += length + 1) {
		length = measure_item(text, end);
		if (!find_value(axis, text, length))
			return jp_case_refuse(p, "values", text,
					      "values of this axis, separated by commas");
	}
	return 0;
}

/* Parses a placeholder "{NAME}", "{NAME:VALUE,VALUE}" (only these values) or "{NAME!VALUE,VALUE}"
 * (all other values) at @text. Stores where the list begins and where the brace ends. Returns the
 * axis NAME, or NULL if there is no such placeholder or axis. */
static const struct jp_case_axis *parse_placeholder(struct jp_case_parser *p, const char *text,
						    const char **list, const char **end)
{
	const struct jp_case_axis *axis;

	*list = text + strcspn(text, ":!}");
	*end = strchr(text, '}');
	axis = *end ? find_axis(p, text + 1, (size_t)(*list - text - 1)) : NULL;
	if (!axis)
		jp_case_refuse(p, "placeholder", text,
			       "{AXIS}, {AXIS:VALUE,...} or {AXIS!VALUE,...} of an axis above");
	return axis;
}

static size_t find_variant(const struct jp_case_variants *variants, const struct jp_case_axis *axis)
{
	size_t index = 0;

	while (index < variants->nr_axes && variants->axes[index].axis != axis)
		index++;
	return index;
}

static int add_axis(struct jp_case_parser *p, const struct jp_case_axis *axis, const char *list,
		    const char *end)
{
	struct jp_case_variants *variants = &p->variants;
	size_t index = variants->nr_axes;

	if (index == JP_CASE_AXES)
		return jp_case_refuse(p, "axis", axis->name, "at most 4 axes in a line");
	variants->nr_axes++;
	variants->axes[index].axis = axis;
	if (*list != '}' && check_list(p, axis, list + 1, end))
		return -EINVAL;
	for (size_t i = 0; i < axis->nr_values; i++)
		if (*list == '}' || is_listed(list + 1, end, axis->values[i]) == (*list == ':'))
			variants->axes[index].values[variants->axes[index].nr_values++] =
				axis->values[i];
	if (!variants->axes[index].nr_values)
		return jp_case_refuse(p, "axis", axis->name, "at least one value of the axis");
	return 0;
}

int jp_case_vary(struct jp_case_parser *p, const char *text)
{
	const char *list, *end, *line = text;
	size_t count = 1;

	memset(&p->variants, 0, sizeof(p->variants));
	if (!p->study)
		return 0;
	for (text = strchr(text, '{'); text; text = strchr(end, '{')) {
		const struct jp_case_axis *axis = parse_placeholder(p, text, &list, &end);
		int ret;

		if (!axis)
			return -EINVAL;
		if (find_variant(&p->variants, axis) < p->variants.nr_axes) {
			if (*list != '}')
				return jp_case_refuse(p, "values", text,
						      "the same list of values where the line "
						      "first uses the axis");
			continue;
		}
		ret = add_axis(p, axis, list, end);
		if (ret)
			return ret;
		count *= p->variants.axes[p->variants.nr_axes - 1].nr_values;
	}
	p->nr_made += count;
	return p->nr_made <= JP_CASE_LIMIT
		       ? 0
		       : jp_case_refuse(p, "line", line, "at most 4096 cases and rows in a file");
}

bool jp_case_next_variant(struct jp_case_parser *p)
{
	for (size_t i = p->variants.nr_axes; i--;) {
		if (++p->variants.axes[i].current < p->variants.axes[i].nr_values)
			return true;
		p->variants.axes[i].current = 0;
	}
	return false;
}

/* Returns the current value of the axis that the placeholder at *@text names, and moves *@text
 * behind the placeholder. Returns NULL if there is no placeholder. */
static const char *get_current_value(struct jp_case_parser *p, const char **text)
{
	const char *list, *end;
	const struct jp_case_axis *axis = parse_placeholder(p, *text, &list, &end);
	size_t index = axis ? find_variant(&p->variants, axis) : 0;

	if (!axis)
		return NULL;
	if (index == p->variants.nr_axes) {
		jp_case_refuse(p, "placeholder", *text, "an axis that the first line varies");
		return NULL;
	}
	*text = end + 1;
	return p->variants.axes[index].values[p->variants.axes[index].current];
}

char *jp_case_replace_axes(struct jp_case_parser *p, const char *text)
{
	char line[JP_CASE_LINE + 1], *copy;
	size_t size = 0;

	while (*text) {
		const char *value = text;
		size_t length = p->study ? strcspn(text, "{") : strlen(text);

		text += length;
		if (!length) {
			value = get_current_value(p, &text);
			if (!value)
				return NULL;
			length = strlen(value);
		}
		if (size + length > JP_CASE_LINE) {
			jp_case_refuse(p, "line", value,
				       "at most 4096 bytes after axes are replaced");
			return NULL;
		}
		memcpy(line + size, value, length);
		size += length;
	}
	copy = jp_case_print(p->cases, "%.*s", (int)size, line);
	if (!copy)
		jp_case_no_memory(p);
	return copy;
}

/* Parses @word, a condition AXIS=VALUE,VALUE. Returns 1 if it holds, 0 if not, or -EINVAL. */
static int check_condition(struct jp_case_parser *p, const char *word)
{
	size_t length = strcspn(word, "="), index;
	const struct jp_case_axis *axis = word[length] ? find_axis(p, word, length) : NULL;
	const char *list = word + length + 1, *end = word + strlen(word);

	if (!axis)
		return jp_case_refuse(p, "condition", word, "AXIS=VALUE,VALUE... of an axis above");
	index = find_variant(&p->variants, axis);
	if (index == p->variants.nr_axes)
		return jp_case_refuse(p, "condition", word, "an axis that the first line varies");
	if (check_list(p, axis, list, end))
		return -EINVAL;
	return is_listed(list, end,
			 p->variants.axes[index].values[p->variants.axes[index].current]);
}

int jp_case_parse_where(struct jp_case_parser *p, char **text)
{
	char *line = jp_case_trim(*text), *words[JP_CASE_WORDS], *colon;
	int count, ret = 1;

	if (!p->study || strncmp(line, "where ", 6) != 0)
		return 1;
	colon = strchr(line, ':');
	if (!colon)
		return jp_case_refuse(p, "line", line, "where AXIS=VALUE,VALUE...: METRIC ...");
	*colon = '\0';
	*text = colon + 1;
	count = jp_case_split_words(p, line + 6, words);
	if (!count)
		return jp_case_refuse(p, "condition", "", "AXIS=VALUE,VALUE...");
	for (int i = 0; ret > 0 && i < count; i++)
		ret = check_condition(p, words[i]);
	return count < 0 ? count : ret;
}
