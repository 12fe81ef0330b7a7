#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds and runs the suite in a tree that a test engine has copied, and reports the results to it.
#	ci/engines/run.sh lava|tmt|none DIR [ARGUMENT...]
# DIR: the new run directory. ARGUMENT: for `jitproof run` (default: --set=check).
set -u
cd "$(dirname "$0")/../.." || exit 99
if [ $# -lt 2 ]; then
	echo 'usage: ci/engines/run.sh lava|tmt|none DIR [ARGUMENT...]' >&2
	exit 2
fi
engine=$1 dir=$2
shift 2
[ $# -gt 0 ] || set -- --set=check

make --no-print-directory -s -j "$(nproc 2>/dev/null || echo 1)" O="${O:-build}" all || exit 99
"${O:-build}/jitproof" run -o "$dir" "$@"
status=$?
[ "$engine" = none ] || python3 ci/engines/hand_over.py "$engine" "$dir" || exit 99
exit $status
