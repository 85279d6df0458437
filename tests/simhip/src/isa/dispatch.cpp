#include "dispatch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

#include "../kernels/parallel.hpp"
#include "reach.hpp"
#include "wave.hpp"

namespace simhip::isa {

namespace {

// Compilers may load a whole vector of arguments of which the kernel uses the first ones.
constexpr std::size_t argument_padding = 64;
// What registers and LDS hold before anything is written: not a number in all floating-point types.
constexpr std::uint32_t unwritten = 0xffffffffu;
// Waves of a group that wait for each other in loops must all get on.
constexpr std::uint64_t instructions_in_turn = std::uint64_t{1} << 20;
// Waves that run for so many turns, and all of them for none to come to a barrier, never end.
constexpr std::uint64_t endless_turns = 1024;

// Bits of the descriptor's words.
constexpr std::uint16_t property_private_segment_buffer = 1, property_dispatch_pointer = 2,
                        property_queue_pointer = 4, property_arguments = 8,
                        property_dispatch_id = 16, property_flat_scratch = 32,
                        property_private_segment_size = 64, property_wave32 = 1u << 10,
                        property_dynamic_stack = 1u << 11;

unsigned field(std::uint32_t word, unsigned first, unsigned count) {
  return word >> first & ((1u << count) - 1);
}

struct Shape {
  kernels::Dim3 groups;
  kernels::Dim3 items; // of the launch, in all
};

std::uint32_t ceiling(std::uint32_t value, std::uint32_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

Shape shape_of(const kernels::Launch &launch) {
  Shape shape;
  const auto items = [](std::uint32_t given, std::uint32_t grid, std::uint32_t block) {
    return given != 0 ? given : grid * block;
  };
  shape.items = {items(launch.work_items.x, launch.grid.x, launch.block.x),
                 items(launch.work_items.y, launch.grid.y, launch.block.y),
                 items(launch.work_items.z, launch.grid.z, launch.block.z)};
  shape.groups = {ceiling(shape.items.x, launch.block.x), ceiling(shape.items.y, launch.block.y),
                  ceiling(shape.items.z, launch.block.z)};
  return shape;
}

// hsa_kernel_dispatch_packet_t, which a kernel may ask for; layout: "HSA Runtime Programmer's
// Reference Manual".
struct Packet {
  std::uint16_t header = 2; // a kernel dispatch
  std::uint16_t dimensions = 3;
  std::uint16_t group_x = 1, group_y = 1, group_z = 1;
  std::uint16_t reserved0 = 0;
  std::uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
  std::uint32_t private_bytes = 0;
  std::uint32_t group_bytes = 0;
  std::uint64_t kernel_object = 0;
  std::uint64_t arguments = 0;
  std::uint64_t reserved2 = 0;
  std::uint64_t completion_signal = 0;
};
static_assert(sizeof(Packet) == 64);

// What the threads of a dispatch share.
struct Dispatch {
  const Loaded *loaded;
  const kernels::Launch *launch;
  const std::vector<std::byte> *arguments;
  const kernels::Memory *memory;
  Packet packet;
  Shape shape;
  std::size_t lds_bytes = 0;
  std::atomic<std::uint64_t> next_group{0};
  std::atomic<bool> stop{false};
  std::mutex lock;   // of error
  std::string error; // the first one
};

class Worker {
public:
  explicit Worker(Dispatch &dispatch) : dispatch_(dispatch), reach_(*dispatch.memory) {
    group_.reach = &reach_;
    group_.image = reinterpret_cast<std::uintptr_t>(dispatch.loaded->image);
    reach_.add_constant(dispatch.arguments->data(), dispatch.arguments->size());
    reach_.add_constant(dispatch.loaded->image, dispatch.loaded->image_bytes);
    reach_.add_constant(&dispatch.packet, sizeof dispatch.packet);
  }

  void work() {
    const kernels::Dim3 &groups = dispatch_.shape.groups;
    const std::uint64_t count = std::uint64_t{groups.x} * groups.y * groups.z;
    while (!dispatch_.stop) {
      const std::uint64_t index = dispatch_.next_group++;
      if (index >= count)
        return;
      run_group({static_cast<std::uint32_t>(index % groups.x),
                 static_cast<std::uint32_t>(index / groups.x % groups.y),
                 static_cast<std::uint32_t>(index / groups.x / groups.y)});
    }
  }

private:
  void run_group(const kernels::Dim3 &id) {
    const kernels::Dim3 &block = dispatch_.launch->block;
    const kernels::Dim3 &items = dispatch_.shape.items;
    // The last group in a direction may be smaller.
    const kernels::Dim3 size = {std::min(block.x, items.x - id.x * block.x),
                                std::min(block.y, items.y - id.y * block.y),
                                std::min(block.z, items.z - id.z * block.z)};
    const std::uint64_t count = std::uint64_t{size.x} * size.y * size.z;
    group_.lds.assign(dispatch_.lds_bytes, std::byte{0xff});
    waves_.resize((count + lanes_per_wave - 1) / lanes_per_wave);
    for (std::size_t i = 0; i < waves_.size(); ++i)
      start(waves_[i], id, size, i * lanes_per_wave,
            std::min<std::uint64_t>(lanes_per_wave, count - i * lanes_per_wave));

    std::uint64_t turns = 0;
    for (bool running = true; running && !dispatch_.stop;) {
      running = false;
      bool all_wait = true;
      for (Wave &wave : waves_) {
        if (wave.state == Wave::State::running)
          run_wave(wave, id);
        if (wave.state == Wave::State::running)
          all_wait = false;
        running =
            running || wave.state == Wave::State::running || wave.state == Wave::State::at_barrier;
      }
      turns = all_wait ? 0 : turns + 1;
      if (all_wait) // of the waves that have not ended, all are at the barrier
        for (Wave &wave : waves_)
          if (wave.state == Wave::State::at_barrier)
            wave.state = Wave::State::running;
      if (turns > endless_turns)
        report("kernel " + dispatch_.launch->kernel->name +
               ": a work-group does not come to its end");
    }
  }

  void run_wave(Wave &wave, const kernels::Dim3 &id) {
    const std::vector<Instruction> &code = dispatch_.loaded->program.code;
    for (std::uint64_t count = 0; count < instructions_in_turn; ++count) {
      if (wave.next >= code.size()) {
        wave.next = static_cast<std::uint32_t>(code.size());
        wave.fail("runs past its last instruction");
      } else {
        const Instruction &instruction = code[wave.next++];
        instruction.run(wave, instruction);
      }
      if (wave.state != Wave::State::running)
        break;
    }
    if (wave.state == Wave::State::failed)
      report(where(wave, id) + ": " + wave.fault);
  }

  std::string where(const Wave &wave, const kernels::Dim3 &id) const {
    const Program &program = dispatch_.loaded->program;
    const std::size_t index = wave.next - 1;
    char place[96];
    std::snprintf(place, sizeof place, " at 0x%llx, work-group %u,%u,%u",
                  static_cast<unsigned long long>(program.code[index].address), id.x, id.y, id.z);
    return "kernel " + dispatch_.launch->kernel->name + place + ", '" + program.text[index] + "'";
  }

  void report(const std::string &error) {
    const std::lock_guard<std::mutex> hold(dispatch_.lock);
    if (dispatch_.error.empty())
      dispatch_.error = error;
    dispatch_.stop = true;
  }

  void start(Wave &wave, const kernels::Dim3 &id, const kernels::Dim3 &size, std::uint64_t first,
             std::uint64_t count) {
    const Descriptor &descriptor = dispatch_.loaded->descriptor;
    wave.group = &group_;
    wave.state = Wave::State::running;
    wave.next = dispatch_.loaded->entry;
    wave.scc = false;
    std::fill(std::begin(wave.scalar), std::end(wave.scalar), unwritten);
    wave.set_pair(scalar_register::exec,
                  count == lanes_per_wave ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
    wave.set_pair(scalar_register::vcc, 0);
    wave.mode = mode_of(descriptor);
    Row poison;
    std::fill(std::begin(poison.lane), std::end(poison.lane), unwritten);
    wave.vectors.assign(std::max(dispatch_.loaded->program.vector_registers, 1u), poison);
    wave.scratch_per_lane = descriptor.scratch_bytes;
    wave.scratch.assign(wave.scratch_per_lane * lanes_per_wave, std::byte{0xff});

    // Work-item ids are packed, ten bits each, as far as the descriptor asks for them.
    const unsigned dimensions = field(descriptor.resources2, 11, 2);
    for (unsigned lane = 0; lane < count; ++lane) {
      const std::uint64_t item = first + lane;
      auto packed = static_cast<std::uint32_t>(item % size.x);
      if (dimensions >= 1)
        packed |= static_cast<std::uint32_t>(item / size.x % size.y) << 10;
      if (dimensions >= 2)
        packed |= static_cast<std::uint32_t>(item / size.x / size.y) << 20;
      wave.vectors[0].lane[lane] = packed;
    }

    unsigned next = 0;
    const auto push_pair = [&](std::uint64_t value) {
      wave.set_pair(next, value);
      next += 2;
    };
    if ((descriptor.properties & property_dispatch_pointer) != 0)
      push_pair(reinterpret_cast<std::uintptr_t>(&dispatch_.packet));
    if ((descriptor.properties & property_arguments) != 0)
      push_pair(reinterpret_cast<std::uintptr_t>(dispatch_.arguments->data()));
    if ((descriptor.properties & property_dispatch_id) != 0)
      push_pair(1);
    // Arguments that may be preloaded into scalar registers count as user registers. They are not
    // preloaded: code at the entry point loads them, for firmware that cannot do it.
    next = field(descriptor.resources2, 1, 5);
    const std::uint32_t ids[] = {id.x, id.y, id.z};
    for (unsigned direction = 0; direction < 3; ++direction)
      if (field(descriptor.resources2, 7 + direction, 1) != 0)
        wave.scalar[next++] = ids[direction];
  }

  Dispatch &dispatch_;
  Reach reach_;
  Group group_;
  std::vector<Wave> waves_;
};

template <class T> void put(std::vector<std::byte> &bytes, std::size_t offset, T value) {
  if (offset <= bytes.size() && sizeof value <= bytes.size() - offset)
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

} // namespace

Mode mode_of(const Descriptor &descriptor) {
  Mode mode;
  const unsigned single = field(descriptor.resources1, 16, 2);
  const unsigned other = field(descriptor.resources1, 18, 2);
  mode.flush_sources_32 = (single & 1u) == 0;
  mode.flush_results_32 = (single & 2u) == 0;
  mode.flush_sources_16_64 = (other & 1u) == 0;
  mode.flush_results_16_64 = (other & 2u) == 0;
  mode.dx10_clamp = field(descriptor.resources1, 21, 1) != 0;
  mode.ieee = field(descriptor.resources1, 23, 1) != 0;
  return mode;
}

bool supported(const Descriptor &descriptor, std::string &error) {
  const std::uint16_t refused = property_private_segment_buffer | property_queue_pointer |
                                property_flat_scratch | property_private_segment_size |
                                property_wave32 | property_dynamic_stack;
  if ((descriptor.properties & refused) != 0)
    error = "the kernel's descriptor asks for initial registers that are not provided";
  else if (field(descriptor.resources1, 12, 4) != 0)
    error = "the kernel rounds in another way than to nearest";
  else if (field(descriptor.resources1, 20, 1) != 0 || field(descriptor.resources1, 22, 1) != 0 ||
           field(descriptor.resources1, 26, 1) != 0)
    error = "the kernel's descriptor sets privileged, debug or overflow mode";
  else if (field(descriptor.resources2, 10, 1) != 0)
    error = "the kernel's descriptor asks for work-group information";
  else
    return true;
  return false;
}

std::vector<std::byte> complete_arguments(const kernels::Launch &launch) {
  std::vector<std::byte> bytes = launch.arguments;
  bytes.resize(std::max(bytes.size(), launch.kernel->argument_bytes) + argument_padding);
  const Shape shape = shape_of(launch);
  const std::uint32_t items[] = {shape.items.x, shape.items.y, shape.items.z};
  const std::uint32_t block[] = {launch.block.x, launch.block.y, launch.block.z};
  unsigned dimensions = 1;
  for (unsigned i = 1; i < 3; ++i)
    if (items[i] > 1)
      dimensions = i + 1;
  for (const kernels::Argument &argument : launch.kernel->arguments) {
    const std::string &kind = argument.value_kind;
    const std::size_t axis = kind.empty() ? 3 : static_cast<std::size_t>(kind.back() - 'x');
    const std::string stem = kind.substr(0, kind.empty() ? 0 : kind.size() - 1);
    if (axis < 3 && stem == "hidden_block_count_") // of the groups that are whole
      put(bytes, argument.offset, items[axis] / block[axis]);
    else if (axis < 3 && stem == "hidden_group_size_")
      put(bytes, argument.offset, static_cast<std::uint16_t>(block[axis]));
    else if (axis < 3 && stem == "hidden_remainder_")
      put(bytes, argument.offset, static_cast<std::uint16_t>(items[axis] % block[axis]));
    else if (axis < 3 && stem == "hidden_global_offset_")
      put(bytes, argument.offset, std::uint64_t{0});
    else if (kind == "hidden_grid_dims")
      put(bytes, argument.offset, static_cast<std::uint16_t>(dimensions));
    else if (kind == "hidden_dynamic_lds_size")
      put(bytes, argument.offset, launch.dynamic_lds_bytes);
    else if (kind == "hidden_private_base")
      put(bytes, argument.offset, static_cast<std::uint32_t>(private_aperture >> 32));
    else if (kind == "hidden_shared_base")
      put(bytes, argument.offset, static_cast<std::uint32_t>(shared_aperture >> 32));
  }
  return bytes;
}

std::string dispatch(const Loaded &loaded, const kernels::Launch &launch,
                     const std::vector<std::byte> &arguments, const kernels::Memory &memory,
                     unsigned threads) {
  Dispatch dispatch;
  dispatch.loaded = &loaded;
  dispatch.launch = &launch;
  dispatch.arguments = &arguments;
  dispatch.memory = &memory;
  dispatch.shape = shape_of(launch);
  dispatch.lds_bytes = std::size_t{loaded.descriptor.lds_bytes} + launch.dynamic_lds_bytes;
  dispatch.packet.group_x = static_cast<std::uint16_t>(launch.block.x);
  dispatch.packet.group_y = static_cast<std::uint16_t>(launch.block.y);
  dispatch.packet.group_z = static_cast<std::uint16_t>(launch.block.z);
  dispatch.packet.grid_x = dispatch.shape.items.x;
  dispatch.packet.grid_y = dispatch.shape.items.y;
  dispatch.packet.grid_z = dispatch.shape.items.z;
  dispatch.packet.private_bytes = loaded.descriptor.scratch_bytes;
  dispatch.packet.group_bytes = static_cast<std::uint32_t>(dispatch.lds_bytes);
  dispatch.packet.arguments = reinterpret_cast<std::uintptr_t>(arguments.data());

  const std::uint64_t groups =
      std::uint64_t{dispatch.shape.groups.x} * dispatch.shape.groups.y * dispatch.shape.groups.z;
  const auto workers =
      static_cast<unsigned>(std::min<std::uint64_t>(std::max(threads, 1u), groups));
  try {
    // Each part takes work-groups until none is left, so fewer threads than parts do as well.
    kernels::in_parallel(workers, 1, workers,
                         [&](std::size_t, std::size_t) { Worker(dispatch).work(); });
  } catch (const std::bad_alloc &) {
    return "kernel " + launch.kernel->name + ": there is not enough memory for its work-groups";
  }
  return dispatch.error;
}

} // namespace simhip::isa
