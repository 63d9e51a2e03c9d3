// SPDX-License-Identifier: Apache-2.0
// The mismatches of the lab's semantic figures: labelled as AutoJudge's search says, the same for any number of jobs,
// and their file. Built by apps/lab/CMakeLists.txt; elsewhere this file is empty.
#ifdef SPECVERIFY_TINYLM_DIRECTORY

#include "../../../apps/lab/wisv_tasks.hpp"
#include "../models/embedded_pair.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

namespace {

using lab::mismatch_set;
using lab::token_id;

// A model that was written by hand: what follows each prefix; 0, the end, where nothing is written. State: length and
// last token.
class scripted_model {
 public:
  explicit scripted_model(std::map<std::vector<token_id>, token_id> script) : script_(std::move(script)) {}
  void feed(std::span<const token_id> ids, std::uint32_t rows) {
    REQUIRE(rows == 1);
    REQUIRE_FALSE(ids.empty());
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    const auto found = script_.find(tokens_);
    logits_.assign(8, 0);
    logits_[found == script_.end() ? 0 : static_cast<std::size_t>(found->second)] = 1;
    hidden_ = {static_cast<float>(tokens_.size()), static_cast<float>(tokens_.back())};
  }
  void rollback(std::uint32_t length) { tokens_.resize(std::min<std::size_t>(length, tokens_.size())); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  [[nodiscard]] std::uint32_t vocab_size() const { return 8; }
  [[nodiscard]] std::uint32_t hidden_size() const { return 2; }
  [[nodiscard]] std::span<const float> logits(std::uint32_t) const { return logits_; }
  [[nodiscard]] std::span<const float> hidden(std::uint32_t) const { return hidden_; }
  [[nodiscard]] std::span<const float> attention(std::uint32_t) const { return {}; }

 private:
  std::map<std::vector<token_id>, token_id> script_;
  std::vector<token_id> tokens_;
  std::vector<float> logits_, hidden_;
};

const token_id prompt[] = {1};

scripted_model scripted_target() {
  return scripted_model({{{1}, 2}, {{1, 2}, 3}, {{1, 2, 3}, 4}, {{1, 5}, 6}, {{1, 5, 6}, 4}, {{1, 5, 6, 4, 2}, 4}});
}
scripted_model scripted_drafter() { return scripted_model({{{1}, 5}, {{1, 5}, 7}, {{1, 5, 6}, 4}, {{1, 5, 6, 4}, 2}}); }

std::filesystem::path folder(const std::string& name) {
  const auto made = std::filesystem::temp_directory_path() / ("lab_wisv_test." + std::to_string(::getpid())) / name;
  std::filesystem::create_directories(made);
  return made;
}

mismatch_set collected(unsigned jobs, std::size_t count) {
  lab::lab_settings settings;
  settings.jobs = jobs;
  settings.out = folder(std::to_string(jobs) + "_" + std::to_string(count));
  lab::lab_context context(settings);
  return lab::collect_mismatches(context, count);
}

}  // namespace

TEST_CASE("search: a harmless replacement becomes the reference, a harmful one is taken back") {
  scripted_model drafter = scripted_drafter(), target = scripted_target();
  const auto last = [](std::span<const token_id> text) { return text.empty() ? -1 : text.back(); };
  const mismatch_set made = lab::collect_episode(drafter, target, prompt, 7, 0, 20, last);
  // 2 3 4 | 5 for 2 is harmless: 5 6 4 | 7 for 6 ends in 7: restored | 2 for the end: 5 6 4 2 4 | the end for 4 ends in
  // 2: restored.
  CHECK(made.position == std::vector<std::uint32_t>{0, 1, 3, 4});
  CHECK(made.drafted == std::vector<token_id>{5, 7, 2, 0});
  CHECK(made.expected == std::vector<token_id>{2, 6, 0, 4});
  CHECK(made.important == std::vector<std::uint8_t>{0, 1, 0, 1});
  CHECK(made.episode == std::vector<std::uint32_t>{7, 7, 7, 7});
  // Both states are those that say the place: of the prefix before it in the reference of that time.
  CHECK(made.target_states == std::vector<float>{1, 1, 2, 5, 4, 4, 5, 2});
  CHECK(made.drafter_states == made.target_states);
}

TEST_CASE("search: a harmless end ends the walk, and a full text is not continued") {
  scripted_model target = scripted_target(), silent({}), drafter = scripted_drafter();
  const auto same = [](std::span<const token_id>) { return 0; };
  const mismatch_set ended = lab::collect_episode(silent, target, prompt, 0, 0, 20, same);
  CHECK(ended.position == std::vector<std::uint32_t>{0});
  CHECK(ended.important == std::vector<std::uint8_t>{0});
  const mismatch_set cut = lab::collect_episode(drafter, target, prompt, 0, 0, 3, same);
  CHECK(cut.position == std::vector<std::uint32_t>{0, 1});
  CHECK(cut.drafted == std::vector<token_id>{5, 7});
  CHECK(cut.important == std::vector<std::uint8_t>{0, 0});
}

TEST_CASE("search on the embedded pair: every label is what a text written from nothing says") {
  constexpr std::size_t count = 6, longest = 250;
  const mismatch_set made = collected(1, count);
  const auto problems = tinylm::read_problems("apps/lab/data/train.txt");
  REQUIRE(problems.ok());
  REQUIRE(made.size() > count);
  CHECK(made.important_count() > 0);
  CHECK(made.important_count() < made.size());
  std::size_t next = 0;
  for (std::uint32_t e = 0; e < count; ++e) {
    const std::vector<token_id> question = tinylm::problem_ids(models().vocabulary, (*problems)[e].question);
    const auto answer = [&](const std::vector<token_id>& text) {
      return tinylm::solution_answer(models().vocabulary.decode(text));
    };
    const auto whole = [&](std::vector<token_id> text) {  // the target goes on after a continuation
      std::vector<token_id> all = question;
      all.insert(all.end(), text.begin(), text.end());
      const auto more = tinylm::continue_greedily(models().target, all, longest - all.size());
      text.insert(text.end(), more.begin(), more.end());
      return text;
    };
    std::vector<token_id> reference = whole({});
    const auto right = answer(reference);
    for (; next < made.size() && made.episode[next] == e; ++next) {
      REQUIRE(made.position[next] <= reference.size());
      CHECK((made.position[next] < reference.size() ? reference[made.position[next]] : tinylm::tokenizer::end_token) ==
            made.expected[next]);
      std::vector<token_id> trial(reference.begin(), reference.begin() + made.position[next]);
      if (made.drafted[next] != tinylm::tokenizer::end_token) {
        trial.push_back(made.drafted[next]);
        trial = whole(std::move(trial));
      }
      CHECK((answer(trial) == right) == (made.important[next] == 0));
      if (made.important[next] == 0) reference = trial;
    }
  }
  CHECK(next == made.size());
}

TEST_CASE("scorers: scores by hand on a row of four tokens") {
  // Weights 1, 2, 4 and 1 of 8.
  const float row[] = {0.0f, 0.6931472f, 1.3862944f, 0.0f};
  lab::scored_mismatch m;
  m.drafted = 1, m.expected = 2, m.target = row;
  CHECK(lab::detail::ratio_score(m) == doctest::Approx(0.5));
  CHECK(lab::detail::second_score(m) == 0);
  m.drafted = 3;
  CHECK(lab::detail::ratio_score(m) == doctest::Approx(0.75));
  CHECK(lab::detail::second_score(m) == 1);
  // Cactus: u q = .5 is .375 above p = 1/8, so d = .375^2 / (2 (1/8) (7/8)) = .642857.
  m.drafter_probability = 0.625, m.uniform = 0.8;
  CHECK(lab::detail::divergence_score(m) == doctest::Approx(0.642857 / 1.642857).epsilon(1e-5));
  m.uniform = 0.2;  // u q = p: speculative sampling accepts
  CHECK(lab::detail::divergence_score(m) == doctest::Approx(0));
  // Look-ahead: entropy 1.75 of at most 2 bits, if six drafts agree, or all to the end of the text.
  m.agreed = 6, m.differs_next = true;
  CHECK(lab::detail::look_ahead_score(m, 6) == doctest::Approx(0.125));
  m.agreed = 5;
  CHECK(lab::detail::look_ahead_score(m, 6) == 1);
  m.differs_next = false;
  CHECK(lab::detail::look_ahead_score(m, 6) == 1);
  m.text_ends = true;
  CHECK(lab::detail::look_ahead_score(m, 6) == doctest::Approx(0.125));
  CHECK(lab::detail::holds_digit("a4"));
  CHECK_FALSE(lab::detail::holds_digit("four"));
}

TEST_CASE("colours: read as written, and each sentence names the answer first") {
  lab::lab_settings settings;
  settings.out = folder("colours");
  lab::lab_context context(settings);
  const lab::scored_task task = lab::colour_task(context);
  const auto problems = task.problems("tune", 3);
  REQUIRE(problems.size() == 3);
  const std::string prompt = context.vocabulary().decode(std::span(problems[0].prompt).subspan(1));
  CHECK(prompt.starts_with("Q: "));
  CHECK(prompt.ends_with(". Then with the"));
  CHECK(prompt.find(problems[0].answer) != std::string::npos);
  CHECK(task.answer_of(" white ones there are 1+2=3 red cards.") == "white");
  CHECK(task.answer_of(" whites there are 3 cards, all black") == "black");
  CHECK(task.answer_of(" 3 cards") == "");
  CHECK_THROWS(task.problems("tune", 100000));
}

TEST_CASE("mismatches do not depend on the number of jobs; a file comes back whole or not at all") {
  const mismatch_set one = collected(1, 6), two = collected(2, 6);
  CHECK(one == two);
  CHECK(one.episodes == 6);
  const auto path = folder("file") / "set.bin";
  REQUIRE(lab::save_mismatches(one, 99, path));
  const auto back = lab::load_mismatches(99, 6, path);
  REQUIRE(back.has_value());
  CHECK(*back == one);
  CHECK_FALSE(lab::load_mismatches(98, 6, path).has_value());
  CHECK_FALSE(lab::load_mismatches(99, 7, path).has_value());
  std::vector<char> bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{30}, std::size_t{100}, bytes.size() - 1}) {
    std::vector<char> damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(path, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
    CHECK_FALSE(lab::load_mismatches(99, 6, path).has_value());
  }
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size() - 1));
  CHECK_FALSE(lab::load_mismatches(99, 6, path).has_value());
  std::filesystem::remove_all(folder("file").parent_path());
}

#endif
