#include "learner/hdf5_object.h"

#include "learner/hdf5_call.h"
#include "learner/hdf5_value.h"

namespace doppler {
namespace {

hdf5::Attribute open_attribute(hid_t object, const std::string& name, const std::string& place,
                               Hdf5Type type) {
  if (hdf5::checked("H5Aexists", place, [&] { return H5Aexists(object, name.c_str()); }) == 0) {
    hdf5::refuse(place, "this attribute is missing");
  }
  hdf5::Attribute attribute(
      hdf5::checked("H5Aopen", place, [&] { return H5Aopen(object, name.c_str(), H5P_DEFAULT); }));
  const hdf5::Datatype found(
      hdf5::checked("H5Aget_type", place, [&] { return H5Aget_type(attribute.get()); }));
  const Hdf5Type found_type = hdf5::classify(found.get(), place);
  if (found_type != type) hdf5::refuse_type(place, type, found_type);
  const hdf5::Space space(
      hdf5::checked("H5Aget_space", place, [&] { return H5Aget_space(attribute.get()); }));
  const auto points = hdf5::checked("H5Sget_simple_extent_npoints", place,
                                    [&] { return H5Sget_simple_extent_npoints(space.get()); });
  if (points != 1) hdf5::refuse(place, "expected one value, found " + std::to_string(points));
  return attribute;
}

}  // namespace

std::string Hdf5Object::place_of(const std::string& name) const {
  return place_.ends_with('/') ? place_ + name : place_ + "/" + name;
}

bool Hdf5Object::has_attribute(const std::string& name) const {
  return hdf5::checked("H5Aexists", place_, [&] { return H5Aexists(id(), name.c_str()); }) > 0;
}

void Hdf5Object::write_attribute(const std::string& name, Hdf5Type type, const void* value) {
  const std::string place = place_ + " @" + name;
  const hdf5::Space space = hdf5::make_space({}, place);
  const hdf5::Attribute attribute(hdf5::checked("H5Acreate", place, [&] {
    return H5Acreate2(id(), name.c_str(), hdf5::file_type(type), space.get(), H5P_DEFAULT,
                      H5P_DEFAULT);
  }));
  hdf5::checked("H5Awrite", place,
                [&] { return H5Awrite(attribute.get(), hdf5::native_type(type), value); });
}

void Hdf5Object::set_attribute(const std::string& name, std::string_view text) {
  const std::string place = place_ + " @" + name;
  hdf5::require_no_zero_byte(text, place);
  const hdf5::Space space = hdf5::make_space({}, place);
  const hdf5::Datatype type = hdf5::make_string_type(text.size(), place);
  const hdf5::Attribute attribute(hdf5::checked("H5Acreate", place, [&] {
    return H5Acreate2(id(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT);
  }));
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  hdf5::checked("H5Awrite", place,
                [&] { return H5Awrite(attribute.get(), type.get(), padded.data()); });
}

void Hdf5Object::read_attribute(const std::string& name, Hdf5Type type, void* value) const {
  const std::string place = place_ + " @" + name;
  const hdf5::Attribute attribute = open_attribute(id(), name, place, type);
  hdf5::checked("H5Aread", place,
                [&] { return H5Aread(attribute.get(), hdf5::native_type(type), value); });
}

std::string Hdf5Object::string_attribute(const std::string& name) const {
  const std::string place = place_ + " @" + name;
  const hdf5::Attribute attribute = open_attribute(id(), name, place, Hdf5Type::kString);
  const hdf5::Datatype type(
      hdf5::checked("H5Aget_type", place, [&] { return H5Aget_type(attribute.get()); }));
  std::string text(H5Tget_size(type.get()), '\0');
  hdf5::checked("H5Aread", place,
                [&] { return H5Aread(attribute.get(), type.get(), text.data()); });
  return hdf5::without_padding(text.data(), text.size());
}

}  // namespace doppler
