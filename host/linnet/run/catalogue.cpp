#include "linnet/run/catalogue.h"

#include "linnet/build/builder.h"
#include "linnet_catalogue.h"

namespace linnet {
namespace {

template <class K>
Cost cost_of(const void* params) {
  return K::Computation::cost(*static_cast<const detail::Params<K>*>(params));
}

template <class K>
constexpr KernelInfo kernel_info() {
  return {K::set, K::Computation::name, K::Computation::params_version, sizeof(detail::Params<K>), K::splits,
          &detail::window_of<K>, &cost_of<K>};
}

template <class L>
struct Infos;
template <class... K>
struct Infos<List<K...>> {
  static constexpr KernelInfo kernels[] = {kernel_info<K>()...};
};

}  // namespace

const Catalogue& catalogue() {
  static const Catalogue all = {Build<linnet::all::Kernels, linnet::all::Operators>::table, Infos<all::Kernels>::kernels};
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
