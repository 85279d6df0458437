package wire

// EngineConfig is a choice of engine and of its knobs (engine_config.fbs).
type EngineConfig struct {
	EngineID      int64
	Knobs         []KnobSetting
	RankingMetric string
}

// KnobSetting is the value that a knob is to have.
type KnobSetting struct {
	KnobID string // the name: here an id is text
	Value  KnobValue
}

// EngineDetails is what an engine says of itself for a graph (engine_details.fbs).
type EngineDetails struct {
	EngineID int64
	Knobs    []Knob
	// BehaviorNotes are numbers of hipdnnBackendBehaviorNote_t.
	BehaviorNotes []int32
	Name          string
	CandidatePage *CandidatePage
}

// Knob describes a knob.
type Knob struct {
	ID          int64  // FNV-1a-64 of Name
	Name        string // knob_id_str
	Description string
	// ValueType is any value of the knob's type.
	ValueType    KnobValue
	DefaultValue KnobValue
	Constraints  KnobConstraint
	Deprecated   bool
}

// KnobValue is a member of the union of that name: IntValue, FloatValue or StringValue; nil if there is none.
type KnobValue interface{ knobValue() }

// The members of KnobValue.
type (
	IntValue    int64
	FloatValue  float64
	StringValue string
)

// KnobConstraint is a member of the union of that name: *IntConstraint, *FloatConstraint or *StringConstraint; nil
// if there is none.
type KnobConstraint interface{ knobConstraint() }

// IntConstraint allows the values from Min to Max in steps, or those listed. An absent step reads as 1.
type IntConstraint struct {
	Min, Max, Step int64
	Valid          []int64
}

// FloatConstraint allows the values from Min to Max, or those listed.
type FloatConstraint struct {
	Min, Max float64
	Valid    []float64
}

// StringConstraint allows strings of up to MaxLength bytes, or those listed.
type StringConstraint struct {
	MaxLength int32
	Valid     []string
}

// CandidatePage is a part of the list of the kernels that an engine could use.
type CandidatePage struct {
	GraphID, DeviceID, DeviceArch   string // required, as the next two
	ProblemFeatures, DeviceFeatures string
	TotalCount, Offset              uint64
	Candidates                      []Candidate
	EngineName, EngineDescriptorID  string
}

// Candidate is one of them. ID and KernelFeatures are required.
type Candidate struct {
	ID             string
	KnobSettings   []KnobSetting
	KernelFeatures string
}

func (IntValue) knobValue()    {}
func (FloatValue) knobValue()  {}
func (StringValue) knobValue() {}

func (*IntConstraint) knobConstraint()    {}
func (*FloatConstraint) knobConstraint()  {}
func (*StringConstraint) knobConstraint() {}
