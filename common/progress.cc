#include "common/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace doppler {
namespace {

constexpr int kBarWidth = 24;

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string percent(double fraction) {
  return std::to_string(static_cast<int>(std::floor(fraction * 100))) + "%";
}

}  // namespace

Progress::Progress(std::string title) : Progress(std::move(title), Options()) {}

Progress::Progress(std::string title, Options options)
    : title_(std::move(title)), options_(options), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  finish();
}

void Progress::update(double fraction, const std::string& text) {
  fraction_ = std::clamp(fraction, 0.0, 1.0);
  text_ = text;
  pending_ = true;
  const auto now = std::chrono::steady_clock::now();
  const auto interval = terminal_ ? options_.redraw_interval : options_.line_interval;
  if (shown_ && now - last_ < interval) return;
  last_ = now;
  show();
}

void Progress::show() {
  shown_ = true;
  pending_ = false;
  if (terminal_) {
    // Erases the line, so that a shorter text leaves nothing behind.
    std::fprintf(stderr, "\r\x1b[K%s", bar(title_, fraction_, text_, terminal_columns()).c_str());
    drawn_ = true;
  } else {
    std::fprintf(stderr, "%s: %s %s\n", title_.c_str(), percent(fraction_).c_str(), text_.c_str());
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

void Progress::finish() {
  if (pending_) show();
  if (!drawn_) return;
  std::fputc('\n', stderr);
  drawn_ = false;
}

std::string Progress::bar(const std::string& title, double fraction, const std::string& text,
                          int columns) {
  const int filled = static_cast<int>(std::floor(std::clamp(fraction, 0.0, 1.0) * kBarWidth));
  std::string line = title + " [" + std::string(static_cast<std::size_t>(filled), '#') +
                     std::string(static_cast<std::size_t>(kBarWidth - filled), '.') + "] " +
                     percent(std::clamp(fraction, 0.0, 1.0)) + " " + text;
  // The last column stays free: some terminals wrap when it is written.
  const auto width = static_cast<std::size_t>(std::max(columns - 1, 1));
  if (line.size() > width) line.resize(width);
  return line;
}

}  // namespace doppler
