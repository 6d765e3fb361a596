// Package codectest holds the tests that concern all three codecs at once: the
// golden transcripts of testdata/transcripts, whose cases mix the protocols.
package codectest
