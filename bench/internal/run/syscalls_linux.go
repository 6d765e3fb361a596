package run

// Linux counts the read and write calls of a process. recvfrom, sendto and their
// kind are not among them.

import (
	"bytes"
	"strconv"
	"syscall"
)

// syscalls reads the counters. Its own calls are a constant that cancels out but
// for the read of the reading itself; see ownReads.
func (u *usage) syscalls() {
	u.reads, u.writes = -1, -1
	fd, err := syscall.Open("/proc/self/io", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var buf [512]byte
	n, err := syscall.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return
	}
	for line := range bytes.Lines(buf[:n]) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		switch string(name) {
		case "syscr":
			u.reads, _ = strconv.ParseInt(string(value), 10, 64)
		case "syscw":
			u.writes, _ = strconv.ParseInt(string(value), 10, 64)
		}
	}
}

// ownReads is how many read calls one reading adds to the next.
const ownReads = 1
