package header

import "strings"

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenIdent
	tokenString
	tokenDirective // text is the whole logical line without comments, runs of white space as one space
	tokenPunct
)

type token struct {
	kind tokenKind
	text string
	line int
}

// lexer splits C text into the few kinds of tokens that matter here.
type lexer struct {
	src  string
	pos  int
	line int
	mid  bool // something other than white space and comments came before on this line
}

func (l *lexer) rest() string { return l.src[l.pos:] }

// skip moves over n bytes and counts lines.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.src[l.pos:l.pos+n], "\n")
	l.pos += n
}

// space skips one run of white space, one spliced line end or one comment. It reports whether it moved. With inLine it
// stops before the end of a line.
func (l *lexer) space(inLine bool) (bool, error) {
	r := l.rest()
	switch {
	case r == "":
		return false, nil
	case strings.HasPrefix(r, "\\\n"):
		l.skip(2)
	case strings.HasPrefix(r, "\\\r\n"):
		l.skip(3)
	case strings.HasPrefix(r, "//"):
		n := 0
		for n < len(r) && (r[n] != '\n' || r[n-1] == '\\') {
			n++
		}
		l.skip(n)
	case strings.HasPrefix(r, "/*"):
		n := strings.Index(r[2:], "*/")
		if n < 0 {
			return false, &SyntaxError{l.line, "the comment has no end"}
		}
		l.skip(n + 4)
	case r[0] == '\n':
		if inLine {
			return false, nil
		}
		l.mid = false
		l.skip(1)
	case strings.IndexByte(" \t\r\v\f", r[0]) >= 0:
		l.skip(1)
	default:
		return false, nil
	}
	return true, nil
}

func (l *lexer) next() (token, error) {
	for {
		moved, err := l.space(false)
		if err != nil {
			return token{}, err
		}
		if !moved {
			break
		}
	}
	r := l.rest()
	t := token{line: l.line}
	if r == "" {
		return t, nil
	}
	if r[0] == '#' && !l.mid {
		return l.directiveLine()
	}
	l.mid = true
	switch {
	case isIdent(r[0]):
		n := 1
		for n < len(r) && (isIdent(r[n]) || isDigit(r[n])) {
			n++
		}
		t.kind, t.text = tokenIdent, r[:n]
		l.skip(n)
	case r[0] == '"' || r[0] == '\'':
		n, ok := literal(r)
		if !ok {
			return t, &SyntaxError{l.line, "the literal has no end"}
		}
		t.kind = tokenString
		l.skip(n)
	case isDigit(r[0]):
		n := 1
		for n < len(r) && (isIdent(r[n]) || isDigit(r[n]) || r[n] == '.' || r[n] == '\'') {
			n++
		}
		t.kind, t.text = tokenPunct, r[:n]
		l.skip(n)
	default:
		t.kind, t.text = tokenPunct, r[:1]
		l.skip(1)
	}
	return t, nil
}

// directiveLine reads a directive to the end of its logical line.
func (l *lexer) directiveLine() (token, error) {
	t := token{kind: tokenDirective, line: l.line}
	var b strings.Builder
	for l.pos < len(l.src) && l.src[l.pos] != '\n' {
		moved, err := l.space(true)
		if err != nil {
			return t, err
		}
		if moved {
			if s := b.String(); s != "" && !strings.HasSuffix(s, " ") {
				b.WriteByte(' ')
			}
			continue
		}
		n := 1
		if r := l.rest(); r[0] == '"' || r[0] == '\'' {
			// An apostrophe in the text of an #error is no literal; then it is one character like any other.
			if m, ok := literal(r); ok {
				n = m
			}
		}
		b.WriteString(l.src[l.pos : l.pos+n])
		l.skip(n)
	}
	t.text = strings.TrimSpace(b.String())
	return t, nil
}

// literal returns the length of the string or character literal that s starts with.
func literal(s string) (int, bool) {
	for n := 1; n < len(s) && s[n] != '\n'; n++ {
		switch s[n] {
		case '\\':
			n++
		case s[0]:
			return n + 1, true
		}
	}
	return 0, false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isIdent(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
