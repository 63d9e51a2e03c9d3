#!/usr/bin/perl
# A class of session/ must have at most 25 data members. A member whose type is in session/detail/ counts as one if the type
# has at most 9 data members; otherwise all of these count.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $limit = 25;
my $group_limit = 9;
my (%members, %public, %functions, %file_of, %detail);

# Returns the data members of the class body at `$at` as [type, name, is public], and whether the class has functions.
sub read_body {
  my ($kind, $body) = @_;
  my $public = $kind eq 'struct';
  my (@found, $functions);
  # Remove bodies of functions, initializers in braces and arguments, which contain no members.
  1 while $body =~ s/\{[^{}]*\}/;/g;
  1 while $body =~ s/\([^()]*\)/#/g;
  1 while $body =~ s/<[^<>;]*>//g;
  for my $part (split /;/, $body) {
    while ($part =~ s/^\s*(public|private|protected)\s*://) { $public = $1 eq 'public' }
    $part =~ s/^\s+|\s+$//g;
    next if $part eq '';
    if ($part =~ /#/ || $part =~ /\boperator\b/) { $functions = 1; next }
    next if $part =~ /^(using|friend|static|enum|struct|class|template|typedef)\b/;
    $part =~ s/=.*//s;
    next unless $part =~ /^([\w:\s*&]+?)[\s*&]+(\w+(?:\s*,\s*\w+)*)\s*$/s;
    my ($type, $names) = ($1, $2);
    $type =~ s/.*:://s; $type =~ s/^(?:const|mutable)\s+//; $type =~ s/\s+//g;
    push @found, [$type, $_, $public] for split /\s*,\s*/, $names;
  }
  return (\@found, $functions);
}

for my $file (files(qr/\.hpp$/, 'include/specverify/session')) {
  my $code = code_of(slurp($file));
  while ($code =~ /\b(struct|class)\s+(\w+)(?:\s+final)?\s*(?::[^{;()]*)?\{/g) {
    my ($kind, $name, $from) = ($1, $2, pos $code);
    my ($depth, $at) = (1, $from);
    while ($depth > 0 && substr($code, $at) =~ /^[^{}]*([{}])/s) { $depth += $1 eq '{' ? 1 : -1; $at += $+[0] }
    my ($found, $functions) = read_body($kind, substr($code, $from, $at - $from - 1));
    ($members{$name}, $functions{$name}, $file_of{$name}) = ($found, $functions, $file);
    $detail{$name} = $file =~ m{/detail/};
  }
}
sub weight {
  my ($type, @seen) = @_;
  return 1 unless $detail{$type} && !grep { $_ eq $type } @seen;
  my @parts = @{$members{$type}};
  return 1 if @parts && @parts <= $group_limit;
  my $sum = 0;
  $sum += weight($_->[0], @seen, $type) for @parts;
  return $sum || 1;
}
# The limit does not hold for values without functions (options, snapshots, counters).
for my $name (sort keys %members) {
  next unless grep { !$_->[2] } @{$members{$name}};
  my $sum = 0;
  $sum += weight($_->[0]) for @{$members{$name}};
  complain($file_of{$name}, "$name has $sum data members, at most $limit") if $sum > $limit;
  print "$name: $sum\n" if @ARGV && $ARGV[0] eq '--show';
}
done(scalar keys %members);
