package fleet

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A head object has one line before the JSON, and before that the line of a KeyList where the
// remote has one:
//
//	shadercache-head ed25519 <key> <signature>
//	shadercache-head unsigned
//
// The key is the first 16 hexadecimal digits of the SHA-256 of the public key. It only
// names the key in messages. The signature, in base64, is that of headContext and all
// bytes after the line.
const (
	headMagic    = "shadercache-head"
	unsignedLine = headMagic + " unsigned"

	// headContext separates signatures of heads from other uses of the key.
	headContext = "shadercache remote head\x00"
)

// KeyID returns the name of a public key in heads and messages.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// signerID returns the name of the key that signs, "" for none.
func signerID(key ed25519.PrivateKey) string {
	if key == nil {
		return ""
	}
	return KeyID(key.Public().(ed25519.PublicKey))
}

// signHead returns the object of a head, signed unless key is nil.
func signHead(key ed25519.PrivateKey, head []byte) []byte {
	line := unsignedLine
	if key != nil {
		line = strings.Join([]string{headMagic, "ed25519", signerID(key), sign(key, headContext, head)}, " ")
	}
	return append([]byte(line+"\n"), head...)
}

// verifyHead returns the bytes of a head, and the name of the key of keys that has signed
// them. It returns an error where none has, unless unsigned allows that.
func verifyHead(object []byte, keys []ed25519.PublicKey, unsigned bool) (head []byte, signer string, err error) {
	line, head, found := bytes.Cut(object, []byte("\n"))
	if !found || !bytes.HasPrefix(line, []byte(headMagic+" ")) {
		return nil, "", refuse(classProtocol, "what is there is no head of shadercache: %s", describeBytes(object))
	}
	if string(line) == unsignedLine {
		if unsigned {
			return head, "", nil
		}
		return nil, "", refuse(classSignature, "the head is not signed: push --replace --sign writes it anew, without what others have pushed; a reader may accept unsigned heads in so many words")
	}
	fields := strings.Split(string(line), " ")
	if len(fields) != 4 || fields[1] != "ed25519" {
		return nil, "", refuse(classNewer, "the head is signed in a way that is newer than this program: update shadercache here")
	}
	signer, signature := fields[2], decodeSignature(fields[3])
	if signature == nil {
		return nil, "", refuse(classSignature, "the signature of the head is damaged")
	}
	if verifies(keys, signer, headContext, head, signature) {
		return head, signer, nil
	}
	switch {
	case unsigned:
		return head, "", nil
	case len(keys) == 0:
		return nil, "", refuse(classSignature, "no public key was given: set %s to the .pub file of the key that signs", keysVariable)
	case knows(keys, signer):
		return nil, "", refuse(classSignature, "the head was changed after it was signed with key %s", signer)
	}
	return nil, "", refuse(classSignature, "the head is signed by key %s, and the known keys are %s", printable(signer), keyIDs(keys))
}

// sign returns a signature in base64. context separates it from those of other things.
func sign(key ed25519.PrivateKey, context string, data []byte) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, append([]byte(context), data...)))
}

// decodeSignature returns nil for what sign did not write.
func decodeSignature(text string) []byte {
	signature, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(signature) != ed25519.SignatureSize || base64.StdEncoding.EncodeToString(signature) != text {
		return nil
	}
	return signature
}

// verifies reports whether the key of keys with a name has signed data.
func verifies(keys []ed25519.PublicKey, id, context string, data, signature []byte) bool {
	text := append([]byte(context), data...)
	return slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool {
		return len(key) == ed25519.PublicKeySize && KeyID(key) == id && ed25519.Verify(key, text, signature)
	})
}

func knows(keys []ed25519.PublicKey, id string) bool {
	return slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return KeyID(key) == id })
}

func keyIDs(keys []ed25519.PublicKey) string {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = KeyID(key)
	}
	return strings.Join(ids, ", ")
}

// describeBytes returns what an object is that is no head, for a message. A captive portal
// answers with a web page; and some answer with what they were sent, such as credentials.
func describeBytes(object []byte) string {
	start := bytes.ToLower(bytes.TrimSpace(object[:min(len(object), 512)]))
	switch {
	case len(object) == 0:
		return "it is empty"
	case bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")):
		return "it is a web page, of a login or a proxy"
	}
	return fmt.Sprintf("it has %d bytes of something else", len(object))
}

// printable returns a text for a message: quoted, since an object may hold anything.
func printable(s string) string {
	const limit = 40
	return strconv.Quote(s[:min(len(s), limit)])
}
