#include "worker/dense/matrix_product.h"

#include <glog/logging.h>

#include <dnnl.hpp>
#include <map>

namespace rowhouse {
namespace {

// Far more shapes than a run has. Streams whose batches all differ in size stay bounded.
constexpr size_t kMaxPrimitives = 512;

struct Product {
  dnnl::memory::desc a, b, bias, c;
  dnnl::matmul multiply;
};

dnnl::memory::desc Dense(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{rows * columns, 1, rows}
                                                : dnnl::memory::dims{rows * columns, columns, 1};
  // oneDNN has faster kernels for two dimensions than for three with a batch of one.
  if (batch == 1) {
    return {{rows, columns}, dnnl::memory::data_type::f32, {strides[1], strides[2]}};
  }
  return {{batch, rows, columns}, dnnl::memory::data_type::f32, strides};
}

Product MakeProduct(const ProductShape& shape, const dnnl::engine& engine) {
  CHECK(shape.batch >= 1 && shape.rows >= 1 && shape.inner >= 1 && shape.columns >= 1);
  CHECK(shape.batch == 1 || !shape.bias);
  Product product;
  product.a = Dense(shape.batch, shape.rows, shape.inner, shape.a_transposed);
  product.b = Dense(shape.batch, shape.inner, shape.columns, shape.b_transposed);
  product.c = Dense(shape.batch, shape.rows, shape.columns, false);
  dnnl::primitive_attr attributes;
  if (shape.relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(after);
  }
  if (shape.bias) {
    product.bias = Dense(1, 1, shape.columns, false);
    const dnnl::matmul::desc what(product.a, product.b, product.bias, product.c);
    product.multiply = dnnl::matmul({what, attributes, engine});
  } else {
    const dnnl::matmul::desc what(product.a, product.b, product.c);
    product.multiply = dnnl::matmul({what, attributes, engine});
  }
  return product;
}

// oneDNN takes its inputs by pointers to non-const; it does not write to them.
void* Memory(const float* values) { return const_cast<float*>(values); }

}  // namespace

struct MatrixProducts::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<ProductShape, Product> products;
};

MatrixProducts::MatrixProducts() : impl_(std::make_unique<Impl>()) {}
MatrixProducts::~MatrixProducts() = default;

void MatrixProducts::Multiply(const ProductShape& shape, const float* a, const float* b,
                              const float* bias, float* c) {
  try {
    auto found = impl_->products.find(shape);
    if (found == impl_->products.end()) {
      if (impl_->products.size() == kMaxPrimitives) impl_->products.clear();
      found = impl_->products.emplace(shape, MakeProduct(shape, impl_->engine)).first;
    }
    const Product& product = found->second;
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, {product.a, impl_->engine, Memory(a)}},
        {DNNL_ARG_WEIGHTS, {product.b, impl_->engine, Memory(b)}},
        {DNNL_ARG_DST, {product.c, impl_->engine, c}}};
    if (shape.bias) {
      arguments.emplace(DNNL_ARG_BIAS, dnnl::memory(product.bias, impl_->engine, Memory(bias)));
    }
    product.multiply.execute(impl_->stream, arguments);
    impl_->stream.wait();
  } catch (const dnnl::error& error) {
    // Every shape of f32 has an implementation, so this is out of memory or our mistake.
    LOG(FATAL) << "oneDNN product of " << shape.batch << " x (" << shape.rows << " x "
               << shape.inner << ") (" << shape.inner << " x " << shape.columns
               << "): " << error.what();
  }
}

int OneDnnCpuIsa() { return static_cast<int>(dnnl::get_effective_cpu_isa()); }

}  // namespace rowhouse
