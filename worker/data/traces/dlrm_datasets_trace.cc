#include "worker/data/traces/dlrm_datasets_trace.h"

#include <algorithm>

#include "worker/data/traces/torch_file.h"

namespace rowhouse {
namespace {

class DlrmDatasetsTrace final : public TraceReader {
 public:
  DlrmDatasetsTrace(std::string path, TorchFile file)
      : path_(std::move(path)), file_(std::move(file)) {
    for (uint64_t t = 0; t < lengths().shape[0]; ++t) {
      tables_.push_back({.name = fmt::format("t{}", t)});
    }
    figures_.resize(tables_.size());
  }

  const char* form() const override { return "dlrm_datasets"; }
  const std::vector<TraceTable>& tables() const override { return tables_; }

  Result<uint64_t> Read(uint64_t samples, std::vector<Bags>* features) override {
    CHECK_GT(samples, 0u);
    const uint64_t all = lengths().shape[1];
    const uint64_t count = std::min(samples, all - next_);
    features->resize(tables_.size());
    for (uint64_t t = 0; t < tables_.size(); ++t) {
      Bags& bags = (*features)[t];
      bags.clear();
      for (uint64_t bag = t * all + next_; bag < t * all + next_ + count; ++bag) {
        RETURN_IF_ERROR(AddBag(bag, &bags));
      }
      figures_[t].Add(bags);
    }
    next_ += count;
    RETURN_IF_ERROR(file_.CheckWhole());
    return count;
  }

 private:
  const TorchTensor& indices() const { return file_.tensors()[0]; }
  const TorchTensor& offsets() const { return file_.tensors()[1]; }
  const TorchTensor& lengths() const { return file_.tensors()[2]; }

  Status AddBag(uint64_t bag, Bags* bags) const {
    const int64_t begin = offsets()[bag], end = offsets()[bag + 1];
    const uint64_t samples = lengths().shape[1];
    const auto bad = [&](const std::string& what) {
      return UsageError("{}: table t{}, sample {}: {}", path_, bag / samples, bag % samples, what);
    };
    if (begin < 0 || end < begin || static_cast<uint64_t>(end) > indices().elements()) {
      return bad(
          fmt::format("its bag is [{}, {}) of {} indices", begin, end, indices().elements()));
    }
    if (end - begin != lengths()[bag]) {
      return bad(fmt::format("offsets say {} ids, lengths {}", end - begin, lengths()[bag]));
    }
    for (auto i = static_cast<uint64_t>(begin); i < static_cast<uint64_t>(end); ++i) {
      const int64_t id = indices()[i];
      if (id < 0) return bad(fmt::format("index {} is negative", id));
      bags->ids.push_back(static_cast<uint64_t>(id));
    }
    bags->EndBag();
    return OkStatus();
  }

  const std::string path_;
  const TorchFile file_;
  std::vector<TraceTable> tables_;
  uint64_t next_ = 0;  // sample
};

}  // namespace

Result<std::unique_ptr<TraceReader>> OpenDlrmDatasetsTrace(const std::string& path) {
  ASSIGN_OR_RETURN(TorchFile file, TorchFile::Open(path));
  const std::vector<TorchTensor>& tensors = file.tensors();
  if (tensors.size() != 3) {
    return UsageError("{}: holds {} tensors, expected indices, offsets and lengths", path,
                      tensors.size());
  }
  const TorchTensor& lengths = tensors[2];
  if (lengths.shape.size() != 2 || tensors[1].elements() != lengths.elements() + 1) {
    return UsageError(
        "{}: expected lengths of tables x samples, and one offset more than lengths; it has {} "
        "lengths in {} dimensions and {} offsets",
        path, lengths.elements(), lengths.shape.size(), tensors[1].elements());
  }
  if (tensors[0].elements() == 0) return UsageError("{}: has no lookups", path);
  return std::unique_ptr<TraceReader>(std::make_unique<DlrmDatasetsTrace>(path, std::move(file)));
}

}  // namespace rowhouse
