// Package header finds out which functions a C header declares, and under which preprocessor conditions.
//
// It is a token scan, not a parser: it drops comments and literals, follows conditional directives and braces, and takes
// every identifier before an opening parenthesis at file scope for a possible declaration. Types are left to the
// compiler. Callers look up names that they know from elsewhere (a library's exports), so that a macro call at file
// scope, which looks the same, does no harm.
package header

import (
	"fmt"
	"slices"
	"strings"
)

// Conditions are the conditional directives that enclose a declaration, outermost first. Each element is one #if group
// up to the branch that holds the declaration: {"#ifdef A"}, or {"#if A", "#else"}.
type Conditions [][]string

// Open returns the directives that put what follows under the same conditions. As many #endif as there are elements in
// c close them.
func (c Conditions) Open() []string { return slices.Concat(c...) }

func (c Conditions) equal(d Conditions) bool {
	return slices.EqualFunc(c, d, func(a, b []string) bool { return slices.Equal(a, b) })
}

// Header is a scanned header.
type Header struct {
	declared map[string][]Conditions
	bareTags []string
}

// Declared returns the conditions under which a name is declared, one element for each different set of them: an empty
// set for an unconditional declaration, and no element when the header does not declare the name.
func (h *Header) Declared(name string) []Conditions { return h.declared[name] }

// BareTags returns the structures that the header defines and then names without the keyword "struct", which C++ allows
// and C does not; sorted.
func (h *Header) BareTags() []string { return h.bareTags }

// SyntaxError says that a header's structure could not be followed.
type SyntaxError struct {
	Line   int // from 1
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Parse scans the text of a header. The error is a *SyntaxError.
func Parse(text []byte) (*Header, error) {
	p := parser{
		lexer:   lexer{src: string(text), line: 1},
		header:  &Header{declared: map[string][]Conditions{}},
		defined: map[string]bool{},
		bare:    map[string]bool{},

		typedefs: map[string]bool{},
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	for tag := range p.defined {
		if p.bare[tag] && !p.typedefs[tag] {
			p.header.bareTags = append(p.header.bareTags, tag)
		}
	}
	slices.Sort(p.header.bareTags)
	return p.header, nil
}

// conditional is an open #if group.
type conditional struct {
	branches []string
	line     int
	guard    bool    // the header's include guard: true while the header is read, so no condition
	scopes   []scope // the braces that were open at the #if: every branch starts from them
}

// scope is an open brace.
type scope bool

const (
	transparent scope = true  // extern "C" {
	opaque      scope = false // a structure, a function's body
)

type parser struct {
	lexer
	header     *Header
	stack      []conditional
	scopes     []scope
	parens     int
	directives int             // seen so far
	guardName  string          // of an #ifndef that was the first directive, until the second one decides
	defined    map[string]bool // tags of structures defined at file scope without typedef
	bare       map[string]bool // identifiers that occur without a tag keyword before them
	inTypedef  bool            // in a declaration at file scope that starts with typedef
	typedefs   map[string]bool // names that such declarations declare
}

func (p *parser) run() error {
	var prev, prev2 token
	for {
		t, err := p.next()
		if err != nil {
			return err
		}
		switch {
		case t.kind == tokenEnd:
			if len(p.stack) > 0 {
				return &SyntaxError{p.stack[len(p.stack)-1].line, "the conditional has no #endif"}
			}
			return nil
		case t.kind == tokenDirective:
			if err := p.directive(t); err != nil {
				return err
			}
			continue // what stands around a directive may belong together
		case t.text == "{":
			s := opaque
			if prev.kind == tokenString && prev2.text == "extern" {
				s = transparent
			}
			if prev.kind == tokenIdent && prev2.text == "struct" && !p.inTypedef && p.atFileScope() && !p.underCplusplus() {
				p.defined[prev.text] = true
			}
			p.scopes = append(p.scopes, s)
		case t.text == ";" && p.atFileScope():
			if p.inTypedef && prev.kind == tokenIdent {
				p.typedefs[prev.text] = true
			}
			p.inTypedef = false
		case t.text == "typedef" && p.atFileScope():
			p.inTypedef = true
		case t.text == "}":
			if len(p.scopes) > 0 {
				p.scopes = p.scopes[:len(p.scopes)-1]
			}
		case t.text == "(":
			if prev.kind == tokenIdent && p.parens == 0 && p.atFileScope() {
				p.declare(prev.text)
			}
			p.parens++
		case t.text == ")":
			p.parens = max(0, p.parens-1)
		case t.kind == tokenIdent && prev.text != "struct" && prev.text != "class" && prev.text != "union" && prev.text != "enum":
			p.bare[t.text] = true
		}
		prev2, prev = prev, t
	}
}

func (p *parser) atFileScope() bool { return !slices.Contains(p.scopes, opaque) }

func (p *parser) underCplusplus() bool {
	return slices.ContainsFunc(p.stack, func(c conditional) bool {
		return strings.Contains(c.branches[0], "__cplusplus") && len(c.branches) == 1
	})
}

func (p *parser) declare(name string) {
	var conditions Conditions
	for _, c := range p.stack {
		if !c.guard {
			conditions = append(conditions, slices.Clone(c.branches))
		}
	}
	if !slices.ContainsFunc(p.header.declared[name], conditions.equal) {
		p.header.declared[name] = append(p.header.declared[name], conditions)
	}
}

func (p *parser) directive(t token) error {
	p.directives++
	body := strings.TrimSpace(strings.TrimPrefix(t.text, "#"))
	n := 0
	for n < len(body) && isIdent(body[n]) {
		n++
	}
	keyword, rest := body[:n], strings.TrimSpace(body[n:])
	text := strings.TrimSpace("#" + keyword + " " + rest)
	switch keyword {
	case "if", "ifdef", "ifndef":
		if keyword == "ifndef" && p.directives == 1 {
			p.guardName = rest
		}
		p.stack = append(p.stack, conditional{branches: []string{text}, line: t.line, scopes: slices.Clone(p.scopes)})
	case "define":
		if p.directives == 2 && p.guardName != "" && rest == p.guardName {
			p.stack[0].guard = true
		}
	case "elif", "else", "elifdef", "elifndef", "endif":
		if len(p.stack) == 0 {
			return &SyntaxError{t.line, text + " without #if"}
		}
		top := &p.stack[len(p.stack)-1]
		if keyword == "endif" {
			p.stack = p.stack[:len(p.stack)-1]
			break
		}
		top.branches = append(top.branches, text)
		p.scopes = slices.Clone(top.scopes)
	}
	return nil
}
