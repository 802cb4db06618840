// How far a program is, for people. On a terminal one line that is drawn anew; elsewhere a plain
// line now and then, so that a log file stays readable.
#ifndef DOPPLER_COMMON_PROGRESS_H_
#define DOPPLER_COMMON_PROGRESS_H_

#include <chrono>
#include <string>

namespace doppler {

// Writes to stderr. Not thread-safe. The destructor ends the line.
class Progress {
 public:
  struct Options {
    std::chrono::milliseconds redraw_interval{100};  // on a terminal
    std::chrono::milliseconds line_interval{10000};  // elsewhere; 0: every update
  };

  explicit Progress(std::string title);
  Progress(std::string title, Options options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;

  // `fraction` in 0..1 (clamped); `text` says what is being done or reached. Cheap if called too
  // often.
  void update(double fraction, const std::string& text);
  // Takes the bar off the screen, so that something else can be printed; the next update() draws it
  // again.
  void clear();
  // Shows the last update even if it was skipped as too early, and ends the line.
  void finish();

  // The bar as it would be drawn on a terminal of `columns`.
  static std::string bar(const std::string& title, double fraction, const std::string& text,
                         int columns);

 private:
  void show();

  const std::string title_;
  const Options options_;
  const bool terminal_;
  double fraction_ = 0;
  std::string text_;
  bool drawn_ = false;    // a bar is on the screen
  bool pending_ = false;  // the last update has not been shown
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_PROGRESS_H_
