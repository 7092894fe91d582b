package http

import "testing"

// TestNetrcWithComments: an entry is found, and gets no word of another one.
func TestNetrcWithComments(t *testing.T) {
	t.Parallel()
	const own = "machine ours\n login u\n"
	for text, want := range map[string]credentials{
		"# of the office\n" + own + " password p\n":                                  {user: "u", password: "p"},
		"# new one\n" + own + " password p # old\n":                                  {user: "u", password: "p"},
		own + "# new one\nmachine b login v # deploy key\n password secret\n":        {user: "u"},
		own + " # by default: login x\n account a\n password p\nmachine b login v\n": {user: "u", password: "p"},
		"machine b password machine\n" + own + " password default":                   {user: "u", password: "default"},
		"machine b login v\ndefault password p":                                      {password: "p"},
		"# default password p\nmachine b login v password":                           {},
		"machine": {},
	} {
		if found := parseNetrc(text, "ours"); found != want {
			t.Errorf("%q: %+v, not %+v", text, found, want)
		}
	}
}
