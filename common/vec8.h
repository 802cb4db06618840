// Eight floats side by side, as the compiler's vector extension: the same sums in the same order on
// every machine, with or without AVX2.
#ifndef DOPPLER_COMMON_VEC8_H_
#define DOPPLER_COMMON_VEC8_H_

#include <cstring>

namespace doppler {

using Vec8 = float __attribute__((vector_size(32)));

inline Vec8 load8(const float* from) {
  Vec8 v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
inline void store8(float* to, const Vec8& v) {
  std::memcpy(to, &v, sizeof(v));
}
inline Vec8 broadcast8(float x) {
  return Vec8{x, x, x, x, x, x, x, x};
}
inline Vec8 positive_part(const Vec8& v) {
  return v > 0 ? v : Vec8{};
}
inline float sum8(const Vec8& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_VEC8_H_
