// SPDX-License-Identifier: GPL-2.0-only
/* Fails calls, as in format/test_shortages.c, in truths, inject, explain and judge. */
#include <dirent.h>
#include <limits.h>
#include <link.h>

#include "harness/base/own_machine.h"
#include "harness/explain/explain.h"
#include "harness/inject/inject.h"
#include "harness/model/files/elf_folder.h"
#include "harness/model/oracle/executable_load.h"
#include "harness/model/oracle/tasks.h"
#include "harness/model/space/ranges.h"
#include "harness/model/unwind/call_sites.h"
#include "harness/model/unwind/elf_store.h"
#include "harness/outcome/outcome.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/shortages.h"
#include "validators/coverage.h"
#include "validators/files.h"

/* Clears the noted shortage if code that returns all errors returned none. */
static int forget_shortage(int ret)
{
	if (!ret)
		jp_shortage_begin();
	return ret;
}

static int read_truth(const char *path, struct jp_error *err)
{
	struct jp_truth *truth = jp_truth_load(path, err);
	struct jp_executables executables = {0};
	struct jp_tasks tasks = {0};
	int ret = truth ? 0 : -EINVAL;

	if (truth) {
		mix(truth->nr_activations + truth->torn + truth->gaps + truth->unpaired);
		ret = jp_tasks_collect(truth, &tasks);
		if (ret)
			jp_fail(err, -ret, "tasks");
		mix(tasks.count + tasks.nr_names);
		ret = ret ?: jp_executables_load(&executables, truth, err);
		mix(executables.count + executables.nr_marks);
	}
	jp_executables_free(&executables);
	jp_tasks_free(&tasks);
	jp_truth_free(truth);
	return forget_shortage(ret);
}

static int find_in_folder(const char *path, struct jp_error *err)
{
	struct jp_elf_folder *folder = jp_elf_folder_open(path, err);
	struct jp_build_id none = {0};
	char file_path[4096];
	uint64_t size;
	int ret;

	if (!folder)
		return -EINVAL;
	ret = jp_elf_folder_find(folder, "/usr/bin/program.elf", &none, 1, file_path, &size, err);
	jp_elf_folder_free(folder);
	mix(ret >= 0 ? size : 0);
	if (ret >= 0)
		close(ret);
	return ret >= 0 ? 0 : ret;
}

/* Clears the middle of each range in one of two copies that share memory. */
static int change_ranges(const char *path, struct jp_error *err)
{
	enum { MANY = 100, APART = 16 };
	struct jp_ranges *one = jp_ranges_new(), *other = NULL;
	int ret = one ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < MANY && !ret; i++)
		ret = jp_ranges_set(&one, i * APART, i * APART + 8, 1 + i % 3);
	other = one ? jp_ranges_share(one) : NULL;
	for (uint64_t i = 0; i < MANY && !ret; i++)
		ret = jp_ranges_clear(&other, i * APART + 2, i * APART + 4);
	for (const struct jp_range *range = NULL; !ret; mix(range->start)) {
		range = jp_ranges_find_at_or_above(other, range ? range->end : 0);
		if (!range)
			break;
	}
	jp_ranges_free(other);
	jp_ranges_free(one);
	forget_shortage(ret);
	return ret ? jp_fail(err, -ret, "out of memory") : 0;
}

/* Maps, moves and maps each page again, so that each act touches earlier ones. */
static int find_plains(const char *path, struct jp_error *err)
{
	enum { MANY = 20, PAGE = 0x1000, APART = 2 * PAGE };
	struct jp_event acts[3 * MANY];
	struct jp_truth truth = {.acts = acts, .nr_acts = 3 * MANY};
	struct jp_plains all = {0};
	int ret;

	for (uint64_t i = 0; i < MANY; i++) {
		const uint64_t from = i * APART, to = (MANY + i) * APART, time = 10 * i;

		acts[3 * i] = (struct jp_event)MADE_ACT(MAP, 1, 1, time, time + 1,
							MADE_MAP(to, PAGE, JP_PROT_READ, ""));
		acts[3 * i + 1] = (struct jp_event)MADE_ACT(
			REMAP, 1, 1, time + 2, time + 3,
			.map = {.addr = from, .len = PAGE, .new_addr = to, .new_len = PAGE});
		acts[3 * i + 2] = (struct jp_event)MADE_ACT(MAP, 1, 1, time + 4, time + 5,
							    MADE_MAP(from, PAGE, JP_PROT_READ, ""));
	}
	ret = jp_plains_collect(&truth, &all);
	for (size_t i = 0; i < all.count && !ret; i++)
		mix(all.list[i].untouched);
	jp_plains_free(&all);
	forget_shortage(ret);
	return ret ? jp_fail(err, -ret, "out of memory") : 0;
}

static bool watch_every_process(const void *context, uint32_t pid, uint64_t time)
{
	return true;
}

static int find_missing_file(const char *path, struct jp_error *err)
{
	struct jp_truth_file file = {.pid = 1,
				     .addr = 0x1000,
				     .len = 0x1000,
				     .from = 10,
				     .until = 20,
				     .build_id = "- /bin/a",
				     .path = "/bin/a"};
	struct jp_truth truth = {.files = &file, .nr_files = 1};
	const struct jp_evidence evidence = {.truth = &truth, .info.stopped = UINT64_MAX};
	const struct jp_spans none = {0};
	struct jp_view view = {.evidence = &evidence, .recorded = &none};
	struct jp_files *files = jp_files_begin(&view);
	int ret = files ? jp_truth_index_files(&truth) : -ENOMEM;

	ret = ret ?: jp_files_end(files, watch_every_process, NULL);
	if (!ret && view.findings.failed)
		ret = -ENOMEM;
	mix(view.findings.nr_exceptions);
	mix(view.findings.nr_metrics);
	jp_files_free(files);
	jp_findings_free(&view.findings);
	jp_boxes_free(&truth.files_at);
	forget_shortage(ret);
	return ret ? jp_fail(err, -ret, "out of memory") : 0;
}

static void mix_line(void *context, const char *line)
{
	mix_text(line);
}

static bool unfinished; /* an unfinished file was left */

static bool is_unfinished(const char *folder)
{
	jp_cleanup_closedir DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] == '.' && strcmp(entry->d_name, ".") &&
		    strcmp(entry->d_name, ".."))
			return true;
	return false;
}

static int inject_dump(const char *path, struct jp_error *err)
{
	char output[128], folder[128];
	struct jp_inject_options options = {.anon = JP_ANON_CUT,
					    .input = FIXTURES "growth/perf.data",
					    .output = output,
					    .folder = folder,
					    .jitdumps = path};
	struct jp_inject_summary summary = {0};
	struct jp_injection *inject_dump;
	int ret;

	snprintf(output, sizeof(output), "%s", scratch_path("output"));
	snprintf(folder, sizeof(folder), "%s", scratch_path("jit"));
	inject_dump = jp_injection_open(&options, err);
	ret = inject_dump ? jp_injection_run(inject_dump, &summary, mix_line, NULL, err) : -EINVAL;
	jp_injection_close(inject_dump);
	unfinished |= is_unfinished(folder);
	mix(summary.loads + summary.elf_bytes);
	return forget_shortage(ret);
}

static int explain_capture(const char *path, struct jp_error *err)
{
	const struct jp_explain_options options = {.elf = FIXTURES "anon/elf"};
	struct jp_explanation explanation = {0};
	int ret = jp_explain(path, &options, &explanation, err);

	mix(explanation.nr_causes);
	jp_explanation_free(&explanation);
	return ret;
}

static char program[PATH_MAX];
static struct jp_mapping own_code = {.name = program};

static int note_text(struct dl_phdr_info *info, size_t size, void *context)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		own_code.start = info->dlpi_addr + part->p_vaddr;
		own_code.end = own_code.start + part->p_filesz;
		own_code.pgoff = part->p_offset;
	}
	return 1; /* the program comes first */
}

static __attribute__((noinline)) uint64_t find_call_site(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

static bool framed;

/* Finds out whether the function called at a call site, find_call_site(), has a frame. */
static int check_call_site(const char *path, struct jp_error *err)
{
	struct jp_file_finder *finder = jp_file_finder_new();
	struct jp_elf_store *store = jp_elf_store_new(NULL, finder);
	struct jp_call_sites *sites = jp_call_sites_new(store, finder);
	const uint64_t site = find_call_site();
	int ret = finder && store && sites ? 0 : jp_fail(err, ENOMEM, "out of memory");

	if (!ret)
		framed = jp_call_sites_frame_behind(sites, &own_code, site);
	mix(framed);
	jp_call_sites_free(sites);
	jp_elf_store_free(store);
	jp_file_finder_free(finder);
	return ret;
}

static int judge_folder(const char *path, struct jp_error *err)
{
	struct jp_result result = {0};
	struct jp_cases *cases;
	char file[PATH_MAX];
	size_t size;

	snprintf(file, sizeof(file), "%s/case", path);
	jp_cleanup_free char *text = jp_file_read(file, 1 << 12, &size, NULL);

	cases = text ? jp_cases_parse(NULL, "case", NULL, text, size, err) : NULL;
	if (!cases)
		return jp_fail(err, ENOMEM, "the case");
	jp_judge_case(&cases->cases[0], path, &result);
	mix(result.outcome);
	mix_text(result.reasons);
	jp_findings_free(&result.findings);
	jp_cases_free(cases);
	return 0;
}

static const struct subject subjects[] = {
	{"truth", CORPUS "native.truth", read_truth},
	{"truth of a fixture", FIXTURES "mappings/truth", read_truth},
	{"folder of ELF files", CORPUS, find_in_folder},
	{"ranges", "", change_ranges},
	{"plain mappings", "", find_plains},
	{"missing file", "", find_missing_file},
	{"inject", FIXTURES "growth", inject_dump},
	{"explain", FIXTURES "anon/perf.data", explain_capture},
	{"call site", "", check_call_site},
	{"judge", FIXTURES "pathless", judge_folder},
	{"judge injected", FIXTURES "growth", judge_folder},
	{"judge gated", FIXTURES "gated", judge_folder},
	{"judge other places", FIXTURES "reuse", judge_folder},
};

TEST(shortages)
{
	struct jp_error err;

	if (!realpath("/proc/self/exe", program) || dl_iterate_phdr(note_text, NULL) != 1)
		exit(99);
	check(!check_call_site("", &err) && framed == (jp_get_own_machine() == EM_X86_64),
	      "a called function is found to have a frame, on x86-64");
	fail_all(subjects, sizeof(subjects) / sizeof(*subjects), check_arguments[0]);
	check(!unfinished, "inject leaves no unfinished file");
}
