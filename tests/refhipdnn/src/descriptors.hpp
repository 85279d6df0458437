#pragma once

// The descriptors, each in a file of its own: what one needs of another.

#include "descriptor.hpp"
#include "engines.hpp"
#include "handle.hpp"

namespace refhipdnn {

class TensorDescriptor : public Descriptor {
public:
  TensorDescriptor() : Descriptor(Kind::Tensor) {}
  const Tensor &value() const {
    return tensor_;
  }
  static std::shared_ptr<TensorDescriptor> of(Tensor tensor); // finalised

protected:
  bool once() const override {
    return false;
  }
  void do_finalize() override;
  void do_set(const Set &call) override;
  void do_get(const Get &call) const override;

private:
  void set_value(const Set &call);

  Tensor tensor_;
};

// An operation: a node of a graph and the tensors that it names.
class OperationDescriptor : public Descriptor {
public:
  using Descriptor::Descriptor;
  virtual Node node() const = 0;
  // In the order in which they enter the graph. Distinct by identity, not by uid.
  virtual std::vector<std::shared_ptr<TensorDescriptor>> tensors() const = 0;

protected:
  bool once() const override {
    return false;
  }
};

// The operation of a node, with its tensors; not finalised. Absent inputs are null.
std::shared_ptr<OperationDescriptor> convolution_of(const Node &node,
                                                    std::shared_ptr<TensorDescriptor> image,
                                                    std::shared_ptr<TensorDescriptor> filter,
                                                    std::shared_ptr<TensorDescriptor> output);
std::shared_ptr<OperationDescriptor> pointwise_of(const Node &node,
                                                  std::shared_ptr<TensorDescriptor> in_0,
                                                  std::shared_ptr<TensorDescriptor> in_1,
                                                  std::shared_ptr<TensorDescriptor> in_2,
                                                  std::shared_ptr<TensorDescriptor> out_0);

class GraphDescriptor : public Descriptor {
public:
  GraphDescriptor() : Descriptor(Kind::Graph) {}
  // Of a finalised graph.
  const Graph &value() const {
    return graph_;
  }
  const Bytes &bytes() const {
    return bytes_;
  }
  // The handle, which has to be alive.
  Handle &handle() const;
  // The bytes before or after it is finalised.
  Bytes serialize();
  static std::shared_ptr<GraphDescriptor> of(const Graph &graph); // not finalised

protected:
  bool once() const override {
    return false;
  }
  bool readable() const override {
    return true;
  }
  void do_finalize() override;
  void do_set(const Set &call) override;
  void do_get(const Get &call) const override;

private:
  void build();
  void set_operations(const Set &call);

  hipdnnHandle_t handle_ = nullptr;
  std::vector<std::shared_ptr<OperationDescriptor>> operations_;
  Graph graph_; // tensors and nodes only after build
  Bytes bytes_;
};

class EngineDescriptor : public Descriptor {
public:
  EngineDescriptor() : Descriptor(Kind::Engine) {}
  static std::shared_ptr<EngineDescriptor> of(std::shared_ptr<GraphDescriptor> graph, int64_t id);
  int64_t id() const {
    return *id_;
  }
  const std::shared_ptr<GraphDescriptor> &graph() const {
    return graph_;
  }

protected:
  void do_finalize() override;
  void do_set(const Set &call) override;
  void do_get(const Get &call) const override;

private:
  std::shared_ptr<GraphDescriptor> graph_;
  std::optional<int64_t> id_;
  EngineDetails details_;
  std::string name_;
};

class KnobChoiceDescriptor : public Descriptor {
public:
  KnobChoiceDescriptor() : Descriptor(Kind::KnobChoice) {}
  const std::string &knob() const {
    return knob_;
  }
  const KnobValue &value() const {
    return *value_;
  }

protected:
  void do_finalize() override;
  void do_set(const Set &call) override;
  void do_get(const Get &call) const override;

private:
  std::string knob_;
  std::optional<KnobValue> value_;
};

class EngineConfigDescriptor : public Descriptor {
public:
  EngineConfigDescriptor() : Descriptor(Kind::EngineConfig) {}
  // What heuristics do with the configuration that the client passed in.
  void take_engine(std::shared_ptr<EngineDescriptor> engine);
  const std::shared_ptr<EngineDescriptor> &engine() const {
    return engine_;
  }
  Bytes bytes() const {
    return wire::encode(config_);
  }

protected:
  void do_finalize() override;
  void do_set(const Set &call) override;
  void do_get(const Get &call) const override;

private:
  std::shared_ptr<EngineDescriptor> engine_;
  EngineConfig config_;
  int64_t workspace_ = 0;
};

class VariantPackDescriptor : public Descriptor {
public:
  VariantPackDescriptor() : Descriptor(Kind::VariantPack) {}
  const std::vector<DeviceBuffer> &buffers() const {
    return buffers_;
  }
  void *workspace() const {
    return workspace_;
  }

protected:
  bool once() const override {
    return false;
  }
  void do_finalize() override;
  void do_set(const Set &call) override;
  void do_get(const Get &call) const override;

private:
  std::vector<int64_t> uids_;
  std::vector<void *> pointers_;
  void *workspace_ = nullptr;
  std::vector<DeviceBuffer> buffers_;
};

class PlanDescriptor : public Descriptor {
public:
  PlanDescriptor() : Descriptor(Kind::Plan) {}
  void execute(Handle &handle, const VariantPackDescriptor &pack) const;
  Bytes serialize() const;
  static std::shared_ptr<PlanDescriptor> restore(Handle &handle, const Bytes &bytes); // finalised

protected:
  void do_finalize() override;
  void do_set(const Set &call) override;
  void do_get(const Get &call) const override;

private:
  void take(Handle &handle, int64_t engine);

  std::shared_ptr<EngineConfigDescriptor> config_; // null in a plan that was deserialised
  // Shared with the handle: a plan outlives its handle only to be destroyed.
  std::shared_ptr<Engines> engines_;
  std::shared_ptr<ExecutionContext> context_;
  int64_t engine_ = 0;
  bool override_shapes_ = false;
  std::vector<int64_t> uids_;
  std::vector<int64_t> alignments_;
};

std::shared_ptr<Descriptor> make_tensor();
std::shared_ptr<Descriptor> make_convolution(ConvKind kind);
std::shared_ptr<Descriptor> make_pointwise();
std::shared_ptr<Descriptor> make_graph();
std::shared_ptr<Descriptor> make_heuristics();
std::shared_ptr<Descriptor> make_engine();
std::shared_ptr<Descriptor> make_engine_config();
std::shared_ptr<Descriptor> make_knob_choice();
std::shared_ptr<Descriptor> make_knob_info(); // empty: only engines hand out useful ones
std::shared_ptr<Descriptor> knob_info_of(const Knob &knob);
std::shared_ptr<Descriptor> make_plan();
std::shared_ptr<Descriptor> make_variant_pack();

} // namespace refhipdnn
