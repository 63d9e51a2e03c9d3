# What the lints share: finding files, reading them, reporting. Lints run from the root of the repository (`./run lint`)
# and need perl-base only.
package House;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(files slurp code_of complain done);

my $complaints = 0;

# Files below the given folders whose names match; build folders and caches left out.
sub files {
  my ($pattern, @folders) = @_;
  @folders = grep { -e } @folders or return ();
  my @found = split /\n/, `find @folders -type f -not -path '*/__pycache__/*' -not -path '*/.venv/*'`;
  return sort grep { /$pattern/ } @found;
}

sub slurp {
  my ($file) = @_;
  open my $in, '<', $file or die "$file: cannot read\n";
  local $/;
  my $text = <$in>;
  return defined $text ? $text : '';
}

# The text without comments, strings and character literals; line numbers stay.
sub code_of {
  my ($text) = @_;
  $text =~ s{(//[^\n]*)|(/\*.*?\*/)|("(?:\\.|[^"\\\n])*")|((?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')}{
    my $gone = $&; my $lines = ($gone =~ tr/\n//); ($3 ? '""' : $4 ? "' '" : ' ') . "\n" x $lines }gse;
  return $text;
}

sub complain { print join(': ', @_), "\n"; ++$complaints }

sub done {
  my ($checked) = @_;
  print "$checked checked, $complaints against the rule\n";
  exit($complaints ? 1 : 0);
}
1;
