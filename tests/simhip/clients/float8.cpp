// Runs one of MIOpen's 8-bit floating-point convolution kernels on operands from files.
//
// MIOpen compiles them (fp8_naive_conv.cpp), but 3.4.0 and 3.5.1 cannot launch them: their solvers
// ask the code object for naive_conv_ab_nonpacked_..., a name that it does not have, and would pass
// strides that the kernels do not take. So this program lets MIOpen's API compile the kernels,
// keeps the code object that MIOpen hands to HIP, says what MIOpen looked for in vain, and launches
// the kernel itself.
//
//     float8 DIRECTION TYPES CASTS GEOMETRY SEED FIRST SECOND RESULT
//
// DIRECTION  fwd, bwd or wrw
// TYPES      input,filter,output: float, half, bfloat16, fp8 or bf8
// CASTS      the same three: what elements are rounded to before they are multiplied, fp8 or bf8; -
// for none GEOMETRY   n,k,c,h,w,y,x,pad,stride,dilation,group; channels over all groups SEED of
// stochastic rounding, - for rounding to the nearest FIRST, SECOND  files with the operands, packed
// NCHW: input and filter, filter and output's gradient, or input and
//            output's gradient
// RESULT     file to write
//
// Ends with 0 once the result is written, with 1 and a reason on stderr when something fails, with
// 2 for usage.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <elf.h>

#define MIOPEN_BETA_API 1 // for miopenSetTensorCastType
#include <hip/hip_runtime_api.h>
#include <miopen/miopen.h>

namespace {

[[noreturn]] void fail(const std::string &why) {
  std::fprintf(stderr, "float8: %s\n", why.c_str());
  std::exit(1);
}

[[noreturn]] void usage(const std::string &why) {
  std::fprintf(stderr, "float8: %s\n", why.c_str());
  std::exit(2);
}

// MIOpen with all that it needs. Look-ups in it find HIP's functions, and not those that this
// program puts before them.
void *miopen() {
  static void *const library = dlopen("libMIOpen.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    fail(dlerror());
  return library;
}

template <typename Function> Function find(const char *name) {
  void *const symbol = dlsym(miopen(), name);
  if (symbol == nullptr)
    fail(dlerror());
  return reinterpret_cast<Function>(symbol);
}

#define CALL(function) find<decltype(&function)>(#function)

void hip(hipError_t error, const char *what) {
  if (error != hipSuccess)
    fail(std::string(what) + ": " + CALL(hipGetErrorName)(error));
}

void api(miopenStatus_t status, const char *what) {
  if (status != miopenStatusSuccess)
    fail(std::string(what) + ": " + CALL(miopenGetErrorString)(status));
}

// What MIOpen gave to HIP.
std::vector<char> code_object;
std::vector<std::string> missing; // kernels that it asked for and were not there

} // namespace

// These come before HIP's own, since they are the executable's.

extern "C" __attribute__((visibility("default"))) hipError_t hipModuleLoadData(hipModule_t *module,
                                                                               const void *image) {
  const auto *header = static_cast<const Elf64_Ehdr *>(image);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0) {
    // The section headers are the last thing in a code object.
    const std::size_t bytes = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
    const auto *first = static_cast<const char *>(image);
    code_object.assign(first, first + bytes);
  }
  return CALL(hipModuleLoadData)(module, image);
}

extern "C" __attribute__((visibility("default"))) hipError_t
hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  const hipError_t error = CALL(hipModuleGetFunction)(function, module, name);
  if (error == hipErrorNotFound)
    missing.emplace_back(name);
  return error;
}

namespace {

struct Type {
  const char *name;
  miopenDataType_t number;
  std::size_t bytes;
};

constexpr Type types[] = {
    {"float", miopenFloat, 4},     {"half", miopenHalf, 2},        {"bfloat16", miopenBFloat16, 2},
    {"fp8", miopenFloat8_fnuz, 1}, {"bf8", miopenBFloat8_fnuz, 1},
};

const Type *type_of(const std::string &name) {
  if (name == "-")
    return nullptr;
  for (const Type &type : types)
    if (name == type.name)
      return &type;
  usage("there is no type " + name);
}

std::vector<std::string> split(const std::string &list, std::size_t count) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');)
    parts.push_back(part);
  if (parts.size() != count)
    usage(list + " has not " + std::to_string(count) + " parts");
  return parts;
}

struct Geometry {
  int n, k, c, h, w, y, x, pad, stride, dilation, group;

  explicit Geometry(const std::string &text) {
    const std::vector<std::string> parts = split(text, 11);
    int *const fields[] = {&n, &k, &c, &h, &w, &y, &x, &pad, &stride, &dilation, &group};
    for (std::size_t i = 0; i < parts.size(); ++i)
      *fields[i] = std::stoi(parts[i]);
  }
  int height() const {
    return (h + 2 * pad - dilation * (y - 1) - 1) / stride + 1;
  }
  int width() const {
    return (w + 2 * pad - dilation * (x - 1) - 1) / stride + 1;
  }
};

miopenTensorDescriptor_t tensor(const Type &type, const Type *cast, std::vector<int> lengths) {
  miopenTensorDescriptor_t descriptor;
  api(CALL(miopenCreateTensorDescriptor)(&descriptor), "miopenCreateTensorDescriptor");
  api(CALL(miopenSet4dTensorDescriptor)(descriptor, type.number, lengths[0], lengths[1], lengths[2],
                                        lengths[3]),
      "miopenSet4dTensorDescriptor");
  if (cast != nullptr)
    api(CALL(miopenSetTensorCastType)(descriptor, cast->number), "miopenSetTensorCastType");
  return descriptor;
}

// Numbers of the naive solvers, which are part of MIOpen's databases and so never change.
constexpr std::uint64_t forward_solver = 85, backward_solver = 86, weights_solver = 87;

// An operand's or the result's memory on the device.
struct Buffer {
  void *address = nullptr;
  std::size_t bytes;

  explicit Buffer(std::size_t size) : bytes(size) {
    hip(find<hipError_t (*)(void **, std::size_t)>("hipMalloc")(&address, bytes), "hipMalloc");
  }
  void fill(const char *path) const {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    if (content.size() != bytes)
      fail(std::string(path) + " has " + std::to_string(content.size()) + " bytes, and not " +
           std::to_string(bytes));
    hip(CALL(hipMemcpy)(address, content.data(), bytes, hipMemcpyHostToDevice), "hipMemcpy");
  }
};

} // namespace

int main(int count, char **arguments) {
  if (count != 9)
    usage("DIRECTION TYPES CASTS GEOMETRY SEED FIRST SECOND RESULT");
  const std::string direction = arguments[1];
  if (direction != "fwd" && direction != "bwd" && direction != "wrw")
    usage("there is no direction " + direction);
  const Type *element[3], *cast[3];
  for (std::size_t i = 0; i < 3; ++i) {
    element[i] = type_of(split(arguments[2], 3)[i]);
    cast[i] = type_of(split(arguments[3], 3)[i]);
    if (element[i] == nullptr)
      usage("tensors have types");
  }
  const Geometry g(arguments[4]);
  const bool stochastic = std::string(arguments[5]) != "-";
  const std::uint32_t seed = stochastic ? std::stoul(arguments[5]) : 0;

  miopenHandle_t handle;
  api(CALL(miopenCreate)(&handle), "miopenCreate");
  const miopenTensorDescriptor_t in = tensor(*element[0], cast[0], {g.n, g.c, g.h, g.w}),
                                 filter =
                                     tensor(*element[1], cast[1], {g.k, g.c / g.group, g.y, g.x}),
                                 out = tensor(*element[2], cast[2],
                                              {g.n, g.k, g.height(), g.width()});
  miopenConvolutionDescriptor_t convolution;
  api(CALL(miopenCreateConvolutionDescriptor)(&convolution), "miopenCreateConvolutionDescriptor");
  api(CALL(miopenInitConvolutionDescriptor)(convolution, miopenConvolution, g.pad, g.pad, g.stride,
                                            g.stride, g.dilation, g.dilation),
      "miopenInitConvolutionDescriptor");
  api(CALL(miopenSetConvolutionGroupCount)(convolution, g.group), "miopenSetConvolutionGroupCount");

  miopenStatus_t status;
  if (direction == "fwd")
    status = CALL(miopenConvolutionForwardCompileSolution)(handle, filter, in, convolution, out,
                                                           forward_solver);
  else if (direction == "bwd")
    status = CALL(miopenConvolutionBackwardDataCompileSolution)(handle, out, filter, convolution,
                                                                in, backward_solver);
  else
    status = CALL(miopenConvolutionBackwardWeightsCompileSolution)(handle, out, in, convolution,
                                                                   filter, weights_solver);
  std::printf("MIOpen: %s\n", CALL(miopenGetErrorString)(status));
  for (const std::string &name : missing)
    std::printf("missing: %s\n", name.c_str());
  if (code_object.empty())
    fail("MIOpen loaded no code object");
  // The names differ in this part alone.
  const std::string wrong = "naive_conv_ab_nonpacked_", right = "naive_conv_nonpacked_";
  if (missing.size() != 1 || missing[0].compare(0, wrong.size(), wrong) != 0)
    fail("MIOpen asked for other kernels than a release that cannot launch these");
  const std::string name = right + missing[0].substr(wrong.size());

  hipModule_t module;
  hip(CALL(hipModuleLoadData)(&module, code_object.data()), "hipModuleLoadData");
  hipFunction_t kernel;
  hip(CALL(hipModuleGetFunction)(&kernel, module, name.c_str()), name.c_str());

  const auto bytes = [](const Type &type, int a, int b, int c, int d) {
    return type.bytes * static_cast<std::size_t>(a) * static_cast<std::size_t>(b) *
           static_cast<std::size_t>(c) * static_cast<std::size_t>(d);
  };
  Buffer buffers[] = {Buffer(bytes(*element[0], g.n, g.c, g.h, g.w)),
                      Buffer(bytes(*element[1], g.k, g.c / g.group, g.y, g.x)),
                      Buffer(bytes(*element[2], g.n, g.k, g.height(), g.width()))};
  const std::size_t result = direction == "fwd" ? 2 : direction == "bwd" ? 0 : 1;
  const char *const files[] = {arguments[6], arguments[7]};
  std::size_t next = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (i != result)
      buffers[i].fill(files[next++]);
  // A kernel that writes nothing leaves what no case expects.
  hip(CALL(hipMemset)(buffers[result].address, 0xff, buffers[result].bytes), "hipMemset");

  struct {
    void *in, *filter, *out;
    std::int32_t hi, wi, n, k_per_group, c_per_group, ho, wo, sy, sx, dy, dx, py, px, fy, fx, group;
    bool stochastic;
    std::uint32_t seed;
  } parameters = {buffers[0].address,
                  buffers[1].address,
                  buffers[2].address,
                  g.h,
                  g.w,
                  g.n,
                  g.k / g.group,
                  g.c / g.group,
                  g.height(),
                  g.width(),
                  g.stride,
                  g.stride,
                  g.dilation,
                  g.dilation,
                  g.pad,
                  g.pad,
                  g.y,
                  g.x,
                  g.group,
                  stochastic,
                  seed};
  std::size_t size = sizeof parameters;
  void *packed[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &parameters, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                    &size, HIP_LAUNCH_PARAM_END};
  // As the kernels' comments say: a work-group for each image and channel of the result.
  const int groups = direction == "fwd" ? g.n * g.k : direction == "bwd" ? g.n * g.c : g.k;
  hip(CALL(hipModuleLaunchKernel)(kernel, static_cast<unsigned>(groups), 1, 1, 256, 1, 1, 0,
                                  nullptr, nullptr, packed),
      "hipModuleLaunchKernel");
  hip(CALL(hipDeviceSynchronize)(), "hipDeviceSynchronize");
  std::vector<char> content(buffers[result].bytes);
  hip(CALL(hipMemcpy)(content.data(), buffers[result].address, content.size(),
                      hipMemcpyDeviceToHost),
      "hipMemcpy");
  std::ofstream file(arguments[8], std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file)
    fail(std::string("cannot write ") + arguments[8]);
  std::printf("launched: %s\n", name.c_str());

  for (const Buffer &buffer : buffers)
    hip(CALL(hipFree)(buffer.address), "hipFree");
  hip(CALL(hipModuleUnload)(module), "hipModuleUnload");
  CALL(miopenDestroyConvolutionDescriptor)(convolution);
  for (const miopenTensorDescriptor_t descriptor : {in, filter, out})
    CALL(miopenDestroyTensorDescriptor)(descriptor);
  CALL(miopenDestroy)(handle);
}
