// Entry points for activation descriptors.
#include <miopen/miopen.h>

#include "activation.hpp"
#include "errors.hpp"

using miopen::ActivationDescriptor;
using miopen::deref;
using miopen::Try;

extern "C" {

MIOPEN_EXPORT miopenStatus_t
miopenCreateActivationDescriptor(miopenActivationDescriptor_t *activDesc) {
  return Try(__func__, [&] {
    auto &created = deref(activDesc); // first: an assignment would allocate before it looks at this
    created = new ActivationDescriptor();
  });
}

MIOPEN_EXPORT miopenStatus_t
miopenDestroyActivationDescriptor(miopenActivationDescriptor_t activDesc) {
  return Try(__func__, [&] { delete static_cast<ActivationDescriptor *>(activDesc); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetActivationDescriptor(
    const miopenActivationDescriptor_t activDesc, miopenActivationMode_t mode, double activAlpha,
    double activBeta, double activGamma) {
  return Try(__func__, [&] {
    ActivationDescriptor &d = deref(activDesc);
    d.mode = mode;
    d.alpha = activAlpha;
    d.beta = activBeta;
    d.gamma = activGamma;
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetActivationDescriptor(
    const miopenActivationDescriptor_t activDesc, miopenActivationMode_t *mode, double *activAlpha,
    double *activBeta, double *activGamma) {
  return Try(__func__, [&] {
    const ActivationDescriptor &d = deref(activDesc);
    deref(mode) = d.mode;
    deref(activAlpha) = d.alpha;
    deref(activBeta) = d.beta;
    deref(activGamma) = d.gamma;
  });
}

} // extern "C"
