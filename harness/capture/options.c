// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/options.h"

#include <errno.h>
#include <string.h>

#include "harness/base/number.h"

struct jp_capture_options jp_capture_defaults(void)
{
	return (struct jp_capture_options){
		.synth = JP_SYNTH_EXEC,
		.chain = true,
		.frequency = 997, /* a prime: in step with no timer of the watched */
		.kernel = true,
	};
}

/* The value of "--name=value", or NULL where @arg is another option. */
static const char *value_of(const char *arg, const char *name)
{
	size_t size = strlen(name);

	return strncmp(arg, name, size) == 0 && arg[size] == '=' ? arg + size + 1 : NULL;
}

static int take_synth(struct jp_capture_options *options, const char *arg, const char *value,
		      struct jp_error *err)
{
	for (int i = 0; i <= JP_SYNTH_ALL; i++) {
		if (strcmp(value, jp_synth_text((enum jp_synth)i)) != 0)
			continue;
		options->synth = (enum jp_synth)i;
		/* The older ones are of no use without the later ones. */
		options->all_maps |= i == JP_SYNTH_ALL;
		return 1;
	}
	return jp_fail(err, EINVAL, "%s: none, paths, exec or all was expected", arg);
}

static int take_number(struct jp_capture_options *options, const char *arg, struct jp_error *err)
{
	uint64_t stack = options->stack, frequency = options->frequency;
	const struct {
		const char *name;
		uint64_t max, *to;
	} numbers[] = {
		{"--stack", 65528, &stack},
		{"--freq", 1000000, &frequency},
		{"--ring", 1 << 30, &options->ring},
		{"--sideband-ring", 1 << 30, &options->sideband_ring},
	};
	const char *value = NULL;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !value; i++) {
		value = value_of(arg, numbers[i].name);
		if (value && !jp_number(value, 0, numbers[i].max, numbers[i].to))
			return jp_fail(err, EINVAL, "%s: a number up to %llu was expected", arg,
				       (unsigned long long)numbers[i].max);
	}
	if (!value)
		return 0;
	if (stack % 8)
		return jp_fail(err, EINVAL, "%s: a multiple of 8 was expected", arg);
	if (!frequency)
		return jp_fail(err, EINVAL, "%s: more than 0 was expected", arg);
	options->stack = (uint32_t)stack;
	options->frequency = (uint32_t)frequency;
	return 1;
}

int jp_capture_option(struct jp_capture_options *options, const char *arg, struct jp_error *err)
{
	const struct {
		const char *text;
		bool *flag, value;
	} flags[] = {
		{"--callchain=deferred", &options->deferred, true},
		{"--callchain=sample", &options->deferred, false},
		{"--no-chain", &options->chain, false},
		{"--task-clock", &options->task_clock, true},
		{"--kernel", &options->need_kernel, true},
		{"--user-only", &options->kernel, false},
		{"--system-wide", &options->system_wide, true},
		{"--elf=late", &options->late_elf, true},
		{"--all-maps", &options->all_maps, true},
	};
	const char *synth = value_of(arg, "--synth");

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(arg, flags[i].text) == 0) {
			*flags[i].flag = flags[i].value;
			return 1;
		}
	if (value_of(arg, "--callchain"))
		return jp_fail(err, EINVAL, "%s: sample or deferred was expected", arg);
	return synth ? take_synth(options, arg, synth, err) : take_number(options, arg, err);
}
