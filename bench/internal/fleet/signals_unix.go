//go:build unix

package fleet

import "syscall"

const freeze, thaw = syscall.SIGSTOP, syscall.SIGCONT
