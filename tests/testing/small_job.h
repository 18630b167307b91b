// SmallJob: the job of one table and two workers that tests give a PS node by hand; its rows are
// divided over the shards in ranges.
#pragma once

#include "sharding/plans/job_spec.h"
#include "sharding/plans/plan_maker.h"

namespace rowhouse {

inline JobSpec SmallJob(uint64_t job_id, uint64_t rows, uint32_t dim, uint32_t shards = 1) {
  TableSpec table;
  table.name = "t";
  table.rows = rows;
  table.dim = dim;
  JobSpec job;
  job.job_id = job_id;
  job.model_id = "model-a";
  job.config_digest = "c";
  job.workers = 2;
  job.tables = {table};
  job.plan = MakeRowWisePlan(job.tables, shards);
  return job;
}

}  // namespace rowhouse
