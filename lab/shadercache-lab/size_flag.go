package main

import "fmt"

// Pair is a flag with two numbers: "512x256".
type Pair struct{ X, Y int }

func (p *Pair) Type() string { return "WxH" }

func (p *Pair) String() string { return fmt.Sprintf("%dx%d", p.X, p.Y) }

func (p *Pair) Set(text string) error {
	var read Pair
	var rest string
	n, _ := fmt.Sscanf(text+" ", "%dx%d%s", &read.X, &read.Y, &rest)
	if n != 2 || read.X < 1 || read.Y < 1 {
		return fmt.Errorf("%q is not a size such as 512x256", text)
	}
	*p = read
	return nil
}
