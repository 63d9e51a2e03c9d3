#!/usr/bin/perl
# Headers in include/ must not throw, allocate, print, read clocks or open namespaces. Only owners may have containers: classes
# that are made by `static result<T> make(...)`, the session and the test kit. Thrust throws, but device/thrust.hpp converts
# exceptions to a status. device/ must use thrust_ns, because a build may put Thrust in another namespace. The rules also hold for
# adapters/, which may own memory, and for the C headers and src/c, except for a few places that make a session from memory.
use strict; use warnings; use lib 'scripts/lint'; use House;
my @never = (
  [qr/\bthrow\b/, 'throw'], [qr/\b(try|catch)\b/, 'try and catch'], [qr/\bnew\b/, 'new'], [qr/\bdelete\s*(\[\s*\])?\s+?\w+\s*;/, 'delete'],
  [qr/\b(malloc|calloc|realloc|free|aligned_alloc)\s*\(/, 'the C heap'], [qr/\bstd::(cout|cerr|clog|cin|printf|fprintf|puts)\b|\b(f?printf|puts)\s*\(/, 'printing'],
  [qr/\busing\s+namespace\b/, 'using namespace'], [qr/\b(dynamic_cast|typeid)\b/, 'run-time types'], [qr/\bstd::chrono\b/, 'a clock'],
  [qr/\bstd::is(nan|inf|finite)\b|\bstd::signbit\b/, 'NaN tests that fast-math removes (use the bit pattern)'],
  [qr/\b(TODO|FIXME|XXX)\b/, 'unfinished'],
);
my $headers = qr/^\s*#\s*include\s*<(iostream|ostream|istream|sstream|fstream|cstdio|regex|format|thread|mutex|condition_variable|chrono|random|filesystem|locale|functional|stdio\.h)>/;
my $containers = qr/\bstd::(vector|string|deque|list|map|set|unordered_map|unordered_set|unique_ptr|shared_ptr|function|any)\b/;
my %its_own = (  # FILE => additional permissions
  'src/c/memory.hpp' => qr/^throw$/, 'src/c/sessions.hpp' => qr/^new$/, 'src/c/pair.cpp' => qr/^(try and catch|std::vector)/,
  'include/specverify/core/detail/memory.hpp' => qr/^(try and catch|std::vector outside an owner)$/,  # converts a failed allocation to a status
  'src/c/core_rows.cpp' => qr/^new$/,
);
my @files = (files(qr/\.(hpp|cuh)$/, 'include/specverify'), files(qr/\.hpp$/, 'adapters'), files(qr/\.h$/, 'include'), files(qr/\.[hc]pp$/, 'src/c'));
for my $file (@files) {
  my $code = code_of(slurp($file));
  my $owner = $file =~ m{/(session|testing)/|^adapters/} || $code =~ /\bstatic\s+(constexpr\s+)?result<[^;{]*>\s+make\s*\(/;
  my $number = 0;
  for my $line (split /\n/, $code) {
    ++$number;
    complain("$file:$number", "includes <$1>")
      if $line =~ $headers && !($file =~ m{/testing/} && $line =~ /<(functional|mutex|condition_variable)>/);
    next if $line =~ /^\s*#\s*include/;
    next if $file =~ m{/device/thrust\.hpp$} && $line =~ /\b(throw|try|catch)\b/;
    next if $file =~ m{^src/c/} && $line =~ /^using namespace specverify_c;$/;
    my @wrong = map { $line =~ $_->[0] ? $_->[1] : () } @never;
    push @wrong, "std::$1 outside an owner" if !$owner && $line =~ $containers;
    for my $wrong (@wrong) { complain("$file:$number", $wrong) unless $its_own{$file} && $wrong =~ $its_own{$file} }
    complain("$file:$number", 'names Thrust by hand; use thrust_ns of device/thrust.hpp') if $line =~ /\bthrust\s*::/;
    complain("$file:$number", 'opens the namespace by hand; use SPECVERIFY_NAMESPACE_BEGIN or SPECVERIFY_TYPES_BEGIN')
      if $line =~ /^\s*(inline\s+)?namespace\s+specverify\b/ && $file !~ m{specverify/config\.hpp$};
  }
}
done(scalar @files);
