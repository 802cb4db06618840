#include "learner/train_options.h"

#include <CLI/CLI.hpp>

#include "common/cli.h"

namespace doppler {

TrainOptions parse_train_options(int argc, char** argv) {
  TrainOptions options;
  options.resume = argc > 1 && std::string(argv[1]) == "resume";
  if (options.resume) {
    --argc;
    ++argv;
  }
  CLI::App app{options.resume ? "Continue a run from its newest valid checkpoint."
                              : "Train the policies on a graph; keep everything in a run folder."};
  app.name(options.resume ? "doppler resume" : "doppler train");
  if (options.resume) {
    app.add_option("RUN_DIR", options.run_dir, "folder of the run")->required();
    app.add_flag("--allow-changed-config", options.allow_changed_config,
                 "go on although config.yaml was changed in ways that make it another run");
    app.footer("Example:\n  doppler resume runs/quickstart");
  } else {
    app.add_option("CONFIG", options.config_path, "configuration file, see docs/configuration.md")
        ->required();
    app.add_option("--run-dir", options.run_dir,
                   "folder for the run's files (default: runs/<run.name>-<date>-<time>)");
    app.add_option("--set", options.overrides, "key=value: overrides the configuration")
        ->take_all();
    app.add_option("--verify-resume", options.verify_resume,
                   "instead of a run, a trial: K + M updates straight, and K, SIGKILL, resume, M; "
                   "equal to the last bit?")
        ->expected(2)
        ->check(CLI::Range(1, 1000000000))
        ->type_name("K M");
    app.add_option("--kill-after-updates", options.kill_after_updates,
                   "for trials: end by SIGKILL after so many updates");
    app.footer(
        "Examples:\n"
        "  doppler train configs/quickstart.yaml\n"
        "  doppler train configs/reference.yaml --set graph.path=graph.txt --workers 2\n"
        "  mpirun -n 3 doppler train configs/reference.yaml --set graph.path=graph.txt");
  }
  app.add_option("--workers", options.workers, "worker processes per host (default: one per core)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", options.json, "print the summary as JSON on standard output");
  app.add_flag("--quiet", options.quiet, "no progress");
  app.add_option("--stop-after-updates", options.stop_after_updates,
                 "stop, resumable, when so many updates are done in all");
  parse_flags(app, argc, argv);
  return options;
}

}  // namespace doppler
