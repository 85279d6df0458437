package routing

import (
	"path/filepath"
	"strings"
)

// PlanCache is the folder in which plans are kept for processes that come later.
type PlanCache struct {
	// Dir is the folder's absolute path, "" for none.
	Dir string
	// Asked: the user named it, so that one that cannot be used is worth a warning.
	Asked bool
	// Off is why there is none.
	Off string
}

// planCacheFolder is the default, below the user's folder for caches.
const planCacheFolder = "miopen_hipdnn_shim/plans"

func (p *parser) planCache() {
	c := &p.s.PlanCache
	value := p.values[VarPlanCache]
	switch on, isToggle := parseToggle(value); {
	case filepath.IsAbs(value):
		c.Dir, c.Asked = filepath.Clean(value), true
		return
	case isToggle && !on:
		c.Off = VarPlanCache + "=" + value
		return
	case isToggle:
		c.Asked = true
	case value != "":
		p.warn("%s=%s is neither an absolute path nor off: as if it was not set", VarPlanCache, value)
	}
	const disable = "MIOPEN_DISABLE_CACHE"
	if On.holds(p.values[disable]) && !c.Asked {
		c.Off = disable + "=" + p.values[disable]
		return
	}
	// The XDG base directory specification: a relative path is as if it was not set.
	if xdg := p.values["XDG_CACHE_HOME"]; filepath.IsAbs(xdg) {
		c.Dir = filepath.Join(xdg, planCacheFolder)
	} else if home := p.values["HOME"]; filepath.IsAbs(home) {
		c.Dir = filepath.Join(home, ".cache", planCacheFolder)
	} else {
		c.Off = "neither XDG_CACHE_HOME nor HOME is the absolute path of a folder"
	}
}

// choosesPlans reports whether a variable may decide which plan is built, besides those that the table of
// MIOpen's environment has as ignored: one of hipDNN's, of a library that its engines stand on, of the run
// time below, or of the databases that MIOpen takes its solutions from.
func choosesPlans(name string) bool {
	switch {
	case name == "MIOPEN_SYSTEM_DB_PATH", name == "MIOPEN_USER_DB_PATH":
		return true
	case name == "HIPDNN_BACKEND_LIBRARY_PATH": // which it is matters, not where
		return false
	case strings.Contains(name, "LOG"), strings.Contains(name, "VISIBLE_DEVICES"): // the device is known
		return false
	}
	for _, prefix := range []string{"HIPDNN_", "HIPBLASLT_", "ROCBLAS_", "TENSILE_", "HSA_", "ROCR_", "HIP_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
