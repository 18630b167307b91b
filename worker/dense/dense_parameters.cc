#include "worker/dense/dense_parameters.h"

#include <glog/logging.h>

#include <algorithm>

namespace rowhouse {

size_t DenseParameters::Add(std::string name, uint32_t rows, uint32_t columns,
                            InitialValues initial_values) {
  CHECK(!is_allocated_) << "block " << name << " comes after Allocate()";
  CHECK(rows >= 1 && columns >= 1) << name;
  const bool is_new = std::none_of(blocks_.begin(), blocks_.end(),
                                   [&](const Block& block) { return block.name == name; });
  CHECK(is_new) << "two blocks " << name;
  blocks_.push_back({.name = std::move(name),
                     .rows = rows,
                     .columns = columns,
                     .initial_values = initial_values,
                     .offset = size_});
  size_ += blocks_.back().size();
  return blocks_.size() - 1;
}

void DenseParameters::Allocate() {
  CHECK(!is_allocated_);
  is_allocated_ = true;
  values_.assign(size_, 0.0f);
  own_gradients_.assign(size_, 0.0f);
  gradients_ = own_gradients_;
}

void DenseParameters::PlaceGradients(std::span<float> memory) {
  CHECK(is_allocated_);
  CHECK_EQ(memory.size(), size_);
  gradients_ = memory;
  own_gradients_ = {};
}

std::span<float> DenseParameters::values() {
  CHECK(is_allocated_);
  return values_;
}

std::span<float> DenseParameters::values(size_t block) {
  return values().subspan(blocks_.at(block).offset, blocks_[block].size());
}

std::span<float> DenseParameters::gradients() {
  CHECK(is_allocated_);
  return gradients_;
}

std::span<float> DenseParameters::gradients(size_t block) {
  return gradients().subspan(blocks_.at(block).offset, blocks_[block].size());
}

}  // namespace rowhouse
