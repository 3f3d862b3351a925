#include "linnet/board/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "linnet/board/error.h"

extern char** environ;

namespace linnet::board {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

std::pair<Descriptor, Descriptor> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("no pipe for a child process: ") + strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

struct Spawn {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  Spawn() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

pid_t start(const ProcessRequest& request, int output, int error) {
  Spawn spawn;
  posix_spawn_file_actions_addopen(&spawn.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&spawn.actions, output, 1);
  posix_spawn_file_actions_adddup2(&spawn.actions, error, 2);
  if (!request.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&spawn.actions, request.working_directory.c_str());
  }
  // A group of its own, so that one signal ends it with whatever it has started.
  posix_spawnattr_setpgroup(&spawn.attributes, 0);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words;
  for (const std::string& word : request.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0], &spawn.actions, &spawn.attributes, words.data(), environ);
  if (failed != 0) throw Error("cannot start '" + request.words[0] + "': " + strerror(failed));
  return child;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<long long>(left, 1'000'000));
}

// Reads both streams to their ends. Says how that ended: `exited` means that both were closed.
ProcessEnd collect(Descriptor (&streams)[2], std::string* (&texts)[2], size_t limit, Clock::time_point deadline) {
  char buffer[65536];
  while (streams[0].get() >= 0 || streams[1].get() >= 0) {
    pollfd polled[2] = {{streams[0].get(), POLLIN, 0}, {streams[1].get(), POLLIN, 0}};
    const int wait = milliseconds_until(deadline);
    if (wait == 0) return ProcessEnd::timed_out;
    if (poll(polled, 2, wait) < 0 && errno != EINTR) throw Error(std::string("poll failed: ") + strerror(errno));
    for (int i = 0; i < 2; ++i) {
      if (streams[i].get() < 0 || polled[i].revents == 0) continue;
      const ssize_t got = read(streams[i].get(), buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        streams[i].close();
        continue;
      }
      if (texts[i]->size() + static_cast<size_t>(got) > limit) return ProcessEnd::output_limit;
      texts[i]->append(buffer, static_cast<size_t>(got));
    }
  }
  return ProcessEnd::exited;
}

}  // namespace

ProcessResult run_process(const ProcessRequest& request) {
  const Clock::time_point deadline = Clock::now() + request.time_limit;
  auto [output, output_end] = make_pipe();
  auto [error, error_end] = make_pipe();
  const pid_t child = start(request, output_end.get(), error_end.get());
  output_end.close();
  error_end.close();

  ProcessResult result;
  Descriptor streams[2] = {std::move(output), std::move(error)};
  std::string* texts[2] = {&result.standard_output, &result.standard_error};
  result.end = collect(streams, texts, request.output_limit_bytes, deadline);

  int status = 0;
  bool gone = false;
  // Streams closed do not mean that it has ended.
  for (auto pause = std::chrono::microseconds(100); result.end == ProcessEnd::exited && !gone;) {
    gone = waitpid(child, &status, WNOHANG) == child;
    if (gone) break;
    if (Clock::now() >= deadline) result.end = ProcessEnd::timed_out;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
  kill(-child, SIGKILL);
  while (!gone && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (result.end == ProcessEnd::exited && WIFSIGNALED(status)) result.end = ProcessEnd::signalled;
  result.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const auto usable = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != name.npos) return usable(name) ? std::optional<std::filesystem::path>(name) : std::nullopt;
  const char* path = getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t begin = 0; begin <= rest.size();) {
    const size_t end = std::min(rest.find(':', begin), rest.size());
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(begin, end - begin)) / name;
    if (usable(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "linnet-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw Error("cannot make a directory '" + pattern + "': " + strerror(errno));
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace linnet::board
