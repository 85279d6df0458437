package dynobj

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

const (
	verFlagBase = 1
	verFlagWeak = 2
	// versymHidden marks a version that is not the default one of its name.
	versymHidden = 0x8000
	verdefSize   = 20
	verdauxSize  = 8
	verneedSize  = 16
	vernauxSize  = 16
)

// versionIndex is what one index of DT_VERSYM stands for.
type versionIndex struct {
	node string
	from string // the needed file; empty for a definition
}

// loadVersions reads DT_VERDEF, DT_VERNEED and DT_VERSYM and gives every symbol its node.
func (o *Object) loadVersions() error {
	indices := map[uint16]versionIndex{}
	if err := o.loadVerdef(indices); err != nil {
		return err
	}
	if err := o.loadVerneed(indices); err != nil {
		return err
	}
	addr, ok := o.Tag(elf.DT_VERSYM)
	if !ok {
		return nil
	}
	raw, err := o.Contents("DT_VERSYM", addr, uint64(len(o.Symbols))*2)
	if err != nil {
		return err
	}
	for i := range o.Symbols {
		word := binary.LittleEndian.Uint16(raw[i*2:])
		index := word &^ versymHidden
		s := &o.Symbols[i]
		s.Hidden = word&versymHidden != 0
		if index <= 1 { // VER_NDX_LOCAL, VER_NDX_GLOBAL: no node
			continue
		}
		v, ok := indices[index]
		if !ok {
			return o.errorf("DT_VERSYM", -1, "symbol %d (%s) has version index %d, which nothing defines", i, s.Name, index)
		}
		s.Node, s.From = v.node, v.from
	}
	return nil
}

func (o *Object) loadVerdef(indices map[uint16]versionIndex) error {
	budget := o.Size / verdauxSize
	return o.eachRecord(elf.DT_VERDEF, elf.DT_VERDEFNUM, verdefSize, func(addr uint64, rec []byte) (uint32, error) {
		flags := binary.LittleEndian.Uint16(rec[2:])
		index := binary.LittleEndian.Uint16(rec[4:])
		count := binary.LittleEndian.Uint16(rec[6:])
		var names []string
		err := o.eachAux("DT_VERDEF", addr+uint64(binary.LittleEndian.Uint32(rec[12:])), count, verdauxSize, &budget,
			func(aux []byte) (uint32, error) {
				name, err := o.str("DT_VERDEF", uint64(binary.LittleEndian.Uint32(aux)))
				names = append(names, name)
				return binary.LittleEndian.Uint32(aux[4:]), err
			})
		if err != nil {
			return 0, err
		}
		if len(names) == 0 {
			return 0, o.errorf("DT_VERDEF", -1, "version index %d has no name", index)
		}
		if flags&verFlagBase == 0 {
			o.VersionDefs = append(o.VersionDefs, VersionDef{Name: names[0], Parents: names[1:], Weak: flags&verFlagWeak != 0})
			indices[index] = versionIndex{node: names[0]}
		}
		return binary.LittleEndian.Uint32(rec[16:]), nil
	})
}

func (o *Object) loadVerneed(indices map[uint16]versionIndex) error {
	budget := o.Size / vernauxSize
	return o.eachRecord(elf.DT_VERNEED, elf.DT_VERNEEDNUM, verneedSize, func(addr uint64, rec []byte) (uint32, error) {
		file, err := o.str("DT_VERNEED", uint64(binary.LittleEndian.Uint32(rec[4:])))
		if err != nil {
			return 0, err
		}
		need := VersionNeed{File: file}
		err = o.eachAux("DT_VERNEED", addr+uint64(binary.LittleEndian.Uint32(rec[8:])), binary.LittleEndian.Uint16(rec[2:]),
			vernauxSize, &budget, func(aux []byte) (uint32, error) {
				node, err := o.str("DT_VERNEED", uint64(binary.LittleEndian.Uint32(aux[8:])))
				need.Nodes = append(need.Nodes, NeededNode{
					Name: node, Weak: binary.LittleEndian.Uint16(aux[4:])&verFlagWeak != 0,
				})
				indices[binary.LittleEndian.Uint16(aux[6:])&^versymHidden] = versionIndex{node: node, from: file}
				return binary.LittleEndian.Uint32(aux[12:]), err
			})
		o.VersionNeeds = append(o.VersionNeeds, need)
		return binary.LittleEndian.Uint32(rec[12:]), err
	})
}

// eachRecord walks a linked list of fixed-size records. f returns the distance to the next record, 0 at the end. The
// count that the dynamic section states bounds the walk, so a list that loops ends.
func (o *Object) eachRecord(table, number elf.DynTag, size uint64, f func(addr uint64, rec []byte) (uint32, error)) error {
	addr, ok := o.Tag(table)
	if !ok {
		return nil
	}
	count, ok := o.Tag(number)
	if !ok {
		return o.errorf("PT_DYNAMIC", -1, "%v without %v", table, number)
	}
	if count > uint64(o.Size)/size {
		return o.errorf(table.String(), -1, "%d records do not fit a file of %d bytes", count, o.Size)
	}
	for i := range count {
		rec, err := o.Contents(table.String(), addr, size)
		if err != nil {
			return err
		}
		next, err := f(addr, rec)
		if err != nil {
			return err
		}
		if next == 0 {
			if i+1 != count {
				return o.errorf(table.String(), -1, "the list ends after %d of %d records", i+1, count)
			}
			return nil
		}
		addr += uint64(next)
	}
	return nil
}

// eachAux walks the auxiliary list of one record, like eachRecord. budget is what the lists of all records may still
// hold together: as many entries as fit the file, so that lists that share entries do not multiply the work.
func (o *Object) eachAux(structure string, addr uint64, count uint16, size uint64, budget *int64, f func(aux []byte) (uint32, error)) error {
	if *budget -= int64(count); *budget < 0 {
		return o.errorf(structure, -1, "its lists have more entries than fit a file of %d bytes", o.Size)
	}
	for i := range count {
		aux, err := o.Contents(fmt.Sprintf("%s entry %d", structure, i), addr, size)
		if err != nil {
			return err
		}
		next, err := f(aux)
		if err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		addr += uint64(next)
	}
	return nil
}
