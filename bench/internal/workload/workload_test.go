package workload

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValuesAreTheirOwn(t *testing.T) {
	s := NewSet(100)
	seen := map[string]bool{}
	for i, key := range s.Keys {
		assert.Len(t, s.Values[i], 100)
		assert.False(t, seen[string(s.Values[i])], key)
		seen[string(s.Values[i])] = true
	}
	for slice := range 10 {
		assert.False(t, seen[string(s.NewValue(slice))])
		seen[string(s.NewValue(slice))] = true
	}
	assert.NoError(t, s.Check(7, NewSet(100).Values[7]))
	assert.ErrorContains(t, s.Check(7, s.Values[8]), s.Keys[7])
	assert.Error(t, s.Check(7, s.Values[7][:99]))
	assert.Error(t, s.Check(7, nil))
}

func TestBatchesHoldDifferentKeys(t *testing.T) {
	s := NewSet(10)
	for _, size := range []int{1, 3, 100, 1000, KeyCount} {
		for hits, want := range map[int]int{100: size, 50: (size + 1) / 2, 0: 0} {
			batches := s.Batches(size, hits)
			assert.NotEmpty(t, batches)
			for _, b := range batches {
				seen, there := map[string]bool{}, 0
				for i, key := range b.Keys {
					if b.Index[i] != NoPlace {
						assert.Equal(t, s.Keys[b.Index[i]], key)
						there++
					}
					seen[key] = true
				}
				assert.Len(t, seen, size)
				assert.Equal(t, want, b.Hits)
				assert.Equal(t, want, there)
			}
			assert.Equal(t, batches, NewSet(10).Batches(size, hits), "the same in every run")
		}
	}
	assert.Len(t, NewSet(10<<10).Batches(1000, 100), 1, "a batch of 10 MB")
}

func TestPickerReachesEveryKey(t *testing.T) {
	p, q := NewPicker(1), NewPicker(2)
	seen, same := map[int]bool{}, 0
	for range 100 * KeyCount {
		i := p.Next()
		seen[i] = true
		if i == q.Next() {
			same++
		}
	}
	assert.Len(t, seen, KeyCount)
	assert.Less(t, same, 1000, "callers go their own ways")
}

func TestZipfWantsAFewOften(t *testing.T) {
	const n = 1000
	times := make([]int, n)
	pick := NewZipf(n).From(3)
	for range zipfDraws {
		times[pick()]++
	}
	slices.SortFunc(times, func(a, b int) int { return b - a })
	first, most := times[0], 0
	for _, times := range times[:n/10] {
		most += times
	}
	assert.Greater(t, first, zipfDraws/20, "the first of a thousand has above a twentieth")
	assert.Greater(t, most, zipfDraws/2, "a tenth of the places has more than half")
	assert.Positive(t, times[n/2])
}
