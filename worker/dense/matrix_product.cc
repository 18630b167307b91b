#include "worker/dense/matrix_product.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <dnnl.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/median.h"

namespace rowhouse {
namespace {

// Far more shapes than a run has. Streams whose batches all differ in size stay bounded.
constexpr size_t kMaxPrimitives = 512;

// What a primitive is made for.
struct ProductShape {
  int64_t batch = 1;
  int64_t rows = 0, inner = 0, columns = 0;  // of (rows x inner) by (inner x columns)
  int64_t a_leading = 0, b_leading = 0, c_leading = 0;
  bool a_transposed = false, b_transposed = false;
  bool bias = false;
  bool relu = false;
  bool b_stays = false;
  ElementType type = ElementType::kF32;  // of A

  auto operator<=>(const ProductShape&) const = default;
};

ProductShape ShapeOf(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                     const ProductOptions& options) {
  const bool are_integers = a.type == ElementType::kU8;
  CHECK(are_integers ? b.type == ElementType::kS8 && c.type == ElementType::kS32
                     : a.type == b.type && c.type == ElementType::kF32)
      << "types that do not go together";
  const ProductShape shape = {.batch = options.batch,
                              .rows = c.rows,
                              .inner = options.a_transposed ? a.rows : a.columns,
                              .columns = c.columns,
                              .a_leading = a.leading,
                              .b_leading = b.leading,
                              .c_leading = c.leading,
                              .a_transposed = options.a_transposed,
                              .b_transposed = options.b_transposed,
                              .bias = options.bias != nullptr,
                              .relu = options.relu,
                              .b_stays = options.b_stays,
                              .type = a.type};
  CHECK_EQ(options.a_transposed ? a.columns : a.rows, shape.rows);
  CHECK_EQ(options.b_transposed ? b.columns : b.rows, shape.inner);
  CHECK_EQ(options.b_transposed ? b.rows : b.columns, shape.columns);
  CHECK(shape.batch >= 1 && shape.rows >= 1 && shape.inner >= 1 && shape.columns >= 1);
  CHECK(a.leading >= a.columns && b.leading >= b.columns && c.leading >= c.columns);
  CHECK(shape.batch == 1 || !shape.bias);
  return shape;
}

struct Product {
  dnnl::memory::desc a, b, bias, c;
  dnnl::matmul multiply;
  // If B is laid out anew before each product, or once: as what, and how.
  dnnl::memory::desc packed_b;
  std::optional<dnnl::reorder> pack_b;
  std::map<const void*, dnnl::memory> packed;  // of each B that stays
};

// Whether oneDNN may choose the layout of B. Of a layer's products forward and backward for many
// samples, where B is the weights, that saves 3 to 5 % of the time; laying out takes 1.5 %.
bool IsPacked(const ProductShape& shape) {
  if (shape.b_stays) return true;
  return shape.batch == 1 && shape.rows >= 2 * std::max(shape.inner, shape.columns);
}

dnnl::memory::data_type TypeInOneDnn(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return dnnl::memory::data_type::f32;
    case ElementType::kBf16:
      return dnnl::memory::data_type::bf16;
    case ElementType::kU8:
      return dnnl::memory::data_type::u8;
    case ElementType::kS8:
      return dnnl::memory::data_type::s8;
    case ElementType::kS32:
      return dnnl::memory::data_type::s32;
  }
  LOG(FATAL) << "no such type";
}

// Of what the product takes: rows x columns, in memory the transpose of it if `transposed`.
dnnl::memory::desc Describe(int64_t batch, int64_t rows, int64_t columns, int64_t leading,
                            bool transposed, ElementType type = ElementType::kF32) {
  const dnnl::memory::data_type of = TypeInOneDnn(type);
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{columns * leading, 1, leading}
                                                : dnnl::memory::dims{rows * leading, leading, 1};
  // oneDNN has faster kernels for two dimensions than for three with a batch of one.
  if (batch == 1) {
    return {{rows, columns}, of, {strides[1], strides[2]}};
  }
  return {{batch, rows, columns}, of, strides};
}

Product MakeProduct(const ProductShape& shape, const dnnl::engine& engine) {
  Product product;
  product.a = Describe(shape.batch, shape.rows, shape.inner, shape.a_leading, shape.a_transposed,
                       shape.type);
  const bool are_integers = shape.type == ElementType::kU8;
  product.b = Describe(shape.batch, shape.inner, shape.columns, shape.b_leading, shape.b_transposed,
                       are_integers ? ElementType::kS8 : shape.type);
  product.c = Describe(shape.batch, shape.rows, shape.columns, shape.c_leading, false,
                       are_integers ? ElementType::kS32 : ElementType::kF32);
  product.packed_b = product.b;
  if (IsPacked(shape)) {
    product.packed_b = {product.b.dims(), product.b.data_type(), dnnl::memory::format_tag::any};
  }
  dnnl::primitive_attr attributes;
  if (shape.relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(after);
  }
  if (shape.bias) product.bias = Describe(1, 1, shape.columns, shape.columns, false);
  const dnnl::matmul::desc what =
      shape.bias ? dnnl::matmul::desc(product.a, product.packed_b, product.bias, product.c)
                 : dnnl::matmul::desc(product.a, product.packed_b, product.c);
  const dnnl::matmul::primitive_desc made(what, attributes, engine);
  product.multiply = dnnl::matmul(made);
  product.packed_b = made.weights_desc();
  if (product.packed_b != product.b) {
    product.pack_b.emplace(
        dnnl::reorder::primitive_desc(engine, product.b, engine, product.packed_b));
  }
  return product;
}

// oneDNN takes its inputs by pointers to non-const; it does not write to them.
void* Memory(const void* values) { return const_cast<void*>(values); }

}  // namespace

struct MatrixProducts::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<ProductShape, Product> products;
  dnnl::memory packed_b;  // room for that of one product, `packed_bytes`
  size_t packed_bytes = 0;
  void* RoomForPackedB(size_t bytes) {
    if (bytes > packed_bytes) {
      const dnnl::memory::dims size = {static_cast<int64_t>(bytes)}, stride = {1};
      packed_b = dnnl::memory({size, dnnl::memory::data_type::u8, stride}, engine);
      packed_bytes = bytes;
    }
    return packed_b.get_data_handle();
  }
};

MatrixProducts::MatrixProducts(ElementType precision)
    : precision_(precision), impl_(std::make_unique<Impl>()) {}
MatrixProducts::~MatrixProducts() = default;

void MatrixProducts::Multiply(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                              const ProductOptions& options) {
  const ProductShape shape = ShapeOf(a, b, c, options);
  try {
    auto found = impl_->products.find(shape);
    if (found == impl_->products.end()) {
      if (impl_->products.size() == kMaxPrimitives) impl_->products.clear();
      found = impl_->products.emplace(shape, MakeProduct(shape, impl_->engine)).first;
    }
    Product& product = found->second;
    dnnl::memory operand_b(product.b, impl_->engine, Memory(b.values));
    if (product.pack_b && shape.b_stays) {
      dnnl::memory& packed = product.packed[b.values];
      if (!packed) {
        packed = dnnl::memory(product.packed_b, impl_->engine);
        product.pack_b->execute(impl_->stream, operand_b, packed);
      }
      operand_b = packed;
    } else if (product.pack_b) {
      dnnl::memory packed(product.packed_b, impl_->engine,
                          impl_->RoomForPackedB(product.packed_b.get_size()));
      product.pack_b->execute(impl_->stream, operand_b, packed);
      operand_b = std::move(packed);
    }
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, {product.a, impl_->engine, Memory(a.values)}},
        {DNNL_ARG_WEIGHTS, operand_b},
        {DNNL_ARG_DST, {product.c, impl_->engine, c.values}}};
    if (shape.bias) {
      arguments.emplace(DNNL_ARG_BIAS,
                        dnnl::memory(product.bias, impl_->engine, Memory(options.bias)));
    }
    product.multiply.execute(impl_->stream, arguments);
    impl_->stream.wait();
  } catch (const dnnl::error& error) {
    // Every shape has an implementation (HasProductsOf), so this is out of memory or our mistake.
    LOG(FATAL) << "oneDNN product of " << shape.batch << " x (" << shape.rows << " x "
               << shape.inner << ") (" << shape.inner << " x " << shape.columns
               << "): " << error.what();
  }
}

bool HasProductsOf(ElementType type) {
  constexpr int kAvx512 = static_cast<int>(dnnl::cpu_isa::avx512_core);  // a set of bits
  return type != ElementType::kBf16 || (OneDnnCpuIsa() & kAvx512) == kAvx512;
}

double MeasureBf16Time() {
  constexpr int64_t kSize = 512;
  constexpr int kRounds = 9;  // odd: the median is one of them
  const std::vector<float> ones(kSize * kSize, 1.0f);
  const std::vector<uint16_t> halves(kSize * kSize, 0x3f80);  // 1
  std::vector<float> c(kSize * kSize);
  MatrixProducts products;
  std::vector<double> ratios;
  const SystemClock clock;
  const auto seconds = [&](const ConstMatrix& operand) {
    const TimeNs begin = clock.NowNs();
    products.Multiply(operand, operand, MatrixOf(c.data(), kSize, kSize), {.b_transposed = true});
    return SecondsSince(begin, clock);
  };
  for (int round = 0; round <= kRounds; ++round) {
    const double f32 = seconds(MatrixOf(ones.data(), kSize, kSize));
    const double bf16 = seconds(MatrixOf(halves.data(), kSize, kSize));
    if (round > 0) ratios.push_back(bf16 / f32);  // the first makes the primitives
  }
  return MedianOf(std::move(ratios));
}

int OneDnnCpuIsa() { return static_cast<int>(dnnl::get_effective_cpu_isa()); }

}  // namespace rowhouse
