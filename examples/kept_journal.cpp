// SPDX-License-Identifier: Apache-2.0
// Keeps a journal on disk for both sides. The processes end in mid-text, again and again, and new processes continue.
#include <filesystem>
#include <fstream>
#include <random>
#include <specverify/all.hpp>
#include "toy_model.hpp"
using namespace specverify;
namespace fs = std::filesystem;
struct journal_file {
  fs::path path;
  std::vector<std::byte> load() const {
    std::vector<std::byte> all(fs::exists(path) ? fs::file_size(path) : 0);
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(all.data()), std::streamsize(all.size()));
    return all;
  }
  // Drops a torn record. Returns false if there is no whole record: nothing was sent yet, and a new session begins.
  result<bool> goes_on(const result<journal_reading>& restored) const {
    const bool fresh = !restored && (restored.error().code == errc::unknown_session ||  // an empty file
                                     restored.error().code == errc::truncated);
    if (!restored && !fresh) return restored.error();  // see docs/errors.md
    if (fs::exists(path)) fs::resize_file(path, fresh ? 0 : restored->valid_bytes);
    return !fresh;
  }
  status write(const session_output& out) const {  // on an error no later output is handed out, and the run ends
    const fs::path to = path.string() + (out.replaces ? ".new" : "");
    std::ofstream file(to, std::ios::binary | (out.replaces ? std::ios::trunc : std::ios::app));
    file.write(reinterpret_cast<const char*>(out.bytes.data()), std::streamsize(out.bytes.size()));
    if (!file.flush()) return {errc::engine_failed, part::host, 0};
    if (out.replaces) fs::rename(to, path);  // against power cuts: fsync the file before, and the folder after
    return {};
  }
};
result<bool> live(const fs::path& folder, session_time now) {  // one process of each side; true: the text is complete
  constexpr std::uint32_t V = toy_model::vocab_size;
  const session_secret own = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");  // of each side, and always the same
  auto edge = make_edge({.session_id = 1, .secret = own, .vocab_size = V, .token_budget = 60});
  auto cloud = make_cloud({.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"),
                           .salt = salt_from(std::random_device{}),
                           .vocab_size = V});  // the journal's counts
  const journal_file at_edge{folder / "edge"}, at_cloud{folder / "cloud"};
  if (const auto found = at_cloud.goes_on(cloud->restore(at_cloud.load())); !found) return found.error();
  const auto found = at_edge.goes_on(edge->restore(at_edge.load(), now));
  if (!found) return found.error();
  const status began = *found ? status{} : edge->start(std::array<token_id, 1>{1}, now);
  if (!began.ok()) return began;
  std::vector<std::vector<std::byte>> up, down;  // messages in flight
  const auto work = [&](auto& session, toy_model model, const journal_file& file, auto& sent) {
    return drive(session, model, [&](const session_output& out) -> status {
      if (out.action == session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      return out.action == session_action::journal ? file.write(out) : status{};
    });
  };
  status why = work(*edge, {1.0}, at_edge, up);
  for (int turns = 0; why.ok() && turns < 3; ++turns) {  // then both are killed, and messages in flight are lost
    for (const auto& message : std::exchange(up, {}))
      if (why = deliver(*cloud, message, now); why.ok()) why = work(*cloud, {0.0}, at_cloud, down);
    for (const auto& message : std::exchange(down, {}))
      if (why = deliver(*edge, message, now); why.ok()) why = work(*edge, {1.0}, at_edge, up);
  }
  if (!why.ok()) return why;
  return edge->state() == edge_state::finished;
}
int main() {
  const fs::path folder = fs::temp_directory_path() / std::to_string(salt_from(std::random_device{}));
  fs::create_directory(folder);
  session_time lives = 0;
  result<bool> done = false;
  for (; done && !*done && lives < 100; ++lives) done = live(folder, lives);
  fs::remove_all(folder);
  return done && *done && lives > 3 ? 0 : 1;
}
