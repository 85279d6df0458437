package routing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

func TestPlanCache(t *testing.T) {
	const variable = "MIOPEN_HIPDNN_PLAN_CACHE="
	for _, c := range []struct {
		environ []string
		want    routing.PlanCache
		warned  bool
	}{
		{environ: []string{"HOME=/home/a"}, want: routing.PlanCache{Dir: "/home/a/.cache/miopen_hipdnn_shim/plans"}},
		{environ: []string{"HOME=/home/a", "XDG_CACHE_HOME=/caches"}, want: routing.PlanCache{Dir: "/caches/miopen_hipdnn_shim/plans"}},
		{environ: []string{"HOME=/home/a", "XDG_CACHE_HOME=caches"}, want: routing.PlanCache{Dir: "/home/a/.cache/miopen_hipdnn_shim/plans"}},
		{environ: []string{"HOME=here"}, want: routing.PlanCache{Off: "neither XDG_CACHE_HOME nor HOME is the absolute path of a folder"}},
		{want: routing.PlanCache{Off: "neither XDG_CACHE_HOME nor HOME is the absolute path of a folder"}},
		{environ: []string{"HOME=/home/a", variable + "/plans/"}, want: routing.PlanCache{Dir: "/plans", Asked: true}},
		{environ: []string{"HOME=/home/a", variable + "off"}, want: routing.PlanCache{Off: variable + "off"}},
		{environ: []string{"HOME=/home/a", variable + "Disabled"}, want: routing.PlanCache{Off: variable + "Disabled"}},
		{environ: []string{"HOME=/home/a", variable + "on"}, want: routing.PlanCache{Dir: "/home/a/.cache/miopen_hipdnn_shim/plans", Asked: true}},
		{environ: []string{"HOME=/home/a", variable + "plans"}, want: routing.PlanCache{Dir: "/home/a/.cache/miopen_hipdnn_shim/plans"}, warned: true},
		// Who tells MIOpen to keep nothing means plans too, unless told otherwise.
		{environ: []string{"HOME=/home/a", "MIOPEN_DISABLE_CACHE=1"}, want: routing.PlanCache{Off: "MIOPEN_DISABLE_CACHE=1"}},
		{environ: []string{"HOME=/home/a", "MIOPEN_DISABLE_CACHE=0"}, want: routing.PlanCache{Dir: "/home/a/.cache/miopen_hipdnn_shim/plans"}},
		{environ: []string{"HOME=/home/a", "MIOPEN_DISABLE_CACHE=1", variable + "/plans"}, want: routing.PlanCache{Dir: "/plans", Asked: true}},
	} {
		s := parse(c.environ...)
		require.Equal(t, c.want, s.PlanCache, "%q", c.environ)
		require.Equal(t, c.warned, len(s.Warnings) > 0, "%q: %q", c.environ, s.Warnings)
	}
}

// What decides about hipDNN's plans is in the digest, where it is not about its log or the place of its
// files.
func TestDigestOfEngines(t *testing.T) {
	for _, variable := range []string{"HIPDNN_HEUR_POLICY=a", "HIPBLASLT_TENSILE_LIBPATH=/a", "ROCBLAS_USE_HIPBLASLT=1", "TENSILE_SOLUTION_SELECTION_METHOD=2",
		"HSA_OVERRIDE_GFX_VERSION=9.0.0", "HSA_XNACK=1", "HIP_FORCE_DEV_KERNARG=1", "MIOPEN_SYSTEM_DB_PATH=/db", "MIOPEN_USER_DB_PATH=/tuned"} {
		require.NotEqual(t, parse().Digest, parse(variable).Digest, variable)
		require.Empty(t, parse(variable).Warnings)
	}
	for _, variable := range []string{"HIPDNN_LOG_LEVEL=info", "HIPDNN_BACKEND_LIBRARY_PATH=/a", "ROCBLAS_LAYER_LOG=1", "ROCM_PATH=/opt/rocm",
		"ROCR_VISIBLE_DEVICES=1", "HIP_VISIBLE_DEVICES=1", "MIOPEN_CUSTOM_CACHE_DIR=/cache"} {
		require.Equal(t, parse().Digest, parse(variable).Digest, variable)
	}
}
