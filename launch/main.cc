// rowhouse VERB --flags. rowhouse-lab is the same with launch/bench, launch/calibrate, launch/lab,
// launch/regimes and launch/accountability linked, which register themselves.
#include "launch/program.h"

int main(int argc, char** argv) { return rowhouse::RunProgram(argc, argv); }
