// Runs waves and launches of instructions that it reads as text: the tests' way to the simulator of
// the instruction set, without a code object and a disassembler.
//
// Reads commands from standard input, a line each, numbers in hexadecimal, and answers each with a
// line:
//
//   program            the instructions on the lines up to "end", four bytes each from address 0;
//   answers "ok" or "refused REASON" wave               a new wave at the program's begin, all 64
//   lanes active, registers unwritten mode WORD          the descriptor's first word of resources,
//   for wave and launch lds BYTES          the wave's work-group's scratch BYTES      of a lane set
//   REG VALUE...   REG is s7, v7, exec, vcc, scc or m0; v takes one value for all lanes or 64 run
//   up to the end or a barrier; answers "ended", "barrier" or "fault REASON" get REG answers with
//   the values buffer BYTES       memory that may be accessed; answers with its address poke
//   ADDRESS BYTES... peek ADDRESS COUNT launch WORD PROPERTIES ITEMS_X Y Z BLOCK_X Y Z LDS THREADS
//   ARGUMENT...
//                      of the program, WORD being the second of resources; an ARGUMENT is
//                      KIND:OFFSET:SIZE or VALUE:OFFSET:SIZE for an explicit one; answers "ok" or
//                      the error
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../../assembler.hpp"
#include "../../dispatch.hpp"
#include "../../reach.hpp"
#include "../../wave.hpp"

namespace {

using namespace simhip;
using namespace simhip::isa;

class Buffers : public kernels::Memory {
public:
  std::uintptr_t add(std::size_t size) {
    buffers_.emplace_back(size + alignment);
    const std::uintptr_t begin =
        (reinterpret_cast<std::uintptr_t>(buffers_.back().data()) + alignment - 1) / alignment *
        alignment;
    sizes_[begin] = size;
    return begin;
  }
  bool contains(std::uintptr_t address, std::size_t bytes) const override {
    auto found = sizes_.upper_bound(address);
    if (found == sizes_.begin())
      return false;
    --found;
    return bytes <= found->second && address - found->first <= found->second - bytes;
  }

private:
  static constexpr std::size_t alignment = 256;
  std::deque<std::vector<std::byte>> buffers_;
  std::map<std::uintptr_t, std::size_t> sizes_;
};

struct Session {
  Buffers memory;
  Reach reach{memory};
  Group group;
  Wave wave;
  Loaded loaded;
  std::byte image[64] = {};
};

void reset(Session &session) {
  session.wave = Wave();
  Row unwritten;
  for (std::uint32_t &lane : unwritten.lane)
    lane = 0xffffffffu;
  session.wave.vectors.assign(512, unwritten);
  session.wave.set_pair(scalar_register::exec, ~std::uint64_t{0});
  session.group.reach = &session.reach;
  session.group.image = reinterpret_cast<std::uintptr_t>(session.image);
  session.wave.group = &session.group;
}

std::string read_program(Session &session) {
  std::vector<Line> lines;
  std::string text;
  while (std::getline(std::cin, text) && text != "end")
    lines.push_back({4 * lines.size(), 4, text});
  session.loaded.program = {};
  std::string error;
  return assemble(lines, session.loaded.program, error) ? "ok" : "refused " + error;
}

std::uint32_t *scalar(Session &session, const std::string &name) {
  if (name == "m0")
    return &session.wave.scalar[scalar_register::m0];
  return &session.wave.scalar[std::stoul(name.substr(1))];
}

std::string set(Session &session, std::istringstream &words) {
  std::string name;
  words >> name >> std::hex;
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = 0; words >> value;)
    values.push_back(value);
  if (values.empty())
    return "no value";
  if (name == "exec") {
    session.wave.set_pair(scalar_register::exec, values[0]);
  } else if (name == "vcc") {
    session.wave.set_pair(scalar_register::vcc, values[0]);
  } else if (name == "scc") {
    session.wave.scc = values[0] != 0;
  } else if (name[0] == 'v') {
    Row &row = session.wave.vectors[std::stoul(name.substr(1))];
    for (std::size_t i = 0; i < lanes_per_wave; ++i)
      row.lane[i] =
          static_cast<std::uint32_t>(values.size() == lanes_per_wave ? values[i] : values[0]);
  } else {
    std::uint32_t *first = scalar(session, name);
    for (const std::uint64_t value : values)
      *first++ = static_cast<std::uint32_t>(value);
  }
  return "ok";
}

std::string get(Session &session, std::istringstream &words) {
  std::string name;
  words >> name;
  std::ostringstream answer;
  answer << std::hex;
  if (name == "exec") {
    answer << session.wave.exec();
  } else if (name == "vcc") {
    answer << session.wave.vcc();
  } else if (name == "scc") {
    answer << session.wave.scc;
  } else if (name[0] == 'v') {
    for (const std::uint32_t value : session.wave.vectors[std::stoul(name.substr(1))].lane)
      answer << value << ' ';
  } else {
    answer << *scalar(session, name);
  }
  return answer.str();
}

std::string run(Session &session) {
  Wave &wave = session.wave;
  const Program &program = session.loaded.program;
  wave.state = Wave::State::running;
  while (wave.state == Wave::State::running) {
    if (wave.next >= program.code.size())
      return "fault past the end";
    const Instruction &instruction = program.code[wave.next++];
    instruction.run(wave, instruction);
  }
  if (wave.state == Wave::State::failed)
    return "fault " + wave.fault;
  return wave.state == Wave::State::ended ? "ended" : "barrier";
}

void set_mode(Session &session, std::uint32_t word) {
  session.loaded.descriptor.resources1 = word;
  session.wave.mode = mode_of(session.loaded.descriptor);
}

std::string launch(Session &session, std::istringstream &words) {
  kernels::Launch launch;
  kernels::Kernel kernel;
  unsigned threads = 1;
  words >> std::hex >> session.loaded.descriptor.resources2 >>
      session.loaded.descriptor.properties >> launch.work_items.x >> launch.work_items.y >>
      launch.work_items.z >> launch.block.x >> launch.block.y >> launch.block.z >>
      session.loaded.descriptor.lds_bytes >> threads;
  for (std::string word; words >> word;) {
    const std::size_t first = word.find(':');
    const std::size_t second = word.find(':', first + 1);
    kernels::Argument argument;
    argument.offset = std::stoul(word.substr(first + 1, second - first - 1), nullptr, 16);
    argument.size = std::stoul(word.substr(second + 1), nullptr, 16);
    const std::string what = word.substr(0, first);
    if (launch.arguments.size() < argument.offset + argument.size)
      launch.arguments.resize(argument.offset + argument.size);
    if (what.compare(0, 6, "hidden") == 0) {
      argument.value_kind = what;
    } else {
      argument.value_kind = "by_value";
      const std::uint64_t value = std::stoull(what, nullptr, 16);
      std::memcpy(launch.arguments.data() + argument.offset, &value, argument.size);
    }
    kernel.arguments.push_back(argument);
  }
  kernel.name = "test";
  kernel.argument_bytes = launch.arguments.size();
  launch.kernel = &kernel;
  session.loaded.image = session.image;
  session.loaded.image_bytes = sizeof session.image;
  std::string error;
  if (!supported(session.loaded.descriptor, error))
    return "refused " + error;
  error = dispatch(session.loaded, launch, complete_arguments(launch), session.memory, threads);
  return error.empty() ? "ok" : error;
}

std::string answer(Session &session, const std::string &line) {
  std::istringstream words(line);
  std::string command;
  words >> command >> std::hex;
  std::uint64_t first = 0;
  if (command == "program")
    return read_program(session);
  if (command == "set")
    return set(session, words);
  if (command == "get")
    return get(session, words);
  if (command == "run")
    return run(session);
  if (command == "launch")
    return launch(session, words);
  if (command == "wave") {
    reset(session);
    return "ok";
  }
  words >> first;
  if (command == "mode") {
    set_mode(session, static_cast<std::uint32_t>(first));
  } else if (command == "lds") {
    session.group.lds.assign(first, std::byte{0xff});
  } else if (command == "scratch") {
    session.wave.scratch_per_lane = first;
    session.wave.scratch.assign(first * lanes_per_wave, std::byte{0xff});
    session.loaded.descriptor.scratch_bytes = static_cast<std::uint32_t>(first);
  } else if (command == "buffer") {
    std::ostringstream address;
    address << std::hex << session.memory.add(first);
    return address.str();
  } else if (command == "poke") {
    auto *at = reinterpret_cast<std::uint8_t *>(first);
    for (unsigned value = 0; words >> value;)
      *at++ = static_cast<std::uint8_t>(value);
  } else if (command == "peek") {
    std::size_t count = 0;
    words >> count;
    std::ostringstream bytes;
    for (std::size_t i = 0; i < count; ++i)
      bytes << std::hex << static_cast<unsigned>(reinterpret_cast<const std::uint8_t *>(first)[i])
            << ' ';
    return bytes.str();
  } else {
    return "unknown command " + command;
  }
  return "ok";
}

} // namespace

int main() {
  Session session;
  reset(session);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(session, line) << std::endl;
}
