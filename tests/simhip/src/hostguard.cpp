// Protection of pinned pages, and the handler of SIGSEGV.
#include "hostguard.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#include "memory.hpp"
#include "report.hpp"
#include "runtime.hpp"

namespace simhip::hostguard {
namespace {

struct Pending {
  std::uintptr_t begin = 0, end = 0;
  Use use = Use::readByDevice;
  std::string text;
  bool reported = false;
};

struct State {
  std::mutex mutex;
  std::map<unsigned, Pending> pending; // by token
  unsigned tokens = 0;
  unsigned lifted = 0;
  struct sigaction previous {};
};

State &state() {
  static auto *const instance = new State; // outlives exit handlers
  return *instance;
}

std::uintptr_t pageOf(std::uintptr_t address) {
  return address & ~(pageBytes() - 1);
}

std::uintptr_t pageAfter(std::uintptr_t address) {
  return pageOf(address + pageBytes() - 1);
}

int protection(const State &s, std::uintptr_t page) {
  int allowed = PROT_READ | PROT_WRITE;
  if (s.lifted > 0) {
    return allowed;
  }
  for (const auto &[token, p] : s.pending) {
    if (page < p.end && page + pageBytes() > p.begin) {
      if (p.use == Use::writtenByDevice) {
        return PROT_NONE;
      }
      allowed = PROT_READ;
    }
  }
  return allowed;
}

// Sets the protection of the pages of a range. Protection only changes at the borders of pending
// ones.
void apply(const State &s, std::uintptr_t begin, std::uintptr_t end) {
  std::vector<std::uintptr_t> borders{pageOf(begin), pageAfter(end)};
  for (const auto &[token, p] : s.pending) {
    for (std::uintptr_t border :
         {pageOf(p.begin), pageAfter(p.begin), pageOf(p.end), pageAfter(p.end)}) {
      if (border > borders[0] && border < borders[1]) {
        borders.push_back(border);
      }
    }
  }
  std::sort(borders.begin(), borders.end());
  for (std::size_t i = 0; i + 1 < borders.size(); i++) {
    if (borders[i] == borders[i + 1]) {
      continue;
    }
    // Without a protection races would go unseen, with one too many the host would hang.
    if (mprotect(reinterpret_cast<void *>(borders[i]), borders[i + 1] - borders[i],
                 protection(s, borders[i])) != 0) {
      std::fprintf(stderr,
                   "simhip: cannot protect pinned memory: %s (there may be more mappings than "
                   "vm.max_map_count allows)\n",
                   std::strerror(errno));
      std::abort();
    }
  }
}

bool allows(const State &s, std::uintptr_t address, bool write) {
  return (protection(s, pageOf(address)) & (write ? PROT_WRITE : PROT_READ)) != 0;
}

// The first violation by a host that touches address, or an empty text.
std::string blame(State &s, std::uintptr_t address, bool write) {
  for (auto &[token, p] : s.pending) {
    if (address >= p.begin && address < p.end && !p.reported &&
        (write || p.use == Use::writtenByDevice)) {
      p.reported = true;
      return std::string("the host ") + (write ? "writes" : "reads") + " byte " +
             std::to_string(address - p.begin) + " of the host memory of " + p.text +
             ", which is not over";
    }
  }
  return "";
}

// Waits until the copies that hold the page of address are over. False when the fault is not ours.
bool settle(std::uintptr_t address, bool write) {
  if (inForkedChild()) {
    return false;
  }
  AllocationRef a = allocations().find(address);
  if (a == nullptr || a->space != Space::pinned) {
    return false;
  }
  State &s = state();
  std::string text;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    text = blame(s, address, write);
  }
  if (!text.empty()) {
    report::violation(report::Kind::hostRace, text);
  }
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(s.mutex);
      if (allows(s, address, write)) {
        return true;
      }
    }
    timespec pause{0, 20000};
    nanosleep(&pause, nullptr);
  }
}

// Runs on a fault of the application, outside of our own code and locks: ours never touches a
// protected view.
void handle(int signal, siginfo_t *info, void *context) {
  int saved = errno;
  auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (info->si_code == SEGV_ACCERR) {
    bool write = (static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
    if (settle(address, write)) {
      errno = saved;
      return;
    }
    if (auto found = allocations().diagnose(address)) {
      report::violation(found->first, std::string("the host ") + (write ? "writes" : "reads") +
                                          " " + found->second);
    }
  }
  errno = saved;
  const struct sigaction &previous = state().previous;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    std::signal(signal, SIG_DFL); // the instruction faults again, and ends the process as it should
  }
}

} // namespace

void install() {
  static const bool done = [] {
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &state().previous) == 0;
  }();
  (void)done;
}

unsigned arm(std::uintptr_t begin, std::size_t bytes, Use use, const std::string &text) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  unsigned token = ++s.tokens;
  s.pending[token] = Pending{begin, begin + bytes, use, text, false};
  apply(s, begin, begin + bytes);
  return token;
}

void disarm(unsigned token) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto at = s.pending.find(token);
  Pending gone = at->second;
  s.pending.erase(at);
  apply(s, gone.begin, gone.end);
}

Lift::Lift() {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.lifted++ == 0) {
    for (const auto &[token, p] : s.pending) {
      apply(s, p.begin, p.end);
    }
  }
}

Lift::~Lift() {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (--s.lifted == 0) {
    for (const auto &[token, p] : s.pending) {
      apply(s, p.begin, p.end);
    }
  }
}

} // namespace simhip::hostguard
