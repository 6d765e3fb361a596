package memcachetest

// Servers that are less than memcached: old ones, proxies, and the fakes that
// people keep in their tests.

import "slices"

// Reaction is what a server does with a command that it does not know.
type Reaction uint8

const (
	ReactError   Reaction = iota // answer ERROR
	ReactClose                   // close the connection
	ReactSilence                 // read it and say nothing
)

// Personality limits what a server knows. The zero value knows everything.
type Personality struct {
	// Commands are the names of the commands it knows, as in Request.Command; nil
	// means all.
	Commands []string
	// Unknown is what happens to the others.
	Unknown Reaction
	// VersionReply, when not empty, is the line that answers version.
	VersionReply string
}

// ClassicOnly is a server from before the meta commands.
func ClassicOnly() Personality {
	return Personality{Commands: []string{
		"get", "gets", "gat", "gats", "set", "add", "replace", "append", "prepend", "cas",
		"delete", "incr", "decr", "touch", "flush_all", "version", "verbosity", "quit", "stats",
	}}
}

// AddOnly is a fake that knows add and closes the connection on anything else.
func AddOnly() Personality {
	return Personality{Commands: []string{"add"}, Unknown: ReactClose}
}

// FakeClassic is a fake of the usual kind: it knows what a simple classic client
// sends, gets but not get, and closes the connection on anything else.
func FakeClassic() Personality {
	return Personality{
		Commands: []string{
			"gets", "set", "add", "replace", "append", "prepend", "cas",
			"delete", "incr", "decr", "touch", "flush_all", "version", "quit",
		},
		Unknown: ReactClose,
	}
}

// VersionOnly answers version and nothing else: alive to a health check, and dead.
func VersionOnly() Personality {
	return Personality{Commands: []string{"version"}, Unknown: ReactSilence}
}

// Silent accepts connections and never answers.
func Silent() Personality {
	return Personality{Commands: []string{}, Unknown: ReactSilence}
}

// NonsenseVersion answers version with something that is no version.
func NonsenseVersion() Personality {
	return Personality{VersionReply: "I am a teapot"}
}

// SetPersonality changes what the server knows, at once and for all connections.
func (s *Server) SetPersonality(p Personality) {
	p.Commands = slices.Clone(p.Commands)
	s.personality.Store(&p)
}

// knows tells whether the server knows a command, and what it does if not.
func (s *Server) knows(command string) (bool, Reaction) {
	p := s.personality.Load()
	if p == nil || p.Commands == nil || slices.Contains(p.Commands, command) {
		return true, 0
	}
	return false, p.Unknown
}

// versionReply is the line, and the version in it, that version answers with.
func (s *Server) versionReply() (line, version string) {
	if p := s.personality.Load(); p != nil && p.VersionReply != "" {
		return p.VersionReply, p.VersionReply
	}
	return "VERSION " + s.cfg.Version, s.cfg.Version
}
