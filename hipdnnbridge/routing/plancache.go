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

// choosesPlans reports whether a variable of hipDNN or of a library that its engines stand on may decide
// which plan is built.
func choosesPlans(name string) bool {
	if strings.Contains(name, "LOG") {
		return false
	}
	for _, prefix := range []string{"HIPDNN_", "HIPBLASLT_", "ROCBLAS_", "TENSILE_"} {
		if strings.HasPrefix(name, prefix) {
			// Where the backend is does not matter, but which it is.
			return name != "HIPDNN_BACKEND_LIBRARY_PATH"
		}
	}
	return false
}
