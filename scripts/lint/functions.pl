#!/usr/bin/perl
# A function of adapters/, src/c and the C headers must have at most 40 lines, including the first and the last.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $most = 40;
my $checked = 0;
for my $file (files(qr/\.(hpp|cpp)$/, 'adapters', 'src/c'), files(qr/\.h$/, 'include')) {
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
    complain("$file:$line", "$name has $lines lines, at most $most") if $lines > $most;
  }
}
done($checked);
