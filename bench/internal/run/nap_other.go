//go:build !linux

package run

import "time"

func precise() {}

func nap(d time.Duration) { time.Sleep(d) }
