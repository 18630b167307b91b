#include "sharding/lab/gpu/op_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "sharding/lab/gpu/lookup.h"

namespace rowhouse {
namespace {

std::string_view PlainName(std::string_view name) {
  if (const size_t colons = name.rfind("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
  }
  if (name.ends_with("Backward0")) name.remove_suffix(1);
  return name;
}

Status NoShapes(const TraceEvents& trace, const TraceEvent& op) {
  return UsageError(
      "{}: {}: its \"Input Dims\" are missing; record the trace with record_shapes=True, by "
      "a PyTorch that has Kineto (torch.profiler.kineto_available())",
      trace.file, op.Describe());
}

Status BadShapes(const TraceEvents& trace, const TraceEvent& op, const Shapes& shapes,
                 std::string_view expected) {
  return UsageError("{}: {}: shapes {}, expected {}", trace.file, op.Describe(), shapes, expected);
}

uint64_t U(int64_t size) { return static_cast<uint64_t>(size); }

// [.., A, B] from shape `first` on, with `dims` dimensions each.
Result<GpuProduct> ProductOf(const TraceEvents& trace, const TraceEvent& op, size_t first,
                             size_t dims) {
  if (!op.shapes) return NoShapes(trace, op);
  const Shapes& shapes = *op.shapes;
  const std::string_view expected = first > 0   ? "[bias, M x K, K x N]"
                                    : dims == 3 ? "[batch x M x K, batch x K x N]"
                                                : "[M x K, K x N]";
  if (!HasShape(shapes, first, dims) || !HasShape(shapes, first + 1, dims)) {
    return BadShapes(trace, op, shapes, expected);
  }
  const Shape &a = shapes[first], &b = shapes[first + 1];
  if (a[dims - 1] != b[dims - 2] || (dims == 3 && a[0] != b[0])) {
    return BadShapes(trace, op, shapes, expected);
  }
  return GpuProduct{dims == 3 ? U(a[0]) : 1, U(a[dims - 2]), U(b[dims - 1]), U(a[dims - 1])};
}

// All operators named `name` below `op`, innermost ones that hold no other first found.
void FindBelow(const TraceEvents& trace, const TraceEvent& op, std::string_view name,
               std::vector<const TraceEvent*>* found) {
  for (const size_t child : op.children) {
    const TraceEvent& event = trace.events[child];
    if (PlainName(event.name) == name) {
      found->push_back(&event);
    } else {
      FindBelow(trace, event, name, found);
    }
  }
}

// The first shape of each child of that name, in their order.
Shapes ShapesOfChildren(const TraceEvents& trace, const TraceEvent& op, std::string_view name) {
  Shapes shapes;
  for (const size_t child : op.children) {
    const TraceEvent& event = trace.events[child];
    if (PlainName(event.name) == name && event.shapes && !event.shapes->empty()) {
      shapes.push_back(event.shapes->front());
    }
  }
  return shapes;
}

// "true" of "void kernel<float, true, 4>(...)"; "" if there is none.
std::string_view SecondTemplateArgument(std::string_view name) {
  const size_t begin = name.find('<');
  if (begin == std::string_view::npos) return "";
  int depth = 0;
  size_t argument = 0, from = begin + 1;
  for (size_t i = begin; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (depth > 1 || (name[i] != ',' && depth > 0)) continue;
    if (argument++ == 1) {
      std::string_view found = name.substr(from, i - from);
      while (found.starts_with(' ')) found.remove_prefix(1);
      return found;
    }
    if (depth == 0) break;
    from = i + 1;
  }
  return "";
}

constexpr double kElementBytes = 4;
constexpr double kMaxRanks = 1 << 16;

struct NamedCollective {
  std::string_view prefix;
  Collective collective;
};
constexpr std::array<NamedCollective, 7> kCollectives = {{
    {"nccl:all_to_all", Collective::kAllToAll},
    {"nccl:all_reduce", Collective::kAllReduce},
    {"nccl:all_gather", Collective::kAllGather},
    {"nccl:_all_gather", Collective::kAllGather},
    {"nccl:reduce_scatter", Collective::kReduceScatter},
    {"nccl:_reduce_scatter", Collective::kReduceScatter},
    {"nccl:reduce", Collective::kReduce},
}};

double BytesOf(const std::vector<int64_t>& shape) {
  double bytes = kElementBytes;
  for (const int64_t size : shape) bytes *= static_cast<double>(size);
  return bytes;
}

// 0: nobody says.
uint32_t RanksOf(const TraceEvent& op, const OpRuleOptions& options) {
  if (options.gpus > 0) return options.gpus;
  const auto found = op.numbers.find("Group size");
  const bool is_said =
      found != op.numbers.end() && found->second >= 1 && found->second <= kMaxRanks;
  return is_said ? static_cast<uint32_t>(found->second) : 0;
}

double UsOf(Collective collective, double bytes, uint32_t ranks, double link_gbs) {
  // Without latency, and as fast for small messages.
  const BandwidthCurve link = {.peak_gbs = link_gbs};
  if (ranks < 2) return 0;
  if (collective == Collective::kAllToAll) {
    const std::vector<double> sizes(ranks, bytes / ranks);
    return DataMovementUs(link, MessageSizeMaxOfMax(sizes));
  }
  // What one rank has is a part of what all have in the end.
  if (collective == Collective::kAllGather) bytes *= ranks;
  return CollectiveUs(link, collective, ranks, bytes);
}

// Of operators that move bytes. nullopt: no such operator, or its shapes were not recorded; of a
// collective also if the options have no link, or neither they nor the trace ("Group size") say
// among how many it is. kUsage, naming the event, for a shape with a negative size. `name`: of
// `op`, plain.
Result<std::optional<OpCost>> CostOfMovement(const TraceEvents& trace, const TraceEvent& op,
                                             std::string_view name, const OpRuleOptions& options) {
  const auto known = std::ranges::find_if(
      kCollectives, [&](const NamedCollective& one) { return name.starts_with(one.prefix); });
  const bool is_collective = known != kCollectives.end();
  if ((name != "copy_" && !is_collective) || !op.shapes || op.shapes->empty()) {
    return std::optional<OpCost>();
  }
  for (const std::vector<int64_t>& shape : *op.shapes) {
    if (std::ranges::all_of(shape, [](int64_t size) { return size >= 0; })) continue;
    return UsageError("{}: {}: shapes {}, expected sizes of 0 or more", trace.file, op.Describe(),
                      *op.shapes);
  }
  if (!is_collective) {
    const double bytes = BytesOf(op.shapes->front());
    return std::optional<OpCost>(
        {"copy", fmt::format("{:.0f} bytes", bytes), DataMovementUs(options.gpu->dram, bytes)});
  }
  const uint32_t ranks = RanksOf(op, options);
  if (!(options.link_gbs > 0) || ranks == 0) return std::optional<OpCost>();
  double bytes = 0;
  for (const std::vector<int64_t>& shape : *op.shapes) {
    if (!shape.empty()) bytes += BytesOf(shape);  // else it is no tensor
  }
  return std::optional<OpCost>({"collective", fmt::format("{:.0f} bytes, {} ranks", bytes, ranks),
                                UsOf(known->collective, bytes, ranks, options.link_gbs)});
}

}  // namespace

double OpRules::ProductUs(const GpuProduct& product) const {
  if (options_.products == nullptr) return RooflineUs(*options_.gpu, product);
  return options_.products->PredictUs(*options_.gpu, product, options_.form);
}

OpCost OpRules::CostOfProducts(const std::vector<GpuProduct>& products) const {
  OpCost cost = {.rule = "matrix product"};
  std::vector<std::string> sizes;
  for (const GpuProduct& one : products) {
    cost.us += ProductUs(one);
    sizes.push_back(fmt::format("{} x {} x {} x {}", one.batch, one.m, one.n, one.k));
  }
  cost.sizes = fmt::format("{}", fmt::join(sizes, ", "));
  return cost;
}

Result<OpCost> OpRules::Products(const TraceEvent& op, const std::string& child) {
  std::vector<const TraceEvent*> found;
  FindBelow(*trace_, op, child, &found);
  std::vector<GpuProduct> products;
  for (const TraceEvent* one : found) {
    ASSIGN_OR_RETURN(const GpuProduct product, ProductOf(*trace_, *one, 0, child == "bmm" ? 3 : 2));
    products.push_back(product);
  }
  return CostOfProducts(products);
}

const TraceKernel* OpRules::ApplyKernel(const TraceEvent& op, GpuLookup* lookup) const {
  // As the authors' benchmark runs it: a block has as many rows as 4,096 floats.
  lookup->rows_per_block = static_cast<uint32_t>(std::clamp<uint64_t>(4096 / lookup->dim, 1, 1024));
  std::vector<const TraceEvent*> launches;
  FindBelow(*trace_, op, "cudaLaunchKernel", &launches);
  const bool is_original = options_.form == GpuForm::kOriginal;
  if (is_original) lookup->uses_shared_memory = true;  // any text is true
  for (const TraceEvent* launch : launches) {
    if (!launch->correlation) continue;
    const auto kernel = trace_->kernels.find(*launch->correlation);
    if (kernel == trace_->kernels.end()) continue;
    if (kernel->second.rows_per_block > 0) lookup->rows_per_block = kernel->second.rows_per_block;
    if (!is_original) {
      const std::string_view argument = SecondTemplateArgument(kernel->second.name);
      lookup->uses_shared_memory = argument == "true" || argument == "(bool)1";
    }
    return &kernel->second;
  }
  return nullptr;
}

Result<OpCost> OpRules::CostOfForward(const TraceEvent& op, GpuLookup lookup) {
  ApplyKernel(op, &lookup);
  const Result<GpuLookupForward> cost = LookupForwardOn(*options_.gpu, lookup, options_.form);
  if (!cost.ok()) return cost.status().Annotate(trace_->file + ": " + op.Describe());
  forwards_.push_back(lookup);
  return OpCost{"lookup", LookupSizesText(lookup), cost.value().us,
                LaterLookupForwardUs(*options_.gpu, lookup)};
}

Result<OpCost> OpRules::Forward(const TraceEvent& op) {
  GpuLookup lookup;
  const Shapes of_children = ShapesOfChildren(*trace_, op, "output_nr");
  if (!of_children.empty() || options_.form == GpuForm::kOriginal) {
    if (!ReadLookup(of_children, &lookup)) {
      return BadShapes(*trace_, op, of_children,
                       "of its children output_nr: weights, tables, ids, offsets");
    }
  } else {
    if (!op.shapes) return NoShapes(*trace_, op);
    if (!ReadLookup(*op.shapes, &lookup)) {
      return BadShapes(*trace_, op, *op.shapes, "[tables * rows x dim, tables, ids, bags + 1]");
    }
  }
  return CostOfForward(op, lookup);
}

Result<OpCost> OpRules::Backward(const TraceEvent& op) {
  GpuLookup lookup;
  const Shapes shapes = ShapesOfChildren(*trace_, op, "size");
  if (shapes.empty() && !forwards_.empty() && options_.form != GpuForm::kOriginal) {
    lookup = forwards_.back();
    forwards_.pop_back();
  } else {
    // weights and offsets stand in other places than forward; the bag's length is not there.
    const bool fits = HasShape(shapes, 0, 1) && HasShape(shapes, 1, 2) && HasShape(shapes, 2, 1) &&
                      ReadLookup({shapes[1], shapes[0], {1}, shapes[2]}, &lookup);
    if (!fits) {
      return BadShapes(*trace_, op, shapes, "of its children size: tables, weights, offsets");
    }
    lookup.bag_length = kBagLengthOfOriginal;
    for (const GpuLookup& forward : forwards_) {
      if (options_.form == GpuForm::kOriginal) break;
      if (forward.tables == lookup.tables && forward.dim == lookup.dim &&
          forward.samples == lookup.samples) {
        lookup.bag_length = forward.bag_length;
      }
    }
  }
  if (options_.bag_length > 0) lookup.bag_length = options_.bag_length;
  const TraceKernel* kernel = ApplyKernel(op, &lookup);
  const bool is_sgd = kernel == nullptr || kernel->name.find("sgd") != std::string::npos;
  if (is_sgd) {
    return OpCost{"lookup backward, sgd", LookupSizesText(lookup),
                  LookupBackwardSgdUs(*options_.gpu, lookup, options_.form)};
  }
  return OpCost{"lookup backward, row-wise adagrad", LookupSizesText(lookup),
                LookupBackwardAdagradUs(*options_.gpu, lookup)};
}

Result<OpCost> OpRules::Embedding(const TraceEvent& op, bool has_bags) {
  if (!op.shapes) return NoShapes(*trace_, op);
  GpuLookup lookup;
  const bool fits = has_bags ? ReadBags(*op.shapes, &lookup) : ReadSingleIds(*op.shapes, &lookup);
  if (!fits) {
    return BadShapes(*trace_, op, *op.shapes,
                     has_bags ? "[rows x dim, ids, offsets]" : "[rows x dim, ids]");
  }
  return CostOfForward(op, lookup);
}

Result<OpCost> OpRules::EmbeddingBackward(const TraceEvent& op) {
  std::vector<const TraceEvent*> found;
  for (const char* name : {"_embedding_bag_backward", "embedding_backward"}) {
    FindBelow(*trace_, op, name, &found);
  }
  if (found.empty()) {
    return UsageError("{}: {}: holds no operator _embedding_bag_backward or embedding_backward",
                      trace_->file, op.Describe());
  }
  GpuLookup lookup = {.rows = 0};
  const TraceEvent& inner = *found.front();
  if (!inner.shapes) return NoShapes(*trace_, inner);
  if (!ReadBagGradients(*inner.shapes, &lookup)) {
    return BadShapes(*trace_, inner, *inner.shapes, "[samples x dim, ids, ..]");
  }
  const auto forward = std::find_if(forwards_.rbegin(), forwards_.rend(), [&](const auto& one) {
    return one.dim == lookup.dim && one.samples == lookup.samples &&
           one.bag_length == lookup.bag_length;
  });
  if (forward != forwards_.rend()) {
    lookup.rows = forward->rows;
    forwards_.erase(std::next(forward).base());
  }
  if (options_.bag_length > 0) lookup.bag_length = options_.bag_length;
  ApplyKernel(op, &lookup);
  return OpCost{"lookup backward, sgd", LookupSizesText(lookup),
                LookupBackwardSgdUs(*options_.gpu, lookup, options_.form)};
}

Result<OpCost> OpRules::OwnPhase(const TraceEvent& op) {
  const auto number = [&](const char* name) -> uint64_t {
    const auto found = op.numbers.find(name);
    return found == op.numbers.end() || !(found->second >= 1 && found->second <= 0x1p40)
               ? 0
               : static_cast<uint64_t>(std::llround(found->second));
  };
  const auto missing = [&](std::string_view expected) {
    return UsageError("{}: {}: expected args {}, each from 1 to 2^40", trace_->file, op.Describe(),
                      expected);
  };
  const bool is_backward = op.name.ends_with(" backward");
  const uint64_t samples = number("samples");
  if (op.name.starts_with("mlp/")) {
    const uint64_t inputs = number("inputs"), outputs = number("outputs");
    if (std::min({samples, inputs, outputs}) == 0) return missing("samples, inputs, outputs");
    if (!is_backward) return CostOfProducts({{1, samples, outputs, inputs}});
    std::vector<GpuProduct> products = {{1, outputs, inputs, samples}};
    // Nobody needs the gradient of the first layer's input.
    if (!op.name.starts_with("mlp/bot_l.0 ")) products.push_back({1, samples, inputs, outputs});
    return CostOfProducts(products);
  }
  if (op.name.starts_with("interaction/dot")) {
    const uint64_t vectors = number("vectors"), width = number("width");
    if (std::min({samples, vectors, width}) == 0) return missing("samples, vectors, width");
    if (!is_backward) return CostOfProducts({{samples, vectors, vectors, width}});
    const GpuProduct product = {samples, vectors, width, vectors};
    return CostOfProducts({product, product});
  }
  GpuLookup lookup = {.samples = samples, .rows = number("table_rows"), .dim = number("dim")};
  if (std::min({lookup.samples, lookup.rows, lookup.dim}) == 0) {
    return missing("samples, table_rows, dim");
  }
  lookup.bag_length = std::max<uint64_t>(1, (number("lookups") + samples / 2) / samples);
  if (op.name.starts_with("pool/")) return CostOfForward(op, lookup);
  ApplyKernel(op, &lookup);
  return OpCost{"lookup backward, sgd", LookupSizesText(lookup),
                LookupBackwardSgdUs(*options_.gpu, lookup, options_.form)};
}

Result<std::optional<OpCost>> OpRules::CostOf(const TraceEvent& op) {
  const auto some = [](Result<OpCost> cost) -> Result<std::optional<OpCost>> {
    if (!cost.ok()) return cost.status();
    return std::optional<OpCost>(std::move(cost).value());
  };
  const std::string_view name = PlainName(op.name);
  const auto product = [&](size_t first, size_t dims) -> Result<std::optional<OpCost>> {
    ASSIGN_OR_RETURN(const GpuProduct one, ProductOf(*trace_, op, first, dims));
    return std::optional<OpCost>(CostOfProducts({one}));
  };
  if (trace_->is_own_profile) {
    const bool has_rule = op.name.starts_with("mlp/") || op.name.starts_with("interaction/dot") ||
                          op.name.starts_with("pool/") || op.name.starts_with("pool_backward/");
    return has_rule ? some(OwnPhase(op)) : std::optional<OpCost>();
  }
  if (name == "addmm") return product(1, 2);
  if (name == "bmm") return product(0, 3);
  if (name == "AddmmBackward") return some(Products(op, "mm"));
  if (name == "BmmBackward") return some(Products(op, "bmm"));
  if (name == "LookupFunction") return some(Forward(op));
  if (name == "LookupFunctionBackward") return some(Backward(op));
  if (options_.form == GpuForm::kOriginal) return std::optional<OpCost>();
  if (name == "mm") return product(0, 2);
  if (name == "MmBackward") return some(Products(op, "mm"));
  if (name == "embedding_bag") return some(Embedding(op, true));
  if (name == "embedding") return some(Embedding(op, false));
  if (name == "EmbeddingBagBackward" || name == "EmbeddingBackward") {
    return some(EmbeddingBackward(op));
  }
  return CostOfMovement(*trace_, op, name, options_);
}

}  // namespace rowhouse
