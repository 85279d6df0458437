// A code object as the compiler would make it, without code: an ELF file with the metadata of a few
// kernels.
//
// naive is one of MIOpen's naive convolution kernels, which simhip executes by its name; any other
// name is one that nobody knows.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace client {

constexpr const char *naive = "naive_conv_ab_packed_fwd_nchw_float_double_float";

struct Parameter {
  std::size_t size;
  bool pointer;
};

struct KernelText {
  std::string name;
  std::vector<Parameter> parameters;
};

// MessagePack, as far as the metadata needs it.
class Pack {
public:
  void map(unsigned count) {
    out += static_cast<char>(0xde);
    big(count, 2);
  }
  void array(unsigned count) {
    out += static_cast<char>(0xdc);
    big(count, 2);
  }
  void number(std::uint64_t value) {
    out += static_cast<char>(0xcf);
    big(value, 8);
  }
  void text(const std::string &value) {
    out += static_cast<char>(0xda);
    big(value.size(), 2);
    out += value;
  }
  std::string out;

private:
  void big(std::uint64_t value, int bytes) {
    while (bytes-- > 0) {
      out += static_cast<char>(value >> (8 * bytes));
    }
  }
};

inline std::string metadata(const std::vector<KernelText> &kernels, const std::string &processor) {
  Pack p;
  p.map(3);
  p.text("amdhsa.kernels");
  p.array(static_cast<unsigned>(kernels.size()));
  for (const KernelText &kernel : kernels) {
    std::size_t bytes = 0;
    p.map(7);
    p.text(".args");
    p.array(static_cast<unsigned>(kernel.parameters.size()));
    for (const Parameter &parameter : kernel.parameters) {
      p.map(3);
      p.text(".offset");
      p.number(bytes);
      p.text(".size");
      p.number(parameter.size);
      p.text(".value_kind");
      p.text(parameter.pointer ? "global_buffer" : "by_value");
      bytes += parameter.size;
    }
    p.text(".group_segment_fixed_size");
    p.number(0);
    p.text(".kernarg_segment_size");
    p.number(bytes);
    p.text(".name");
    p.text(kernel.name);
    p.text(".private_segment_fixed_size");
    p.number(0);
    p.text(".symbol");
    p.text(kernel.name + ".kd");
    p.text(".wavefront_size");
    p.number(64);
  }
  p.text("amdhsa.target");
  p.text("amdgcn-amd-amdhsa--" + processor);
  p.text("amdhsa.version");
  p.array(2);
  p.number(1);
  p.number(2);
  return p.out;
}

// The image. ELF64, little endian, machine 224 (AMDGPU), e_flags 0x4c for gfx942, one PT_NOTE.
inline std::vector<char> image(const std::vector<KernelText> &kernels,
                               const std::string &processor = "gfx942") {
  std::string note = metadata(kernels, processor);
  std::vector<char> file;
  auto put = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) {
      file.push_back(static_cast<char>(value >> (8 * i)));
    }
  };
  const unsigned char identity[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 4};
  file.insert(file.end(), identity, identity + 16);
  put(3, 2);
  put(224, 2);
  put(1, 4);
  put(0, 8);
  put(64, 8);
  put(0, 8);
  put(0xe4c, 4);
  put(64, 2);
  put(56, 2);
  put(1, 2);
  put(64, 2);
  put(0, 2);
  put(0, 2);
  std::size_t padded = (note.size() + 3) / 4 * 4, size = 12 + 8 + padded;
  put(4, 4);
  put(4, 4);
  for (int i = 0; i < 3; i++) {
    put(120, 8);
  }
  put(size, 8);
  put(size, 8);
  put(4, 8);
  put(7, 4);
  put(note.size(), 4);
  put(32, 4);
  file.insert(file.end(), {'A', 'M', 'D', 'G', 'P', 'U', '\0', '\0'});
  file.insert(file.end(), note.begin(), note.end());
  file.resize(120 + size);
  return file;
}

inline KernelText naiveText() {
  KernelText kernel{naive,
                    {{8, true},
                     {8, true},
                     {8, false},
                     {8, false},
                     {8, true},
                     {40, false},
                     {40, false},
                     {40, false}}};
  for (int i = 0; i < 16; i++) {
    kernel.parameters.push_back({4, false});
  }
  return kernel;
}

// Arguments of naive for a 1x1 convolution of one channel: output[i] = weight[0] * input[i], for i
// below height * width.
struct NaiveArguments {
  const void *input, *weights;
  double alpha = 1, beta = 0;
  void *output;
  std::uint64_t strides[15] = {};
  std::uint32_t hi, wi, n = 1, k = 1, c = 1, ho, wo, sy = 1, sx = 1, dy = 1, dx = 1, py = 0, px = 0,
                        fy = 1, fx = 1, groups = 1;

  NaiveArguments(const void *in, const void *filter, void *out, std::uint32_t height,
                 std::uint32_t width)
      : input(in), weights(filter), output(out), hi(height), wi(width), ho(height), wo(width) {}
};
static_assert(sizeof(NaiveArguments) == 40 + 120 + 64, "as the kernel's metadata says");

} // namespace client
