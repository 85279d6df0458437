package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type number int

func (number) Bytes() int64 { return 1 }
func (number) Close()       {}

// Keys are told apart by their bytes: the hash only finds them.
func TestKeysOfOneHash(t *testing.T) {
	c := New[number](Limits{Plans: 3})
	keys := make([]Key, 4)
	for i := range keys {
		require.NoError(t, keys[i].Set([]byte{byte(i)}))
		keys[i].hash = 42
		e, _, err := c.GetOrBuild(&keys[i], func() (number, error) { return number(i), nil })
		require.NoError(t, err)
		e.Release()
	}
	require.Nil(t, c.Get(&keys[0]), "the oldest of the three that fit went")
	for i := 1; i < len(keys); i++ {
		require.Equal(t, number(i), c.Get(&keys[i]).Plan())
	}
	other := keys[1]
	other.used = 0
	require.Nil(t, c.Get(&other))
}

// Whoever found a plan just before it went must not get it once it is closed.
func TestPlanThatWentIsNotFoundAgain(t *testing.T) {
	c := New[number](Limits{Plans: 1})
	var keys [2]Key
	for i := range keys {
		require.NoError(t, keys[i].Set([]byte{byte(i)}))
	}
	put := func(i int) {
		e, _, err := c.GetOrBuild(&keys[i], func() (number, error) { return number(i), nil })
		require.NoError(t, err)
		e.Release()
	}
	put(0)
	before := c.table.Load()
	found := before.find(keys[0].hash, keys[0].Bytes())
	require.True(t, found.acquire(), "the control: it is there")
	found.Release()
	put(1)
	require.Same(t, found, before.find(keys[0].hash, keys[0].Bytes()), "tables that were read are not changed")
	require.False(t, found.acquire())
}
