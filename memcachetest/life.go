package memcachetest

// What can happen to a whole server: it stops, comes back, hangs, refuses.

// Stop makes the server unreachable, as the end of its process would: it closes the
// listener and all connections. The items stay, for RestartWarm.
func (s *Server) Stop() { s.front.stop() }

// Restart is Stop and a start with an empty store, at the same address. It fails
// when the address has been taken meanwhile, and on a closed server with
// net.ErrClosed.
func (s *Server) Restart() error {
	s.Stop()
	s.Flush()
	return s.front.refuse(false)
}

// RestartWarm is Stop and a start that finds the items again, as memcached -e does.
// It fails as Restart does.
func (s *Server) RestartWarm() error {
	s.Stop()
	return s.front.refuse(false)
}

// Refuse closes the listener, or opens it again at the same address, for which it
// may fail as Restart does. Connections that are open stay so, which is what sets it
// apart from Stop.
func (s *Server) Refuse(on bool) error { return s.front.refuse(on) }

// Pause freezes the server, as SIGSTOP does a process: connections are accepted, and
// nothing is answered until Resume.
func (s *Server) Pause() { s.front.pause() }

// Resume ends a Pause. What was asked meanwhile is answered now.
func (s *Server) Resume() { s.front.resume() }

// LimitConns changes Config.MaxConns. Connections above n that are open stay so;
// with 0 each new one is turned away.
func (s *Server) LimitConns(n int) { s.front.limit(n) }

// Inject puts a fault into the replies of the server, at once and for connections
// that are open as well. remove takes it out again, and ends what it stalls. Several
// faults act in the order in which they were injected.
func (s *Server) Inject(f Fault) (remove func()) { return s.faults.inject(f) }

// Heal removes all faults. It does not undo Stop, Refuse, Pause, LimitConns or
// SetPersonality.
func (s *Server) Heal() { s.faults.heal() }
