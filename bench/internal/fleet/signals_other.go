//go:build !unix

package fleet

import "syscall"

// There are none; sending these fails.
const freeze, thaw = syscall.Signal(-1), syscall.Signal(-1)
