package actors

import "fmt"

// Address is an actor's: where it lives, and which of those who lived there it
// is. The zero Address is nobody's.
type Address struct {
	Device     uint8
	Slot       uint32 // less than 1<<24
	Generation uint32 // from 1
}

// Slots that are nobody's.
const (
	slotHost = 1<<24 - 1 // the host; the generation is the number of a request
	slotAll  = 1<<24 - 2 // everybody of the device
)

// hostMailbox is the generation of messages to the host that are no replies.
const hostMailbox = 1

// Host is the address under which actors of a device write to their host: see
// World.Letters.
func Host(device uint8) Address { return Address{device, slotHost, hostMailbox} }

// IsHost reports whether it is the host's, of a request or not.
func (a Address) IsHost() bool { return a.Slot == slotHost }

func (a Address) String() string {
	switch {
	case a == Address{}:
		return "nobody"
	case a.IsHost():
		return fmt.Sprintf("host of device %d", a.Device)
	}
	return fmt.Sprintf("%d/%d.%d", a.Device, a.Slot, a.Generation)
}

// Words is the address as GLSL has it, a uvec2: for payloads and states.
func (a Address) Words() (x, y uint32) { return a.Slot | uint32(a.Device)<<24, a.Generation }

// AddressOf is the address of a uvec2.
func AddressOf(x, y uint32) Address {
	return Address{Device: uint8(x >> 24), Slot: x & (1<<24 - 1), Generation: y}
}

// Message is what actors and the host send. From is filled in by whoever
// delivers it.
type Message struct {
	From  Address
	Kind  uint32
	Words []uint32 // at most Options.Payload
}

// Envelope is a message with its receiver.
type Envelope struct {
	To Address
	Message
}
