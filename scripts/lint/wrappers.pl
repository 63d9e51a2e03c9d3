#!/usr/bin/perl
# A struct of session/detail/ that has only fields, and that only one class names, is declared in that class: a reader then finds
# the fields where they are used. (Values that functions return or several classes share are fine.)
use strict; use warnings; use lib 'scripts/lint'; use House;
my (%body, %fields_only);
for my $file (files(qr/\.hpp$/, 'include/specverify/session')) {
  my $code = code_of(slurp($file));
  while ($code =~ /\b(?:struct|class)\s+(\w+)(?:\s+final)?\s*(?::[^{;()]*)?(\{(?:[^{}]|(?2))*\})/g) {
    my ($name, $body, $line) = ($1, $2, 1 + (substr($code, 0, $-[0]) =~ tr/\n//));
    $body{$name} = $body;
    (my $fields = $body) =~ s/<[^<>;]*>//g;
    $fields_only{$name} = "$file:$line" if $file =~ m{/detail/} && $fields !~ /\(/ && $fields =~ /;/;
  }
}
# Whether every use of a name outside these two class bodies is in a function of the owner.
sub is_owners {
  my ($name, $owner) = @_;
  for my $file (files(qr/\.hpp$/, 'include/specverify')) {
    my $code = code_of(slurp($file));
    for my $class ($name, $owner) { $code =~ s/\b(struct|class)\s+$class\b[^;{}()]*(\{(?:[^{}]|(?2))*\})/"\n" x ($& =~ tr{\n}{})/e }
    while ($code =~ /\b$name\b/g) {
      my @functions = substr($code, 0, pos $code) =~ /^\S[^\n]*\b(\w+)::~?\w+\(/mg;
      return 0 unless @functions && $functions[-1] eq $owner;
    }
  }
  return 1;
}
for my $name (sort keys %fields_only) {
  my @owners = grep { $_ ne $name && $body{$_} =~ /\b$name\b/ } sort keys %body;
  complain($fields_only{$name}, "$name only wraps fields of $owners[0]: declare it there") if @owners == 1 && is_owners($name, $owners[0]);
}
done(scalar keys %fields_only);
