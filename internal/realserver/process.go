package realserver

// A child process that never outlives the program that started it, where the
// system can promise that.

import (
	"os/exec"
	"runtime"
)

type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone
	err  error         // what Wait said; valid once done is closed
}

// spawn starts cmd from a goroutine that stays on its thread until the process
// is gone: Linux ties the parent-death signal to the thread that forked, not to
// the process, so that thread must not end early.
func spawn(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = dieWithParent()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process and waits for it. One that ended before is fine.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only for a process that is gone already
	<-p.done
}
