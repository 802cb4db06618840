#include "learner/hdf5_type.h"

namespace doppler {

const char* hdf5_type_name(Hdf5Type type) {
  switch (type) {
    case Hdf5Type::kUint8:
      return "uint8";
    case Hdf5Type::kInt32:
      return "int32";
    case Hdf5Type::kUint32:
      return "uint32";
    case Hdf5Type::kInt64:
      return "int64";
    case Hdf5Type::kUint64:
      return "uint64";
    case Hdf5Type::kFloat32:
      return "float32";
    case Hdf5Type::kFloat64:
      return "float64";
    case Hdf5Type::kString:
      return "string";
    case Hdf5Type::kOther:
      break;
  }
  return "another type";
}

}  // namespace doppler
