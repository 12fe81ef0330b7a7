# SPDX-License-Identifier: GPL-2.0-only
"""What a hunt prints: progress, new clusters, and the findings at its end."""

from ci.hunt.clusters import Cluster, Clusters
from ci.hunt.cover import Cover
from ci.hunt.known import Findings
from ci.hunt.line import format_line, name_reader
from ci.hunt.space import READER, Crossing
from ci.hunt.state import Progress


def print_progress(progress: Progress, cover: Cover, clusters: Clusters) -> None:
    total = len(cover.covered) + len(cover.open)
    print("# %d crossings tried, %d of %d pairs of values covered, %d kinds of failures" % (
        progress.tried, len(cover.covered), total, len(clusters.found)), flush=True)


def print_impossible(items: Crossing, why: str) -> None:
    print("# cannot be combined: %s: %s" % (
        ", ".join(" ".join(filter(None, item)) for item in sorted(items.items())),
        why.split("\n")[0]), flush=True)


def print_new(cluster: Cluster, finding: str) -> None:
    print("# %s failure: %s" % ("known " + finding if finding else "new", cluster.signature),
          flush=True)


def print_finding(cluster: Cluster) -> None:
    """Prints a cluster as a finding: what is wrong, how often, and the case line that shows it."""
    print("finding: %s" % cluster.signature)
    print("  seen %d times; %s" % (cluster.count, cluster.why.replace("\n", "\n  ")))
    print("  %s" % format_line(cluster.crossing, "NAME"))
    if READER in cluster.crossing:
        print("  to be read by %s" % name_reader(cluster.crossing))


def print_all(progress: Progress, cover: Cover, clusters: Clusters,
              explained: Findings) -> int:
    """Prints the findings and the sums. Returns the exit status."""
    found = sorted(clusters.found, key=lambda one: str(one.signature))
    ids = [explained.find_id(one.signature, one.crossing) for one in found]
    for cluster, finding in zip(found, ids):
        if finding:
            print("known failure %s: %s, %d times" % (finding, cluster.signature, cluster.count))
    fresh = [cluster for cluster, finding in zip(found, ids) if not finding]
    for cluster in fresh:
        print_finding(cluster)
    for reason, count in sorted(progress.unjudged.items(), key=lambda item: -item[1]):
        print("# not judged, %d times: %s" % (count, reason))
    total = len(cover.covered) + len(cover.open)
    print("# outcomes: %s" % ", ".join("%s %d" % item for item in
                                       sorted(progress.outcomes.items())))
    print("%d crossings tried, %d of %d pairs of values covered (%.0f %%), "
          "%d combinations impossible, %d new findings, %d known" % (
              progress.tried, len(cover.covered), total, 100 * len(cover.covered) / (total or 1),
              len(cover.impossible), len(fresh), len(found) - len(fresh)))
    judged = sum(progress.outcomes.get(name, 0) for name in ("PASS", "FAIL", "CRASH"))
    return 1 if fresh else 0 if judged else 4
