package report

import (
	"fmt"
	"html"
	"reflect"
	"strings"
	"text/template/parse"
)

// render returns a template with the fields of a value, escaped for elements and quoted
// attributes, and what functions return for them; it knows no else. Package html/template calls
// methods by name too: the linker then keeps all methods of all types, 5 MB of the command.
func render(text string, value any) string {
	trees, err := parse.Parse("page", text, "", "", functions)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	renderList(&b, trees["page"].Root, reflect.ValueOf(value))
	return b.String()
}

func renderList(b *strings.Builder, list *parse.ListNode, dot reflect.Value) {
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			b.Write(n.Text)
		case *parse.ActionNode:
			b.WriteString(html.EscapeString(fmt.Sprint(evaluate(n.Pipe, dot))))
		case *parse.RangeNode:
			for _, element := range evaluate(n.Pipe, dot).Seq2() {
				renderList(b, n.List, element)
			}
		case *parse.WithNode:
			if v := evaluate(n.Pipe, dot); has(v) {
				renderList(b, n.List, v)
			}
		case *parse.IfNode:
			if has(evaluate(n.Pipe, dot)) {
				renderList(b, n.List, dot)
			}
		}
	}
}

func has(v reflect.Value) bool {
	return !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0)
}

// evaluate returns dot or a field of it, or what a function returns for either.
func evaluate(pipe *parse.PipeNode, dot reflect.Value) reflect.Value {
	args := pipe.Cmds[0].Args
	if field, ok := args[len(args)-1].(*parse.FieldNode); ok {
		for _, name := range field.Ident {
			dot = reflect.Indirect(dot).FieldByName(name)
		}
	}
	if f, ok := args[0].(*parse.IdentifierNode); ok {
		return reflect.ValueOf(functions[f.Ident]).Call([]reflect.Value{dot})[0]
	}
	return dot
}
