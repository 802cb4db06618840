// What an error says: for tests of messages.
#ifndef DOPPLER_TESTS_SUPPORT_EXPECT_ERROR_H_
#define DOPPLER_TESTS_SUPPORT_EXPECT_ERROR_H_

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppler::test {

// The message of the `ErrorType` that `action` throws; a failed test and "" if it throws none.
template <typename ErrorType, typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const ErrorType& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_EXPECT_ERROR_H_
