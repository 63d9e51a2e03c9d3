#!/usr/bin/perl
# A twin still fits: its headers and its source are there, each old text is in them exactly once, and a test has its name.
use strict; use warnings; use lib 'scripts/lint'; use House;
my @bugs = files(qr/\.bug$/, 'tests');
for my $bug (@bugs) {
  my $text = slurp($bug);
  my ($head, @blocks) = split /^--- old\n/m, $text;
  my %field = $head =~ /^(\w+): *(.*?)\s*$/mg;
  my @headers = $head =~ /^header: *(.*?)\s*$/mg;
  my @gone = grep { !-e } @headers, $field{source} || ();
  complain($bug, "not there", $_) for @gone;
  complain($bug, 'no header') unless @headers;
  complain($bug, 'no source') unless $field{source};
  next if @gone || !@headers || !$field{source};
  my $code = join "\0", map { slurp($_) } @headers;
  for my $block (@blocks) {
    my ($old, $new) = split /^--- new\n/m, $block, 2;
    my $count = () = $code =~ /\Q$old\E/g;
    complain($bug, "the old text is found $count times in @headers, must be once") unless $count == 1;
    substr($code, index($code, $old), length $old) = $new if $count == 1 && defined $new;
  }
  my $source = slurp($field{source});
  $source =~ s/"\s*\n\s*"//g;    # names over two lines
  (my $pattern = quotemeta($field{test} || '')) =~ s/\\\*/.*/g;
  complain($bug, "no test of $field{source} is named $field{test}") unless $source =~ /TEST_CASE\w*\(\s*"$pattern"/;
}
done(scalar @bugs);
