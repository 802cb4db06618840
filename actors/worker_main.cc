// doppler-worker: a worker process that simulates. Started by a supervisor, not by hand.
#include "actors/worker_program.h"
#include "common/cli.h"

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, [](int count, char** values) {
    return doppler::run_worker_program(count, values, {});
  });
}
