// SPDX-License-Identifier: Apache-2.0
//! What checks have counted: values that must have the same bits, decisions that may differ at near ties.
#ifndef SPECVERIFY_TESTS_GPU_TALLY_HPP
#define SPECVERIFY_TESTS_GPU_TALLY_HPP

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace gpu_tests {

//! What one check has found so far.
struct tally {
  std::uint64_t rows = 0;       //!< compared
  std::uint64_t values = 0;     //!< outputs that must have the same bits
  std::uint64_t decisions = 0;  //!< draws and tests, which may differ at near ties
  std::uint64_t near_ties = 0;  //!< of these differ, within 2^-20 by long double
  std::uint64_t measured = 0;   //!< of these agree, and their distance from another outcome was taken
  std::uint64_t close = 0;      //!< of these within 2^-20: few, else the distance says nothing
  std::uint64_t wrong = 0;
  std::vector<std::string> texts{};  //!< of the first ones that are wrong

  void expect(bool right, const char* what, std::uint64_t size, std::uint64_t row) {
    ++values;
    if (!right) complain(place_of(what, size, row));
  }
  static std::string place_of(const char* what, std::uint64_t size, std::uint64_t row) {
    return std::string(what) + " at V = " + std::to_string(size) + ", row " + std::to_string(row);
  }
  //! A decision that must be the same. Where it is not, `distance()` says how near another outcome was, in long double;
  //! `look` asks for that although it is the same.
  template <class Distance>
  void decide(bool same, bool look, const std::string& what, const Distance& distance) {
    ++decisions;
    if (same && !look) return;
    const long double found = distance();
    const bool is_near = found <= 0x1p-20L;
    if (same) {
      ++measured;
      close += is_near ? 1 : 0;
    } else if (is_near) {
      ++near_ties;
    } else {
      complain(what + " differs, nearest decision " + std::to_string(static_cast<double>(found)));
    }
  }
  void complain(const std::string& text) {
    ++wrong;
    if (texts.size() < 5) texts.push_back(text);
  }
  void add(const tally& other) {
    rows += other.rows;
    values += other.values;
    decisions += other.decisions;
    near_ties += other.near_ties;
    measured += other.measured;
    close += other.close;
    wrong += other.wrong;
    for (const std::string& text : other.texts)
      if (texts.size() < 5) texts.push_back(text);
  }
  //! Near ties may be one in ten thousand; in a few thousand draws one.
  [[nodiscard]] bool passed() const {
    return wrong == 0 && near_ties <= 1 + decisions / 10000 && close <= 1 + measured / 200;
  }
};

//! Checks by name, in the order in which they came.
class report {
 public:
  tally& operator[](const std::string& name) {
    if (found_.find(name) == found_.end()) order_.push_back(name);
    return found_[name];
  }
  //! A table on stdout; whether all passed.
  bool print() {
    bool passed = true;
    std::printf("%-24s %9s %12s %10s %10s  %s\n", "check", "rows", "same bits", "decisions", "near ties", "result");
    for (const std::string& name : order_) {
      const tally& t = found_[name];
      const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
      std::printf("%-24s %9llu %12llu %10llu %10llu  %s\n", name.c_str(), number(t.rows), number(t.values),
                  number(t.decisions), number(t.near_ties), t.passed() ? "ok" : "FAILED");
      for (const std::string& text : t.texts) std::printf("    %s\n", text.c_str());
      passed = passed && t.passed();
    }
    return passed;
  }

 private:
  std::map<std::string, tally> found_;
  std::vector<std::string> order_;
};

}  // namespace gpu_tests

#endif
