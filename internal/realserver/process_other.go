//go:build !linux

package realserver

import "syscall"

// dieWithParent asks for nothing: only Linux can tie a child to its parent, so
// here a program that is killed leaves its servers behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
