// TestBest: the test of the best model by validation at the end of a run, from its checkpoint. It
// chooses nothing: the best is chosen by then. The worker that prints makes it alone, as the shards
// hold the last rows; its figures are those of `rowhouse eval` of the checkpoint's directory.
// Threads: one.
#pragma once

#include <string>

#include "launch/report/report.h"
#include "launch/run/worker_run.h"
#include "worker/data/dataset.h"
#include "worker/train/evaluator.h"
#include "worker/train/trainer.h"

namespace rowhouse {

// Fills in best->test_auc and test_logloss: of the test samples of `data`, or, where the last model
// is the best, of `last`, the test after the last step. Returns why there are none, or "" where
// there is nothing to test, or an operator waits for the run's end: rows that lie on other hosts,
// or half of save_deadline_ms that is over.
std::string TestBest(const WorkerSetup& setup, const TrainingSummary& summary,
                     const Evaluation& last, Dataset& data, RunReport::Best* best);

}  // namespace rowhouse
