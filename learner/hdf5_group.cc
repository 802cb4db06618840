#include "learner/hdf5_group.h"

#include <algorithm>

#include "common/check.h"
#include "learner/hdf5_call.h"
#include "learner/hdf5_value.h"

namespace doppler {
namespace {

hid_t dataset_creation_class() {
  return H5P_DATASET_CREATE;
}
hid_t link_creation_class() {
  return H5P_LINK_CREATE;
}
hid_t group_creation_class() {
  return H5P_GROUP_CREATE;
}

hid_t create_dataset(hid_t parent, const std::string& name, const std::string& place, hid_t type,
                     const hdf5::Space& space, const hdf5::Properties& creation) {
  const hdf5::Properties links = hdf5::make_properties(&link_creation_class, place);
  hdf5::checked("H5Pset_create_intermediate_group", place,
                [&] { return H5Pset_create_intermediate_group(links.get(), 1); });
  hdf5::checked("H5Pset_obj_track_times", place,
                [&] { return H5Pset_obj_track_times(creation.get(), false); });
  return hdf5::checked("H5Dcreate", place, [&] {
    return H5Dcreate2(parent, name.c_str(), type, space.get(), links.get(), creation.get(),
                      H5P_DEFAULT);
  });
}

}  // namespace

Hdf5Group Hdf5Group::create_group(const std::string& name) {
  const std::string place = place_of(name);
  const hdf5::Properties links = hdf5::make_properties(&link_creation_class, place);
  hdf5::checked("H5Pset_create_intermediate_group", place,
                [&] { return H5Pset_create_intermediate_group(links.get(), 1); });
  // Times of creation would make equal content unequal bytes.
  const hdf5::Properties creation = hdf5::make_properties(&group_creation_class, place);
  hdf5::checked("H5Pset_obj_track_times", place,
                [&] { return H5Pset_obj_track_times(creation.get(), false); });
  const hid_t group = hdf5::checked("H5Gcreate", place, [&] {
    return H5Gcreate2(id(), name.c_str(), links.get(), creation.get(), H5P_DEFAULT);
  });
  return {group, place};
}

bool Hdf5Group::has(const std::string& name) const {
  // H5Lexists wants every group on the way to exist, so it is asked step by step.
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    const std::string prefix = name.substr(0, end);
    const bool exists = hdf5::checked("H5Lexists", place_of(prefix), [&] {
                          return H5Lexists(id(), prefix.c_str(), H5P_DEFAULT);
                        }) > 0;
    if (!exists) return false;
    if (end != std::string::npos && !is_group(prefix)) return false;
  }
  return true;
}

bool Hdf5Group::is_group(const std::string& name) const {
  const std::string place = place_of(name);
  const hdf5::Object object(
      hdf5::checked("H5Oopen", place, [&] { return H5Oopen(id(), name.c_str(), H5P_DEFAULT); }));
  return hdf5::checked("H5Iget_type", place, [&] { return H5Iget_type(object.get()); }) ==
         H5I_GROUP;
}

Hdf5Group Hdf5Group::group(const std::string& name) const {
  const std::string place = place_of(name);
  if (!has(name)) hdf5::refuse(place, "this group is missing");
  if (!is_group(name)) hdf5::refuse(place, "expected a group, found a dataset");
  return {
      hdf5::checked("H5Gopen", place, [&] { return H5Gopen2(id(), name.c_str(), H5P_DEFAULT); }),
      place};
}

Hdf5Dataset Hdf5Group::dataset(const std::string& name) const {
  const std::string place = place_of(name);
  if (!has(name)) hdf5::refuse(place, "this dataset is missing");
  if (is_group(name)) hdf5::refuse(place, "expected a dataset, found a group");
  return {
      hdf5::checked("H5Dopen", place, [&] { return H5Dopen2(id(), name.c_str(), H5P_DEFAULT); }),
      place};
}

std::vector<std::string> Hdf5Group::names() const {
  std::vector<std::string> found;
  constexpr auto kCollect = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  hdf5::checked("H5Literate", place(), [&] {
    return H5Literate(id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, kCollect, &found);
  });
  return found;
}

Hdf5Dataset Hdf5Group::write_array(const std::string& name, Hdf5Type type,
                                   std::span<const std::int64_t> shape, const void* values,
                                   std::size_t count) {
  const std::string place = place_of(name);
  const hdf5::Space space = hdf5::make_space(shape, place);
  const hdf5::Properties creation = hdf5::make_properties(&dataset_creation_class, place);
  Hdf5Dataset dataset(create_dataset(id(), name, place, hdf5::file_type(type), space, creation),
                      place);
  DP_CHECK_EQ(dataset.element_count(), count);
  if (count > 0) {
    hdf5::checked("H5Dwrite", place, [&] {
      return H5Dwrite(dataset.id(), hdf5::native_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    });
  }
  return dataset;
}

void Hdf5Group::write_string(const std::string& name, std::string_view text) {
  const std::string place = place_of(name);
  hdf5::require_no_zero_byte(text, place);
  const hdf5::Space space = hdf5::make_space({}, place);
  const hdf5::Datatype type = hdf5::make_string_type(text.size(), place);
  const hdf5::Properties creation = hdf5::make_properties(&dataset_creation_class, place);
  const hdf5::Object dataset(create_dataset(id(), name, place, type.get(), space, creation));
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  hdf5::checked("H5Dwrite", place, [&] {
    return H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data());
  });
}

void Hdf5Group::write_strings(const std::string& name, std::span<const std::string> texts) {
  const std::string place = place_of(name);
  std::size_t size = 1;
  for (const std::string& text : texts) {
    hdf5::require_no_zero_byte(text, place);
    size = std::max(size, text.size());
  }
  std::string padded(size * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].copy(padded.data() + i * size, size);
  const std::int64_t shape[] = {static_cast<std::int64_t>(texts.size())};
  const hdf5::Space space = hdf5::make_space(shape, place);
  const hdf5::Datatype type = hdf5::make_string_type(size, place);
  const hdf5::Properties creation = hdf5::make_properties(&dataset_creation_class, place);
  const hdf5::Object dataset(create_dataset(id(), name, place, type.get(), space, creation));
  if (texts.empty()) return;
  hdf5::checked("H5Dwrite", place, [&] {
    return H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data());
  });
}

Hdf5Dataset Hdf5Group::create_column(const std::string& name, const Hdf5Column& column) {
  const std::string place = place_of(name);
  std::vector<hsize_t> extents = {0};
  std::vector<hsize_t> limits = {H5S_UNLIMITED};
  std::vector<hsize_t> chunk = {static_cast<hsize_t>(column.chunk_rows)};
  if (column.width > 0) {
    extents.push_back(static_cast<hsize_t>(column.width));
    limits.push_back(static_cast<hsize_t>(column.width));
    chunk.push_back(static_cast<hsize_t>(column.width));
  }
  const int axes = static_cast<int>(extents.size());
  const hdf5::Space space(hdf5::checked("H5Screate_simple", place, [&] {
    return H5Screate_simple(axes, extents.data(), limits.data());
  }));
  const hdf5::Properties creation = hdf5::make_properties(&dataset_creation_class, place);
  hdf5::checked("H5Pset_chunk", place,
                [&] { return H5Pset_chunk(creation.get(), axes, chunk.data()); });
  if (column.compressed) {
    hdf5::checked("H5Pset_shuffle", place, [&] { return H5Pset_shuffle(creation.get()); });
    hdf5::checked("H5Pset_deflate", place, [&] { return H5Pset_deflate(creation.get(), 1); });
  }
  hdf5::checked("H5Pset_fill_value", place, [&] {
    return H5Pset_fill_value(creation.get(), hdf5::native_type(Hdf5Type::kInt64), &column.fill);
  });
  return {create_dataset(id(), name, place, hdf5::file_type(column.type), space, creation), place};
}

}  // namespace doppler
