package verify

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"
)

// symbols compares the dynamic symbol tables as multisets under the rename, and those symbols that the GNU hash table does
// not cover one by one. It fills the classes that the later checks compare indices by.
func (c *comparison) symbols() (Check, error) {
	k := Check{Name: CheckSymbols}
	s, e := c.stock, c.edited

	c.defined = make(map[string]bool, len(s.symbols))
	for _, y := range s.symbols {
		if y.defined() {
			c.defined[y.name] = true
		}
	}
	for _, old := range slices.Sorted(maps.Keys(c.want.Rename)) {
		to := c.want.Rename[old]
		if !c.defined[old] {
			k.finding("asked to rename %s, which stock does not define", old)
		}
		if _, moved := c.want.Rename[to]; c.defined[to] && !moved {
			k.finding("asked to rename %s to %s, which stock defines already", old, to)
		}
	}

	type class struct{ stock, edited []int }
	var classes []class
	number := make(map[symbol]int32, len(s.symbols))
	c.stockClass = make([]int32, len(s.symbols))
	c.editedClass = make([]int32, len(e.symbols))
	for i, y := range s.symbols {
		y = c.renamed(y)
		id, ok := number[y]
		if !ok {
			id = int32(len(classes))
			number[y] = id
			classes = append(classes, class{})
		}
		classes[id].stock = append(classes[id].stock, i)
		c.stockClass[i] = id
	}
	var extra []int
	for i, y := range e.symbols {
		k.Compared++
		id, ok := number[y]
		if !ok {
			c.editedClass[i] = noClass
			extra = append(extra, i)
			continue
		}
		c.editedClass[i] = id
		classes[id].edited = append(classes[id].edited, i)
	}

	var missing []int
	for _, cl := range classes {
		switch n := len(cl.edited); {
		case n < len(cl.stock):
			missing = append(missing, cl.stock[n:]...)
		case n > len(cl.stock):
			extra = append(extra, cl.edited[len(cl.stock):]...)
		}
	}
	c.explain(&k, missing, extra)

	// Relocations and hash chains aside, the symbols before the hashed part have no reason to move.
	for i := range c.unhashed() {
		if c.editedClass[i] != c.stockClass[i] {
			k.finding("symbol %d lies before the hashed part and must keep its place: it is %s, stock has %s",
				i, e.describe(i), s.describe(i))
		}
	}
	return k, nil
}

// renamed gives a stock symbol its wanted name.
func (c *comparison) renamed(y symbol) symbol {
	if to, ok := c.want.Rename[y.name]; ok && y.defined() {
		y.name = to
	}
	return y
}

// unhashed gives the number of symbols before those that DT_GNU_HASH covers. Without that table the whole order is free,
// but for the null symbol.
func (c *comparison) unhashed() int {
	n := uint64(1)
	if addr, ok := c.stock.dynValue(elf.DT_GNU_HASH); ok {
		if head, err := c.stock.readGNUHead(addr); err == nil {
			n = uint64(head.offset)
		}
	}
	return int(min(n, uint64(len(c.stock.symbols))))
}

// explain pairs what is missing with what is too much by name and version, then by name alone, and says what differs. A
// pair is one symbol with a wrong attribute: it gets one class, so that later checks do not repeat the finding for each
// lookup and relocation that leads to it.
func (c *comparison) explain(k *Check, missing, extra []int) {
	type identity struct {
		name    string
		version int
	}
	const anyVersion = -1
	candidates := map[identity][]int{}
	for _, j := range extra {
		y := c.edited.symbols[j]
		for _, v := range []int{int(y.version), anyVersion} {
			id := identity{y.name, v}
			candidates[id] = append(candidates[id], j)
		}
	}
	paired := map[int]bool{}
	pair := func(i int, id identity) bool {
		for _, j := range candidates[id] {
			if !paired[j] {
				paired[j] = true
				c.editedClass[j] = c.stockClass[i]
				k.finding("symbol %d is %s, it should be %s", j, c.edited.describe(j), c.stock.describeAs(i, c.renamed(c.stock.symbols[i])))
				return true
			}
			candidates[id] = candidates[id][1:]
		}
		return false
	}
	var left []int
	for _, i := range missing {
		if y := c.renamed(c.stock.symbols[i]); !pair(i, identity{y.name, int(y.version)}) {
			left = append(left, i)
		}
	}
	for _, i := range left {
		if y := c.renamed(c.stock.symbols[i]); !pair(i, identity{y.name, anyVersion}) {
			k.finding("symbol %s is missing (stock symbol %d)", c.stock.describeAs(i, y), i)
		}
	}
	for _, j := range extra {
		if !paired[j] {
			k.finding("symbol %d, %s, is not in stock under the rename", j, c.edited.describe(j))
		}
	}
}

func (im *image) describe(i int) string { return im.describeAs(i, im.symbols[i]) }

func (im *image) describeAs(i int, y symbol) string {
	hidden := ""
	if y.version&versionHidden != 0 {
		hidden = " hidden"
	}
	return fmt.Sprintf("%q (%v %v other %#x section %#x value %#x size %#x version %d %q%s)", y.name, y.bind(), y.typ(), y.other,
		y.section, y.value, y.size, y.version&^versionHidden, im.nodes[y.version&^versionHidden].name, hidden)
}
