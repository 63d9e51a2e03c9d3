# What the lints share: finding files, reading them, reporting. Lints run from the root of the repository (`./run lint`)
# and need perl-base only.
package House;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(files slurp typed pages blocks block_files code_of declarations complain done);

my $complaints = 0;

# Files below the given folders whose names match; build folders and caches left out.
sub files {
  my ($pattern, @folders) = @_;
  @folders = grep { -e } @folders or return ();
  my @found = split /\n/, `find @folders -type f -not -path '*/__pycache__/*' -not -path '*/.venv/*'`;
  return sort grep { /$pattern/ } @found;
}

# The text of a page without the parts that a program printed (`<!-- printed: NAME -->` to `<!-- end -->`). Lines keep their
# numbers.
sub typed {
  my ($text) = @_;
  $text =~ s/(<!-- printed: \w+ -->\n)(.*?)(?=<!-- end -->)/$1 . "\n" x ($2 =~ tr{\n}{})/gse;
  return $text;
}

# A file, or a block of a page (PAGE#NAME), whose lines have the numbers that they have in the page.
sub slurp {
  my ($file) = @_;
  if ($file =~ /^(.*\.md)#(.*)$/) {
    my ($block) = grep { ($_->{name} // '') eq $2 } blocks($1);
    return "\n" x ($block->{line} - 1) . $block->{text};
  }
  open my $in, '<', $file or die "$file: cannot read\n";
  local $/;
  my $text = <$in>;
  return defined $text ? $text : '';
}

# Every page: the root's, and those below these folders.
sub pages {
  return grep({ -e } qw(README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md)), files(qr/\.md$/, qw(docs apps models examples adapters));
}

# The fenced blocks of a page. The fence is ```LANGUAGE NAME: the name is that of the file which the block becomes
# (scripts/pages), and ```cpp alone takes the page's. `program`: it has a main function. `line`: its first one.
sub blocks {
  my ($page) = @_;
  my $text = slurp($page);
  my @found;
  while ($text =~ /^```([^\n]*)\n(.*?)^```[^\n]*$/msg) {
    my ($fence, $code, $begin) = ($1, $2, $-[2]);
    my ($language, $name, @more) = split ' ', $fence;
    $language //= '';
    ($name) = map { "$_.cpp" } $page =~ m{([^/]+)\.md$} if !defined $name && $language eq 'cpp';
    push @found, {language => $language, name => $name, more => "@more", text => $code, line => 1 + (substr($text, 0, $begin) =~ tr/\n//),
      program => ($name // '') =~ /\.cpp$/ && $code =~ /^int main\(/m ? 1 : 0};
  }
  return @found;
}

# The blocks whose names match, as files: PAGE#NAME.
sub block_files {
  my ($pattern) = @_;
  return map { my $page = $_; map { "$page#$_->{name}" } grep { ($_->{name} // '') =~ /$pattern/ } blocks($page) } pages();
}

# The text without comments, strings and character literals; line numbers stay.
sub code_of {
  my ($text) = @_;
  $text =~ s{(//[^\n]*)|(/\*.*?\*/)|("(?:\\.|[^"\\\n])*")|((?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')}{
    my $gone = $&; my $lines = ($gone =~ tr/\n//); ($3 ? '""' : $4 ? "' '" : ' ') . "\n" x $lines }gse;
  return $text;
}

# The functions that a code without comments declares or defines: [name, where its parameters begin, parameter...].
sub declarations {
  my ($code) = @_;
  my @found;
  # A parameter list follows a name and is followed by a body, a semicolon, specifiers or an initialiser list.
  while ($code =~ /\b([A-Za-z_]\w*|operator\s*\(\s*\)|operator\s*[^\s\w(]+)\s*\(/g) {
    my ($name, $begin) = ($1, pos $code);
    next if $name =~ /^(if|for|while|switch|return|sizeof|alignof|decltype|noexcept|static_assert|requires|catch|defined|alignas|SPECVERIFY_\w+)$/;
    my ($depth, $angle, $at, $from) = (1, 0, $begin, $begin);
    my @parameters;
    for (; $at < length $code && $depth > 0; ++$at) {
      my $c = substr $code, $at, 1;
      if ($c =~ /[(\[{]/) { ++$depth }
      elsif ($c =~ /[)\]}]/) { --$depth }
      elsif ($c eq '<') { ++$angle }
      elsif ($c eq '>' && substr($code, $at - 1, 1) ne '-') { --$angle if $angle > 0 }
      elsif ($c eq ',' && $depth == 1 && $angle == 0) { push @parameters, substr $code, $from, $at - $from; $from = $at + 1 }
    }
    my $after = substr $code, $at, 200;
    next unless $after =~ /^\s*(const\b|noexcept\b|override\b|final\b|&|->|\{|;|=|:(?!:)|requires\b)/;
    my $before = $begin < 500 ? substr $code, 0, $begin : substr $code, $begin - 500, 500;
    $before =~ s/\b\Q$name\E\s*\($//;
    # A declaration has a type in front of its name, or is a constructor; a call has an operator, a brace or `return`.
    my $typed = $before =~ /(?:[\w>\]]|[&*])\s+(?:[\w:]+(?:<[^;{}]*>)?::)?\s*[&*]?$/s && $before !~ /\b(return|else|co_return|throw|case|goto)\s+(?:\w+::)*$/;
    my $constructor = $before =~ /(?:^|[;{}]|:\s|\bexplicit\s|\bconstexpr\s|\bSPECVERIFY_\w+\s)\s*(?:\w+(?:<[^;{}]*>)?::)?$/s && $name =~ /^[a-z]/ && $code =~ /\b(?:class|struct)\s+\Q$name\E\b/;
    next unless $typed || $constructor;
    my $last = substr $code, $from, $at - $from - 1;
    push @parameters, $last if $last =~ /\S/;
    push @found, [$name, $begin, @parameters];
  }
  return @found;
}

sub complain { print join(': ', @_), "\n"; ++$complaints }

sub done {
  my ($checked) = @_;
  print "$checked checked, $complaints against the rule\n";
  exit($complaints ? 1 : 0);
}
1;
