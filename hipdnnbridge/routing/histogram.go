package routing

import (
	"math/bits"
	"sync/atomic"
)

// subBuckets divide each power of two, so that a value differs from its bucket's middle by no more than
// 1/32.
const subBuckets = 16

// histogram counts durations in nanoseconds. It is for any number of threads.
type histogram struct {
	buckets [(64 - 4 + 1) * subBuckets]atomic.Uint64
	largest atomic.Uint64
}

// bucketOf maps small values to themselves and others by their leading five bits.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return (shift+1)*subBuckets + int(v>>shift) - subBuckets
}

// middle is the value that stands for a bucket.
func middle(bucket int) uint64 {
	if bucket < subBuckets {
		return uint64(bucket)
	}
	shift := bucket/subBuckets - 1
	return uint64(subBuckets+bucket%subBuckets)<<shift + uint64(1)<<shift>>1
}

func (h *histogram) add(v uint64) {
	h.buckets[bucketOf(v)].Add(1)
	for {
		largest := h.largest.Load()
		if v <= largest || h.largest.CompareAndSwap(largest, v) {
			return
		}
	}
}

// quantiles returns, for each q in ascending order, the value that the fraction q of what was counted
// does not exceed, as exact as the buckets are; zeros if nothing was counted.
func (h *histogram) quantiles(qs ...float64) []uint64 {
	var counts [len(h.buckets)]uint64
	total := uint64(0)
	for i := range h.buckets {
		counts[i] = h.buckets[i].Load()
		total += counts[i]
	}
	out := make([]uint64, len(qs))
	seen, next := uint64(0), 0
	for i, n := range counts {
		seen += n
		for n > 0 && next < len(qs) && float64(seen) >= qs[next]*float64(total) {
			out[next] = middle(i)
			next++
		}
	}
	return out
}
