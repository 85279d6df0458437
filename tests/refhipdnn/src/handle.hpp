#pragma once

#include "engines.hpp"

#include <atomic>
#include <memory>

namespace refhipdnn {

// A hipDNN handle: engines and a stream. Safe for any number of threads.
class Handle {
public:
  Handle();
  ~Handle();
  void set_stream(hipdnnRefStream_t stream);
  hipdnnRefStream_t stream() const;
  const std::shared_ptr<Engines> &engines() const {
    return engines_;
  }

private:
  std::shared_ptr<Engines> engines_;
  std::atomic<hipdnnRefStream_t> stream_{nullptr};
};

// The client's handles that are alive. get throws Failure for null and, as misuse, for others.
hipdnnHandle_t create_handle();
Handle &get_handle(hipdnnHandle_t handle);
void destroy_handle(hipdnnHandle_t handle);

} // namespace refhipdnn
