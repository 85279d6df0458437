#include "contraction.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "parallel.hpp"

namespace simhip::kernels {

namespace {

// Work of so many products or elements is worth a thread.
constexpr std::size_t worth_a_thread = 100'000;

unsigned worthwhile(std::size_t work, unsigned threads) {
  return static_cast<unsigned>(std::min<std::size_t>(threads, work / worth_a_thread + 1));
}

// A buffer without the zeros of std::vector, which would cost a pass over it in one thread.
template <typename Sum> using Buffer = std::unique_ptr<Sum[]>;

template <typename Sum> Buffer<Sum> buffer(std::size_t size) {
  return Buffer<Sum>(new Sum[size]);
}

// Copies a tensor to consecutive elements in the order of its axes.
template <typename Sum, Element element> void pack_as(const View &view, Sum *to, unsigned threads) {
  using Memory = typename Stored<element>::Memory;
  const std::array<Axis, 6> &axes = view.axes;
  const std::size_t rows = axes[0].count * axes[1].count, row = view.elements() / rows;
  in_parallel(
      rows, 1, worthwhile(view.elements(), threads), [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; r++) {
          Sum *target = to + r * row;
          std::size_t at = r / axes[1].count * axes[0].stride + r % axes[1].count * axes[1].stride;
          for (std::size_t i2 = 0; i2 < axes[2].count; i2++)
            for (std::size_t i3 = 0; i3 < axes[3].count; i3++)
              for (std::size_t i4 = 0; i4 < axes[4].count; i4++) {
                const Memory *source = reinterpret_cast<const Memory *>(view.address) + at +
                                       i2 * axes[2].stride + i3 * axes[3].stride +
                                       i4 * axes[4].stride;
                for (std::size_t i5 = 0; i5 < axes[5].count; i5++)
                  Stored<element>::load(source[i5 * axes[5].stride], *target++);
              }
        }
      });
}

Buffer<double> pack(const View &view, unsigned threads, double) {
  auto to = buffer<double>(view.elements());
  switch (view.element) {
  case Element::float16:
    pack_as<double, Element::float16>(view, to.get(), threads);
    break;
  case Element::bfloat16:
    pack_as<double, Element::bfloat16>(view, to.get(), threads);
    break;
  default:
    pack_as<double, Element::float32>(view, to.get(), threads);
  }
  return to;
}

Buffer<std::uint32_t> pack(const View &view, unsigned threads, std::uint32_t) {
  auto to = buffer<std::uint32_t>(view.elements());
  pack_as<std::uint32_t, Element::int8>(view, to.get(), threads);
  return to;
}

// alpha * sum + beta * old, with one rounding less than it has operations: compilers fuse the first
// product with the addition.
double scale(double sum, double old, double alpha, double beta) {
  return std::fma(alpha, sum, old * beta);
}

// Integer kernels convert the factors first.
std::uint32_t scale(std::uint32_t sum, std::uint32_t old, double alpha, double beta) {
  return static_cast<std::uint32_t>(double_to_int32(alpha)) * sum +
         old * static_cast<std::uint32_t>(double_to_int32(beta));
}

template <typename Sum, Element element>
void store_as(const Contraction &c, std::size_t at, std::size_t stride, const Sum *sums,
              std::size_t count) {
  auto *to = reinterpret_cast<typename Stored<element>::Memory *>(c.result.address) + at;
  for (std::size_t i = 0; i < count; i++, to += stride) {
    Sum value = sums[i];
    if (c.reads_result()) {
      Sum old;
      Stored<element>::load(*to, old);
      value = scale(value, old, c.alpha, c.beta);
    }
    *to = Stored<element>::store(value);
  }
}

void store(const Contraction &c, std::size_t at, std::size_t stride, const double *sums,
           std::size_t count) {
  switch (c.result.element) {
  case Element::float16:
    return store_as<double, Element::float16>(c, at, stride, sums, count);
  case Element::bfloat16:
    return store_as<double, Element::bfloat16>(c, at, stride, sums, count);
  default:
    return store_as<double, Element::float32>(c, at, stride, sums, count);
  }
}

void store(const Contraction &c, std::size_t at, std::size_t stride, const std::uint32_t *sums,
           std::size_t count) {
  switch (c.result.element) {
  case Element::int8:
    return store_as<std::uint32_t, Element::int8>(c, at, stride, sums, count);
  case Element::int32:
    return store_as<std::uint32_t, Element::int32>(c, at, stride, sums, count);
  default:
    return store_as<std::uint32_t, Element::float32>(c, at, stride, sums, count);
  }
}

// A link of a position in all three dimensions: where its operands are, in elements of the packed
// tensors.
struct Term {
  std::size_t scalar, vector;
};

// The two loops of a sum, the outer one first, and their steps.
template <typename Sum> struct Loops {
  const Sum *scalar, *vector;
  std::size_t depth, scalar_step, vector_step;
  const std::vector<Term> &terms;
  bool links_inside;
};

// Adds up width neighbouring lanes. Their number is fixed, so that the sums stay in vector
// registers.
template <std::size_t width, typename Sum>
void add_up(const Loops<Sum> &loops, std::size_t lane, Sum *sums) {
  Sum sum[width] = {};
  auto add = [&](std::size_t d, const Term &term) {
    Sum scalar = loops.scalar[d * loops.scalar_step + term.scalar];
    const Sum *vector = loops.vector + d * loops.vector_step + term.vector + lane;
    for (std::size_t i = 0; i < width; i++)
      sum[i] += scalar * vector[i];
  };
  if (loops.links_inside) {
    for (std::size_t d = 0; d < loops.depth; d++)
      for (const Term &term : loops.terms)
        add(d, term);
  } else {
    for (const Term &term : loops.terms)
      for (std::size_t d = 0; d < loops.depth; d++)
        add(d, term);
  }
  std::copy_n(sum, width, sums);
}

// The three axes of a view that make up its positions.
struct Grid {
  const Axis &z, &y, &x;

  Grid(const View &view, std::size_t first)
      : z(view.axes[first]), y(view.axes[first + 1]), x(view.axes[first + 2]) {}

  std::size_t positions() const {
    return z.count * y.count * x.count;
  }
  // The number of a position, in packed order.
  std::size_t number(std::size_t iz, std::size_t iy, std::size_t ix) const {
    return (iz * y.count + iy) * x.count + ix;
  }
};

template <typename Sum> void contract_in(const Contraction &c, unsigned threads) {
  const Axis &groups = c.result.axes[0], &rows = c.result.axes[1], &depth = c.scalar.axes[2],
             &lanes = c.result.axes[5];
  const Grid scalar_grid(c.scalar, 3), vector_grid(c.vector, 2), grid(c.result, 2);
  const std::size_t positions = grid.positions();

  Buffer<Sum> scalars = pack(c.scalar, threads, Sum{}), vectors = pack(c.vector, threads, Sum{});

  // A part is a position of a group and row, and a block of its lanes.
  constexpr std::size_t block = 64;
  const std::size_t blocks = (lanes.count + block - 1) / block;
  const std::size_t parts = groups.count * rows.count * positions * blocks;
  std::size_t linked = 1; // at most, for one position
  for (const Links &links : c.links) {
    std::size_t most = 0;
    for (const std::vector<Link> &of_index : links)
      most = std::max(most, of_index.size());
    linked *= most;
  }
  const std::size_t work = depth.count * (linked + 1) * std::min(lanes.count, block);
  const std::size_t chunk = std::max<std::size_t>(1, worth_a_thread / 4 / work);
  const double all = static_cast<double>(parts) * static_cast<double>(work);
  threads = all > 1e15 ? threads : worthwhile(static_cast<std::size_t>(all), threads);
  in_parallel(parts, chunk, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Term> terms;
    terms.reserve(linked);
    std::size_t known = SIZE_MAX; // the position that terms are of
    for (std::size_t part = begin; part < end; part++) {
      const std::size_t first = part % blocks * block, position = part / blocks % positions;
      const std::size_t row = part / blocks / positions % rows.count;
      const std::size_t group = part / blocks / positions / rows.count;
      const std::size_t x = position % grid.x.count, zy = position / grid.x.count,
                        z = zy / grid.y.count, y = zy % grid.y.count;
      if (known != position) {
        terms.clear();
        for (Link lz : c.links[0][z])
          for (Link ly : c.links[1][y])
            for (Link lx : c.links[2][x])
              terms.push_back({scalar_grid.number(lz.scalar, ly.scalar, lx.scalar),
                               vector_grid.number(lz.vector, ly.vector, lx.vector) * lanes.count});
        known = position;
      }
      const std::size_t scalar_step = scalar_grid.positions(),
                        vector_step = vector_grid.positions() * lanes.count;
      Loops<Sum> loops{scalars.get() + (group * rows.count + row) * depth.count * scalar_step,
                       vectors.get() + group * depth.count * vector_step,
                       depth.count,
                       scalar_step,
                       vector_step,
                       terms,
                       c.links_inside};
      Sum sums[block];
      const std::size_t last = std::min(first + block, lanes.count);
      std::size_t lane = first;
      for (; lane + 16 <= last; lane += 16)
        add_up<16>(loops, lane, sums + (lane - first));
      for (; lane + 4 <= last; lane += 4)
        add_up<4>(loops, lane, sums + (lane - first));
      for (; lane < last; lane++)
        add_up<1>(loops, lane, sums + (lane - first));
      store(c,
            group * groups.stride + row * rows.stride + z * grid.z.stride + y * grid.y.stride +
                x * grid.x.stride + first * lanes.stride,
            lanes.stride, sums, last - first);
    }
  });
}

} // namespace

std::size_t View::elements() const {
  std::size_t result = 1;
  for (const Axis &axis : axes)
    result *= axis.count;
  return result;
}

void contract(const Contraction &contraction, unsigned threads) {
  if (contraction.accumulator == Accumulator::float64)
    contract_in<double>(contraction, threads);
  else
    contract_in<std::uint32_t>(contraction, threads);
}

} // namespace simhip::kernels
