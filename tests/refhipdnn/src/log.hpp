#pragma once

// The log: to the file that REFHIPDNN_LOG names and to the client's callbacks.

#include "refhipdnn/hipdnn_backend.h"

#include <string>

namespace refhipdnn {

void log(hipdnnSeverity_t severity, const std::string &message);

// Whether log would do anything; to be asked before a message is put together.
bool log_wanted(hipdnnSeverity_t severity);

// See hipdnnSetUserLogCallback_ext. A callback that is removed has returned from its last call.
void set_callback(hipdnnUserLogCallback_t callback, hipdnnSeverity_t least,
                  hipdnnLogCallbackMode_t mode, void *user);

// What is below the level goes to nobody. Starts at INFO.
void set_log_level(hipdnnSeverity_t level);
hipdnnSeverity_t log_level();

} // namespace refhipdnn
