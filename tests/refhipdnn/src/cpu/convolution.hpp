#pragma once

// Convolutions on dense arrays of doubles, in two independent ways.

#include "graph.hpp"

#include <string>

namespace refhipdnn::cpu {

// A convolution's geometry, padded to three spatial dimensions by leading ones.
struct Geometry {
  int64_t images, groups;
  int64_t channels, filters; // per group: input channels, output channels
  int64_t in[3], taps[3], out[3];
  int64_t pad[3]; // before
  int64_t stride[3], dilation[3];
  bool flipped; // a true convolution: the filter is read backwards
};

// Works out the geometry, or says in why what does not fit together and returns false.
bool geometry(const Convolution &c, const Tensor &image, const Tensor &filter, const Tensor &output,
              Geometry &g, std::string &why);

// How many products the convolution has.
double products(const Geometry &g);

// Computes one of the three arrays from the other two, all in lexical order of N C D H W. threads
// is at least 1.
void direct(ConvKind kind, const Geometry &g, double *image, double *filter, double *output,
            int threads);

// The same element by element, in a fixed order, in one thread.
void deterministic(ConvKind kind, const Geometry &g, double *image, double *filter, double *output);

} // namespace refhipdnn::cpu
