package trace

// The names of events of a server and its clients. What lies within another has its indent.
const (
	// Server: a job.
	Serve   = "serve"   // from its receipt to its reply
	Queue   = "queue"   //   requests of its session before it
	Check   = "check"   //   it is decoded and checked
	Turn    = "turn"    //   it waits for its turn among sessions
	Accept  = "accept"  //   the executor checks it and copies its inputs
	Run     = "run"     //   until the server finds it done on the GPU
	Deliver = "deliver" //   its outputs are copied
	Reply   = "reply"   //   its reply is written, or put behind others

	// Server, of a client.
	Connect = "connect"
	Send    = "send"  // a job is sent
	Await   = "await" // its reply is awaited
)
