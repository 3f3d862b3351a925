#include "linnet/graph/networks.h"

#include <algorithm>
#include <random>

#include "linnet/graph/network_builder.h"

namespace linnet::graph {
namespace {

// The layers that published networks are made of.
class Layers : public NetworkBuilder {
 public:
  explicit Layers(Type type) : type_(type) {}

  // One scale for all, so that any of them can be joined, as CONCATENATION wants it.
  Quantization scale() const { return type_ == Type::float32 ? Quantization{} : per_tensor(0.04f, -20); }
  int image(int size, int channels = 3) { return input(type_, {1, size, size, channels}, scale()); }
  int sum(int a, int b, Activation activation = Activation::none) { return add(a, b, scale(), activation); }
  int positive(int x) { return relu(x, scale()); }
  int channels(int x) { return tensor(x).shape[3]; }
  int size(int x) { return tensor(x).shape[1]; }
  int conv(int x, int channels, int kernel = 3, int stride = 1, Activation activation = Activation::relu) {
    return conv_2d(
        x, {.channels = channels, .kernel = {kernel, kernel}, .stride = {stride, stride}, .activation = activation},
        scale());
  }
  int line(int x, int channels, int rows, int columns) {  // a factor of a square convolution
    return conv_2d(x, {.channels = channels, .kernel = {rows, columns}, .activation = Activation::relu}, scale());
  }
  int depthwise(int x, int kernel, int stride = 1, int dilation = 1) {
    return depthwise_conv_2d(x,
                             {.channels = channels(x),
                              .kernel = {kernel, kernel},
                              .stride = {stride, stride},
                              .dilation = {dilation, dilation},
                              .activation = Activation::relu6},
                             scale());
  }
  int separable(int x, int channels, int kernel, int stride = 1, int dilation = 1) {
    return conv(depthwise(x, kernel, stride, dilation), channels, 1, 1, Activation::none);
  }
  int separable_twice(int x, int channels, int kernel, int stride = 1) {
    return separable(positive(separable(positive(x), channels, kernel, stride)), channels, kernel);
  }
  int largest(int x, int kernel = 3, int stride = 2) { return max_pool_2d(x, pool(kernel, stride)); }
  int average(int x, int kernel = 3, int stride = 1) { return average_pool_2d(x, pool(kernel, stride)); }
  int twice_as_large(int x, int channels) {
    return transpose_conv(x, {.channels = channels, .kernel = {2, 2}, .stride = {2, 2}}, scale());
  }
  int join(std::vector<int> parts) { return concatenation(std::move(parts), 3, scale()); }
  int inverted_residual(int x, int out, int expansion, int stride, int kernel = 3) {
    int y = expansion == 1 ? x : conv(x, channels(x) * expansion, 1);
    y = conv(depthwise(y, kernel, stride), out, 1, 1, Activation::none);
    return stride == 1 && channels(x) == out ? sum(x, y) : y;
  }
  std::vector<uint8_t> classes(int x, int count = 10) {
    output(softmax(fully_connected(reshape(mean(x, {1, 2}), {1, channels(x)}), {.channels = count})));
    return write();
  }

 private:
  static PoolSpec pool(int kernel, int stride) {
    return {.kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = Padding::same};
  }
  Type type_;
};

std::vector<uint8_t> vgg16(Type type) {
  Layers n(type);
  int x = n.image(96);
  for (int block : {16, 32, 64, 128, 128}) {
    for (int i = 0; i < (block < 64 ? 2 : 3); ++i) x = n.conv(x, block);
    x = n.largest(x, 2);
  }
  x = n.reshape(x, {1, 3 * 3 * 128});
  for (int i = 0; i < 2; ++i) x = n.fully_connected(x, {.channels = 256, .activation = Activation::relu});
  n.output(n.softmax(n.fully_connected(x, {.channels = 10})));
  return n.write();
}

std::vector<uint8_t> alexnet(Type type) {
  Layers n(type);
  int x = n.largest(n.conv(n.image(112), 24, 11, 4));
  x = n.largest(n.conv(x, 64, 5));
  x = n.largest(n.conv(n.conv(n.conv(x, 96), 96), 64));
  x = n.reshape(x, {1, n.size(x) * n.size(x) * 64});
  for (int i = 0; i < 2; ++i) x = n.fully_connected(x, {.channels = 256, .activation = Activation::relu});
  n.output(n.softmax(n.fully_connected(x, {.channels = 10})));
  return n.write();
}

std::vector<uint8_t> mobilenet_v1(Type type) {
  Layers n(type);
  int x = n.conv(n.image(96), 8, 3, 2);
  const int channels[] = {16, 32, 32, 64, 64, 128, 128, 128, 128, 128, 128, 256, 256};
  for (int i = 0; i < 13; ++i)
    x = n.conv(n.depthwise(x, 3, i == 1 || i == 3 || i == 5 || i == 11 ? 2 : 1), channels[i], 1);
  return n.classes(x);
}

std::vector<uint8_t> mobilenet_v2(Type type) {
  Layers n(type);
  int x = n.conv(n.image(96), 16, 3, 2);
  struct Stage {
    int expansion, channels, blocks, stride;
  };
  for (Stage s :
       {Stage{1, 8, 1, 1}, {6, 16, 2, 2}, {6, 16, 3, 2}, {6, 32, 4, 2}, {6, 48, 3, 1}, {6, 80, 3, 2}, {6, 160, 1, 1}})
    for (int i = 0; i < s.blocks; ++i) x = n.inverted_residual(x, s.channels, s.expansion, i == 0 ? s.stride : 1);
  return n.classes(n.conv(x, 320, 1));
}

std::vector<uint8_t> resnet50(Type type) {
  Layers n(type);
  int x = n.largest(n.conv(n.image(96), 16, 7, 2));
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    int width = 16 << stage;
    for (int i = 0; i < blocks[stage]; ++i) {
      int stride = stage > 0 && i == 0 ? 2 : 1;
      int shortcut = i == 0 ? n.conv(x, 4 * width, 1, stride, Activation::none) : x;
      int y = n.conv(n.conv(x, width, 1), width, 3, stride);
      x = n.sum(n.conv(y, 4 * width, 1, 1, Activation::none), shortcut, Activation::relu);
    }
  }
  return n.classes(x);
}

std::vector<uint8_t> squeezenet(Type type) {
  Layers n(type);
  int x = n.largest(n.conv(n.image(96), 24, 3, 2));
  const int widths[] = {4, 4, 8, 8, 12, 12, 16, 16};
  for (int i = 0; i < 8; ++i) {
    int squeezed = n.conv(x, widths[i], 1);
    x = n.join({n.conv(squeezed, 4 * widths[i], 1), n.conv(squeezed, 4 * widths[i], 3)});
    if (i == 2 || i == 6) x = n.largest(x);
  }
  return n.classes(n.conv(x, 10, 1));
}

std::vector<uint8_t> inception_v3(Type type) {
  Layers n(type);
  int x = n.conv(n.conv(n.conv(n.image(96), 8, 3, 2), 8), 16);
  x = n.conv(n.largest(x), 24);
  for (int i = 0; i < 3; ++i)
    x = n.join({n.conv(x, 16, 1), n.conv(n.conv(x, 12, 1), 16, 5), n.conv(n.conv(n.conv(x, 16, 1), 24), 24),
                n.conv(n.average(x), 8, 1)});
  x = n.join({n.conv(x, 64, 3, 2), n.conv(n.conv(n.conv(x, 16, 1), 24), 24, 3, 2), n.largest(x)});
  for (int i = 0; i < 4; ++i) {
    int y = n.line(n.line(n.conv(x, 24, 1), 24, 1, 7), 32, 7, 1);
    int z = n.line(n.line(n.conv(x, 24, 1), 24, 7, 1), 24, 1, 7);
    z = n.line(n.line(z, 24, 7, 1), 32, 1, 7);
    x = n.join({n.conv(x, 32, 1), y, z, n.conv(n.average(x), 32, 1)});
  }
  x = n.join({n.conv(n.conv(x, 32, 1), 48, 3, 2),
              n.conv(n.line(n.line(n.conv(x, 32, 1), 32, 1, 7), 32, 7, 1), 32, 3, 2), n.largest(x)});
  for (int i = 0; i < 2; ++i) {
    int y = n.conv(x, 48, 1), z = n.conv(n.conv(x, 56, 1), 48);
    x = n.join({n.conv(x, 40, 1), n.line(y, 48, 1, 3), n.line(y, 48, 3, 1), n.line(z, 48, 1, 3), n.line(z, 48, 3, 1),
                n.conv(n.average(x), 24, 1)});
  }
  return n.classes(x);
}

// Two tensors, the outputs of the cell before and of the one before that, brought to one size and width.
void match(Layers& n, int& h, int& p, int channels) {
  p = n.conv(p, channels, 1, n.size(p) > n.size(h) ? 2 : 1);
  h = n.conv(h, channels, 1);
}

int nasnet_cell(Layers& n, int h, int p, int channels, bool reduction) {
  match(n, h, p, channels);
  if (!reduction) {
    int a = n.sum(n.separable_twice(h, channels, 3), h);
    int b = n.sum(n.separable_twice(p, channels, 3), n.separable_twice(h, channels, 5));
    int c = n.sum(n.average(h), p);
    int d = n.sum(n.average(p), n.average(p));
    int e = n.sum(n.separable_twice(p, channels, 5), n.separable_twice(p, channels, 3));
    return n.join({p, a, b, c, d, e});
  }
  int a = n.sum(n.separable_twice(p, channels, 7, 2), n.separable_twice(h, channels, 5, 2));
  int b = n.sum(n.largest(h), n.separable_twice(p, channels, 7, 2));
  int c = n.sum(n.average(h, 3, 2), n.separable_twice(p, channels, 5, 2));
  int d = n.sum(n.largest(h), n.separable_twice(a, channels, 3));
  int e = n.sum(n.average(a), b);
  return n.join({b, c, d, e});
}

std::vector<uint8_t> nasnet_a(Type type) {
  Layers n(type);
  int p = n.conv(n.image(64), 12, 3, 2), h = n.conv(p, 12, 3, 2);
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < 4; ++i) {
      int next = nasnet_cell(n, h, p, 8 << stage, stage > 0 && i == 0);
      p = h, h = next;
    }
  return n.classes(h);
}

int darts_cell(Layers& n, int h, int p, int channels, bool reduction) {
  match(n, h, p, channels);
  auto twice = [&](int x) { return n.separable_twice(x, channels, 3); };
  if (!reduction) {
    int a = n.sum(twice(p), twice(h)), b = n.sum(twice(p), twice(h));
    int c = n.sum(twice(h), p), d = n.sum(p, n.separable(n.positive(a), channels, 3, 1, 2));
    return n.join({a, b, c, d});
  }
  int a = n.sum(n.largest(p), n.largest(h)), b = n.sum(a, n.largest(h));
  int c = n.sum(n.largest(p), a), d = n.sum(a, n.largest(h));
  return n.join({a, b, c, d});
}

std::vector<uint8_t> darts(Type type) {
  Layers n(type);
  int p = n.conv(n.image(48), 24), h = p;
  for (int i = 0; i < 8; ++i) {
    bool reduction = i == 2 || i == 5;
    int next = darts_cell(n, h, p, i < 2 ? 8 : i < 5 ? 16 : 32, reduction);
    p = h, h = next;
  }
  return n.classes(h);
}

// A cell of small operators wired at random, each of which may read any before it, as SwiftNet's search finds them: the
// outputs of those that nobody reads are joined.
int irregular_cell(Layers& n, int x, int channels, int operators, std::mt19937& random) {
  std::vector<int> made = {n.conv(x, channels, 1)};
  std::vector<bool> read = {false};
  auto take = [&](size_t i) { return read[i] = true, made[i]; };
  for (int i = 0; i < operators; ++i) {
    size_t newest = made.size() - 1, a = newest - random() % std::min<size_t>(made.size(), 4),
           b = random() % made.size();
    int y = random() % 3 == 0 && a != b ? n.join({take(a), take(b)}) : take(a);
    made.push_back(n.separable(y, channels + 4 * static_cast<int>(random() % 4), random() % 2 ? 3 : 5));
    read.push_back(false);
  }
  std::vector<int> open;
  for (size_t i = 0; i < made.size(); ++i)
    if (!read[i]) open.push_back(made[i]);
  return open.size() == 1 ? open[0] : n.join(open);
}

std::vector<uint8_t> swiftnet_cells(Type type) {
  Layers n(type);
  std::mt19937 random(5);
  int x = n.conv(n.image(96), 16, 3, 2);
  for (int operators : {8, 12, 12}) x = n.largest(irregular_cell(n, x, 16, operators, random), 2);
  return n.classes(x, 2);
}

std::vector<uint8_t> u_net(Type type) {
  Layers n(type);
  int x = n.image(64, 1);
  std::vector<int> skips;
  for (int width : {8, 16, 32, 64}) {
    skips.push_back(n.conv(n.conv(x, width), width));
    x = n.largest(skips.back(), 2);
  }
  x = n.conv(n.conv(x, 128), 128);
  for (int width : {64, 32, 16, 8}) {
    x = n.join({skips.back(), n.twice_as_large(x, width)});
    skips.pop_back();
    x = n.conv(n.conv(x, width), width);
  }
  n.output(n.logistic(n.conv(x, 1, 1, 1, Activation::none)));
  return n.write();
}

std::vector<uint8_t> u_net_nested(Type type) {  // U-Net++: a grid of them, every level joined with all before it
  Layers n(type);
  constexpr int depth = 5;
  std::vector<std::vector<int>> grid(depth);
  int x = n.image(64, 1);
  for (int level = 0; level < depth; ++level) {
    grid[static_cast<size_t>(level)].push_back(n.conv(n.conv(level ? n.largest(x, 2) : x, 8 << level), 8 << level));
    x = grid[static_cast<size_t>(level)].back();
  }
  for (int column = 1; column < depth; ++column)
    for (int level = 0; level + column < depth; ++level) {
      auto& row = grid[static_cast<size_t>(level)];
      std::vector<int> parts = row;
      parts.push_back(
          n.twice_as_large(grid[static_cast<size_t>(level + 1)][static_cast<size_t>(column - 1)], 8 << level));
      row.push_back(n.conv(n.conv(n.join(parts), 8 << level), 8 << level));
    }
  n.output(n.logistic(n.conv(grid[0].back(), 1, 1, 1, Activation::none)));
  return n.write();
}

std::vector<uint8_t> densenet121(Type type) {
  Layers n(type);
  int x = n.largest(n.conv(n.image(96), 16, 7, 2));
  for (int layers : {6, 12, 24, 16}) {
    for (int i = 0; i < layers; ++i) x = n.join({x, n.conv(n.conv(n.positive(x), 32, 1), 8)});
    if (layers != 16) x = n.average(n.conv(x, n.channels(x) / 2, 1), 2, 2);
  }
  return n.classes(x);
}

std::vector<uint8_t> hrnet(Type type) {  // branches of several resolutions side by side, which exchange what they see
  Layers n(type);
  std::vector<int> branches = {n.conv(n.image(64), 8, 3, 2)};
  for (int stage = 0; stage < 4; ++stage) {
    for (int& x : branches)
      for (int i = 0; i < 2; ++i) x = n.inverted_residual(x, n.channels(x), 2, 1);
    if (stage < 3) branches.push_back(n.conv(branches.back(), 8 << (stage + 1), 3, 2));
    std::vector<int> mixed;
    for (size_t to = 0; to < branches.size(); ++to) {
      int sum = branches[to];
      for (size_t from = 0; from < branches.size(); ++from) {
        int y = branches[from];
        for (size_t i = from; i < to; ++i) y = n.conv(y, 8 << (i + 1), 3, 2);
        for (size_t i = from; i > to; --i) y = n.twice_as_large(y, 8 << (i - 1));
        if (from != to) sum = n.sum(sum, y);
      }
      mixed.push_back(sum);
    }
    branches = mixed;
  }
  return n.classes(branches[0]);
}

std::vector<uint8_t> resnext(Type type) {  // its groups written out as branches that are all alike
  Layers n(type);
  int x = n.conv(n.image(64), 32, 3, 2);
  for (int block = 0; block < 6; ++block) {
    int stride = block == 2 || block == 4 ? 2 : 1, width = 32 << block / 2;
    std::vector<int> groups;
    for (int g = 0; g < 8; ++g) groups.push_back(n.conv(n.conv(x, 4, 1), 4, 3, stride));
    int y = n.conv(n.join(groups), width, 1, 1, Activation::none);
    int shortcut = n.channels(x) == width && stride == 1 ? x : n.conv(x, width, 1, stride, Activation::none);
    x = n.sum(y, shortcut, Activation::relu);
  }
  return n.classes(x);
}

std::vector<uint8_t> eight_branches(Type type) {
  Layers n(type);
  int x = n.conv(n.image(48), 16, 3, 2);
  std::vector<int> ends;
  for (int branch = 0; branch < 8; ++branch) {
    int y = x;
    for (int i = 0; i < 4; ++i) y = n.separable(y, 8 + 8 * (i % 2), 3);
    ends.push_back(y);
  }
  return n.classes(n.join(ends));
}

}  // namespace

std::vector<uint8_t> watts_strogatz(const WiredSpec& spec, Type type) {
  Layers n(type);
  std::mt19937_64 random(spec.seed);
  auto below = [&](int limit) { return static_cast<int>(random() % static_cast<uint64_t>(limit)); };
  int x = n.conv(n.image(64), 16, 3, 2);
  for (int stage = 0; stage < spec.stages; ++stage) {
    std::vector<std::vector<int>> before(static_cast<size_t>(spec.nodes));
    std::vector<bool> read(before.size(), false);
    for (int i = 0; i < spec.nodes; ++i)
      for (int k = 1; k <= spec.neighbours / 2; ++k) {
        int to = (i + k) % spec.nodes;
        if (static_cast<double>(random() % 1000000) < spec.rewired * 1e6) to = below(spec.nodes);
        if (to == i) continue;
        auto& list = before[static_cast<size_t>(std::max(i, to))];
        if (std::find(list.begin(), list.end(), std::min(i, to)) == list.end()) list.push_back(std::min(i, to));
      }
    std::vector<int> made;
    int entry = n.conv(x, 8 << stage, 1, stage ? 2 : 1);
    for (auto& list : before) {
      int sum = entry;
      for (size_t i = 0; i < list.size(); ++i) {
        int y = made[static_cast<size_t>(list[i])];
        sum = i == 0 ? y : n.sum(sum, y);
        read[static_cast<size_t>(list[i])] = true;
      }
      made.push_back(n.separable(sum, 8 << stage, 3));
    }
    x = -1;
    for (size_t i = 0; i < made.size(); ++i)
      if (!read[i]) x = x < 0 ? made[i] : n.sum(x, made[i]);
  }
  return n.classes(x);
}

std::vector<uint8_t> narrow_holes(uint32_t seed) {
  struct Result {
    int channels, last;
  };
  const Result results[] = {{4, 3}, {4, 5}, {3, 9}, {2, 7}, {2, 8}, {2, 8}, {1, 9}, {4, 11}, {4, 12}, {3, 12}, {1, 12}, {3, 12}};
  std::mt19937 random(seed);
  auto between = [&](uint32_t low, uint32_t high) { return static_cast<int32_t>(low + random() % (high - low + 1)); };
  NetworkBuilder n(seed);
  int x = n.input(Type::float32, {1, between(10, 16), between(10, 16), 1});
  std::vector<int> chain, means;
  for (const Result& result : results) {
    x = n.conv_2d(x, {.channels = result.channels, .kernel = {between(2, 4), between(2, 4)}});
    chain.push_back(x);
    for (size_t i = 0; i < chain.size(); ++i)
      if (results[i].last == static_cast<int>(chain.size())) means.push_back(n.mean(chain[i], {1, 2}, true));
  }
  n.output(n.concatenation(means, 3));
  return n.write();
}

const std::vector<NamedNetwork>& named_networks() {
  static const std::vector<NamedNetwork> all = {
      {"vgg16", "Simonyan & Zisserman 2014", false, vgg16},
      {"alexnet", "Krizhevsky et al. 2012", false, alexnet},
      {"mobilenet_v1", "Howard et al. 2017", false, mobilenet_v1},
      {"mobilenet_v2", "Sandler et al. 2018", true, mobilenet_v2},
      {"resnet50", "He et al. 2015", true, resnet50},
      {"squeezenet", "Iandola et al. 2016", true, squeezenet},
      {"inception_v3", "Szegedy et al. 2015", true, inception_v3},
      {"nasnet_a", "Zoph et al. 2017", true, nasnet_a},
      {"darts", "Liu et al. 2018", true, darts},
      {"swiftnet_cells", "in the manner of Cheng et al. 2019", true, swiftnet_cells},
      {"watts_strogatz", "Xie et al. 2019", true, [](Type type) { return watts_strogatz({}, type); }},
      {"u_net", "Ronneberger et al. 2015", true, u_net},
      {"u_net_nested", "Zhou et al. 2018", true, u_net_nested},
      {"densenet121", "Huang et al. 2016", true, densenet121},
      {"hrnet", "Sun et al. 2019", true, hrnet},
      {"resnext", "Xie et al. 2016", true, resnext},
      {"eight_branches", "branches that are all alike", true, eight_branches},
  };
  return all;
}

}  // namespace linnet::graph
