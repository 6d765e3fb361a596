// Package integration holds the tests that need more than this repository: code
// of other projects, which is fetched when the test runs and never stored here.
package integration
