package drivercache

import "strings"

// userSettings begins the reason of a state whose settings the user made.
const userSettings = "set by the user: "

// UserSettings returns the variables, as NAME=VALUE, that the user had set and that
// were left as they are.
func (s State) UserSettings() []string {
	_, list, found := strings.Cut(s.Reason, userSettings)
	if !found {
		return nil
	}
	return strings.Split(list, ", ")
}
