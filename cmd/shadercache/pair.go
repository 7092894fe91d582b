package main

import "fmt"

// pair is a flag with two numbers: "512x256".
type pair struct{ x, y int }

func (p *pair) Type() string { return "WxH" }

func (p *pair) String() string { return fmt.Sprintf("%dx%d", p.x, p.y) }

func (p *pair) Set(text string) error {
	var read pair
	var rest string
	n, _ := fmt.Sscanf(text+" ", "%dx%d%s", &read.x, &read.y, &rest)
	if n != 2 || read.x < 1 || read.y < 1 {
		return fmt.Errorf("%q is not a size such as 512x256", text)
	}
	*p = read
	return nil
}
