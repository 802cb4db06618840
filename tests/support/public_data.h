// The paper's published graph files, which are not part of this repository. DOPPLER_PUBLIC_DATA
// names the folder that holds them (below doppler/); without it the tests
// that need them skip.
#ifndef DOPPLER_TESTS_SUPPORT_PUBLIC_DATA_H_
#define DOPPLER_TESTS_SUPPORT_PUBLIC_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace doppler::test {

// The path of a published file, or empty where the data is not at hand.
inline std::string public_data_path(const std::string& file) {
  const char* folder = std::getenv("DOPPLER_PUBLIC_DATA");
  if (folder == nullptr) return {};
  const std::filesystem::path path = std::filesystem::path(folder) / file;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

}  // namespace doppler::test

#define DP_SKIP_WITHOUT_PUBLIC_DATA(file)                                                       \
  do {                                                                                          \
    if (::doppler::test::public_data_path(file).empty()) {                                      \
      GTEST_SKIP() << "needs " << (file) << ": set DOPPLER_PUBLIC_DATA to the folder with the " \
                   << "paper's published graph files";                                          \
    }                                                                                           \
  } while (false)

#endif  // DOPPLER_TESTS_SUPPORT_PUBLIC_DATA_H_
