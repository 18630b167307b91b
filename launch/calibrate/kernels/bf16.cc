// fully_connected_bf16 (samples, inputs, outputs): the forward product of a layer in bf16, summed
// in f32, by oneDNN. No run computes so yet; `plan` says what it would save.
#include <cstring>
#include <dnnl.hpp>
#include <unordered_map>

#include "launch/bench/stopwatch.h"
#include "launch/calibrate/measured_kernel.h"

namespace rowhouse {
namespace {

using dnnl::memory;

class Bf16 final : public MeasuredKernel {
 public:
  Bf16() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  Status Prepare(std::span<const double> sizes) override try {
    const auto samples = static_cast<memory::dim>(sizes[0]);
    const auto in = static_cast<memory::dim>(sizes[1]), out = static_cast<memory::dim>(sizes[2]);
    using memory::data_type::bf16;
    using memory::format_tag::ab, memory::format_tag::ba;
    const memory::desc x({samples, in}, bf16, ab), w({in, out}, bf16, ba),
        y({samples, out}, bf16, ab);
    product_ = dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(x, w, y), engine_));
    matrices_ = {{DNNL_ARG_SRC, memory(x, engine_)},
                 {DNNL_ARG_WEIGHTS, memory(w, engine_)},
                 {DNNL_ARG_DST, memory(y, engine_)}};
    for (auto& [name, matrix] : matrices_) {
      std::memset(matrix.get_data_handle(), 0, matrix.get_desc().get_size());
    }
    return Measure().status();
  } catch (const dnnl::error& error) {
    return MakeStatus(StatusCode::kUnavailable, "oneDNN has no bf16 product here: {}",
                      error.what());
  }
  Result<std::vector<double>> Measure() override {
    const Stopwatch stopwatch;
    product_.execute(stream_, matrices_);
    stream_.wait();
    return std::vector{stopwatch.Ns()};
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul product_;
  std::unordered_map<int, memory> matrices_;
};

REGISTER_MEMBER(AddMeasuredKernels([]() -> std::vector<KernelDeclaration> {
  return {
      {.name = "fully_connected_bf16",
       .grid = {{"samples", {16, 128, 1024}},
                {"inputs", {16, 128, 1024}},
                {"outputs", {16, 128, 1024}}},
       .make = Makes<Bf16>()},
  };
}));

}  // namespace
}  // namespace rowhouse
