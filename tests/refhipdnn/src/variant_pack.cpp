// Source of the checks: VariantDescriptor.cpp @ 1baaed48. Shapes given at execution are not
// implemented, for no engine here takes them.

#include "descriptors.hpp"

namespace refhipdnn {

void VariantPackDescriptor::do_finalize() {
  if (uids_.size() != pointers_.size()) {
    bad(std::to_string(uids_.size()) + " unique ids and " + std::to_string(pointers_.size()) +
        " data pointers");
  }
  want(!uids_.empty(), "UNIQUE_IDS and DATA_POINTERS");
  buffers_.clear();
  for (size_t i = 0; i < uids_.size(); i++) {
    buffers_.push_back({uids_[i], pointers_[i]});
  }
}

void VariantPackDescriptor::do_set(const Set &call) {
  if (call.elements == nullptr) {
    call.fail(HIPDNN_STATUS_BAD_PARAM_NULL_POINTER, "the elements are null");
  }
  switch (call.name) {
  case HIPDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
    uids_ = call.vector<int64_t>(HIPDNN_TYPE_INT64);
    return;
  case HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
    call.is(HIPDNN_TYPE_VOID_PTR);
    if (call.count < 0) {
      call.fail(HIPDNN_STATUS_BAD_PARAM, "a negative count");
    }
    pointers_.assign(static_cast<void *const *>(call.elements),
                     static_cast<void *const *>(call.elements) + call.count);
    return;
  case HIPDNN_ATTR_VARIANT_PACK_WORKSPACE:
    workspace_ = call.scalar<void *>(HIPDNN_TYPE_VOID_PTR);
    return;
  default:
    call.unsupported();
  }
}

void VariantPackDescriptor::do_get(const Get &call) const {
  call.pointer();
  switch (call.name) {
  case HIPDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
    call.vector(HIPDNN_TYPE_INT64, uids_);
    return;
  case HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
    call.vector(HIPDNN_TYPE_VOID_PTR, pointers_);
    return;
  case HIPDNN_ATTR_VARIANT_PACK_WORKSPACE:
    call.exactly(HIPDNN_TYPE_VOID_PTR, workspace_);
    return;
  default:
    call.unsupported();
  }
}

std::shared_ptr<Descriptor> make_variant_pack() {
  return std::make_shared<VariantPackDescriptor>();
}

} // namespace refhipdnn
