/**
 * @file
 * What the wrapper's stub is compared with: the same hop as a compiler makes it, -O2 -fPIC, in a
 * shared library with its relocations done at load. It is linked against nothing: the measuring
 * process has opened the private library before.
 *
 * Without a macro the stub calls the implementation through the procedure linkage table. With
 * PEER_STATIC_ROUTE it asks a function-local static for the route, which is initialised at the
 * first call and has a guard that every call tests.
 */
#include <cstddef>
#include <cstdlib>

extern "C" int miopenGetVersion_impl(std::size_t *major, std::size_t *minor, std::size_t *patch);

#ifdef PEER_STATIC_ROUTE

namespace {

using Function = int (*)(std::size_t *, std::size_t *, std::size_t *);

struct Route {
  Function function;
};

int refuse(std::size_t *, std::size_t *, std::size_t *) {
  return 5;
}

/* Depends on the environment, so that no compiler can do it beforehand. */
Route lookup() {
  return {std::getenv("PEER_REFUSES") == nullptr ? miopenGetVersion_impl : refuse};
}

} // namespace

extern "C" int peerGetVersion(std::size_t *major, std::size_t *minor, std::size_t *patch) {
  static const Route route = lookup();
  return route.function(major, minor, patch);
}

#else

extern "C" int peerGetVersion(std::size_t *major, std::size_t *minor, std::size_t *patch) {
  return miopenGetVersion_impl(major, minor, patch);
}

#endif
