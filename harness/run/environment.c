// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/environment.h"

#include <gnu/libc-version.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/base/path.h"
#include "harness/capture/probe.h"
#include "harness/capture/profilers.h"

static void write_first_line(struct jp_json *json, const char *key, const char *path)
{
	char text[4096];
	bool has_line = jp_file_read_text(path, text, sizeof(text)) > 0;

	text[strcspn(text, "\n")] = '\0';
	jp_json_string(json, key, has_line ? text : NULL);
}

/* Writes the name of this machine's first processor, or null. */
static void write_cpu_model(struct jp_json *json)
{
	jp_cleanup_fclose FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512], *colon = NULL;

	while (file && !colon && fgets(line, sizeof(line), file))
		if (strncmp(line, "model name", 10) == 0)
			colon = strchr(line, ':');
	line[colon ? strcspn(line, "\n") : 0] = '\0';
	jp_json_string(json, "cpu", colon ? colon + 1 + strspn(colon + 1, " ") : NULL);
}

/* Writes the options of the kernel's configuration that affect records and stack walks. */
static void write_configuration(struct jp_json *json, const char *release)
{
	static const char *const options[] = {
		"CONFIG_PERF_EVENTS", "CONFIG_HAVE_HW_BREAKPOINT",
		"CONFIG_HZ",          "CONFIG_PREEMPT",
		"CONFIG_ANON_VMA",    "CONFIG_X86_KERNEL_IBT",
		"CONFIG_UNWIND",      "CONFIG_UPROBE",
		"CONFIG_SECCOMP",     "CONFIG_TRANSPARENT_HUGE",
		"CONFIG_PARAVIRT=",   "CONFIG_NO_HZ",
	};
	jp_cleanup_fclose FILE *file = NULL;
	char path[256], text[512];

	if (!jp_path_build(path, sizeof(path), NULL, "/boot/config-%s", release))
		file = fopen(path, "re");
	if (!file) {
		jp_json_string(json, "configuration", NULL);
		return;
	}
	jp_json_array(json, "configuration");
	while (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
			if (strncmp(text, options[i], strlen(options[i])) == 0)
				jp_json_string(json, NULL, text);
	}
	jp_json_end(json);
}

static bool is_kept(const char *variable)
{
	static const char *const variables[] = {
		"PATH=",         "TMPDIR=",       "JITPROOF_",     "LD_",
		"ASAN_OPTIONS=", "LSAN_OPTIONS=", "UBSAN_OPTIONS="};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (strncmp(variable, variables[i], strlen(variables[i])) == 0)
			return true;
	return false;
}

void jp_environment_forget(void)
{
	size_t nr_kept = 0;

	for (size_t i = 0; environ[i]; i++)
		if (is_kept(environ[i]))
			environ[nr_kept++] = environ[i];
	environ[nr_kept] = NULL;
}

void jp_environment_write(FILE *out, uint64_t seed, const char *program,
			  const char *const *profilers)
{
	struct jp_json json;
	struct utsname name;
	struct rlimit lock;

	uname(&name);
	jp_json_begin(&json, out);
	jp_json_object(&json, NULL);
	/* The version of a run directory's format, see harness/outcome/environment.c. 1: the file
	 * `watched` has all keys. 2: env.json also has clocks_count. 3: there is also a witness. */
	jp_json_u64(&json, "format", 3);
	jp_json_string(&json, "kernel", name.release);
	jp_json_string(&json, "version", name.version);
	jp_json_string(&json, "machine", name.machine);
	write_first_line(&json, "command_line", "/proc/cmdline");
	write_configuration(&json, name.release);
	write_cpu_model(&json);
	jp_json_u64(&json, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	write_first_line(&json, "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid");
	write_first_line(&json, "perf_event_max_stack", "/proc/sys/kernel/perf_event_max_stack");
	write_first_line(&json, "perf_event_mlock_kb", "/proc/sys/kernel/perf_event_mlock_kb");
	write_first_line(&json, "perf_event_max_sample_rate",
			 "/proc/sys/kernel/perf_event_max_sample_rate");
	if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur != RLIM_INFINITY)
		jp_json_u64(&json, "memlock_limit", lock.rlim_cur);
	else
		jp_json_string(&json, "memlock_limit", NULL);
	jp_json_string(&json, "clocks_count", jp_probe_clocks_count() ? "yes" : "no");
	jp_json_u64(&json, "uid", getuid());
	jp_json_u64(&json, "seed", seed);
	if (program)
		jp_json_string(&json, "program", program);
	jp_json_object(&json, "tools");
	jp_profilers_describe(&json, profilers);
	jp_json_string(&json, "libc", gnu_get_libc_version());
	jp_json_string(&json, "compiler", __VERSION__);
	jp_json_end(&json);
	jp_json_end(&json);
}
