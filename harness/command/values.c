// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/values.h"

#include <string.h>

#include "harness/base/registry.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/workload.h"

void jp_print_workloads(FILE *out)
{
	const struct jp_workload *workload = NULL;

	while ((workload = jp_registry_next(JP_WORKLOAD, workload)))
		fprintf(out, "%s\t%s\n", workload->name, workload->help);
}

void jp_print_publishers(FILE *out)
{
	const struct jp_publisher *publisher = NULL;

	fputs("none\nboth\n", out);
	while ((publisher = jp_registry_next(JP_PUBLISHER, publisher))) {
		fprintf(out, "%s\t%s\n", publisher->name, publisher->help);
		for (const char *fault = publisher->faults; fault && *fault;) {
			const int length = (int)strcspn(fault, " ");

			fprintf(out, "%s:%.*s\n", publisher->name, length, fault);
			fault += length + (fault[length] == ' ');
		}
	}
}

/* Prints the names of all entries of @kind: a registered struct begins with its name. */
static void print_registered_names(enum jp_kind kind, FILE *out)
{
	const char *const *entry = NULL;

	while ((entry = jp_registry_next(kind, entry)))
		fprintf(out, "%s\n", *entry);
}

void jp_print_facts(FILE *out)
{
	print_registered_names(JP_FACT, out);
}

void jp_print_lint_rules(FILE *out)
{
	print_registered_names(JP_LINT_RULE, out);
}
