package realserver

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServerDiesWithItsParent(t *testing.T) {
	if _, err := find(Config{}); err != nil {
		skip(t, err.Error())
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), launchEnv+"=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr := strings.TrimSpace(line)

	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err, "the parent lives, so does its server")
	conn.Close()

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait(), "killed")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	}, 10*time.Second, 5*time.Millisecond)
}

func TestStopEndsAStoppedProcess(t *testing.T) {
	s := Start(t, Config{})
	require.NoError(t, s.Signal(syscall.SIGSTOP))
	s.Stop()
	_, err := net.Dial("tcp", s.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}
