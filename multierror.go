package memcache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MultiError says which servers failed in a batch, and with them which keys.
// The results of all others are returned beside it. It is a net.Error, and
// errors.Is and errors.As look into each failure.
type MultiError struct {
	// Failures has one element for each failed server, or several if some keys
	// failed in one way and others in another. Keys of one element stand in the
	// order in which they were given.
	Failures []Failure
}

// Failure is the keys of one server that failed in one way.
type Failure struct {
	Server string   // the server's address
	Keys   []string // the keys that have no result because of Err; none for Stats and the like

	// Err is an *OpError, *ServerError, *ProtocolError or *ConnectTimeoutError.
	// In batches that change items it may also be an outcome, as it is:
	// ErrCacheMiss or ErrNotStored. FlushServers has ErrNoServers, too.
	Err error
}

// multiError returns failures as an error, nil without any.
func multiError(failures []Failure) error {
	if len(failures) == 0 {
		return nil
	}
	return &MultiError{Failures: failures}
}

// Error names the servers and says how many keys each failed, not which.
func (e *MultiError) Error() string {
	var b strings.Builder
	for i, f := range e.Failures {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Err.Error())
		switch f.Err {
		case ErrCacheMiss, ErrNotStored, ErrNoServers: // the others name the server
			fmt.Fprintf(&b, " on server %s", f.Server)
		}
		if len(f.Keys) > 0 {
			fmt.Fprintf(&b, " (%d keys)", len(f.Keys))
		}
	}
	return b.String()
}

// Unwrap returns the error of each failure.
func (e *MultiError) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}

// ByKey returns the error of each key that failed. Keys that are not in it have
// succeeded. Of one that was given several times the last failure counts.
func (e *MultiError) ByKey() map[string]error {
	errs := map[string]error{}
	for _, f := range e.Failures {
		for _, key := range f.Keys {
			errs[key] = f.Err
		}
	}
	return errs
}

// Timeout reports whether time ran out in every failure.
func (e *MultiError) Timeout() bool {
	for _, f := range e.Failures {
		if !timedOut(f.Err) {
			return false
		}
	}
	return len(e.Failures) > 0
}

// Temporary is there for net.Error. It is Timeout.
func (e *MultiError) Temporary() bool { return e.Timeout() }

// Ignore returns err without the given outcomes: nil if err is nothing else.
// What remains of a *MultiError is one of the other failures.
//
//	err := memcache.Ignore(c.DeleteMulti(keys), memcache.ErrCacheMiss)
func Ignore(err error, outcomes ...error) error {
	ignored := func(err error) bool {
		return slices.ContainsFunc(outcomes, func(outcome error) bool { return errors.Is(err, outcome) })
	}
	var multi *MultiError
	if !errors.As(err, &multi) {
		if ignored(err) {
			return nil
		}
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(multi.Failures), func(f Failure) bool { return ignored(f.Err) })
	switch len(rest) {
	case 0:
		return nil
	case len(multi.Failures):
		return err
	}
	return &MultiError{Failures: rest}
}
