// SPDX-License-Identifier: GPL-2.0-only

// Package rlimit replaces the profiler's own, which fails without CAP_SYS_RESOURCE. Since Linux
// 5.11 (bpf: Eliminate rlimit-based memory accounting infra) no map counts against the limit.
package rlimit

import "golang.org/x/sys/unix"

// MaximizeMemlock raises the limit if it may. The returned function restores the old limit.
func MaximizeMemlock() (func(), error) {
	unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	var before unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &unlimited, &before) != nil {
		return func() {}, nil
	}
	return func() { _ = unix.Setrlimit(unix.RLIMIT_MEMLOCK, &before) }, nil
}
