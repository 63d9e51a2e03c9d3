#!/usr/bin/perl
# A function declared outside detail/ and kernel/ takes at most 6 parameters, members and defaults included.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $most = 6;
# At most 4 exceptions, FILE:FUNCTION => why.
my %exception = (
);
complain('scripts/lint/arguments.pl', 'more than 4 exceptions') if keys %exception > 4;
my (%used, $checked);
my @files = grep { !m{/(detail|kernel|device|cuda)/} } files(qr/\.(hpp|cuh)$/, 'include/specverify');
for my $file (@files) {
  my $code = code_of(slurp($file));
  $code =~ s/^[ \t]*#(?:[^\n\\]|\\.|\\\n)*//mg;
  # A parameter list follows a name and is followed by a body, a semicolon, specifiers or an initialiser list.
  while ($code =~ /\b([A-Za-z_]\w*|operator\s*\(\s*\)|operator\s*[^\s\w(]+)\s*\(/g) {
    my ($name, $begin) = ($1, pos $code);
    next if $name =~ /^(if|for|while|switch|return|sizeof|alignof|decltype|noexcept|static_assert|requires|catch|defined|alignas|SPECVERIFY_\w+)$/;
    my ($depth, $angle, $commas, $at, $empty) = (1, 0, 0, $begin, 1);
    for (; $at < length $code && $depth > 0; ++$at) {
      my $c = substr $code, $at, 1;
      if ($c =~ /[(\[{]/) { ++$depth }
      elsif ($c =~ /[)\]}]/) { --$depth }
      elsif ($c eq '<') { ++$angle }
      elsif ($c eq '>' && substr($code, $at - 1, 1) ne '-') { --$angle if $angle > 0 }
      elsif ($c eq ',' && $depth == 1 && $angle == 0) { ++$commas }
      $empty = 0 if $depth > 0 && $c =~ /\S/;
    }
    my $list = substr $code, $begin, $at - $begin - 1;
    my $after = substr $code, $at, 200;
    next unless $after =~ /^\s*(const\b|noexcept\b|override\b|final\b|&|->|\{|;|=|:(?!:)|requires\b)/;
    my $before = substr $code, 0, $begin;
    $before =~ s/\b\Q$name\E\s*\($//;
    # A declaration has a type in front of its name, or is a constructor; a call has an operator, a brace or `return`.
    my $typed = $before =~ /(?:[\w>\]]|[&*])\s+(?:[\w:]+(?:<[^;{}]*>)?::)?\s*[&*]?$/s && $before !~ /\b(return|else|co_return|throw|case|goto)\s+$/;
    my $constructor = $before =~ /(?:^|[;{}]|:\s|\bexplicit\s|\bconstexpr\s|\bSPECVERIFY_\w+\s)\s*(?:\w+(?:<[^;{}]*>)?::)?$/s && $name =~ /^[a-z]/ && $code =~ /\b(?:class|struct)\s+\Q$name\E\b/;
    next unless $typed || $constructor;
    next if !$empty && $list !~ /[\w>&*]\s*[&*]?\s*\w/ && $list !~ /\w/;
    ++$checked;
    my $count = $empty ? 0 : $commas + 1;
    next if $count <= $most;
    if (exists $exception{"$file:$name"}) { $used{"$file:$name"} = 1; next }
    my $line = 1 + (substr($code, 0, $begin) =~ tr/\n//);
    complain("$file:$line", "$name has $count parameters, at most $most");
  }
}
complain('scripts/lint/arguments.pl', "the exception $_ is not needed") for grep { my ($file) = /^(.*):/; -e $file && !$used{$_} } keys %exception;
done($checked // 0);
