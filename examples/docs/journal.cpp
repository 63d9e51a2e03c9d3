// SPDX-License-Identifier: Apache-2.0
// A device was killed while it wrote to its journal: what the file still says.
#include <random>
#include <specverify/host/drive.hpp>
#include <specverify/session/edge.hpp>

#include <algorithm>
#include <array>
#include <vector>

int main() {
  using namespace specverify;
  std::random_device random;
  auto edge = make_edge({.secret = secret_from(random), .vocab_size = 32000}, top_k{16});
  if (!edge || !edge->start(std::array<token_id, 3>{7, 8, 9}, 0).ok()) return 1;
  std::vector<std::byte> file;
  const session_work work = take_outputs(*edge, [&](const session_output& out) {
    if (out.action == session_action::journal) file.insert(file.end(), out.bytes.begin(), out.bytes.end());
  });
  if (work.wait != session_wait::peer) return 2;
  const std::size_t whole = file.size();
  file.resize(whole + whole / 2);
  std::copy_n(file.begin(), whole / 2, file.end() - static_cast<std::ptrdiff_t>(whole / 2));  // half of a record

  std::array<token_id, 4096> text{};
  const auto read = read_journal<edge_snapshot<top_k::state_type>>(file, text);
  if (!read || !read->last) return 3;
  const journal_reading& found = read->found;
  return found.torn && found.valid_bytes == whole && read->text.size() == 3 && read->last->round == 1 ? 0 : 4;
}
