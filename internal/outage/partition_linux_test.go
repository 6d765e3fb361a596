package outage

// Networks that lose packets: the test runs itself once more in a network of its
// own, where nothing but a loopback interface is, and filters packets there.

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

const partitionEnv = "OUTAGE_PARTITION" // set in the process that has a network of its own

func TestPartitions(t *testing.T) {
	t.Parallel()
	if os.Getenv(partitionEnv) == "" {
		inOwnNetwork(t)
		return
	}
	run(t, "ip", "link", "set", "lo", "up")
	for _, row := range []struct {
		name string
		side []string // of the server: packets to it, from it
		also []string // which of them
	}{
		{"nothing passes", []string{"--dport", "--sport"}, nil},
		{"no request passes", []string{"--dport"}, nil},
		{"no reply passes", []string{"--sport"}, nil},
		{"no reply with data passes", []string{"--sport"}, []string{"--tcp-flags", "PSH", "PSH"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cutOff(t, row.side, row.also)
		})
	}
	t.Run("no connection is made", noNewConnections)
	t.Run("some packets are lost", someAreLost)
	t.Run("deleted stays deleted", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t, 4)
		f.cut = func(t *testing.T, rng *rand.Rand, address string) (heal func()) {
			sides := [][]string{{"--dport"}, {"--sport"}, {"--dport", "--sport"}}[rng.IntN(3)]
			return filter(t, address, sides, nil)
		}
		mode{conns: 2}.try(t, f, outageTime(t)/2)
	})
}

// inOwnNetwork runs the test in a process that sees no network but its own.
func inOwnNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: lost packets are not tested: that takes root")
	}
	for _, tool := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: lost packets are not tested: %v", err)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	if said, err := command("iptables", "-w", "-A", "INPUT", "-p", "tcp", "--dport", "1", "-j", "DROP").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: lost packets are not tested: this system filters none: %v: %s", err, said)
	}
	cmd := command(os.Args[0], "-test.run=^TestPartitions$", "-test.v", "-test.timeout=10m", fmt.Sprintf("-test.short=%v", testing.Short()))
	cmd.Env = append(os.Environ(), partitionEnv+"=1")
	said, err := cmd.CombinedOutput()
	t.Logf("in a network of its own:\n%s", said)
	require.NoError(t, err)
	// What was skipped there would go unseen here.
	for _, skipped := range regexp.MustCompile(`--- SKIP: (\S+)`).FindAllSubmatch(said, -1) {
		t.Errorf("%s was skipped", skipped[1])
	}
}

func run(t *testing.T, name string, args ...string) {
	said, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), said)
}

// filter drops packets to or from a server until healed.
func filter(t *testing.T, address string, sides, also []string) (heal func()) {
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	rule := func(action, side string) []string {
		return append(append([]string{"-w", action, "INPUT", "-p", "tcp", side, port}, also...), "-j", "DROP")
	}
	for _, side := range sides {
		run(t, "iptables", rule("-A", side)...)
	}
	return func() {
		for _, side := range sides {
			run(t, "iptables", rule("-D", side)...)
		}
	}
}

// cutOff: a client whose packets are lost sees a server that is down. What lies
// in the kernel's buffers of a connection that was given up is sent all the same
// once packets pass again; it must not undo what came after.
func cutOff(t *testing.T, sides, also []string) {
	server := realserver.Start(t, realserver.Config{})
	address := server.Addr()
	s := newSubject(t, address)
	trials := count(t, "FENCE_TRIALS", 10) / 5
	for n := range trials {
		deleted, stored, untouched := fmt.Sprint("deleted", n), fmt.Sprint("stored", n), fmt.Sprint("untouched", n)
		for _, key := range []string{deleted, stored, untouched} {
			s.mustSet(key, "value")
		}
		heal := filter(t, address, sides, also)
		assert.Error(t, s.Set(&memcache.Item{Key: deleted, Value: []byte("late")}))
		err := s.Delete(deleted)
		assert.True(t, isOwed(err), "%v", err)
		s.goesDown(untouched, address)
		assert.ErrorIs(t, s.Set(&memcache.Item{Key: stored, Value: []byte("new")}), memcache.ErrServerDown)
		s.staysDown(untouched, address)
		heal()
		s.comesBack(untouched, address)
		s.mustGet(untouched, "value")
		_, err = s.Get(stored)
		assert.Equal(t, memcache.ErrCacheMiss, err)
		s.settles(untouched, address)
		// Longer than TCP waits before it sends again what was lost meanwhile.
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); pause(nil, 10*time.Millisecond) {
			_, err = s.Get(deleted)
			require.Equal(t, memcache.ErrCacheMiss, err)
		}
	}
	assert.LessOrEqual(t, s.most.Load(), int32(1), "dials at the same time")
}

// noNewConnections: a server whose connections live is up, though none can be
// made. When the last one is lost it is down.
func noNewConnections(t *testing.T) {
	t.Parallel()
	server := realserver.Start(t, realserver.Config{})
	address := server.Addr()
	s := newSubject(t, address)
	s.mustSet("key", "value")
	heal := filter(t, address, []string{"--dport"}, []string{"--syn"})
	for range 100 {
		s.mustGet("key", "value")
	}
	require.Equal(t, memcache.ServerUp, s.health(address).State)
	require.NoError(t, s.Close())
	s.goesDown("key", address)
	s.staysDown("key", address)
	heal()
	s.comesBack("key", address)
	s.mustGet("key", "value")
	assert.LessOrEqual(t, s.most.Load(), int32(1), "dials at the same time")
}

// someAreLost: TCP makes up for a few lost packets, at the cost of time. Whatever
// calls say then, no value is wrong.
func someAreLost(t *testing.T) {
	t.Parallel()
	server := realserver.Start(t, realserver.Config{})
	address := server.Addr()
	s := newSubject(t, address)
	heal := filter(t, address, []string{"--dport", "--sport"}, []string{"-m", "statistic", "--mode", "random", "--probability", "0.1"})
	for n := range 300 {
		key := fmt.Sprint("key", n%10)
		value := fmt.Sprint(key, ":", n)
		if s.Set(&memcache.Item{Key: key, Value: []byte(value)}) != nil {
			continue
		}
		if item, err := s.Get(key); err == nil {
			assert.Equal(t, value, string(item.Value))
		}
	}
	heal()
	s.comesBack("key", address)
}
