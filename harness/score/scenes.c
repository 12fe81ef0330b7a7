// SPDX-License-Identifier: GPL-2.0-only
#include "harness/score/scenes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/registry.h"
#include "harness/base/shortage.h"

static const char STUDY[] = "score";

/* results/scenes, which the Makefile puts into the binary. */
extern const char jp_scenes_text[], jp_scenes_end[];

struct jp_cases *jp_score_read_scenes(const char *file, struct jp_error *err)
{
	jp_cleanup_free char *text = NULL;
	struct jp_cases *cases;
	size_t size;

	if (file)
		text = jp_file_read(file, 1 << 20, &size, err);
	if (file && !text)
		return NULL;
	cases = file ? jp_cases_parse(NULL, file, STUDY, text, size, err)
		     : jp_cases_parse(NULL, "results/scenes", STUDY, jp_scenes_text,
				      (size_t)(jp_scenes_end - jp_scenes_text), err);
	if (cases && jp_cases_check(cases, err)) {
		jp_cases_free(cases);
		return NULL;
	}
	return cases;
}

const char *jp_score_name(const struct jp_case *scene)
{
	return scene->name + sizeof(STUDY);
}

/* Returns the scene's own keys, the third part of its definition, without defaults. */
static const char *skip_to_own_keys(const struct jp_case *scene)
{
	const char *keys = scene->text;

	for (int part = 0; keys && part < 3; part++)
		keys = strstr(keys, " : ") ? strstr(keys, " : ") + 3 : NULL;
	return keys ?: "";
}

static void write_scene(FILE *out, const struct jp_case *scene,
			const struct jp_score_way *start_method)
{
	bool launch = start_method->launches || strcmp(scene->capture_argv[0], "launch") == 0;
	const char *keys = skip_to_own_keys(scene);

	fprintf(out, "defaults : - : %s%s%s %s : %s\n", launch ? "launch" : "attach",
		start_method->profiler ? "-by " : "", start_method->profiler ?: "",
		start_method->options, start_method->keys);
	fprintf(out, "case %s full :", jp_score_name(scene));
	for (int i = 0; i < scene->workload_argc; i++)
		fprintf(out, " %s", scene->workload_argv[i]);
	fprintf(out, " : : %.*s\n", (int)strcspn(keys, "\n"), keys);
}

static void write_scenes(FILE *out, const struct jp_cases *lines,
			 const struct jp_score_way *start_method)
{
	const struct {
		const char *name;
	} *workload = NULL;

	for (size_t i = 0; i < lines->nr_cases; i++)
		write_scene(out, &lines->cases[i], start_method);
	while ((workload = jp_registry_next(JP_WORKLOAD, workload))) {
		char name[256], *argv[] = {(char *)workload->name, NULL};
		char *capture[] = {(char *)"attach", NULL};
		struct jp_case plain_case = {.name = name,
					     .text = "",
					     .workload_argc = 1,
					     .workload_argv = argv,
					     .capture_argv = capture};

		snprintf(name, sizeof(name), "%s/%s", STUDY, workload->name);
		if (!jp_cases_find(lines, name))
			write_scene(out, &plain_case, start_method);
	}
}

struct jp_cases *jp_score_scenes(const struct jp_score_way *start_method,
				 const struct jp_cases *lines, struct jp_error *err)
{
	struct jp_cases *scenes = NULL;
	jp_cleanup_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out)
		write_scenes(out, lines, start_method);
	if (out && !jp_shortage_close(out, &text))
		scenes = jp_cases_parse(NULL, "scenes", STUDY, text, size, err);
	else
		jp_fail(err, ENOMEM, "out of memory for the scenes");
	if (scenes && jp_cases_check(scenes, err)) {
		jp_cases_free(scenes);
		return NULL;
	}
	return scenes;
}
