package trace

// The layout of a trace file. All numbers are little endian; offsets and sizes are in bytes.
//
// The header fills the first page, and the names of the functions follow it, each ended by a NUL, padded to a page. Then
// come the rings, each a page of its own header and its records. The record of call n is in place n modulo the capacity,
// and its first word, n+1, is written last; 0 marks a place that is empty or being written.
const (
	magic = "MIOTRC02"

	pageBytes   = 4096
	recordBytes = 32

	headerBytesAt   = 8  // u32: header and names, a multiple of the page; the offset of ring 0
	recordBytesAt   = 12 // u32: recordBytes
	capacityAt      = 16 // u32: records in a ring, a power of two
	strideAt        = 20 // u32: from one ring to the next
	pidAt           = 24 // u32
	parentAt        = 28 // u32
	sourceAt        = 32 // u32: a Source
	functionCountAt = 36 // u32
	startClockAt    = 40 // u64: the clock that calls carry, when the file was made
	startNanosAt    = 48 // u64: CLOCK_BOOTTIME at the same moment
	lastClockAt     = 56 // u64: the same pair again, when the last ring was opened or at exit; zero when never
	lastNanosAt     = 64 // u64
	realtimeAt      = 72 // u64: CLOCK_REALTIME when the file was made
	namesAt         = 80 // u32: offset of the names
	namesBytesAt    = 84 // u32
	ringsOpenedAt   = 88 // u64: places given to threads, also those for which no ring could be made
	commandAt       = 96 // commandBytes, padded with NULs
	commandBytes    = 16
	ringsLostAt     = 112 // u64: threads without a ring
	callsLostAt     = 120 // u64: calls of all threads without a ring
	beyondAt        = 128 // u64: threads without a ring because the file had as many as it may have
	headerEnd       = 136

	ringThreadAt = 0 // u32
	ringNextAt   = 8 // u64: sequence number of the thread's next call; counted before the record is written
	ringFieldEnd = 16

	recordSequenceAt = 0  // u64: sequence number plus one
	recordClockAt    = 8  // u64
	recordFunctionAt = 16 // u32
	recordFlagsAt    = 20 // u32
	recordDurationAt = 24 // u64

	flagReturned = 1 // the duration is valid
	flagOpen     = 2 // the call has not returned
)

// Bounds on what a header may ask for. The wrapper's own values are far below: 64 Ki records in a ring, 1024
// rings, some 300 functions. They keep a damaged header from making the reader busy or large.
const (
	maxCapacity    = 1 << 20
	maxHeaderBytes = 1 << 24
	maxFunctions   = 1 << 16
	maxRings       = 1 << 16
	maxDamage      = 16 // entries of Process.Damage
)
