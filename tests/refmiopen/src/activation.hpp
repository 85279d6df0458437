#ifndef REFMIOPEN_ACTIVATION_HPP
#define REFMIOPEN_ACTIVATION_HPP

#include <miopen/miopen.h>

#include "errors.hpp"

namespace miopen {

// Holds any mode and any parameters: like the real one, it is looked at where it is used.
class MIOPEN_EXPORT ActivationDescriptor : public miopenActivationDescriptor {
public:
  miopenActivationMode_t mode = miopenActivationPASTHRU;
  double alpha = 0;
  double beta = 0;
  double gamma = 0;
};

inline ActivationDescriptor &deref(miopenActivationDescriptor_t descriptor) {
  if (descriptor == nullptr)
    Throw(miopenStatusBadParm, "the activation descriptor is null");
  return *static_cast<ActivationDescriptor *>(descriptor);
}

} // namespace miopen

#endif // REFMIOPEN_ACTIVATION_HPP
