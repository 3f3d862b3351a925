#include "linnet/run/catalogue.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "linnet/build/builder.h"
#include "linnet/engine/nest.h"
#include "linnet_catalogue.h"

namespace linnet {
namespace {

template <class K>
Cost cost_of(const void* params) {
  return K::Computation::cost(*static_cast<const detail::Params<K>*>(params));
}

// The compiler's name for K in its description of this function: "... [with K = linnet::ops::relu::Float]".
template <class K>
std::string_view compiler_type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  size_t first = text.find("K = ") + 4;
  return text.substr(first, std::min(text.rfind(']'), text.find(';', first)) - first);
}

// Integers by their width: int32_t is `int` here and `long` on Arm, and templates would take them for different types.
std::string portable_type_name(std::string_view name) {
  static const std::map<std::string_view, std::string_view> integers = {
      {"signed char", "int8_t"},  {"unsigned char", "uint8_t"},  {"short", "int16_t"},          {"short int", "int16_t"},
      {"int", "int32_t"},         {"unsigned int", "uint32_t"},  {"unsigned short", "uint16_t"}, {"short unsigned int", "uint16_t"},
      {"long", "int64_t"},        {"long int", "int64_t"},       {"unsigned long", "uint64_t"}, {"long unsigned int", "uint64_t"}};
  static_assert(sizeof(int) == 4 && sizeof(long) == 8);
  std::string result;
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == ' '; };
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    while (end < name.size() && is_word(name[end])) ++end;
    if (end == at) {
      result += name[at++];
      if (result.back() == ',') result += ' ';
      continue;
    }
    std::string_view word = name.substr(at, end - at), trimmed = word.substr(std::min(word.find_first_not_of(' '), word.size()));
    auto integer = integers.find(trimmed.substr(0, trimmed.find_last_not_of(' ') + 1));
    result += integer == integers.end() ? word : integer->second;
    at = end;
  }
  return result;
}

template <class K>
KernelInfo kernel_info(std::string_view header) {
  return {K::set, K::Computation::name, K::Computation::params_version, sizeof(detail::Params<K>), K::splits,
          header, portable_type_name(compiler_type_name<K>()), &detail::window_of<K>, &cost_of<K>};
}

template <class... K>
void append(std::vector<KernelInfo>& to, std::string_view header, List<K...>) {
  (to.push_back(kernel_info<K>(header)), ...);
  (void)to, (void)header;
}

std::vector<KernelInfo> all_kernels() {
  std::vector<KernelInfo> kernels;
#define LINNET_APPEND(header, list) append(kernels, header, list{});
  LINNET_CATALOGUE_KERNELS(LINNET_APPEND)
#undef LINNET_APPEND
  return kernels;
}

}  // namespace

namespace {
template <class... K>
const KernelTable& with_loop_nests(List<K...>) { return TiledKernels<K...>::table; }
}  // namespace

const Catalogue& catalogue() {
  static const std::vector<KernelInfo> kernels = all_kernels();
  static const BuildTable table = [] {
    BuildTable tiled = Build<linnet::all::Kernels, linnet::all::Operators>::table;
    tiled.kernels = &with_loop_nests(linnet::all::Kernels{});
    return tiled;
  }();
  static const Catalogue all = {table, kernels};
  return all;
}

uint32_t kernels_hash(std::span<const uint32_t> kernels) {
  uint32_t hash = hash_seed;
  for (uint32_t k : kernels) {
    const KernelInfo& info = catalogue().kernels[k];
    hash = hash_kernel_names(info.set.data(), info.computation.data(), info.params_version, hash);
  }
  return hash;
}

}  // namespace linnet
