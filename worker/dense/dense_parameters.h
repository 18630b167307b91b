// DenseParameters: all parameters of the dense part and their gradients, in two flat f32 arrays of
// the same layout: the allreduce, the optimizer and checkpoints see one vector each.
//
// Layers add named blocks, then the owner calls Allocate(), then spans may be taken. Blocks lie in
// the order in which they were added, without gaps. Saved models have this order, so a new kind of
// layer adds its blocks after all others.
// Threads: one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rowhouse {

// What a block holds before training, unless the owner writes other values.
enum class InitialValues { kZero, kOne, kXavierNormal, kXavierUniform };

class DenseParameters {
 public:
  struct Block {
    std::string name;                // unique; torch's, as in "bot_l.0.weight"
    uint32_t rows = 0, columns = 0;  // row-major; a bias has one column
    InitialValues initial_values = InitialValues::kZero;
    size_t offset = 0;  // in floats

    size_t size() const { return size_t{rows} * columns; }
  };

  DenseParameters() = default;
  DenseParameters(const DenseParameters&) = delete;
  DenseParameters& operator=(const DenseParameters&) = delete;

  // Returns the block's number. Requires a new name, rows and columns of 1 or more, and that
  // Allocate() was not called.
  size_t Add(std::string name, uint32_t rows, uint32_t columns,
             InitialValues initial_values = InitialValues::kZero);

  // Once, after the last Add(): all zeros.
  void Allocate();

  // From now on gradients() lie in `memory`, of size() floats, which outlives this object.
  void PlaceGradients(std::span<float> memory);

  const std::vector<Block>& blocks() const { return blocks_; }
  size_t size() const { return size_; }  // floats, also before Allocate()

  // All, or those of one block; valid as long as this object. Require Allocate().
  std::span<float> values();
  std::span<float> values(size_t block);
  std::span<float> gradients();
  std::span<float> gradients(size_t block);

 private:
  std::vector<Block> blocks_;
  size_t size_ = 0;
  bool is_allocated_ = false;
  std::vector<float> values_, own_gradients_;
  std::span<float> gradients_;
};

}  // namespace rowhouse
