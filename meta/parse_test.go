package meta

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	var r Reply
	line := "VA 100 f7 O12 s100 kkey:123 c9 t-1 h1 l44 X W\r\n"
	n, err := Parse([]byte(line+"rest"), &r)
	require.NoError(t, err)
	assert.Equal(t, len(line), n)
	assert.Equal(t, CodeValue, r.Code)
	assert.Equal(t, 100, r.Size)
	assert.Equal(t, uint32(7), r.ClientFlags)
	assert.Equal(t, "12", string(r.Opaque()))
	assert.Equal(t, 100, r.ItemSize)
	assert.Equal(t, "key:123", string(r.Key()))
	assert.Equal(t, uint64(9), r.CAS)
	assert.Equal(t, int64(-1), r.TTL)
	assert.True(t, r.Hit)
	assert.Equal(t, int64(44), r.LastAccess)
	assert.True(t, r.Win())
	assert.True(t, r.Stale())
	assert.False(t, r.Lost())

	n, err = Parse([]byte("HD\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, 4, n)
	assert.Equal(t, CodeDone, r.Code)
	assert.Nil(t, r.Opaque())
	assert.Nil(t, r.Key())
	assert.Zero(t, r.CAS)

	n, err = Parse([]byte("SERVER_ERROR object too large for cache\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, 41, n)
	assert.Equal(t, CodeError, r.Code)
	assert.Equal(t, ClassServer, r.Class)
	assert.Equal(t, "object too large for cache", string(r.Message()))
	assert.True(t, r.InStep(true))
}
