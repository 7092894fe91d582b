package sgemm

// Supported reports whether the processor has what the kernels are written for: AVX2 and FMA
// of x86-64. In plain Go they have a tenth of the speed, less than llvmpipe's.
func Supported() bool { return supported }

const unsupported = "sgemm: this processor has no AVX2 and FMA"

// tile sets six rows of 16 sums, blockColumns from one to the next, to the product of k
// columns of a panel of A, as packA makes it, and k rows of 16 elements of B, ldb from one to
// the next. k is at least 1.
func tile(sums, a, b []float32, k, ldb int) {
	_, _, _ = sums[(tileM-1)*blockColumns+tileN-1], a[tileM*k-1], b[(k-1)*ldb+tileN-1]
	tileVector(&sums[0], &a[0], &b[0], k, ldb)
}

// stream adds a[r] * B[r][j] of eight rows of B to sums[j]. The number of sums is a positive
// multiple of 16.
func stream(sums, b []float32, ldb int, a *[streamK]float32) {
	_ = b[(streamK-1)*ldb+len(sums)-1]
	streamVector(&sums[0], &b[0], ldb, a, len(sums))
}

// dot returns the sum of a[i] * b[i]. b is at least as long as a.
func dot(a, b []float32) (sum float32) {
	const step = 32
	done := len(a) &^ (step - 1)
	if done > 0 {
		_ = b[done-1]
		sum = dotVector(&a[0], &b[0], done)
	}
	for i := done; i < len(a); i++ {
		sum += a[i] * b[i]
	}
	return sum
}
