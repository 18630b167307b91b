#include "worker/data/convert/batch_part.h"

namespace rowhouse {
namespace {

template <typename T>
void CopyRange(const std::vector<T>& all, size_t first, size_t end, std::vector<T>* part) {
  part->assign(all.begin() + static_cast<ptrdiff_t>(first),
               all.begin() + static_cast<ptrdiff_t>(end));
}

void CopyBags(const Bags& all, size_t first, size_t end, Bags* part) {
  const uint32_t begin = all.offsets[first], stop = all.offsets[end];
  CopyRange(all.ids, begin, stop, &part->ids);
  if (!all.weights.empty()) CopyRange(all.weights, begin, stop, &part->weights);
  part->offsets.resize(end - first + 1);
  for (size_t i = first; i <= end; ++i) part->offsets[i - first] = all.offsets[i] - begin;
}

}  // namespace

void CopySamples(const Batch& all, size_t first, size_t end, Batch* part) {
  part->Clear(all.dense_features, all.features.size());
  part->samples = end - first;
  CopyRange(all.dense, first * all.dense_features, end * all.dense_features, &part->dense);
  if (!all.labels.empty()) CopyRange(all.labels, first, end, &part->labels);
  if (!all.weights.empty()) CopyRange(all.weights, first, end, &part->weights);
  for (size_t feature = 0; feature < all.features.size(); ++feature) {
    CopyBags(all.features[feature], first, end, &part->features[feature]);
  }
}

}  // namespace rowhouse
