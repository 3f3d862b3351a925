#include "linnet/graph/model_edit.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "linnet/graph/network_builder.h"

namespace linnet::graph {
namespace {

using File = std::vector<uint8_t>;

template <class T>
T read(const File& file, size_t at) {
  T value;
  std::memcpy(&value, &file.at(at + sizeof(T) - 1) - (sizeof(T) - 1), sizeof value);
  return value;
}

size_t follow(const File& file, size_t at) { return at + read<uint32_t>(file, at); }

// Position of a field of the table at `table`, or 0.
size_t field_of(const File& file, size_t table, uint32_t field) {
  size_t vtable = table - static_cast<size_t>(static_cast<int64_t>(read<int32_t>(file, table)));
  if (4 + 2 * field >= read<uint16_t>(file, vtable)) return 0;
  uint16_t offset = read<uint16_t>(file, vtable + 4 + 2 * field);
  return offset ? table + offset : 0;
}

// Where the elements of a vector field of the root table are in the file; empty if there is none.
std::vector<size_t> elements_of(const File& file, size_t root, uint32_t field) {
  std::vector<size_t> positions;
  size_t at = field_of(file, root, field);
  if (!at) return positions;
  size_t vector = follow(file, at);
  for (uint32_t i = 0; i < read<uint32_t>(file, vector); ++i) positions.push_back(follow(file, vector + 4 + 4 * i));
  return positions;
}

void reorder(File& file, const std::vector<int32_t>& order) {
  size_t vector = follow(file, find_field(file, {{schema::Model::subgraphs, 0}}, schema::SubGraph::operators));
  uint32_t count = read<uint32_t>(file, vector);
  std::vector<bool> seen(count, false);
  for (int32_t i : order)
    if (i < 0 || static_cast<uint32_t>(i) >= count || seen[static_cast<size_t>(i)]) throw std::invalid_argument("the order is no permutation");
    else seen[static_cast<size_t>(i)] = true;
  if (order.size() != count) throw std::invalid_argument("the order is no permutation");
  std::vector<size_t> tables;
  for (uint32_t i = 0; i < count; ++i) tables.push_back(follow(file, vector + 4 + 4 * i));
  for (uint32_t i = 0; i < count; ++i) {
    size_t at = vector + 4 + 4 * i;
    overwrite(file, at, static_cast<uint32_t>(tables[static_cast<size_t>(order[i])] - at));
  }
}

// The new front, written from its start to its end; what it refers to behind itself is patched in when its length is known.
class Front {
 public:
  File bytes;

  size_t here() const { return bytes.size(); }
  void align(size_t alignment, size_t ahead = 0) {
    while ((bytes.size() + ahead) % alignment) bytes.push_back(0);
  }
  template <class T>
  size_t put(T value) {
    size_t at = here();
    bytes.resize(at + sizeof(T));
    overwrite(bytes, at, value);
    return at;
  }
  void point(size_t from, size_t to) { overwrite(bytes, from, static_cast<uint32_t>(to - from)); }
  void point_behind(size_t from, size_t old_position) { later_.push_back({from, old_position}); }
  // A table of fields that are 4 bytes each, present where `fields` says; returns the places of the fields by number.
  std::map<uint32_t, size_t> table(const std::vector<uint32_t>& fields, size_t& position) {
    uint32_t last = *std::max_element(fields.begin(), fields.end());
    align(4);
    uint16_t vtable_bytes = static_cast<uint16_t>(4 + 2 * (last + 1)), padded = static_cast<uint16_t>((vtable_bytes + 3) & ~3);
    size_t vtable = here();
    bytes.resize(vtable + padded);
    position = here();
    put(static_cast<int32_t>(position - vtable));
    std::map<uint32_t, size_t> places;
    for (uint32_t f : fields) {
      places[f] = put(uint32_t{0});
      overwrite(bytes, vtable + 4 + 2 * f, static_cast<uint16_t>(places[f] - position));
    }
    overwrite(bytes, vtable, vtable_bytes);
    overwrite(bytes, vtable + 2, static_cast<uint16_t>(here() - position));
    return places;
  }
  File finish(const File& old) {
    align(16);
    for (auto [from, position] : later_) point(from, here() + position);
    File file = bytes;
    file.insert(file.end(), old.begin(), old.end());
    return file;
  }

 private:
  std::vector<std::pair<size_t, size_t>> later_;
};

// A vector of tables: those of the old file that stay, then places for `added` new ones.
std::vector<size_t> put_vector(Front& front, const std::vector<size_t>& old, size_t added) {
  front.align(4);
  front.put(static_cast<uint32_t>(old.size() + added));
  for (size_t position : old) front.point_behind(front.put(uint32_t{0}), position);
  std::vector<size_t> places;
  for (size_t i = 0; i < added; ++i) places.push_back(front.put(uint32_t{0}));
  return places;
}

File with_new_front(const File& old, const std::map<std::string, File>& added, const std::vector<size_t>& kept_metadata) {
  size_t root = follow(old, 0);
  Front front;
  size_t root_offset = front.put(uint32_t{0});
  front.put(schema::file_identifier);
  size_t table;
  using M = schema::Model;
  std::vector<uint32_t> fields = {M::version, M::buffers, M::metadata};
  for (uint32_t f : {M::operator_codes, M::subgraphs, M::description, M::metadata_buffer, M::signature_defs})
    if (field_of(old, root, f)) fields.push_back(f);
  auto places = front.table(fields, table);
  front.point(root_offset, table);
  overwrite(front.bytes, places[M::version], read<uint32_t>(old, field_of(old, root, M::version)));
  for (auto [field, place] : places)
    if (field != M::version && field != M::buffers && field != M::metadata)
      front.point_behind(place, follow(old, field_of(old, root, field)));

  std::vector<size_t> old_buffers = elements_of(old, root, M::buffers);
  front.align(4);
  front.point(places[M::buffers], front.here());
  std::vector<size_t> buffer_places = put_vector(front, old_buffers, added.size());
  front.point(places[M::metadata], front.here());
  std::vector<size_t> metadata_places = put_vector(front, kept_metadata, added.size());
  size_t i = 0;
  for (const auto& [name, data] : added) {
    size_t position;
    auto buffer = front.table({schema::Buffer::data}, position);
    front.point(buffer_places[i], position);
    front.align(16, 4);
    front.point(buffer[schema::Buffer::data], front.put(static_cast<uint32_t>(data.size())));
    front.bytes.insert(front.bytes.end(), data.begin(), data.end());
    auto entry = front.table({schema::Metadata::name, schema::Metadata::buffer}, position);
    front.point(metadata_places[i], position);
    overwrite(front.bytes, entry[schema::Metadata::buffer], static_cast<uint32_t>(old_buffers.size() + i));
    front.point(entry[schema::Metadata::name], front.put(static_cast<uint32_t>(name.size())));
    front.bytes.insert(front.bytes.end(), name.c_str(), name.c_str() + name.size() + 1);
    ++i;
  }
  return front.finish(old);
}

// Data outside the flatbuffer is found by its distance from the start of the file, which grows by the front.
void shift_outside_data(File& file, uint64_t by) {
  size_t root = follow(file, 0);
  auto shift = [&](size_t table, uint32_t field) {
    size_t at = field_of(file, table, field);
    if (at && read<uint64_t>(file, at) > 1) overwrite(file, at, read<uint64_t>(file, at) + by);
  };
  for (size_t buffer : elements_of(file, root, schema::Model::buffers)) shift(buffer, schema::Buffer::offset);
  for (size_t graph : elements_of(file, root, schema::Model::subgraphs))
    for (size_t op : elements_of(file, graph, schema::SubGraph::operators)) shift(op, schema::Operator::large_custom_options_offset);
}

}  // namespace

std::vector<uint8_t> edit_model(const Model& model, const ModelEdit& edit) {
  File file(model.file().begin(), model.file().end());
  if (!edit.order.empty()) reorder(file, edit.order);
  std::map<std::string, File> added = edit.metadata;
  std::vector<size_t> kept, all = elements_of(file, follow(file, 0), schema::Model::metadata);
  for (uint32_t i = 0; i < model.metadata_count(); ++i) {
    auto found = added.find(model.metadata_name(i));
    if (found == added.end()) {
      kept.push_back(all[i]);
      continue;
    }
    Bytes old = model.metadata(i);
    if (old.size() != found->second.size()) continue;  // replaced by one of another size in the new front
    std::copy(found->second.begin(), found->second.end(), file.begin() + (old.data() - model.file().data()));
    kept.push_back(all[i]);
    added.erase(found);
  }
  if (added.empty()) return file;
  File edited = with_new_front(file, added, kept);
  shift_outside_data(edited, edited.size() - file.size());
  return edited;
}

}  // namespace linnet::graph
