#!/usr/bin/perl
# A function declared outside detail/ and kernel/ must have at most 6 parameters, including defaults. This also holds for
# members, and for functions of adapters/, the C headers and src/c.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $most = 6;
# At most 4 exceptions: FILE:FUNCTION => reason.
my %exception = (
);
complain('scripts/lint/arguments.pl', 'more than 4 exceptions') if keys %exception > 4;
my (%used, $checked);
my @files = grep { !m{/(detail|kernel|device|cuda)/} } files(qr/\.(hpp|cuh)$/, 'include/specverify');
push @files, files(qr/\.[hc]pp$/, 'adapters', 'src/c'), files(qr/\.h$/, 'include');
for my $file (@files) {
  my $code = code_of(slurp($file));
  $code =~ s/^[ \t]*#(?:[^\n\\]|\\.|\\\n)*//mg;
  for my $declared (declarations($code)) {
    my ($name, $begin, @parameters) = @$declared;
    ++$checked;
    my $count = @parameters;
    next if $count <= $most;
    if (exists $exception{"$file:$name"}) { $used{"$file:$name"} = 1; next }
    my $line = 1 + (substr($code, 0, $begin) =~ tr/\n//);
    complain("$file:$line", "$name has $count parameters, at most $most");
  }
}
complain('scripts/lint/arguments.pl', "the exception $_ is not needed") for grep { my ($file) = /^(.*):/; -e $file && !$used{$_} } keys %exception;
done($checked // 0);
