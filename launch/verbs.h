// The verbs of the program; `main` calls one of these, or RunBench (launch/bench/bench.h).
#pragma once

#include "launch/data/data_verb.h"
#include "launch/model/ckpt.h"
#include "launch/plan/plan.h"
#include "launch/report/compare.h"
#include "launch/run/ps_server.h"
#include "launch/run/train.h"
#include "launch/score/score.h"
