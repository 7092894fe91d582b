//go:build linux

package server

// LockBuffer locks a named buffer, as a copy of another session does, until unlock is called.
func (s *Server) LockBuffer(name string) (unlock func()) {
	n, _, err := s.buffers.Open(name, false, 0, nil)
	if err != nil {
		panic(err)
	}
	n.Value.Lock()
	return func() {
		n.Value.Unlock()
		s.buffers.Leave(n)
	}
}
