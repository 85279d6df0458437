// An application for the tests of simhip: each scenario is a function, and its name the argument.
// What a scenario is about to find out it checks itself; status 1 and a line on stdout say what was
// otherwise. What simhip has to say about it, on stderr and in its report, is checked by
// simhip_test.go, which also sets the environment:
// SIMHIP_DURATION=slow=50000,brief=2000,long=1000000,endless=3600000000.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <hip/hip_runtime_api.h>

#include "codeobject.hpp"

namespace {

[[noreturn]] void fail(int line, const std::string &what) {
  std::printf("line %d: %s\n", line, what.c_str());
  std::fflush(stdout);
  _exit(1);
}

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition))                                                                              \
      fail(__LINE__, #condition);                                                                  \
  } while (0)

#define GIVES(expected, call)                                                                      \
  do {                                                                                             \
    hipError_t result_ = (call);                                                                   \
    if (result_ != (expected))                                                                     \
      fail(__LINE__,                                                                               \
           std::string(#call " gives ") + hipGetErrorName(result_) + ", not " #expected);          \
  } while (0)

#define OK(call) GIVES(hipSuccess, call)

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

template <typename T = char> T *deviceMemory(std::size_t count) {
  void *p = nullptr;
  OK(hipMalloc(&p, count * sizeof(T)));
  return static_cast<T *>(p);
}

template <typename T = char> T *pinnedMemory(std::size_t count) {
  void *p = nullptr;
  OK(hipHostMalloc(&p, count * sizeof(T), hipHostMallocDefault));
  return static_cast<T *>(p);
}

hipStream_t stream(unsigned flags = hipStreamDefault) {
  hipStream_t s = nullptr;
  OK(hipStreamCreateWithFlags(&s, flags));
  return s;
}

hipEvent_t event(unsigned flags = hipEventDefault) {
  hipEvent_t e = nullptr;
  OK(hipEventCreateWithFlags(&e, flags));
  return e;
}

hipFunction_t kernel(const std::string &name) {
  static hipModule_t module = nullptr;
  if (module == nullptr) {
    std::vector<char> code = client::image({{"slow", {{8, true}}},
                                            {"long", {{8, true}}},
                                            {"endless", {{8, true}}},
                                            {"brief", {{8, true}}},
                                            {"unknown", {{8, true}, {4, false}}},
                                            client::naiveText()});
    OK(hipModuleLoadData(&module, code.data()));
  }
  hipFunction_t function = nullptr;
  OK(hipModuleGetFunction(&function, module, name.c_str()));
  return function;
}

// A kernel that does nothing, for as long as SIMHIP_DURATION says.
void run(const std::string &name, hipStream_t s) {
  void *nothing = nullptr;
  int number = 0;
  void *parameters[] = {&nothing, &number};
  OK(hipModuleLaunchKernel(kernel(name), 1, 1, 1, 64, 1, 1, 0, s, parameters, nullptr));
}

// output[i] = weight[0] * input[i], executed.
hipError_t scale(const float *input, const float *weight, float *output, std::uint32_t count,
                 hipStream_t s) {
  client::NaiveArguments arguments(input, weight, output, 1, count);
  std::size_t size = sizeof arguments;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  return hipExtModuleLaunchKernel(kernel(client::naive), 256, 1, 1, 256, 1, 1, 0, s, nullptr,
                                  extra);
}

float elapsed(hipEvent_t from, hipEvent_t to) {
  float milliseconds = -1;
  OK(hipEventElapsedTime(&milliseconds, from, to));
  return milliseconds;
}

bool within(double milliseconds, double expected) {
  return std::abs(milliseconds - expected) <= 0.05 * expected + 0.005;
}

// Whether attempt, which this thread may be too slow for when the machine has much else to do,
// succeeds once.
template <typename Attempt> bool once(Attempt attempt) {
  for (int i = 0; i < 20; i++) {
    if (attempt()) {
      return true;
    }
  }
  return false;
}

// ---- streams, events, host functions

void ordering() {
  hipStream_t s = stream(hipStreamNonBlocking);
  auto *d = deviceMemory(4096);
  auto *h = pinnedMemory(4096);
  for (int round = 0; round < 50; round++) {
    OK(hipMemsetAsync(d, 1, 4096, s));
    run("brief", s);
    OK(hipMemsetAsync(d + 100, 2, 1000, s));
    OK(hipMemcpyAsync(d + 2000, d + 50, 1000, hipMemcpyDeviceToDevice, s));
    OK(hipMemcpyAsync(h, d, 4096, hipMemcpyDeviceToHost, s));
    OK(hipMemsetAsync(d, 3, 4096, s));
    OK(hipStreamSynchronize(s));
    for (int i = 0; i < 4096; i++) {
      bool second = (i >= 100 && i < 1100) || (i >= 2050 && i < 3000);
      CHECK(h[i] == (second ? 2 : 1));
    }
  }
  OK(hipStreamDestroy(s));
  OK(hipFree(d));
  OK(hipHostFree(h));
}

void async() {
  hipStream_t s = stream();
  kernel("slow");
  CHECK(once([&] {
    auto start = Clock::now();
    run("slow", s);
    double launched = millisecondsSince(start);
    bool busy = hipStreamQuery(s) == hipErrorNotReady;
    OK(hipGetLastError());
    OK(hipStreamSynchronize(s));
    CHECK(millisecondsSince(start) >= 49.9);
    return busy && launched < 40;
  }));
  OK(hipStreamQuery(s));
  OK(hipStreamDestroy(s));
}

void durations() {
  hipStream_t s = stream(hipStreamNonBlocking);
  hipEvent_t a = event(), b = event(), c = event(), start = event(), stop = event();
  CHECK(once([&] {
    run("slow", s); // so that all that follows is enqueued before the device gets to it
    OK(hipEventRecord(a, s));
    run("brief", s);
    OK(hipEventRecord(b, s));
    run("slow", s);
    OK(hipEventRecord(c, s));
    void *nothing = nullptr, *parameters[] = {&nothing};
    OK(hipExtModuleLaunchKernel(kernel("brief"), 100, 1, 1, 64, 1, 1, 0, s, parameters, nullptr,
                                start, stop));
    float milliseconds = 0;
    bool early = hipEventElapsedTime(&milliseconds, a, stop) == hipErrorNotReady &&
                 hipEventQuery(stop) == hipErrorNotReady && hipEventQuery(a) == hipErrorNotReady;
    OK(hipEventSynchronize(stop));
    CHECK(within(elapsed(start, stop), 2)); // whenever it was enqueued
    if (early) {
      CHECK(within(elapsed(a, b), 2));
      CHECK(within(elapsed(b, c), 50));
      CHECK(within(elapsed(c, stop), 2));
      CHECK(within(elapsed(a, stop), 54));
    }
    return early;
  }));
  // A kernel that takes no time takes some.
  int number = 0;
  void *nothing = nullptr, *parameters[] = {&nothing, &number};
  OK(hipExtModuleLaunchKernel(kernel("unknown"), 64, 1, 1, 64, 1, 1, 0, s, parameters, nullptr,
                              start, stop));
  OK(hipEventSynchronize(stop));
  CHECK(elapsed(start, stop) > 0);
}

void eventErrors() {
  hipEvent_t never = event(), untimed = event(hipEventDisableTiming), timed = event();
  hipStream_t s = stream();
  float milliseconds = 0;
  OK(hipEventQuery(never));
  OK(hipEventSynchronize(never));
  OK(hipStreamWaitEvent(s, never, 0));
  OK(hipEventRecord(timed, s));
  OK(hipEventRecord(untimed, s));
  OK(hipStreamSynchronize(s));
  GIVES(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, never, timed));
  GIVES(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, timed, untimed));
  GIVES(hipErrorInvalidValue, hipEventElapsedTime(nullptr, timed, timed));
  GIVES(hipErrorInvalidValue, hipEventCreateWithFlags(&never, 0x8));
  GIVES(hipErrorInvalidValue, hipGetLastError());
  OK(hipGetLastError());
  OK(hipEventDestroy(timed));
  GIVES(hipErrorInvalidHandle, hipEventRecord(timed, s));
  GIVES(hipErrorInvalidHandle, hipPeekAtLastError());
  // The last error is the thread's own.
  std::thread([] { OK(hipGetLastError()); }).join();
  GIVES(hipErrorInvalidHandle, hipGetLastError());
  OK(hipStreamDestroy(s));
  GIVES(hipErrorInvalidHandle, hipStreamSynchronize(s));
  GIVES(hipErrorInvalidHandle, hipExtGetLastError());
  OK(hipExtGetLastError());
  CHECK(std::string(hipGetErrorName(hipErrorNoDevice)) == "hipErrorNoDevice");
  CHECK(std::string(hipGetErrorString(hipErrorOutOfMemory)) == "out of memory");
}

// With SIMHIP_DURATION for naive, which then takes longer than the device's clock says: the stream
// comes to its wait when what it waits for has long been over.
void lateWaiter() {
  constexpr std::uint32_t count = 8 << 20;
  hipStream_t a = stream(hipStreamNonBlocking), b = stream(hipStreamNonBlocking);
  hipEvent_t done = event(), after = event();
  auto *in = deviceMemory<float>(count), *weight = deviceMemory<float>(1),
       *out = deviceMemory<float>(count);
  OK(hipMemset(in, 0, count * sizeof(float)));
  OK(hipMemset(weight, 0, sizeof(float)));
  kernel("brief");
  OK(scale(in, weight, out, count, b));
  run("brief", a);
  OK(hipEventRecord(done, a));
  OK(hipStreamWaitEvent(b, done, 0));
  OK(hipEventRecord(after, b));
  OK(hipEventSynchronize(after));
  CHECK(elapsed(done, after) >= 0);
  for (float *memory : {in, weight, out}) {
    OK(hipFree(memory));
  }
}

void waits() {
  hipStream_t a = stream(hipStreamNonBlocking), b = stream(hipStreamNonBlocking);
  hipEvent_t done = event(), after = event();
  auto *d = deviceMemory(4096);
  auto *h = pinnedMemory(4096);
  for (int round = 0; round < 3; round++) {
    run("slow", a);
    OK(hipMemsetAsync(d, 10 + round, 4096, a));
    OK(hipEventRecord(done, a));
    OK(hipMemsetAsync(d + 2048, 99, 8, a)); // behind the event, and elsewhere
    OK(hipStreamWaitEvent(b, done, 0));
    OK(hipMemcpyAsync(h, d, 2048, hipMemcpyDeviceToHost, b));
    OK(hipEventRecord(after, b));
    OK(hipEventSynchronize(after));
    CHECK(h[0] == 10 + round && h[2047] == 10 + round);
    CHECK(elapsed(done, after) >= 0);
    OK(hipStreamSynchronize(a));
  }
  OK(hipFree(d));
  OK(hipHostFree(h));
}

void nullStream() {
  hipStream_t blocking = stream(), free = stream(hipStreamNonBlocking);
  auto *d = deviceMemory(256);
  CHECK(once([&] {
    auto start = Clock::now();
    run("slow", blocking);
    OK(hipMemsetAsync(d, 1, 256, nullptr)); // waits for blocking
    bool waits = hipStreamQuery(nullptr) == hipErrorNotReady;
    run("brief", free); // waits for neither
    OK(hipStreamSynchronize(free));
    bool passed = millisecondsSince(start) < 45;
    OK(hipStreamSynchronize(nullptr));
    CHECK(millisecondsSince(start) >= 49.9);
    return waits && passed;
  }));
  CHECK(once([&] {
    auto start = Clock::now();
    run("slow", nullptr);
    run("brief", free);
    OK(hipStreamSynchronize(free));
    bool passed = millisecondsSince(start) < 45;
    run("brief", blocking); // waits for the null stream
    OK(hipStreamSynchronize(blocking));
    CHECK(millisecondsSince(start) >= 51.9);
    return passed;
  }));
  auto start = Clock::now();
  run("slow", hipStreamPerThread); // a blocking stream, of this thread
  run("brief", nullptr);
  OK(hipStreamSynchronize(hipStreamLegacy));
  CHECK(millisecondsSince(start) >= 51.9);
  std::thread([] {
    OK(hipStreamQuery(hipStreamPerThread)); // its own
    run("brief", hipStreamPerThread);
    OK(hipStreamSynchronize(hipStreamPerThread));
  }).join();
  unsigned flags = 7;
  OK(hipStreamGetFlags(free, &flags));
  CHECK(flags == hipStreamNonBlocking);
  OK(hipFree(d));
}

void hostFunctions() {
  hipStream_t s = stream();
  static std::vector<int> seen;
  static std::thread::id caller = std::this_thread::get_id();
  run("brief", s);
  for (int i = 0; i < 20; i++) {
    OK(hipLaunchHostFunc(
        s,
        [](void *data) {
          CHECK(std::this_thread::get_id() != caller);
          seen.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(data)));
        },
        reinterpret_cast<void *>(static_cast<std::intptr_t>(i))));
  }
  OK(hipStreamAddCallback(
      s,
      [](hipStream_t, hipError_t status, void *) {
        CHECK(status == hipSuccess);
        seen.push_back(100);
      },
      nullptr, 0));
  OK(hipStreamSynchronize(s));
  CHECK(seen.size() == 21 && seen[7] == 7 && seen[20] == 100);
  GIVES(hipErrorInvalidValue, hipLaunchHostFunc(s, nullptr, nullptr));
}

void callInHostFunction() {
  hipStream_t s = stream();
  OK(hipLaunchHostFunc(
      s, [](void *) { GIVES(hipErrorNotSupported, hipDeviceSynchronize()); }, nullptr));
  OK(hipStreamSynchronize(s));
}

// ---- memory

void fresh() {
  float host[300];
  for (std::size_t count : {std::size_t{1}, std::size_t{300}, std::size_t{3} << 20}) {
    auto *d = deviceMemory<float>(count);
    CHECK(reinterpret_cast<std::uintptr_t>(d) % 256 == 0);
    std::size_t some = std::min<std::size_t>(count, 300);
    OK(hipMemcpy(host, d + (count - some), some * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(std::all_of(host, host + some, [](float f) { return std::isnan(f); }));
    auto *h = pinnedMemory<float>(count);
    CHECK(std::isnan(h[0]) && std::isnan(h[count - 1]));
    void *m = nullptr;
    OK(hipMallocManaged(&m, count * sizeof(float)));
    CHECK(std::isnan(static_cast<float *>(m)[count - 1]));
    OK(hipFree(m));
    OK(hipFree(d));
    OK(hipHostFree(h));
  }
}

void queries() {
  std::size_t available = 0, total = 0, size = 0;
  OK(hipMemGetInfo(&available, &total));
  CHECK(total == std::size_t{192} << 30 && available == total);
  auto *d = deviceMemory(1000);
  OK(hipMemGetInfo(&available, &total));
  CHECK(available == total - 1000);
  OK(hipMemPtrGetInfo(d, &size));
  CHECK(size == 1000);
  void *base = nullptr;
  OK(hipMemGetAddressRange(&base, &size, d + 999));
  CHECK(base == d && size == 1000);
  GIVES(hipErrorNotFound, hipMemGetAddressRange(&base, &size, d + 1000));
  hipPointerAttribute_t attributes{};
  OK(hipPointerGetAttributes(&attributes, d + 5));
  CHECK(attributes.type == hipMemoryTypeDevice && attributes.devicePointer == d + 5 &&
        attributes.hostPointer == nullptr);
  GIVES(hipErrorInvalidValue, hipPointerGetAttributes(&attributes, &size));
  std::vector<char> own(10000);
  OK(hipHostRegister(own.data(), own.size(), hipHostRegisterDefault));
  GIVES(hipErrorHostMemoryAlreadyRegistered,
        hipHostRegister(own.data() + 10, 10, hipHostRegisterDefault));
  OK(hipPointerGetAttributes(&attributes, own.data() + 1));
  CHECK(attributes.type == hipMemoryTypeHost);
  OK(hipMemcpyAsync(own.data(), d, 1000, hipMemcpyDeviceToHost, nullptr));
  OK(hipStreamSynchronize(nullptr));
  CHECK(own[999] == '\xff');
  OK(hipHostUnregister(own.data()));
  GIVES(hipErrorHostMemoryNotRegistered, hipHostUnregister(own.data()));
  std::size_t pitch = 0;
  void *rows = nullptr;
  OK(hipMallocPitch(&rows, &pitch, 100, 10));
  CHECK(pitch == 256);
  OK(hipMemset2D(rows, pitch, 5, 100, 10));
  OK(hipMemcpy2D(own.data(), 100, rows, pitch, 100, 10, hipMemcpyDeviceToHost));
  CHECK(std::all_of(own.begin(), own.begin() + 1000, [](char c) { return c == 5; }));
  GIVES(hipErrorInvalidPitchValue,
        hipMemcpy2D(own.data(), 99, rows, pitch, 100, 10, hipMemcpyDeviceToHost));
  OK(hipMemsetD32(rows, 0x01020304, 64));
  OK(hipMemcpy(own.data(), rows, 256, hipMemcpyDefault));
  CHECK(own[252] == 4 && own[255] == 1);
  OK(hipMemsetD16(rows, 0x0506, 128));
  OK(hipMemcpyDtoH(own.data(), rows, 256));
  CHECK(own[254] == 6 && own[255] == 5);
  OK(hipFree(rows));
  OK(hipFree(nullptr));
  OK(hipFree(d));
  void *none = &base;
  OK(hipMalloc(&none, 0));
  CHECK(none == nullptr);
}

// With SIMHIP_MEMORY=1M.
void outOfMemory() {
  void *a = nullptr, *b = nullptr;
  OK(hipMalloc(&a, 600 << 10));
  GIVES(hipErrorOutOfMemory, hipMalloc(&b, 600 << 10));
  CHECK(b == nullptr);
  GIVES(hipErrorOutOfMemory, hipGetLastError());
  OK(hipFree(a));
  OK(hipMalloc(&b, 600 << 10));
  OK(hipFree(b));
  GIVES(hipErrorOutOfMemory, hipMalloc(&b, std::size_t{1} << 60));
}

void inOrder() {
  hipStream_t s = stream();
  void *p = nullptr;
  for (int i = 0; i < 20; i++) {
    OK(hipMallocAsync(&p, 1 << 20, s));
    OK(hipMemsetAsync(p, 0, 1 << 20, s));
    OK(hipFreeAsync(p, s));
  }
  OK(hipStreamSynchronize(s));
  // What is enqueued before the end of an allocation may still use it.
  for (bool ordered : {false, true}) {
    float *memory[3];
    for (float *&m : memory) {
      OK(hipMallocAsync(&p, 256, s));
      OK(hipMemsetAsync(p, 0, 256, s));
      m = static_cast<float *>(p);
    }
    run("slow", s);
    OK(scale(memory[0], memory[1], memory[2], 64, s));
    for (float *m : memory) {
      OK(ordered ? hipFreeAsync(m, s) : hipFree(m));
    }
    OK(hipStreamSynchronize(s));
  }
  hipMemPool_t pool = nullptr;
  OK(hipDeviceGetDefaultMemPool(&pool, 0));
  OK(hipMallocFromPoolAsync(&p, 100, pool, s));
  OK(hipFreeAsync(p, s));
  OK(hipMemPoolTrimTo(pool, 0));
  GIVES(hipErrorInvalidValue, hipMemPoolTrimTo(nullptr, 0));
}

// ---- what is reported, each with a twin that does it right

void copyPastEnd(bool right) {
  auto *d = deviceMemory(1000);
  std::vector<char> host(2000, 7);
  std::size_t size = right ? 1000 : 1001;
  hipError_t expected = right ? hipSuccess : hipErrorInvalidValue;
  GIVES(expected, hipMemcpy(d, host.data(), size, hipMemcpyHostToDevice));
  GIVES(expected, hipMemcpyAsync(host.data(), d + 1, size - 1, hipMemcpyDeviceToHost, nullptr));
  GIVES(expected, hipMemcpy(host.data(), d + (right ? 999 : 1000), 1, hipMemcpyDeviceToHost));
  OK(hipFree(d));
}

void fillPastEnd(bool right) {
  auto *d = deviceMemory(1000);
  GIVES(right ? hipSuccess : hipErrorInvalidValue, hipMemset(d + 10, 0, right ? 990 : 991));
  OK(hipFree(d));
}

void kernelPastEnd(bool right) {
  auto *in = deviceMemory<float>(100), *weight = deviceMemory<float>(1),
       *out = deviceMemory<float>(right ? 100 : 99);
  std::vector<float> host(100, 3);
  OK(hipMemcpy(in, host.data(), 400, hipMemcpyHostToDevice));
  OK(hipMemcpy(weight, host.data(), 4, hipMemcpyHostToDevice));
  OK(scale(in, weight, out, 100, nullptr));
  GIVES(right ? hipSuccess : hipErrorIllegalAddress, hipDeviceSynchronize());
  if (right) {
    OK(hipMemcpy(host.data(), out, 400, hipMemcpyDeviceToHost));
    CHECK(host[0] == 9 && host[99] == 9);
  } else { // the error stays
    GIVES(hipErrorIllegalAddress, hipGetLastError());
    GIVES(hipErrorIllegalAddress, hipGetLastError());
    GIVES(hipErrorIllegalAddress, hipMemset(in, 0, 4));
    OK(hipDeviceReset());
    OK(hipMemset(in, 0, 4));
  }
  OK(hipFree(in));
  OK(hipFree(weight));
  OK(hipFree(out));
}

void hostPastEnd(bool right) {
  auto *h = pinnedMemory(1000);
  h[right ? 999 : 1000] = 1; // inside of the pages, and past the end
  OK(hipHostFree(h));
}

void hostFarPastEnd(bool right) {
  auto *h = pinnedMemory(1000);
  volatile char *p = h;
  p[right ? 999 : 1024] = 1; // the page behind: ends the process
  OK(hipHostFree(h));
}

// The application has its own handler of SIGSEGV, which gets what is not simhip's.
void faultHandled() {
  std::signal(SIGSEGV, [](int) { _exit(42); });
  hipStream_t s = stream();
  auto *d = deviceMemory(4096), *h = pinnedMemory(4096);
  run("slow", s);
  OK(hipMemcpyAsync(h, d, 4096, hipMemcpyDeviceToHost, s));
  CHECK(h[0] == '\xff'); // too soon, and waits
  OK(hipFree(d));
  OK(hipHostFree(h));
  volatile char *gone = d;
  gone[1] = 1;
}

void useAfterFree(bool right) {
  auto *d = deviceMemory(1000);
  char host[10] = {};
  if (right) {
    OK(hipMemcpy(d, host, 10, hipMemcpyHostToDevice));
    OK(hipFree(d));
    return;
  }
  OK(hipFree(d));
  GIVES(hipErrorInvalidValue, hipMemcpy(d, host, 10, hipMemcpyHostToDevice));
  GIVES(hipErrorInvalidValue, hipMemset(d + 500, 0, 10));
  auto *weight = deviceMemory<float>(1);
  OK(scale(reinterpret_cast<float *>(d), weight, weight, 1, nullptr));
  GIVES(hipErrorIllegalAddress, hipDeviceSynchronize());
  OK(hipDeviceReset());
  OK(hipFree(weight));
}

void useAfterFreeAsync(bool right) {
  hipStream_t s = stream();
  void *p = nullptr;
  OK(hipMallocAsync(&p, 1000, s));
  run("slow", s);
  if (right) {
    OK(hipMemsetAsync(p, 0, 1000, s));
  }
  OK(hipFreeAsync(p, s));
  if (!right) {
    GIVES(hipErrorInvalidValue, hipMemsetAsync(p, 0, 1000, s));
  }
  OK(hipStreamSynchronize(s));
}

void wrongFree(bool right) {
  auto *d = deviceMemory(1000);
  auto *h = pinnedMemory(1000);
  if (!right) {
    GIVES(hipErrorInvalidValue, hipFree(h));
    GIVES(hipErrorInvalidValue, hipHostFree(d));
    GIVES(hipErrorInvalidValue, hipFree(d + 256));
    GIVES(hipErrorInvalidValue, hipFree(&d));
  }
  OK(hipFree(d));
  OK(hipHostFree(h));
  if (!right) {
    GIVES(hipErrorInvalidValue, hipFree(d));
  }
}

void wrongDirection(bool right) {
  auto *d = deviceMemory(1000);
  std::vector<char> host(1000);
  if (right) {
    OK(hipMemcpy(d, host.data(), 1000, hipMemcpyHostToDevice));
    OK(hipMemcpy(host.data(), d, 1000, hipMemcpyDefault));
    OK(hipMemcpy(d, d + 500, 500, hipMemcpyDeviceToDevice));
  } else {
    GIVES(hipErrorInvalidMemcpyDirection, hipMemcpy(d, host.data(), 1000, hipMemcpyDeviceToHost));
    GIVES(hipErrorInvalidMemcpyDirection, hipMemcpy(host.data(), d, 1000, hipMemcpyDeviceToDevice));
    GIVES(hipErrorInvalidMemcpyDirection, hipMemcpy(host.data(), d, 1000, hipMemcpyHostToHost));
  }
  OK(hipFree(d));
}

void hostReadsTooSoon(bool right) {
  hipStream_t s = stream();
  auto *d = deviceMemory<int>(1000), *h = pinnedMemory<int>(1000);
  OK(hipMemset(d, 1, 4000));
  h[0] = 7;
  run("slow", s);
  OK(hipMemcpyAsync(h, d, 3600, hipMemcpyDeviceToHost, s));
  h[950] = 3; // on the same page, but not of the copy: waits, and is right
  CHECK(h[950] == 3);
  run("long", s);
  OK(hipMemsetAsync(d, 2, 4000, s));
  OK(hipMemcpyAsync(h, d, 3600, hipMemcpyDeviceToHost, s));
  if (right) {
    OK(hipStreamSynchronize(s));
  }
  int value = h[10];
  CHECK(value == 0x02020202); // even when it came too soon, since simhip made it wait
  OK(hipStreamSynchronize(s));
  OK(hipFree(d));
  OK(hipHostFree(h));
}

void hostWritesTooSoon(bool right) {
  hipStream_t s = stream();
  auto *d = deviceMemory<int>(1000), *h = pinnedMemory<int>(1000);
  std::fill_n(h, 1000, 5);
  run("long", s);
  OK(hipMemcpyAsync(d, h, 4000, hipMemcpyHostToDevice, s));
  CHECK(h[3] == 5); // to read is allowed
  if (right) {
    OK(hipStreamSynchronize(s));
  }
  h[3] = 6;
  OK(hipMemcpy(h, d, 4000, hipMemcpyDeviceToHost));
  CHECK(h[3] == 5);
  OK(hipFree(d));
  OK(hipHostFree(h));
}

void streamsUnordered(bool right) {
  hipStream_t a = stream(hipStreamNonBlocking), b = stream(hipStreamNonBlocking);
  auto *d = deviceMemory(4096), *other = deviceMemory(4096);
  hipEvent_t done = event(hipEventDisableTiming);
  OK(hipMemsetAsync(d, 1, 4096, a));
  OK(hipEventRecord(done, a));
  if (right) {
    OK(hipStreamWaitEvent(b, done, 0));
  }
  OK(hipMemcpyAsync(other, d, 4096, hipMemcpyDeviceToDevice, b)); // reads what a writes
  if (right) {
    OK(hipEventRecord(done, b));
    OK(hipStreamWaitEvent(a, done, 0));
  }
  OK(hipMemsetAsync(d + 100, 2, 100, a)); // writes what b reads
  OK(hipDeviceSynchronize());
  OK(hipFree(d));
  OK(hipFree(other));
}

void kernelsUnordered(bool right) {
  hipStream_t a = stream(hipStreamNonBlocking), b = stream(hipStreamNonBlocking);
  auto *x = deviceMemory<float>(64), *weight = deviceMemory<float>(1), *y = deviceMemory<float>(64),
       *z = deviceMemory<float>(64);
  OK(hipMemset(x, 0, 256));
  OK(hipMemset(weight, 0, 4));
  OK(scale(x, weight, y, 64, a));
  if (right) {
    OK(hipStreamSynchronize(a));
  }
  OK(scale(y, weight, z, 64, b));
  OK(hipDeviceSynchronize());
  for (float *p : {x, weight, y, z}) {
    OK(hipFree(p));
  }
}

// All the ways that HIP has to order things; nothing of it may be reported.
void ordered(bool) {
  hipStream_t a = stream(hipStreamNonBlocking), b = stream(hipStreamNonBlocking), c = stream(),
              e = stream();
  auto *d = deviceMemory(4096);
  auto *h = pinnedMemory(4096);
  hipEvent_t done = event(hipEventDisableTiming);
  OK(hipMemsetAsync(d, 1, 4096, a));
  OK(hipStreamSynchronize(a));
  OK(hipMemsetAsync(d, 2, 4096, b));
  OK(hipEventRecord(done, b));
  OK(hipEventSynchronize(done));
  OK(hipMemsetAsync(d, 3, 4096, a));
  OK(hipDeviceSynchronize());
  OK(hipMemsetAsync(d, 4, 4096, b));
  while (hipStreamQuery(b) == hipErrorNotReady) {
  }
  OK(hipMemsetAsync(d, 5, 4096, c));       // blocking
  OK(hipMemsetAsync(d, 6, 4096, nullptr)); // behind c
  OK(hipMemsetAsync(d, 7, 4096, e));       // behind the null stream
  OK(hipEventRecord(done, e));
  while (hipEventQuery(done) == hipErrorNotReady) {
  }
  OK(hipMemsetAsync(d, 8, 4096, a));
  OK(hipStreamSynchronize(a));
  OK(hipMemcpy(h, d, 4096, hipMemcpyDeviceToHost));
  OK(hipMemsetAsync(d, 9, 4096, b));
  OK(hipMemsetAsync(d, 9, 2048, b));
  // Two that share nothing, and two that only read.
  OK(hipStreamSynchronize(b));
  OK(hipMemsetAsync(d, 1, 2048, a));
  OK(hipMemsetAsync(d + 2048, 1, 2048, b));
  OK(hipDeviceSynchronize());
  OK(hipMemcpyAsync(h, d, 100, hipMemcpyDeviceToHost, a));
  OK(hipMemcpyAsync(h + 2000, d, 100, hipMemcpyDeviceToHost, b));
  // From one thread to another, by their own means.
  OK(hipDeviceSynchronize());
  std::thread([&] {
    OK(hipMemsetAsync(d, 2, 4096, a));
    OK(hipStreamSynchronize(a));
  }).join();
  OK(hipMemsetAsync(d, 3, 4096, b));
  // From a function that a stream runs.
  std::atomic<bool> told{false};
  OK(hipLaunchHostFunc(
      b, [](void *flag) { *static_cast<std::atomic<bool> *>(flag) = true; }, &told));
  while (!told) {
  }
  OK(hipMemsetAsync(d, 3, 4096, a));
  OK(hipStreamSynchronize(a));
  OK(hipMemsetAsync(d, 3, 4096, b));
  // Through three streams.
  hipEvent_t first = event(), second = event();
  OK(hipEventRecord(first, b));
  OK(hipStreamWaitEvent(c, first, 0));
  run("brief", c);
  OK(hipEventRecord(second, c));
  OK(hipStreamWaitEvent(a, second, 0));
  OK(hipMemsetAsync(d, 4, 4096, a));
  OK(hipFree(d)); // waits for the device
  OK(hipHostFree(h));
}

void leak(bool right) {
  auto *d = deviceMemory(12345);
  auto *h = pinnedMemory(777);
  if (right) {
    OK(hipFree(d));
    OK(hipHostFree(h));
  }
}

// ---- capture

void capture() {
  hipStream_t s = stream(), other = stream(hipStreamNonBlocking);
  auto *d = deviceMemory(1000);
  auto *h = pinnedMemory(1000);
  hipEvent_t fork = event(), join = event();
  hipStreamCaptureStatus status = hipStreamCaptureStatusInvalidated;
  unsigned long long id = 0;
  OK(hipMemset(d, 0, 1000));
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  OK(hipStreamGetCaptureInfo(s, &status, &id));
  CHECK(status == hipStreamCaptureStatusActive && id != 0);
  GIVES(hipErrorIllegalState, hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  OK(hipMemsetAsync(d, 1, 500, s));
  run("brief", s);
  OK(hipEventRecord(fork, s));
  OK(hipStreamWaitEvent(other, fork, 0));
  OK(hipStreamIsCapturing(other, &status));
  CHECK(status == hipStreamCaptureStatusActive);
  OK(hipMemsetAsync(d + 500, 2, 500, other));
  OK(hipEventRecord(join, other));
  OK(hipStreamWaitEvent(s, join, 0));
  OK(hipMemcpyAsync(h, d, 1000, hipMemcpyDeviceToHost, s));
  static int calls = 0;
  OK(hipLaunchHostFunc(
      s, [](void *) { calls++; }, nullptr));
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(s, &graph));
  OK(hipStreamIsCapturing(other, &status));
  CHECK(status == hipStreamCaptureStatusNone);
  std::size_t nodes = 0;
  OK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 5);
  // Nothing has run.
  OK(hipDeviceSynchronize());
  CHECK(calls == 0);
  char byte = 9;
  OK(hipMemcpy(&byte, d, 1, hipMemcpyDeviceToHost));
  CHECK(byte == 0);
  hipGraphExec_t executable = nullptr;
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  OK(hipGraphDestroy(graph));
  for (int round = 1; round <= 3; round++) {
    OK(hipMemset(d, 0, 1000));
    OK(hipGraphLaunch(executable, s));
    OK(hipStreamSynchronize(s));
    CHECK(calls == round && h[499] == 1 && h[500] == 2);
  }
  OK(hipGraphExecDestroy(executable));
  GIVES(hipErrorInvalidValue, hipGraphLaunch(executable, s));
  OK(hipFree(d));
  OK(hipHostFree(h));
}

// What may not be done during a capture, and ends it.
void captureRules() {
  hipStream_t s = stream(), other = stream();
  auto *d = deviceMemory(1000);
  auto *h = pinnedMemory(1000);
  char host[10] = {};
  hipEvent_t captured = event(), before = event();
  OK(hipEventRecord(before, other));
  void *p = nullptr;
  hipGraph_t graph = nullptr;
  struct Case {
    const char *what;
    hipError_t error;
    std::function<hipError_t()> call;
  };
  std::vector<Case> cases = {
      {"hipMalloc", hipErrorStreamCaptureUnsupported, [&] { return hipMalloc(&p, 10); }},
      {"hipHostMalloc", hipErrorStreamCaptureUnsupported, [&] { return hipHostMalloc(&p, 10, 0); }},
      {"hipFree", hipErrorStreamCaptureUnsupported, [&] { return hipFree(d); }},
      {"hipMallocAsync", hipErrorStreamCaptureUnsupported,
       [&] { return hipMallocAsync(&p, 10, s); }},
      {"hipMemcpy", hipErrorStreamCaptureUnsupported,
       [&] { return hipMemcpy(d, host, 10, hipMemcpyHostToDevice); }},
      {"hipMemset", hipErrorStreamCaptureUnsupported, [&] { return hipMemset(d, 0, 10); }},
      {"hipDeviceSynchronize", hipErrorStreamCaptureUnsupported,
       [] { return hipDeviceSynchronize(); }},
      {"hipStreamSynchronize", hipErrorStreamCaptureUnsupported,
       [&] { return hipStreamSynchronize(s); }},
      {"hipStreamQuery", hipErrorStreamCaptureUnsupported, [&] { return hipStreamQuery(s); }},
      {"the null stream", hipErrorStreamCaptureImplicit,
       [&] { return hipMemsetAsync(d, 0, 10, nullptr); }},
      {"an event of the null stream", hipErrorStreamCaptureImplicit,
       [&] { return hipEventRecord(before, nullptr); }},
      {"a wait from outside", hipErrorStreamCaptureIsolation,
       [&] { return hipStreamWaitEvent(s, before, 0); }},
      {"a captured event", hipErrorCapturedEvent,
       [&] {
         OK(hipEventRecord(captured, s));
         return hipEventSynchronize(captured);
       }},
  };
  for (const Case &c : cases) {
    OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    OK(hipMemsetAsync(d, 1, 10, s));
    hipError_t error = c.call();
    if (error != c.error) {
      fail(__LINE__, std::string(c.what) + " gives " + hipGetErrorName(error));
    }
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    OK(hipStreamIsCapturing(s, &status));
    CHECK(status == hipStreamCaptureStatusInvalidated);
    GIVES(hipErrorStreamCaptureInvalidated, hipMemsetAsync(d, 1, 10, s));
    GIVES(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(s, &graph));
    CHECK(graph == nullptr);
    OK(hipMemsetAsync(d, 1, 10, s)); // usable again
  }
  OK(hipStreamSynchronize(s));

  // What is allowed: asynchronous work elsewhere, and all of it where the mode is relaxed.
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  OK(hipMemsetAsync(d + 500, 0, 10, other));
  OK(hipStreamSynchronize(other));
  OK(hipStreamEndCapture(s, &graph));
  OK(hipGraphDestroy(graph));
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
  OK(hipMalloc(&p, 10));
  OK(hipFree(p));
  OK(hipStreamEndCapture(s, &graph));
  OK(hipGraphDestroy(graph));

  // Another thread: in the way of a global capture, not of a thread's own; and it may say that it
  // knows better.
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeThreadLocal));
  std::thread([] {
    void *q = nullptr;
    OK(hipMalloc(&q, 10));
    OK(hipFree(q));
  }).join();
  std::thread([&] {
    GIVES(hipErrorStreamCaptureWrongThread, hipStreamEndCapture(s, &graph));
  }).join();
  OK(hipStreamEndCapture(s, &graph));
  OK(hipGraphDestroy(graph));
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  std::thread([] {
    void *q = nullptr;
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    OK(hipThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == hipStreamCaptureModeGlobal);
    OK(hipMalloc(&q, 10));
    OK(hipFree(q));
    OK(hipThreadExchangeStreamCaptureMode(&mode));
    GIVES(hipErrorStreamCaptureUnsupported, hipMalloc(&q, 10));
  }).join();
  GIVES(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(s, &graph));

  // A stream that is not joined, and ends in the wrong place.
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  OK(hipEventRecord(captured, s));
  OK(hipStreamWaitEvent(other, captured, 0));
  OK(hipMemsetAsync(d, 1, 10, other));
  GIVES(hipErrorStreamCaptureUnjoined, hipStreamEndCapture(s, &graph));
  GIVES(hipErrorIllegalState, hipStreamEndCapture(s, &graph));
  GIVES(hipErrorStreamCaptureUnsupported,
        hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal));
  OK(hipDeviceSynchronize());
  OK(hipFree(d));
  OK(hipHostFree(h));
}

// ---- the environment

// With SIMHIP_FAIL=hipMalloc:3=hipErrorOutOfMemory,hipModuleLaunchKernel:2+=hipErrorLaunchFailure.
void injection() {
  void *p[4] = {};
  OK(hipMalloc(&p[0], 10));
  OK(hipMalloc(&p[1], 10));
  GIVES(hipErrorOutOfMemory, hipMalloc(&p[2], 10));
  GIVES(hipErrorOutOfMemory, hipGetLastError());
  OK(hipMalloc(&p[3], 10));
  void *nothing = nullptr, *parameters[] = {&nothing};
  OK(hipModuleLaunchKernel(kernel("brief"), 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  for (int i = 0; i < 3; i++) {
    GIVES(hipErrorLaunchFailure, hipModuleLaunchKernel(kernel("brief"), 1, 1, 1, 64, 1, 1, 0,
                                                       nullptr, parameters, nullptr));
  }
  OK(hipDeviceSynchronize());
  for (void *q : p) {
    OK(hipFree(q));
  }
}

void unknownCounted() {
  run("unknown", nullptr);
  OK(hipDeviceSynchronize());
}

void unknownRefused() {
  void *nothing = nullptr;
  int number = 0;
  void *parameters[] = {&nothing, &number};
  GIVES(hipErrorNotSupported, hipModuleLaunchKernel(kernel("unknown"), 1, 1, 1, 64, 1, 1, 0,
                                                    nullptr, parameters, nullptr));
  OK(hipDeviceSynchronize());
}

// With SIMHIP_EXECUTE=none.
void notExecuted() {
  auto *x = deviceMemory<float>(4), *weight = deviceMemory<float>(1), *y = deviceMemory<float>(4);
  OK(hipMemset(y, 0, 16));
  OK(scale(x, weight, y, 4, nullptr));
  float host[4];
  OK(hipMemcpy(host, y, 16, hipMemcpyDeviceToHost));
  CHECK(host[0] == 0);
  for (float *p : {x, weight, y}) {
    OK(hipFree(p));
  }
}

// With SIMHIP_DEVICES=2, SIMHIP_CU=110 and SIMHIP_ARCH=gfx90a:sramecc+:xnack-.
void devices() {
  int count = 0, value = 0;
  OK(hipInit(0));
  OK(hipGetDeviceCount(&count));
  CHECK(count == 2);
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 1));
  CHECK(std::string(properties.gcnArchName) == "gfx90a:sramecc+:xnack-" &&
        properties.multiProcessorCount == 110);
  CHECK(properties.major == 9 && properties.minor == 0 && properties.warpSize == 64);
  OK(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0));
  CHECK(value == 110);
  GIVES(hipErrorInvalidDevice, hipSetDevice(2));
  hipUUID first, second;
  OK(hipDeviceGetUuid(&first, 0));
  OK(hipDeviceGetUuid(&second, 1));
  CHECK(std::memcmp(&first, &second, sizeof first) != 0);
  OK(hipSetDevice(1));
  auto *d = deviceMemory(100);
  hipStream_t s = stream();
  int of = -1;
  OK(hipStreamGetDevice(s, &of));
  CHECK(of == 1 && hipGetStreamDeviceId(s) == 1);
  hipPointerAttribute_t attributes{};
  OK(hipPointerGetAttributes(&attributes, d));
  CHECK(attributes.device == 1);
  OK(hipSetDevice(0));
  auto *e = deviceMemory(100);
  OK(hipMemcpyPeer(e, 0, d, 1, 100));
  // Memory is given back when no device uses it any more.
  auto *used = deviceMemory(100);
  OK(hipMemset(used, 7, 100));
  OK(hipLaunchHostFunc(
      s, [](void *) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }, nullptr));
  OK(hipMemcpyAsync(d, used, 100, hipMemcpyDeviceToDevice, s));
  OK(hipFree(used));
  char copied[100] = {};
  OK(hipMemcpy(copied, d, 100, hipMemcpyDeviceToHost));
  CHECK(copied[0] == 7 && copied[99] == 7);
  // An image for another architecture, and no image.
  hipModule_t module = nullptr;
  std::vector<char> other = client::image({client::naiveText()}, "gfx942");
  GIVES(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, other.data()));
  std::vector<char> text(4096, 'x');
  GIVES(hipErrorInvalidImage, hipModuleLoadData(&module, text.data()));
  GIVES(hipErrorFileNotFound, hipModuleLoad(&module, "/nonexistent"));
  OK(hipFree(e));
  OK(hipFree(d));
}

// As libhiprtc does it. There must be one runtime in the process, not two.
void unversioned() {
  void *handle = dlopen("libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != nullptr);
  CHECK(dlsym(handle, "hipGetDevicePropertiesR0600") ==
        reinterpret_cast<void *>(&hipGetDevicePropertiesR0600));
  OK(hipInit(0));
}

// With SIMHIP_DEVICES=0.
void noDevice() {
  int count = 7;
  GIVES(hipErrorNoDevice, hipGetDeviceCount(&count));
  CHECK(count == 0);
  void *p = nullptr;
  GIVES(hipErrorNoDevice, hipMalloc(&p, 10));
  GIVES(hipErrorNoDevice, hipSetDevice(0));
}

void launches() {
  hipFunction_t function = kernel("unknown");
  void *nothing = nullptr;
  int number = 0;
  void *parameters[] = {&nothing, &number};
  GIVES(hipErrorInvalidConfiguration,
        hipModuleLaunchKernel(function, 0, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  GIVES(hipErrorInvalidConfiguration,
        hipModuleLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, nullptr, parameters, nullptr));
  GIVES(hipErrorInvalidValue,
        hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));
  GIVES(hipErrorInvalidDeviceFunction,
        hipModuleLaunchKernel(nullptr, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  GIVES(hipErrorInvalidDeviceFunction, hipLaunchKernel(&number, 1, 64, parameters, 0, nullptr));
  // All arguments, or none of it: here the number's last byte is missing, and then not.
  char buffer[12] = {};
  std::size_t size = 11;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  GIVES(hipErrorInvalidValue,
        hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  size = 12;
  OK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  int blocks = 0;
  OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  CHECK(blocks == 8);
  // A kernel of the program's own, as the compiler registers it.
  std::vector<char> code = client::image({{"ours", {{8, true}}}});
  struct {
    std::uint32_t magic = 0x48495046, version = 1;
    const void *image = nullptr, *unused = nullptr;
  } wrapper;
  wrapper.image = code.data();
  static char stub;
  static char name[] = "ours";
  void **handle = __hipRegisterFatBinary(&wrapper);
  __hipRegisterFunction(handle, &stub, name, name, 0, nullptr, nullptr, nullptr, nullptr, nullptr);
  OK(__hipPushCallConfiguration(dim3(2), dim3(64), 0, nullptr));
  dim3 grid, block;
  std::size_t shared = 1;
  hipStream_t s = nullptr;
  OK(__hipPopCallConfiguration(&grid, &block, &shared, &s));
  CHECK(grid.x == 2 && block.x == 64 && shared == 0);
  OK(hipLaunchKernel(&stub, grid, block, parameters, shared, s));
  OK(hipDeviceSynchronize());
  __hipUnregisterFatBinary(handle);
  GIVES(hipErrorInvalidDeviceFunction, hipLaunchKernel(&stub, grid, block, parameters, shared, s));
}

// ---- processes and threads

void stress() {
  constexpr int threads = 16, rounds = 40, count = 512;
  std::atomic<int> functions{0};
  std::vector<std::thread> all;
  kernel("unknown");
  for (int t = 0; t < threads; t++) {
    all.emplace_back([&, t] {
      hipStream_t a = stream(t % 2 != 0 ? hipStreamNonBlocking : hipStreamDefault),
                  b = stream(hipStreamNonBlocking);
      hipEvent_t e = event();
      auto *d = deviceMemory<int>(count), *f = deviceMemory<int>(count),
           *h = pinnedMemory<int>(count);
      for (int round = 0; round < rounds; round++) {
        int value = t * 1000 + round;
        OK(hipMemsetD32Async(d, value, count, a));
        void *nothing = nullptr, *parameters[] = {&nothing, &value};
        OK(hipModuleLaunchKernel(kernel("unknown"), 1, 1, 1, 64, 1, 1, 0, a, parameters, nullptr));
        OK(hipEventRecord(e, a));
        OK(hipStreamWaitEvent(b, e, 0));
        OK(hipMemcpyAsync(f, d, count * sizeof(int), hipMemcpyDeviceToDevice, b));
        OK(hipMemcpyAsync(h, f, count * sizeof(int), hipMemcpyDeviceToHost, b));
        OK(hipLaunchHostFunc(
            b, [](void *n) { ++*static_cast<std::atomic<int> *>(n); }, &functions));
        if (round % 4 == 0) {
          OK(hipStreamSynchronize(b));
          OK(hipMemsetAsync(f, 0, 4, hipStreamPerThread));
          OK(hipStreamSynchronize(hipStreamPerThread));
        }
        OK(hipStreamSynchronize(b));
        CHECK(h[count - 1] == value);
        OK(hipStreamSynchronize(a));
      }
      OK(hipEventDestroy(e));
      OK(hipStreamDestroy(a));
      OK(hipStreamDestroy(b));
      OK(hipFree(d));
      OK(hipFree(f));
      OK(hipHostFree(h));
    });
  }
  for (std::thread &thread : all) {
    thread.join();
  }
  CHECK(functions == threads * rounds);
}

// A child of a process that uses the device can only say so. It ends with _exit, or as a program
// does.
void forked() {
  auto *d = deviceMemory(100);
  hipStream_t s = stream();
  run("slow", s);
  for (bool properly : {false, true}) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(20);
      void *p = nullptr;
      GIVES(hipErrorNotInitialized, hipMalloc(&p, 10));
      GIVES(hipErrorNotInitialized, hipStreamSynchronize(s));
      GIVES(hipErrorNotInitialized, hipDeviceSynchronize());
      GIVES(hipErrorNotInitialized, hipGetLastError());
      if (properly) {
        std::exit(42);
      }
      _exit(42);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42);
  }
  OK(hipStreamSynchronize(s));
  OK(hipFree(d));
}

// A child of a process that does not is a process like any other.
void forkedFirst() {
  pid_t child = fork();
  if (child == 0) {
    auto *d = deviceMemory(100);
    OK(hipMemset(d, 0, 100));
    OK(hipFree(d));
    std::exit(42);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

// Ends with work that is done meanwhile, and with work that takes too long.
void exitPending() {
  hipStream_t s = stream();
  run("slow", s);
  run("slow", s);
}

void exitAbandoned() {
  hipStream_t s = stream();
  auto *d = deviceMemory(4096);
  auto *h = pinnedMemory(4096);
  run("endless", s);
  OK(hipMemcpyAsync(h, d, 4096, hipMemcpyDeviceToHost, s));
}

std::function<void()> with(void (*scenario)(bool), bool right) {
  return [=] { scenario(right); };
}

} // namespace

int main(int count, char **arguments) {
  std::map<std::string, std::function<void()>> scenarios = {
      {"ordering", ordering},
      {"async", async},
      {"durations", durations},
      {"event-errors", eventErrors},
      {"waits", waits},
      {"late-waiter", lateWaiter},
      {"null-stream", nullStream},
      {"host-functions", hostFunctions},
      {"call-in-host-function", callInHostFunction},
      {"fresh", fresh},
      {"queries", queries},
      {"out-of-memory", outOfMemory},
      {"in-order", inOrder},
      {"capture", capture},
      {"capture-rules", captureRules},
      {"injection", injection},
      {"unknown-counted", unknownCounted},
      {"unknown-refused", unknownRefused},
      {"not-executed", notExecuted},
      {"devices", devices},
      {"no-device", noDevice},
      {"launches", launches},
      {"unversioned", unversioned},
      {"fault-handled", faultHandled},
      {"stress", stress},
      {"forked", forked},
      {"forked-first", forkedFirst},
      {"exit-pending", exitPending},
      {"exit-abandoned", exitAbandoned},
  };
  for (bool right : {false, true}) {
    std::string twin = right ? "-right" : "";
    scenarios["copy-past-end" + twin] = with(copyPastEnd, right);
    scenarios["fill-past-end" + twin] = with(fillPastEnd, right);
    scenarios["kernel-past-end" + twin] = with(kernelPastEnd, right);
    scenarios["host-past-end" + twin] = with(hostPastEnd, right);
    scenarios["host-far-past-end" + twin] = with(hostFarPastEnd, right);
    scenarios["use-after-free" + twin] = with(useAfterFree, right);
    scenarios["use-after-free-async" + twin] = with(useAfterFreeAsync, right);
    scenarios["wrong-free" + twin] = with(wrongFree, right);
    scenarios["wrong-direction" + twin] = with(wrongDirection, right);
    scenarios["host-reads-too-soon" + twin] = with(hostReadsTooSoon, right);
    scenarios["host-writes-too-soon" + twin] = with(hostWritesTooSoon, right);
    scenarios["streams-unordered" + twin] = with(streamsUnordered, right);
    scenarios["kernels-unordered" + twin] = with(kernelsUnordered, right);
    scenarios["leak" + twin] = with(leak, right);
  }
  scenarios["ordered-right"] = with(ordered, true);
  auto at = count == 2 ? scenarios.find(arguments[1]) : scenarios.end();
  if (at == scenarios.end()) {
    for (const auto &[name, scenario] : scenarios) {
      std::printf("%s\n", name.c_str());
    }
    return 2;
  }
  at->second();
  std::printf("done\n");
  return 0;
}
