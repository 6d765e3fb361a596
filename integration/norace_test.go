//go:build !race

package integration

// underRace tells of the race detector.
const underRace = false
