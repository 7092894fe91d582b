package shader

import (
	"regexp"
	"strings"
)

var (
	ifNotDefined = regexp.MustCompile(`^!\s*defined\s*(?:\(\s*(\w+)\s*\)|\s(\w+))$`)
	firstName    = regexp.MustCompile(`^\w+`)
)

// includeGuard returns the macro of an include guard around a whole file, or "":
//
//	#ifndef NAME        or #if !defined(NAME)
//	#define NAME
//	...
//	#endif
//
// and reports whether the file has #pragma once outside conditions.
func includeGuard(text string) (guard string, once bool) {
	depth, lines := 0, 0
	ended, broken := false, false
	for s := newScanner(text, 0); s.Next(); {
		if strings.TrimSpace(s.code) == "" {
			continue
		}
		name, operand := s.directive()
		if name == "pragma" && operand == "once" && depth == 0 {
			once = true
			continue
		}
		lines++
		switch {
		case lines == 1:
			guard = guardName(name, operand)
			broken = guard == ""
		case lines == 2 && (name != "define" || firstName.FindString(operand) != guard), ended:
			broken = true
		}
		switch name {
		case "if", "ifdef", "ifndef":
			depth++
		case "elif", "else":
			broken = broken || depth == 1
		case "endif":
			depth--
			ended = ended || depth == 0
		}
	}
	if broken || !ended {
		guard = ""
	}
	return guard, once
}

// guardName returns the macro that a guard's first line tests, or "". Macros of the
// driver and of the language guard nothing.
func guardName(directive, operand string) string {
	guard := ""
	switch directive {
	case "ifndef":
		guard = operand
	case "if":
		if m := ifNotDefined.FindStringSubmatch(operand); m != nil {
			guard = m[1] + m[2]
		}
	}
	if firstName.FindString(guard) != guard || strings.HasPrefix(guard, "GL_") {
		return ""
	}
	return guard
}

// branch is the text of one #if, #elif or #else.
type branch struct {
	certain bool // compiled wherever its #if is: an include guard at its first use
}

// conditions are the conditions around a place of a source, over all its files.
type conditions struct {
	branches         []*branch // outermost first
	defined, removed map[string]bool
}

// track follows a directive. guards is the macro that a following #if tests where it
// is the include guard of its file.
func (c *conditions) track(directive, operand, guards string) {
	top := len(c.branches) - 1
	switch directive {
	case "if", "ifdef", "ifndef":
		c.branches = append(c.branches, &branch{certain: guards != "" && !c.defined[guards]})
	case "elif", "else":
		if top >= 0 {
			c.branches[top] = &branch{}
		}
	case "endif":
		if top >= 0 {
			c.branches = c.branches[:top]
		}
	case "define":
		c.defined[firstName.FindString(operand)] = true
	case "undef":
		c.removed[firstName.FindString(operand)] = true
	}
}

// place returns the branches that decide whether the place is compiled. None means
// that it is.
func (c *conditions) place() []*branch {
	var uncertain []*branch
	for _, b := range c.branches {
		if !b.certain {
			uncertain = append(uncertain, b)
		}
	}
	return uncertain
}

// conditionalLines decides where a #line directive has to be repeated in a file. A
// driver ignores directives in a branch that is not compiled, but counts the lines
// that were included there. So after an include, the line is set again after each
// #elif, #else and #endif until the outermost #if ends.
type conditionalLines struct {
	depth      int
	drifting   bool
	unbalanced bool // an #else or #endif has no #if
}

func (c *conditionalLines) included() { c.drifting = c.depth > 0 }

// needsLine tracks a directive and reports whether a #line has to follow it.
func (c *conditionalLines) needsLine(directive string) bool {
	switch directive {
	case "if", "ifdef", "ifndef":
		c.depth++
		return false
	case "elif", "else", "endif":
		c.unbalanced = c.unbalanced || c.depth == 0
	default:
		return false
	}
	if directive == "endif" {
		c.depth = max(c.depth-1, 0)
	}
	repeat := c.drifting
	c.drifting = c.drifting && c.depth > 0
	return repeat
}
