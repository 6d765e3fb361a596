//go:build race

package ring

// raceDetector shortens tests of arithmetic, which the detector slows tenfold.
const raceDetector = true
