// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/options.h"

#include <errno.h>
#include <string.h>

#include "harness/base/number.h"

static const char *const synths[] = {
	[JP_SYNTH_NONE] = "none",
	[JP_SYNTH_PATHS] = "paths",
	[JP_SYNTH_EXEC] = "exec",
	[JP_SYNTH_ALL] = "all",
};

const char *jp_synth_text(enum jp_synth synth)
{
	return synths[synth];
}

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

static int number(const char *arg, const char *value, uint64_t max, uint64_t *out,
		  struct jp_error *err)
{
	return jp_number(value, 0, max, out)
		       ? 1
		       : jp_fail(err, EINVAL, "%s: a number up to %llu was expected", arg,
				 (unsigned long long)max);
}

static int take_synth(struct jp_capture_options *options, const char *arg, const char *value,
		      struct jp_error *err)
{
	for (int i = 0; i <= JP_SYNTH_ALL; i++) {
		if (strcmp(value, synths[i]) != 0)
			continue;
		options->synth = (enum jp_synth)i;
		/* Whoever wants the older ones wants the later ones too. */
		options->all_maps |= i == JP_SYNTH_ALL;
		return 1;
	}
	return jp_fail(err, EINVAL, "%s: none, paths, exec or all was expected", arg);
}

static int take_number(struct jp_capture_options *options, const char *arg, struct jp_error *err)
{
	const char *value;
	uint64_t n = 0;
	int ret;

	if ((value = value_of(arg, "--stack"))) {
		ret = number(arg, value, 65528, &n, err);
		if (ret > 0 && n % 8)
			return jp_fail(err, EINVAL, "%s: a multiple of 8 was expected", arg);
		options->stack = (uint32_t)n;
		return ret;
	}
	if ((value = value_of(arg, "--freq"))) {
		ret = number(arg, value, 1000000, &n, err);
		if (ret > 0 && !n)
			return jp_fail(err, EINVAL, "%s: more than 0 was expected", arg);
		options->frequency = (uint32_t)n;
		return ret;
	}
	if ((value = value_of(arg, "--ring"))) {
		ret = number(arg, value, 1 << 30, &n, err);
		options->ring = n;
		return ret;
	}
	if ((value = value_of(arg, "--sideband-ring"))) {
		ret = number(arg, value, 1 << 30, &n, err);
		options->sideband_ring = n;
		return ret;
	}
	return 0;
}

int jp_capture_option(struct jp_capture_options *options, const char *arg, struct jp_error *err)
{
	const char *value = value_of(arg, "--synth");

	if (value)
		return take_synth(options, arg, value, err);
	if (strcmp(arg, "--callchain=deferred") == 0)
		options->deferred = true;
	else if (strcmp(arg, "--callchain=sample") == 0)
		options->deferred = false;
	else if (value_of(arg, "--callchain"))
		return jp_fail(err, EINVAL, "%s: sample or deferred was expected", arg);
	else if (strcmp(arg, "--no-chain") == 0)
		options->chain = false;
	else if (strcmp(arg, "--task-clock") == 0)
		options->task_clock = true;
	else if (strcmp(arg, "--kernel") == 0)
		options->need_kernel = true;
	else if (strcmp(arg, "--user-only") == 0)
		options->kernel = false;
	else if (strcmp(arg, "--system-wide") == 0)
		options->system_wide = true;
	else if (strcmp(arg, "--elf=late") == 0)
		options->late_elf = true;
	else if (strcmp(arg, "--all-maps") == 0)
		options->all_maps = true;
	else
		return take_number(options, arg, err);
	return 1;
}
