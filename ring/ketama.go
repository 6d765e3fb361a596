package ring

// Points of the ketama family: MD5 of a numbered server text, or a hash of it.

import (
	"crypto/md5"
	"encoding/binary"
	"strconv"
)

// ketamaTexts returns how many numbered texts of four points a server gets by
// its weight: 40 when its share is the mean one. The peers compute this in
// single precision, and with 25 equal servers, among other numbers, rounding
// leaves 39. So each step is rounded here as there: the conversions keep a
// product from being fused with the sum that follows on processors that can.
func ketamaTexts(weight, total float64, servers int) int {
	share := float32(weight) / float32(total)
	x := float32(share*160) / 4
	x = float32(x * float32(servers))
	return int(x + 1e-10)
}

// numberable returns label and separator with room for a number behind them.
func numberable(label, separator string) []byte {
	text := make([]byte, 0, len(label)+len(separator)+20)
	return append(append(text, label...), separator...)
}

// md5Points appends the four points of each of n texts, label-0 and on.
func md5Points(points []point, server int, label string, n int) []point {
	text := numberable(label, "-")
	for k := range n {
		digest := md5.Sum(strconv.AppendInt(text, int64(k), 10))
		for i := range 4 {
			points = append(points, newPoint(binary.LittleEndian.Uint32(digest[4*i:]), server))
		}
	}
	return points
}

// weightedMD5Points makes the weighted continuum of the ketama family.
func weightedMD5Points(members []member) []point {
	total := totalWeight(members)
	points := make([]point, 0, 160*len(members)+sentinels)
	for i, m := range members {
		points = md5Points(points, i, m.label, ketamaTexts(m.weight, total, len(members)))
	}
	return points
}

// hashPoints makes a continuum of n points a server, each the hash of one text.
func hashPoints(members []member, n int, sum func(text string) uint32) []point {
	points := make([]point, 0, n*len(members)+sentinels)
	for i, m := range members {
		text := numberable(m.label, "-")
		for k := range n {
			text := strconv.AppendInt(text, int64(k), 10)
			points = append(points, newPoint(sum(stringView(text)), i))
		}
	}
	return points
}
