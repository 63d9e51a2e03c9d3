#!/usr/bin/perl
# A function of include/, src/ and adapters/ has at most 40 lines, of apps/ 60, its first and last included.
use strict; use warnings; use lib 'scripts/lint'; use House;
# FILE:FUNCTION => most lines. Loops over registers stay in one piece. The functions of the lab will be written anew.
my %exception = (
  'apps/lab/trace.hpp:load' => 62,
  'include/specverify/kernel/simd/argmax.hpp:find_maximum' => 54,
  'include/specverify/kernel/simd/digest.hpp:coarse_group' => 53,
  'include/specverify/kernel/simd/digest.hpp:coarse_rows' => 64,
);
my ($checked, %used) = (0);
for my $file (files(qr/\.(hpp|cpp|cuh|h)$/, qw(include src adapters apps))) {
  my $most = $file =~ /^apps/ ? 60 : 40;
  my $code = code_of(slurp($file));
  $code =~ s/^[ \t]*#(?:[^\n\\]|\\.|\\\n)*//mg;
  for my $declared (declarations($code)) {
    my ($name, $begin) = @$declared;
    # The body is the first brace behind a blank, on the level of the parameter list: `{` of an initialiser has none.
    my ($at, $depth, $body) = ($begin, 1, 0);
    for (; $at < length $code; ++$at) {
      my $c = substr $code, $at, 1;
      if ($depth == 0 && !$body) {
        last if $c =~ /[;=]/;
        $body = 1 if $c eq '{' && substr($code, $at - 1, 1) =~ /\s/;
      }
      if ($c =~ /[(\[{]/) { ++$depth }
      elsif ($c =~ /[)\]}]/) { last if --$depth == 0 && $body }
    }
    next unless $body;
    ++$checked;
    my $lines = 1 + (substr($code, $begin, $at - $begin) =~ tr/\n//);
    my $line = 1 + (substr($code, 0, $begin) =~ tr/\n//);
    my $longest = $lines > $most ? $exception{"$file:$name"} : undef;
    $used{"$file:$name"} = 1 if defined $longest;
    complain("$file:$line", "$name has $lines lines, at most " . ($longest // $most)) if $lines > ($longest // $most);
  }
}
for (sort keys %exception) { complain('scripts/lint/functions.pl', "$_ needs no exception") if !$used{$_} && -e 'CMakeLists.txt' }
done($checked);
