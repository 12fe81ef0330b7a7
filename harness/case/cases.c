// SPDX-License-Identifier: GPL-2.0-only
#include "harness/case/case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/built_in.h"
#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/base/sort.h"
#include "harness/base/untrusted_file.h"

/* The files of results/expected/, embedded in the binary. */
extern const struct jp_built_in jp_expected_files[];

JP_ORDER(compare_by_name, struct jp_case, strcmp(a->name, b->name));

void jp_cases_list_names(const struct jp_cases *cases, struct jp_arguments *names)
{
	for (size_t i = 0; i < cases->nr_cases; i++)
		jp_arguments_add(names, "%s", cases->cases[i].name);
}

const struct jp_case *jp_cases_find(const struct jp_cases *cases, const char *name)
{
	struct jp_case key = {.name = name};

	if (!cases->nr_cases) /* bsearch() needs an array, even if it is empty */
		return NULL;
	return bsearch(&key, cases->cases, cases->nr_cases, sizeof(key), compare_by_name);
}

int jp_cases_check(struct jp_cases *cases, struct jp_error *err)
{
	jp_sort(cases->cases, cases->nr_cases, compare_by_name);
	for (size_t i = 0; i < cases->nr_cases; i++) {
		const struct jp_case *cas = &cases->cases[i];

		if (i && strcmp(cas->name, cas[-1].name) == 0)
			return jp_fail(err, EINVAL,
				       "%s:%u: second case '%s'; the first is at line %u",
				       cas->file, cas->line, cas->name, cas[-1].line);
	}
	for (size_t t = 0; t < cases->nr_tables; t++) {
		const struct jp_table *table = &cases->tables[t];

		for (size_t i = 0; i < table->nr_rows * table->nr_columns; i++) {
			const struct jp_table_row *row = &table->rows[i / table->nr_columns];
			const char *name = row->cells[i % table->nr_columns].name;

			if (strcmp(name, "-") != 0 && strcmp(name, "impossible") != 0 &&
			    !jp_cases_find(cases, name))
				return jp_fail(err, EINVAL,
					       "%s: table '%s', row '%s': no case '%s'",
					       table->study, table->title, row->label, name);
		}
	}
	return 0;
}

static bool is_study(const char *name)
{
	/* Skip files such as "STUDY~", which editors leave. */
	return name[0] != '.' && name[strlen(name) - 1] != '~';
}

static struct jp_cases *add_file(struct jp_cases *cases, const char *dir, const char *study,
				 struct jp_error *err)
{
	jp_cleanup_free char *text = NULL;
	char path[4096];
	size_t size;

	if (!jp_path_build(path, sizeof(path), err, "%s/%s", dir, study))
		text = jp_file_read(path, 1 << 20, &size, err);
	if (text)
		return jp_cases_parse(cases, path, study, text, size, err);
	jp_cases_free(cases);
	return NULL;
}

static struct jp_cases *load_dir(const char *dir, struct jp_error *err)
{
	struct jp_cases *cases = jp_cases_parse(NULL, dir, "none", "", 0, err);
	jp_cleanup_arguments struct jp_arguments names = {0};

	if (jp_untrusted_list(dir, &names, is_study, err)) {
		jp_cases_free(cases);
		cases = NULL;
	}
	for (size_t i = 0; cases && i < names.count; i++)
		cases = add_file(cases, dir, names.list[i], err);
	return cases;
}

struct jp_cases *jp_cases_read(const char *dir, struct jp_error *err)
{
	struct jp_cases *cases;

	if (dir) {
		cases = load_dir(dir, err);
	} else {
		cases = jp_cases_parse(NULL, "built in", "none", "", 0, err);
		for (const struct jp_built_in *file = jp_expected_files; cases && file->name;
		     file++) {
			char path[300];

			snprintf(path, sizeof(path), "results/expected/%s", file->name);
			cases = jp_cases_parse(cases, path, file->name, file->start,
					       (size_t)(file->end - file->start), err);
		}
	}
	if (cases && jp_cases_check(cases, err)) {
		jp_cases_free(cases);
		return NULL;
	}
	return cases;
}
