// The kernels of the two backward directions, for floating types; conv_kernel.hpp says what each
// name means.
#ifndef REFMIOPEN_CONV_BACKWARD_HPP
#define REFMIOPEN_CONV_BACKWARD_HPP

#include "conv_kernel.hpp"

namespace miopen {

void BackwardDataDirect(const ConvGeometry &geometry, const ConvBuffers &buffers);
void BackwardDataGemm(const ConvGeometry &geometry, const ConvBuffers &buffers, void *columns);
void BackwardWeightsDirect(const ConvGeometry &geometry, const ConvBuffers &buffers);
void BackwardWeightsGemm(const ConvGeometry &geometry, const ConvBuffers &buffers, void *workspace);

// Bytes of a sum over elements of the given type.
std::size_t SumSize(miopenDataType_t type);

} // namespace miopen

#endif // REFMIOPEN_CONV_BACKWARD_HPP
