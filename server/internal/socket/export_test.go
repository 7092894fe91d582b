//go:build linux

package socket

// HoldClosers has what is to be closed wait until release is called.
func HoldClosers() (release func()) {
	closing.Lock()
	defer closing.Unlock()
	closing.closers += maxClosers
	return func() {
		closing.Lock()
		defer closing.Unlock()
		closing.closers -= maxClosers
		startCloser()
	}
}
