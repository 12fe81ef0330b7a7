// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/lost.h"

#include <inttypes.h>
#include <math.h>

#include "harness/base/order.h"

/* Bound for numbers of an untrusted file. */
#define MOST 1e18

/* Number of records before a loss that are used to estimate how many samples were lost. */
enum { LAST = 32 };
#define MARK (UINT64_C(1) << LAST)

static void add_record(uint64_t *last, bool sample)
{
	*last = (*last ? *last : 1) << 1 | sample;
	if (*last >= MARK << 1)
		*last = (*last & (MARK - 1)) | MARK;
}

static double compute_sample_share(uint64_t last)
{
	const int count = last ? 63 - __builtin_clzll(last) : 0;

	return count ? (__builtin_popcountll(last) - 1) / (double)count : 0;
}

void jp_lost_handle(struct jp_lost *lost, const struct jp_event *event)
{
	const bool both = event->asked && event->asked->sideband;
	uint64_t *last = &lost->last[event->cpu % (sizeof(lost->last) / sizeof(*lost->last))];

	switch (event->type) {
	case JP_EVENT_SAMPLE:
		add_record(last, true);
		return;
	case JP_EVENT_MAP:
	case JP_EVENT_COMM:
	case JP_EVENT_FORK:
	case JP_EVENT_EXIT:
		if (event->time) {
			add_record(last, false);
			lost->sideband++;
		}
		return;
	case JP_EVENT_LOST:
		lost->records[both] += event->lost.lost;
		lost->among += both ? event->lost.lost * compute_sample_share(*last) : 0;
		break;
	case JP_EVENT_LOST_SAMPLES:
		lost->samples[both] += event->lost.lost;
		break;
	default:
		return;
	}
	if (!lost->first)
		lost->first = event->time;
}

static struct jp_blame *blame_loss(const struct jp_lost *lost, struct jp_explain_view *view,
				   const char *id, uint64_t samples)
{
	struct jp_blame *blame = jp_blame(view->blames, id, 0, "", NULL, samples);

	jp_blame_evidence(blame,
			  "LOST records report %" PRIu64 " events, LOST_SAMPLES %" PRIu64
			  ": perf report -i %s --stats",
			  lost->records[0] + lost->records[1], lost->samples[0] + lost->samples[1],
			  view->path);
	jp_blame_evidence(blame, "the first loss was reported at time %" PRIu64 ".%09" PRIu64,
			  lost->first / 1000000000, lost->first % 1000000000);
	jp_blame_remedy(blame, "perf record -m 16M, a lower frequency (-F), smaller stack dumps, "
			       "one process (-p) instead of all (-a)");
	return blame;
}

/* Returns whether any sample is in user space, so that it needs a mapping. */
static bool has_user_samples(const struct jp_ends *ends)
{
	for (size_t i = 0; i < ends->images.count; i++)
		if (ends->images.all[i]->samples)
			return true;
	return false;
}

void jp_lost_blame(const struct jp_lost *lost, struct jp_explain_view *view, uint64_t harm)
{
	const uint64_t sure = jp_max(lost->records[false], lost->samples[false]);
	const uint64_t mixed = jp_max(lost->records[true], lost->samples[true]);
	/* In a ring that has both samples and sideband records, assume that lost records have the
	 * same shares as written records. */
	const double part = lost->sideband / ((double)lost->sideband + view->samples + 1);
	const uint64_t sideband = (uint64_t)fmin(mixed * part, MOST),
		       /* If samples need lost records, many lost records of a shared ring are
			* mappings. Estimate how many samples were lost from the records before
			* each loss. */
		samples = sure + (harm ? (uint64_t)fmin(lost->among, mixed) : mixed - sideband);
	struct jp_blame *found;

	/* Blame lost mappings only if they are probably more than lost samples. */
	if (part > 0.5 && sideband && !harm && has_user_samples(view->ends)) {
		/* Assume that the share of samples that need lost records equals the share of
		 * sideband records that are lost. */
		const uint64_t doubt = (uint64_t)fmin(
			view->samples * ((double)sideband / (lost->sideband + 1)), MOST);

		found = blame_loss(lost, view, "lost-records", doubt);
		found->stacks = found->absent = doubt;
		jp_blame_evidence(found,
				  "about %" PRIu64
				  " of them were records of mappings and processes (%" PRIu64
				  " such records were written), which samples may need",
				  sideband, lost->sideband);
	}
	/* If the lost records harm most samples, lost samples are not a separate cause. */
	if (!samples || (harm && harm * 2 >= view->samples))
		return;
	found = blame_loss(lost, view, "lost-samples", samples);
	found->absent = samples;
	jp_blame_evidence(found, "%s%" PRIu64 " recorded samples are right",
			  harm ? "except for those that need lost records, the " : "the ",
			  view->samples);
}
