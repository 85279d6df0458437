package layout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/split/layout"
)

func TestNames(t *testing.T) {
	for _, soname := range []string{"libMIOpen.so.2", "libMIOpen_private.so.2"} {
		l, err := layout.For(soname)
		require.NoError(t, err)
		require.Equal(t, "libMIOpen.so.2", l.Wrapper())
		require.Equal(t, "libMIOpen_private.so.2", l.Private())
		require.Equal(t, "libmiopen2.symbols", l.Symbols())
		require.Contains(t, string(l.LinkerScriptText()), "INPUT(libMIOpen.so.2 AS_NEEDED(libMIOpen_private.so.2))")
	}
	for _, soname := range []string{"", "libMIOpen.so", "libMIOpen.so.1.0", "libOther.so.1", "xlibMIOpen.so.1", "libMIOpen.so.1/x"} {
		_, err := layout.For(soname)
		var wrong *layout.SONAMEError
		require.ErrorAs(t, err, &wrong, soname)
		require.Equal(t, soname, wrong.SONAME)
	}
}

func TestOwned(t *testing.T) {
	l, err := layout.For("libMIOpen.so.1")
	require.NoError(t, err)
	for _, name := range []string{
		l.Wrapper(), l.Private(), l.Symbols(), layout.DevLink, layout.LinkerScript, layout.Manifest, layout.ShimHeader,
		layout.ImplHeader, layout.RenameHeader, "libMIOpen_private.so.7",
	} {
		require.True(t, layout.Owned(name), name)
	}
	for _, name := range []string{
		"libMIOpen.so.1.0", "libMIOpen.a", "include/miopen/miopen.h", "sub/libMIOpen.so.1", "../libMIOpen.so.1", "notes.txt", "",
	} {
		require.False(t, layout.Owned(name), name)
	}
}
