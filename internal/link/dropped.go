package link

// dropped watches over the values that servers refuse to store, and should read
// to their end and drop. memcached 1.6.38 and 1.6.45 with extstore forget that
// behind a read from flash, and take the value for commands. What they say to
// its first line is nearly always one of two errors, which right behind such a
// refusal are therefore no answer to anybody. It is the reader's.
type dropped struct{ unsure bool }

// answered notes a reply that is no error line.
func (d *dropped) answered() { d.unsure = false }

// refused notes an error line in reply to a request, which may have carried a
// value. The error is errMispaired if the line may be about such a value.
func (d *dropped) refused(refusal *ServerError, value bool) error {
	if d.unsure && (refusal.Kind == "ERROR" || refusal.Message == "bad command line format") {
		return errMispaired
	}
	d.unsure = d.unsure || value && refusal.Kind == "SERVER_ERROR"
	return nil
}
