//go:build race

package hook

// raceDetector: it allocates by itself.
const raceDetector = true
