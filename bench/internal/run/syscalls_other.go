//go:build !linux

package run

func (u *usage) syscalls() { u.reads, u.writes = -1, -1 }

const ownReads = 0
