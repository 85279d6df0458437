package binding_test

import (
	"os"
	"strings"
	"testing"

	"example.org/downstream/binding"
)

func TestVersion(t *testing.T) {
	if got := binding.Version(); got != [3]int{3, 5, 1} {
		t.Fatal(got)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(maps), "libMIOpen_private.so.1") || strings.Contains(string(maps), "libMIOpen.so.1") {
		t.Fatalf("not the private library alone:\n%s", maps)
	}
}
