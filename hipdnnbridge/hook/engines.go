package hook

import (
	"os"
	"path/filepath"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

// pluginFile is where the engine plugin of this project is, from the folder of this library.
const pluginFile = "hipdnn_plugins/engines/libmiopen_private_plugin.so"

// preference is an engine that is tried before those of hipDNN's choice. The zero value is none.
type preference struct {
	name  string
	id    int64
	asked bool // for by name
}

// prefer tells hipDNN where the plugin is, if it is installed, and returns the engine to be preferred.
func (b *bridge) prefer(backend *hipdnn.Backend) preference {
	plugin := b.plugin()
	if plugin != "" {
		// A hipDNN that cannot be told, since it is an old one or the application has handles of it, may
		// find the plugin in the folder of its own.
		if err := backend.AddPlugin(plugin); err != nil && (b.settings.Timing || b.settings.Trace()) {
			b.message("hipDNN was not told of the engine plugin: " + err.Error())
		}
	}
	switch name := b.settings.Engine; name {
	case routing.AnyEngine:
		return preference{}
	case "":
		if plugin == "" {
			return preference{}
		}
		return preference{name: graph.EngineName, id: graph.EngineID(graph.EngineName)}
	default:
		return preference{name: name, id: graph.EngineID(name), asked: true}
	}
}

// plugin returns the path of the plugin, "" where there is none. HipDNN takes regular files.
func (b *bridge) plugin() string {
	if b.ownFile == "" {
		return ""
	}
	path, err := filepath.Abs(filepath.Join(filepath.Dir(b.ownFile), pluginFile))
	if err != nil {
		return ""
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// countRefusal takes down that a plan is not of the engine that is preferred, and writes it if the engine was
// asked for by name.
func (b *bridge) countRefusal(p *pair, plan *hipdnn.Plan) {
	b.others.Add(1)
	if e := &p.engine.preferred; e.asked && b.settings.FailureLines() {
		b.sayOnce("warning: " + routing.VarEngine + "=" + e.name + ": " + plan.Refused.Error() + "; hipDNN's order of engines is followed")
	}
}
