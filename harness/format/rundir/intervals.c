// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/rundir/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/number.h"
#include "harness/base/order.h"
#include "harness/base/search.h"

/* Parses @count numbers, each after one blank. Stores the text after them in *@tail. */
static bool parse_numbers(const char *text, uint64_t *numbers, size_t count, const char **tail)
{
	for (size_t i = 0; i < count; i++)
		if (*text++ != ' ' || !jp_number_take(&text, 10, UINT64_MAX, &numbers[i]))
			return false;
	*tail = text;
	return true;
}

/* Returns the byte that three octal digits encode; 0: they are malformed. */
static char parse_octal(const char *digits)
{
	unsigned int byte = 0;

	for (int i = 0; i < 3; i++) {
		if (digits[i] < '0' || digits[i] > '7')
			return 0;
		byte = byte << 3 | (unsigned int)(digits[i] - '0');
	}
	return byte <= UINT8_MAX ? (char)byte : 0;
}

/* Reads a name of less than @size bytes; blanks and backslashes are written as \ooo. */
static bool parse_name(const char *text, char *name, size_t size)
{
	for (; *text && size > 1; size--) {
		*name = *text == '\\' ? parse_octal(text + 1) : *text;
		text += *text == '\\' && *name ? 4 : 1;
		if (!*name++)
			return false;
	}
	*name = 0;
	return !*text;
}

static bool add_process(struct jp_intervals *intervals, const char *text)
{
	struct jp_announced *process;
	uint64_t numbers[3];
	const char *tail;

	if (!parse_numbers(text, numbers, 3, &tail) || *tail != ' ' || !tail[1] || !numbers[0] ||
	    numbers[0] > INT32_MAX || numbers[1] > numbers[2])
		return false;
	if (intervals->nr_processes &&
	    numbers[1] < intervals->processes[intervals->nr_processes - 1].answer_time)
		return false;
	process = jp_array_push(&intervals->processes, &intervals->nr_processes,
				&intervals->processes_capacity);
	if (!process)
		return false;
	*process = (struct jp_announced){.pid = (uint32_t)numbers[0],
					 .announcement_time = numbers[1],
					 .answer_time = numbers[2]};
	return parse_name(tail + 1, process->comm, sizeof(process->comm));
}

static bool add_interval(struct jp_intervals *intervals, const char *text)
{
	const struct jp_announced *process =
		intervals->nr_processes ? &intervals->processes[intervals->nr_processes - 1] : NULL;
	struct jp_interval *interval;
	uint64_t numbers[5], before;
	const char *tail;

	if (!parse_numbers(text, numbers, 5, &tail) || *tail || !process ||
	    numbers[0] != process->pid)
		return false;
	before = process->answer_time;
	if (intervals->nr_intervals &&
	    intervals->intervals[intervals->nr_intervals - 1].disabled > before)
		before = intervals->intervals[intervals->nr_intervals - 1].disabled;
	for (int i = 1; i < 5; i++) {
		if (numbers[i] < before)
			return false;
		before = numbers[i];
	}
	interval = jp_array_push(&intervals->intervals, &intervals->nr_intervals,
				 &intervals->intervals_capacity);
	if (!interval)
		return false;
	*interval = (struct jp_interval){.process = (uint32_t)(process - intervals->processes),
					 .pid = process->pid,
					 .enabling = numbers[1],
					 .enabled = numbers[2],
					 .disabling = numbers[3],
					 .disabled = numbers[4]};
	return true;
}

static bool set_gate(struct jp_intervals *intervals, const char *text)
{
	static const char *const gates[] = {"none", "backfill", "sideband"};

	for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++)
		if (strcmp(text, gates[i]) == 0)
			strcpy(intervals->gate, gates[i]);
	return *intervals->gate;
}

int jp_intervals_parse(struct jp_intervals *intervals, const char *name, char *text,
		       struct jp_error *err)
{
	unsigned int number = 0;

	memset(intervals, 0, sizeof(*intervals));
	for (char *next, *line = text; line && *line; line = next) {
		bool is_valid;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		if (number == 1)
			is_valid = strncmp(line, "gate ", 5) == 0 && set_gate(intervals, line + 5);
		else if (strncmp(line, "process ", 8) == 0)
			is_valid = add_process(intervals, line + 7);
		else
			is_valid = strncmp(line, "interval ", 9) == 0 &&
				   add_interval(intervals, line + 8);
		if (!is_valid) {
			jp_intervals_free(intervals);
			return jp_fail(
				err, EINVAL,
				"%s:%u: expected \"gate none|backfill|sideband\", then "
				"\"process PID ASKED ANSWERED COMM\" and \"interval PID "
				"ENABLING ENABLED DISABLING DISABLED\" in the order of time, "
				"found \"%.80s\"",
				name, number, line);
		}
	}
	if (*intervals->gate)
		return 0;
	return jp_fail(err, EINVAL, "%s: expected a line \"gate none|backfill|sideband\"", name);
}

void jp_intervals_free(struct jp_intervals *intervals)
{
	free(intervals->processes);
	free(intervals->intervals);
	memset(intervals, 0, sizeof(*intervals));
}

const struct jp_interval *jp_intervals_find(const struct jp_intervals *intervals, uint64_t time,
					    uint64_t slack)
{
	const struct jp_interval *list = intervals->intervals;
	size_t i;

	jp_search(i, intervals->nr_intervals,
		  jp_max(time, list[i].disabled) - list[i].disabled > slack);
	if (i == intervals->nr_intervals ||
	    (list[i].enabling > time && list[i].enabling - time > slack))
		return NULL;
	return &list[i];
}

const struct jp_announced *jp_intervals_find_process(const struct jp_intervals *intervals,
						     uint32_t pid, uint64_t time)
{
	const struct jp_announced *latest = NULL;

	for (size_t i = 0; i < intervals->nr_processes; i++) {
		const struct jp_announced *process = &intervals->processes[i];

		if (process->pid == pid && (!latest || process->announcement_time <= time))
			latest = process;
	}
	return latest;
}

uint64_t jp_intervals_get_backfill_time(const struct jp_intervals *intervals,
					const struct jp_announced *process, uint64_t enabled)
{
	uint64_t disabled = enabled, start_time = 0;

	for (size_t i = 0; i < intervals->nr_intervals; i++)
		if (intervals->intervals[i].disabled <= process->announcement_time)
			disabled = intervals->intervals[i].disabled;
	for (const struct jp_announced *announced = intervals->processes; announced < process;
	     announced++)
		start_time += announced->announcement_time >= disabled;
	return disabled + start_time;
}
