#include "launch/run/id_recording.h"

#include <glog/logging.h>

#include "common/output_path.h"
#include "launch/figures/figure_text.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {

double RecordedShare(const LogicalTable& table, double share) {
  const bool has_row_for_each_id =
      TableKinds().DeclarationOf(table.kind).has_row_for_each_id && table.bad_ids == "error";
  return has_row_for_each_id && table.rows > kWholeTableRows ? share : 1.0;
}

IdRecording::IdRecording(const Settings& settings, uint32_t worker, uint32_t workers)
    : given_(settings.output.record_ids),
      path_(given_.empty() ? "" : TracePathOf(given_, worker, workers)),
      header_{.tables = {},
              .mini_batch_size = settings.data.mini_batch_size * settings.training.accumulation,
              .worker = worker,
              .workers = workers} {
  const EmbeddingTables& tables = settings.embedding;
  for (const FeatureTable& feature : std::span(tables.features).first(tables.columns())) {
    header_.tables.push_back(
        {.name = feature.table.name,
         .rows = feature.table.bad_ids == "error" ? feature.table.rows : 0,
         .sampled = RecordedShare(feature.table, settings.output.record_ids_share)});
  }
}

Status IdRecording::Start() {
  if (!is_on()) return OkStatus();
  // A worker's own path is checked by its writer.
  if (const Status status = CheckReplaceable(given_); !status.ok()) {
    return UsageError("--record_ids={}: {}", given_, status.message());
  }
  Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::Create(path_, header_);
  if (!writer.ok()) return UsageError("--record_ids: {}", writer.status().message());
  writer_ = std::move(writer).value();
  return OkStatus();
}

void IdRecording::OnSamples(uint64_t step, const Batch& batch) {
  if (!writer_) return;
  if (const Status status = writer_->Append(step, batch.features); !status.ok()) Abandon(status);
}

void IdRecording::Finish() {
  if (!writer_) return;
  if (const Status status = writer_->Finish(); !status.ok()) return Abandon(status);
  if (header_.worker == 0) {
    const Status removed = RemoveOtherParts(given_, header_.workers);
    LOG_IF(WARNING, !removed.ok()) << "--record_ids: of an earlier trace: " << removed.message();
  }
  summary_ =
      fmt::format("ids of {} steps recorded in {}: {} of {} lookups, {}\n",
                  CountText(static_cast<double>(writer_->steps())), path_,
                  CountText(static_cast<double>(writer_->ids_written())),
                  CountText(static_cast<double>(writer_->lookups())), BytesText(writer_->bytes()));
  writer_.reset();
}

void IdRecording::Abandon(const Status& why) {
  LOG(WARNING) << "--record_ids: " << why.message()
               << "; the trace is given up and removed, training goes on";
  summary_ = fmt::format("ids were not recorded: {}\n", why.message());
  writer_.reset();
}

std::string IdRecording::SummaryText() const { return summary_; }

}  // namespace rowhouse
