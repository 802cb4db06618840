// Always-on checks for programmers' mistakes: prints the expression, both operands and the place,
// then aborts. Bad input is never a check: it throws (error.h).
#ifndef DOPPLER_COMMON_CHECK_H_
#define DOPPLER_COMMON_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace doppler::internal {

[[noreturn]] inline void check_failed(const char* file, int line, const char* expression,
                                      const std::string& detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, expression,
               detail.empty() ? "" : " with ", detail.c_str());
  std::abort();
}

template <typename A, typename B>
std::string both_operands(const A& a, const B& b) {
  std::ostringstream out;
  out << a << " against " << b;
  return out.str();
}

}  // namespace doppler::internal

#define DP_CHECK(condition)                                                  \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::doppler::internal::check_failed(__FILE__, __LINE__, #condition, {}); \
  } while (false)

#define DP_CHECK_OPERATION(a, b, operation)                                              \
  do {                                                                                   \
    const auto& dp_a = (a);                                                              \
    const auto& dp_b = (b);                                                              \
    if (!(dp_a operation dp_b)) [[unlikely]]                                             \
      ::doppler::internal::check_failed(__FILE__, __LINE__, #a " " #operation " " #b,    \
                                        ::doppler::internal::both_operands(dp_a, dp_b)); \
  } while (false)

#define DP_CHECK_EQ(a, b) DP_CHECK_OPERATION(a, b, ==)
#define DP_CHECK_LT(a, b) DP_CHECK_OPERATION(a, b, <)
#define DP_CHECK_LE(a, b) DP_CHECK_OPERATION(a, b, <=)
#define DP_CHECK_GE(a, b) DP_CHECK_OPERATION(a, b, >=)

#endif  // DOPPLER_COMMON_CHECK_H_
