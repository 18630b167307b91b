// "dot": [t_0 | <t_i, t_j> for i = 0..F-1, j = 0..i-1 (or ..i with `itself`)] (Naumov et al.,
// 2019).
//
// A batched product (matrix_product.h): measured at batch 128 on one core it takes 29 us (27
// vectors of 16) and 21 us (9 of 64) where our best loop takes 42 and 28, and 31 and 11 us backward
// where ours takes 51 and 19. Threads divide the samples: each has products of its own, of one
// thread, which have the same bits.
#include <omp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "worker/dense/interaction.h"

namespace rowhouse {
namespace {

// A block's vectors, products and gradients stay in the second-level cache.
constexpr size_t kSamplesPerBlock = 128;

class DotInteraction final : public Interaction {
 public:
  explicit DotInteraction(const InteractionOptions& options)
      : vectors_(static_cast<uint32_t>(options.widths.size())),
        dim_(options.widths.front()),
        itself_(options.itself) {}

  uint32_t width() const override {
    return dim_ + (itself_ ? vectors_ * (vectors_ + 1) / 2 : vectors_ * (vectors_ - 1) / 2);
  }

  void Forward(std::span<const float* const> vectors, size_t samples, float* z) override {
    CHECK_EQ(vectors.size(), vectors_);
    stacked_.resize(samples * vectors_ * dim_);
    ForEachBlock(samples, [&](size_t first, size_t some, Scratch* scratch) {
      for (size_t i = 0; i < vectors_; ++i) {
        for (size_t s = first; s < first + some; ++s) {
          std::copy_n(vectors[i] + s * dim_, dim_, &stacked_[(s * vectors_ + i) * dim_]);
        }
      }
      ForwardBlock(first, some, z + first * width(), scratch);
    });
  }

  void Backward(const float* dz, size_t samples, std::span<float* const> gradients) override {
    CHECK_EQ(gradients.size(), vectors_);
    CHECK_EQ(stacked_.size(), samples * vectors_ * dim_);
    ForEachBlock(samples, [&](size_t first, size_t some, Scratch* scratch) {
      BackwardBlock(first, some, dz + first * width(), gradients, scratch);
    });
  }

 private:
  // Of a thread.
  struct Scratch {
    MatrixProducts products;
    std::vector<float> pairs;      // a block's F x F matrices: products, later gradients
    std::vector<float> gradients;  // a block's gradients, as stacked_
  };

  // Calls visit(first, samples, scratch) for each block, on all threads.
  template <typename Visit>
  void ForEachBlock(size_t samples, const Visit& visit) {
    const auto blocks = static_cast<int64_t>((samples + kSamplesPerBlock - 1) / kSamplesPerBlock);
    const int threads = static_cast<int>(std::min<int64_t>(omp_get_max_threads(), blocks));
    while (scratch_.size() < static_cast<size_t>(threads)) {
      scratch_.push_back(std::make_unique<Scratch>());
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t b = 0; b < blocks; ++b) {
      const size_t first = static_cast<size_t>(b) * kSamplesPerBlock;
      visit(first, std::min(kSamplesPerBlock, samples - first),
            scratch_[static_cast<size_t>(omp_get_thread_num())].get());
    }
  }

  // Pairs of t_i end before this j.
  size_t PairsEnd(size_t i) const { return itself_ ? i + 1 : i; }

  // All F x F products of a sample, T T^T, of which the lower triangle is the result.
  void ForwardBlock(size_t first, size_t samples, float* z, Scratch* scratch) const {
    const float* stacked = &stacked_[first * vectors_ * dim_];
    scratch->pairs.resize(samples * vectors_ * vectors_);
    const ConstMatrix of_sample = MatrixOf(stacked, vectors_, dim_);
    scratch->products.Multiply(of_sample, of_sample,
                               MatrixOf(scratch->pairs.data(), vectors_, vectors_),
                               {.batch = static_cast<int64_t>(samples), .b_transposed = true});
    const float* products = scratch->pairs.data();
    for (size_t s = 0; s < samples; ++s) {
      z = std::copy_n(stacked + s * vectors_ * dim_, dim_, z);
      for (size_t i = 0; i < vectors_; ++i, products += vectors_) {
        z = std::copy_n(products, PairsEnd(i), z);
      }
    }
  }

  // With G the symmetric matrix of pair gradients (its diagonal doubled, for d<t, t> = 2 t dt),
  // dT = G T; t_0 also has the gradient of its copy in z.
  void BackwardBlock(size_t first, size_t samples, const float* dz,
                     std::span<float* const> gradients, Scratch* scratch) const {
    scratch->pairs.resize(samples * vectors_ * vectors_);
    for (size_t s = 0; s < samples; ++s) {
      const float* pair = dz + s * width() + dim_;
      float* g = &scratch->pairs[s * vectors_ * vectors_];
      for (size_t i = 0; i < vectors_; ++i) {
        for (size_t j = 0; j < i; ++j) g[i * vectors_ + j] = g[j * vectors_ + i] = *pair++;
        g[i * vectors_ + i] = itself_ ? 2.0f * *pair++ : 0.0f;
      }
    }
    scratch->gradients.resize(samples * vectors_ * dim_);
    const float* const pairs = scratch->pairs.data();
    const float* const stacked = &stacked_[first * vectors_ * dim_];
    scratch->products.Multiply(MatrixOf(pairs, vectors_, vectors_),
                               MatrixOf(stacked, vectors_, dim_),
                               MatrixOf(scratch->gradients.data(), vectors_, dim_),
                               {.batch = static_cast<int64_t>(samples)});
    for (size_t i = 0; i < vectors_; ++i) {
      for (size_t s = 0; s < samples; ++s) {
        std::copy_n(&scratch->gradients[(s * vectors_ + i) * dim_], dim_,
                    gradients[i] + (first + s) * dim_);
      }
    }
    for (size_t s = 0; s < samples; ++s) {
      for (size_t c = 0; c < dim_; ++c) {
        gradients[0][(first + s) * dim_ + c] += dz[s * width() + c];
      }
    }
  }

  const uint32_t vectors_;
  const uint32_t dim_;
  const bool itself_;
  std::vector<float> stacked_;  // samples x F x dim, of the last Forward
  std::vector<std::unique_ptr<Scratch>> scratch_;
};

REGISTER_MEMBER(Interactions().Add<DotInteraction>("dot",
                                                   InteractionDeclaration{.pairs_itself = true}));

}  // namespace
}  // namespace rowhouse
