package actors

import "fmt"

// Address identifies an actor: its slot, and its number among the actors that have
// occupied the slot. The zero Address identifies none.
type Address struct {
	Device     uint8
	Slot       uint32 // less than 1<<24
	Generation uint32 // from 1
}

// Slots that no actor occupies.
const (
	slotHost = 1<<24 - 1 // the host; the generation is the number of a request
	slotAll  = 1<<24 - 2 // all actors of the device
)

// hostMailbox is the generation of messages to the host that are no replies.
const hostMailbox = 1

// Host returns the address under which actors of a device send to their host: see
// World.HostMessages.
func Host(device uint8) Address { return Address{device, slotHost, hostMailbox} }

// IsHost reports whether the address is that of a host, for a request or not.
func (a Address) IsHost() bool { return a.Slot == slotHost }

// String returns device, slot and generation.
func (a Address) String() string {
	switch {
	case a == Address{}:
		return "no actor"
	case a.IsHost():
		return fmt.Sprintf("host of device %d", a.Device)
	}
	return fmt.Sprintf("%d/%d.%d", a.Device, a.Slot, a.Generation)
}

// Words returns the address as a uvec2 of GLSL, for payloads and states.
func (a Address) Words() (x, y uint32) { return a.Slot | uint32(a.Device)<<24, a.Generation }

// AddressOf returns the address in a uvec2 of GLSL.
func AddressOf(x, y uint32) Address {
	return Address{Device: uint8(x >> 24), Slot: x & (1<<24 - 1), Generation: y}
}

// Message is a message of an actor or of the host. Its delivery sets From.
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
