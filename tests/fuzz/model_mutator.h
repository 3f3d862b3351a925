// A libFuzzer mutator that knows .tflite files. Random bytes seldom get past the first offsets, so it changes numbers where
// they mean something, found by the list of fields in model/schema.h (types, shapes, indices, scales, codes, versions,
// options), and, less often, words of the file as such: offsets, counts, vtables.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "linnet/model/schema.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace linnet::fuzz {

struct Random {
  uint64_t state;
  explicit Random(unsigned seed) : state(seed * 0x9e3779b97f4a7c15u + 1) { (*this)(2); }
  uint32_t operator()(size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) % below);
  }
  uint64_t word() {
    (*this)(2);
    return state ^ state >> 29;
  }
};

template <class T>
T load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store(uint8_t* p, T value) { std::memcpy(p, &value, sizeof value); }

// Where numbers that mean something stand in a file. Walks what it can; a damaged file has fewer of them.
class Numbers {
 public:
  struct Place {
    size_t at;
    uint8_t bytes;
    schema::Kind kind;  // of the table that it belongs to
    uint8_t field;      // opaque: unknown meaning
  };

  Numbers(const uint8_t* data, size_t size) : data_(data), size_(size) {
    if (has(0, 8)) table(load<uint32_t>(data), schema::Kind::model);
  }
  const std::vector<Place>& places() const { return places_; }

 private:
  static constexpr size_t most = 20000;
  bool has(size_t at, size_t bytes) const { return at <= size_ && bytes <= size_ - at; }

  void table(size_t at, schema::Kind kind) {
    if (!has(at, 4) || ++tables_ > most / 10) return;
    auto vtable = static_cast<size_t>(static_cast<int64_t>(at) - load<int32_t>(data_ + at));
    if (!has(vtable, 4)) return;
    size_t entries = load<uint16_t>(data_ + vtable);
    auto number = static_cast<size_t>(kind);
    for (size_t entry = 4; entry + 2 <= entries && has(vtable + entry, 2); entry += 2) {
      size_t offset = load<uint16_t>(data_ + vtable + entry);
      if (offset == 0 || !has(at + offset, 4)) continue;
      auto field = static_cast<uint8_t>(entry / 2 - 2);
      size_t listed = schema::first_field[number] + size_t(field);
      bool known = listed < schema::first_field[number + 1];
      one(at + offset, known ? schema::fields[listed] : schema::scalar(4), kind, field);
    }
  }

  void one(size_t at, uint8_t what, schema::Kind kind, uint8_t field) {
    auto holds = static_cast<schema::Holds>(what >> 4);
    uint8_t low = what & 15;
    if (holds == schema::Holds::scalar || holds == schema::Holds::index) {
      add(at, holds == schema::Holds::index ? uint8_t(4) : low, kind, field);
      return;
    }
    at += load<uint32_t>(data_ + at);
    if (!has(at, 4)) return;
    if (holds == schema::Holds::table) return table(at, static_cast<schema::Kind>(low));
    size_t count = load<uint32_t>(data_ + at);
    for (size_t i = 0; i < count && i < 64; ++i) {
      size_t element = at + 4 + (i << (holds == schema::Holds::vector ? low : 2));
      if (!has(element, 8) || holds == schema::Holds::string) return;
      if (holds == schema::Holds::tables) table(element + load<uint32_t>(data_ + element), static_cast<schema::Kind>(low));
      else add(element, static_cast<uint8_t>(1 << low), kind, field);
    }
  }

  void add(size_t at, uint8_t bytes, schema::Kind kind, uint8_t field) {
    if (places_.size() < most) places_.push_back({at, bytes, kind, field});
  }

  const uint8_t* data_;
  size_t size_;
  size_t tables_ = 0;
  std::vector<Place> places_;
};

// Another value for a number, of the sort that may well pass for right there, now and then one that hardly can.
inline uint64_t other_value(Random& random, const Numbers::Place& place, uint64_t old) {
  constexpr uint64_t edges[] = {0, 1, 2, 3, 127, 128, 255, 256, 32767, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, ~0ull};
  constexpr float scales[] = {0, 1, 0.5f, 1e-3f, 1e-30f, 1e-45f, 1e30f, 3.4e38f, 1 / 256.f, 1 / 128.f, 1 / 32768.f, -1};
  if (random(12) == 0) return edges[random(sizeof edges / 8)];
  using schema::Kind;
  if (place.kind == Kind::quantization && place.field == schema::Quantization::scale) {
    float scale = scales[random(sizeof scales / 4)];
    if (random(2)) {
      auto bits = static_cast<uint32_t>(old);
      std::memcpy(&scale, &bits, 4);
      scale *= random(2) ? 1.5f : 0.25f;
    }
    return load<uint32_t>(reinterpret_cast<const uint8_t*>(&scale));
  }
  if (place.kind == Kind::tensor && place.field == schema::Tensor::type) return random(2) ? 9 : random(18);
  if (place.kind == Kind::op_code) return place.field == schema::OperatorCode::version ? 1 + random(12) : random(130);
  switch (random(4)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return random(8);
    default: return old ^ 1u << random(8 * place.bytes < 32 ? 8 * place.bytes : 32);
  }
}

inline void change_number(Random& random, uint8_t* data, size_t size) {
  auto places = Numbers(data, size).places();
  if (places.empty()) return;
  const Numbers::Place& place = places[random(places.size())];
  if (size - place.at < place.bytes) return;
  uint64_t old = 0;
  std::memcpy(&old, data + place.at, place.bytes);
  uint64_t value = other_value(random, place, old);
  std::memcpy(data + place.at, &value, place.bytes);
}

inline uint32_t odd_word(Random& random, uint32_t old, size_t size) {
  constexpr uint32_t edges[] = {0, 1, 2, 3, 4, 127, 128, 255, 2048, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, 0x7f800000};
  switch (random(5)) {
    case 0: return edges[random(sizeof edges / 4)];
    case 1: return old + random(9) - 4;
    case 2: return static_cast<uint32_t>(size) - random(20);
    case 3: return random(64);
    default: return old ^ 1u << random(32);
  }
}

// `size` is at least 32.
inline void change_word(Random& random, uint8_t* data, size_t size) {
  uint8_t* word = data + 4 * random(size / 4);
  switch (random(8)) {
    case 0: case 1: case 2:
      return store(word, odd_word(random, load<uint32_t>(word), size));
    case 3: {  // lead to another place, often one that something else leads to
      auto from = static_cast<uint32_t>(word - data);
      return store(word, 4 * random(size / 4) - from);
    }
    case 4: {
      uint8_t* half = data + 2 * random(size / 2);
      return store(half, static_cast<uint16_t>(random(2) ? 2 * random(40) : odd_word(random, load<uint16_t>(half), size)));
    }
    case 5: {  // swap two words
      uint8_t* other = data + 4 * random(size / 4);
      auto a = load<uint32_t>(word), b = load<uint32_t>(other);
      store(word, b);
      return store(other, a);
    }
    case 6:
      data[random(size)] = static_cast<uint8_t>(random(256));
      return;
    default: {  // copy a run of words
      size_t words = 1 + random(8), at = 4 * random(size / 4);
      auto to = static_cast<size_t>(word - data);
      if (at + 4 * words <= size && to + 4 * words <= size) std::memmove(data + to, data + at, 4 * words);
    }
  }
}

// For LLVMFuzzerCustomMutator. Of a hundred changes, `damage` are to words whatever they mean, the others to numbers.
inline size_t mutate_model(uint8_t* data, size_t size, size_t max_size, unsigned seed, uint32_t damage) {
  Random random(seed);
  if (size < 32 || random(16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t rounds = 1 + random(3); rounds; --rounds) {
    if (random(100) < damage) change_word(random, data, size);
    else change_number(random, data, size);
  }
  return random(100) >= damage || random(20) ? size : size - random(size / 2);
}

}  // namespace linnet::fuzz
