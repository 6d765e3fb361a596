package realserver

import "syscall"

// dieWithParent asks the kernel to kill the child when we die, even by SIGKILL.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
