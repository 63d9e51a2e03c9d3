// SPDX-License-Identifier: Apache-2.0
// Makes a table of id weights from texts (codec/prior_table.hpp), measures the bits per id that a table needs, or
// generates texts with the bundled target. Exit code: 0; 2 for wrong usage or files; 70 for any other failure.
#include "../edge_cloud/engine.hpp"
#include "../edge_cloud/side_model.hpp"
#include "../standard_output.hpp"
#include "prior_texts.hpp"
#include "prompts.hpp"
#include "record.hpp"
#include "train_prior.hpp"

#include "tinylm/tinylm.hpp"

#include <CLI/CLI.hpp>

namespace {

namespace sv = specverify;

struct arguments {
  std::vector<std::string> files{};
  std::string out{}, measured{}, folder = tinylm::default_directory(), problems = "apps/lab/data/train.txt",
                                 prose = "apps/lab/data/prose.txt";
  std::uint32_t vocab_size = 0, draw = 0, skip = 50, tokens = 128;
  std::size_t max_bytes = 16384;
};

//! Reads texts: token ids if a vocabulary size was given, otherwise paragraphs for the bundled tokenizer.
std::vector<priors::id_text> read_texts(const arguments& given, std::uint32_t& vocab_size) {
  std::vector<priors::id_text> made;
  vocab_size = given.vocab_size;
  if (given.vocab_size > 0) {
    for (const std::string& file : given.files) {
      for (priors::id_text& text : priors::read_ids(file, given.vocab_size)) made.push_back(std::move(text));
    }
    return made;
  }
  const edge_cloud::side_model side = edge_cloud::load_side(given.folder, "target.safetensors");
  vocab_size = side.vocab_size;
  for (const std::string& file : given.files) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("cannot read " + file);
    std::string paragraph;
    for (std::string line; in;) {
      const bool more = static_cast<bool>(std::getline(in, line));
      if (more && !line.empty()) {
        paragraph += line + '\n';
      } else if (!paragraph.empty()) {
        priors::id_text& text = made.emplace_back();
        text.ids.push_back(tinylm::tokenizer::end_token);
        for (const sv::token_id id : side.vocabulary.encode(paragraph)) text.ids.push_back(id);
        paragraph.clear();
      }
    }
  }
  return made;
}

void write_file(const std::string& name, std::span<const char> bytes) {
  std::ofstream out(name, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + name);
}

void make_table(const arguments& given) {
  std::uint32_t vocab_size = 0;
  std::size_t ids = 0;
  priors::texts texts;
  for (priors::id_text& text : read_texts(given, vocab_size)) {
    ids += text.ids.size();
    texts.push_back(std::move(text.ids));
  }
  const std::vector<std::byte> file = priors::train(texts, {vocab_size, given.max_bytes});
  write_file(given.out, {reinterpret_cast<const char*>(file.data()), file.size()});
  const sv::prior_fingerprint mark = programs::read_prior(file, vocab_size, given.out).fingerprint();
  std::printf("%s: %zu bytes from %zu ids of %zu texts, fingerprint %016llx%016llx\n", given.out.c_str(), file.size(),
              ids, texts.size(), static_cast<unsigned long long>(mark.high), static_cast<unsigned long long>(mark.low));
}

void measure(const arguments& given) {
  std::uint32_t vocab_size = 0;
  const std::vector<priors::id_text> texts = read_texts(given, vocab_size);
  const sv::prior_table table = programs::read_prior_file(given.measured, vocab_size);
  const priors::measured_bits sum = priors::bits_of(table, texts);
  if (sum.ids == 0) throw std::runtime_error("the texts have no ids to measure");
  const auto ids = static_cast<double>(sum.ids);
  std::printf("%zu ids, V = %u; bits per id: plain %d, by weights alone %.2f, by the whole table %.2f\n", sum.ids,
              vocab_size, sv::ceil_log2(vocab_size), sum.weights / ids, sum.table / ids);
}

//! Generates texts with the bundled target from prompts of the lab, and writes the token ids.
void draw(const arguments& given) {
  const edge_cloud::side_model side = edge_cloud::load_side(given.folder, "target.safetensors");
  recorded::token_source source(side.vocab_size, {});
  std::string lines;
  std::uint32_t number = given.skip * given.tokens;
  for (std::vector<sv::token_id>& ids :
       recorded::lab_prompts(given.problems, given.prose, side.vocabulary, given.draw, given.skip)) {
    edge_cloud::engine target(side.weights);
    const std::size_t prompt = ids.size();
    for (std::size_t fed = 0; ids.size() < prompt + given.tokens;) {
      const sv::status why =
          target.feed(static_cast<std::uint32_t>(fed), std::span<const sv::token_id>(ids).subspan(fed), 1);
      if (!why.ok()) throw recorded::failure("the target", why);
      fed = ids.size();
      ids.push_back(source.draw(target.row(0), target.row(0), number++));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) lines += (i == prompt ? "| " : "") + std::to_string(ids[i]) + ' ';
    lines.back() = '\n';
  }
  write_file(given.out, lines);
}

int run(int argc, char** argv) try {
  arguments given;
  CLI::App app{
      "Makes a table that lets edge and cloud encode token ids in fewer bits (docs/algorithms/token_prior.md)."};
  app.add_option("TEXT", given.files, "text files; paragraphs are separated by an empty line")
      ->check(CLI::ExistingFile);
  app.add_option("-o,--out", given.out, "file to write: the table, or with --draw the texts");
  app.add_option("--ids", given.vocab_size,
                 "vocabulary size; TEXT then contains token ids, one text per line, instead of text for the bundled "
                 "models. Ids before a `|` are the prompt, which is not measured")
      ->check(CLI::Range(1u, sv::max_vocab_size));
  app.add_option("--max-bytes", given.max_bytes, "largest size of the table in bytes")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{81}, std::size_t{1} << 28));
  app.add_option("--measure", given.measured, "existing table: print how many bits per id it needs for TEXT")
      ->check(CLI::ExistingFile);
  app.add_option("--draw", given.draw, "number of texts to generate with the bundled target and write as token ids")
      ->check(CLI::Range(1u, 1000u));
  app.add_option("--skip", given.skip, "with --draw: number of prompts to skip at the beginning")
      ->capture_default_str();
  app.add_option("--tokens", given.tokens, "with --draw: number of tokens per text")
      ->capture_default_str()
      ->check(CLI::Range(1, 200));
  app.add_option("--problems", given.problems,
                 "with --draw: file with problems; half of the prompts come from this file, and half from the prose "
                 "texts of ./run lab")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    if (given.draw > 0 ? !given.files.empty() || !given.measured.empty() : given.files.empty())
      throw CLI::ValidationError("give either TEXT or --draw");
    if (given.out.empty() == given.measured.empty()) throw CLI::ValidationError("give either --out or --measure");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (given.draw > 0) {
    draw(given);
  } else if (!given.measured.empty()) {
    measure(given);
  } else {
    make_table(given);
  }
  return 0;
} catch (const std::exception& error) {
  return programs::exit_code_of("prior", error);
}

}  // namespace

int main(int argc, char** argv) {
  return programs::with_output("prior", [&] { return run(argc, argv); });
}
