#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The test that a kselftest runner starts: KTAP on standard output; 0, 1, and 4 for "all skipped".
#	JITPROOF	the program; else the one beside this script
#	JITPROOF_SET	check (default) or full
# Arguments go to `jitproof run`: globs of cases, -o DIR.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
if [ -z "${JITPROOF-}" ]; then
	JITPROOF=$here/jitproof
	JITPROOF_PROFILERS=$here/profiler
	export JITPROOF_PROFILERS
fi
set=--set=${JITPROOF_SET-check}
for argument; do
	# A case that is named is meant, whatever its set.
	case $argument in */*) set= ;; esac
done
"$JITPROOF" run ${set:+"$set"} "$@"
status=$?
case $status in
0 | 1 | 4) exit $status ;;
*) echo "# jitproof ended with $status: a broken installation" && exit 1 ;;
esac
