#!/usr/bin/perl
# docs/reference.md lists every public call with its cost, as the comments of the headers state it: `O(...)` and allocations, in
# the comment of the call or else in the head of its header. Each header with a call states both. `--fix` writes the tables.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($page, $mark) = ('docs/reference.md', "<!-- table: include/specverify -->\n");
done(0) unless -e $page || @ARGV;
my $cost = qr/O\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?: expected)?(?: amortized)?(?: per \w+(?: epoch)?)?/;
my $text = -e $page ? slurp($page) : $mark;
my ($head) = split /\Q$mark\E/, $text, 2;
my ($calls, %rooms, @order) = (0);

# The text between the last `;`, `{` or `}` and an offset.
sub since_last {
  my ($code, $to) = @_;
  my $from = 0;
  for my $mark (';', '{', '}') {
    my $at = rindex $$code, $mark, $to - 1;
    $from = $at + 1 if $at + 1 > $from && $to > 0;
  }
  return substr $$code, $from, $to - $from;
}

# The scope of each offset of a code: 'public', or '' where a user cannot call; and the class that is open.
sub scopes {
  my ($code) = @_;
  my (@stack, %at) = (['public', '']);
  while ($code =~ /([{}])|\b(public|private|protected)\s*:/g) {
    my $here = $-[0];
    if (defined $2) { $stack[-1][0] = $2 eq 'public' ? $stack[-1][2] // '' : ''; }
    elsif ($1 eq '}') { pop @stack if @stack > 1 }
    else {
      my $before = since_last(\$code, $here);
      my ($outer, $class) = @{$stack[-1]};
      if ($before =~ /\bnamespace\s*([\w:]*)\s*$/) { push @stack, [$1 =~ /detail|^$/ ? '' : $outer, ''] }
      elsif ($before =~ /\b(struct|class)\s+(?:\[\[\w+\]\]\s*)?(?:SPECVERIFY_\w+\s+)?(\w+)(?:<[^{]*>)?(?:\s+final)?\s*(?::[^{]*)?$/ && $before !~ /\)\s*(?:const)?\s*(?:noexcept)?\s*$|\benum\b/) {
        push @stack, [$1 eq 'struct' ? $outer : '', $class ? "$class\::$2" : $2, $outer];
      } else { push @stack, ['', ''] }
    }
    $at{pos $code} = [@{$stack[-1]}];
  }
  return \%at;
}

# The body of a function of this header, or ''.
sub body_of {
  my ($code, $class, $call) = @_;
  my $named = defined $class ? qr/(?:\b$class\s*::\s*|[\s&*])$call/ : qr/(?<!::)\b$call/;
  while ($code =~ /$named\s*(\((?:[^()]|(?1))*\))[^;{}=]*(\{(?:[^{}]|(?2))*\})/g) { return $2 }
  return '';
}

# Whether a body has no loop, and calls only functions that take constant time.
my $quick = join '|', qw(size data empty ok first last count begin end value error has_value front back status sizeof min max abs is_nan is_finite
  floor ceil sqrt exp log log2 pow fits slice_bytes support_bytes top_bound most_above block_count position_words bit_cast make_pair if return assert
  static_cast noexcept decltype digest_workspace_size row_error);
sub constant_time {
  my ($body, $known) = @_;
  return 0 if $body eq '' || $body =~ /\b(?:for|while|do)\b/;
  for my $called ($body =~ /\b(\w+)\s*(?:<[^<>();]*>)?\s*\(/g) { return 0 unless $called =~ /^(?:$quick)$/ || $known->{$called} }
  return 1;
}

# What a comment states: time and memory.
sub stated {
  my ($comment) = @_;
  my ($time) = $comment =~ /\bCost:.*?($cost)/ ? $1 : $comment =~ /($cost)/;
  my $memory = $comment =~ /\bonly (`make\w*`(?: and `make\w*`)?) allocates?/ ? "only $1" :
    $comment =~ /\b(?:no|never|without) (?:heap )?allocat|allocates nothing|no temporary memory/i ? 'none' :
    $comment =~ /temporary memory/i ? 'temporary' : $comment =~ /\ballocates?\b/i ? 'allocates' : undef;
  return ($time, $memory);
}

for my $file (grep { !m{/(kernel|detail|cuda)/} && m{^include/specverify/[^/]+/} } files(qr/\.hpp$/, 'include/specverify')) {
  my ($room, $name) = $file =~ m{^include/specverify/(.*)/([^/]+)\.hpp$};
  my $source = slurp($file);
  my $code = code_of($source);
  my $blank = sub { my $gone = $_[0]; $gone =~ s/[^\n]/ /g; $gone };
  $code =~ s/^([ \t]*#(?:[^\n\\]|\\.|\\\n)*)/$blank->($1)/mge;
  my @lines = split /\n/, $source;
  my ($opening) = $source =~ /\A(.*?)^#ifndef/ms;
  $opening =~ s/^\/\/!? ?//mg;
  my ($header_time, $header_memory) = stated($opening =~ s/\s+/ /gr);
  my $at = scopes($code);
  my @offsets = sort { $a <=> $b } keys %$at;
  my (%seen, %groups, @keys, @missing, %quick);
  my $index = 0;
  for my $declared (sort { $a->[1] <=> $b->[1] } declarations($code)) {
    my ($call, $begin) = @$declared;
    ++$index while $index < @offsets && $offsets[$index] <= $begin;
    my ($scope, $class) = $index ? @{$at->{$offsets[$index - 1]}} : ('public', '');
    next if $scope ne 'public' || $call =~ /^(?:operator|bool$|SPECVERIFY|[A-Z_]+$)/;
    my $before = since_last(\$code, $begin);
    next if $before =~ /\bfriend\b|\bconcept\b|::\s*\w+\s*\($|~\w+\s*\($|\busing\b/;
    my ($inner) = $class =~ /(\w+)$/;
    next if defined $inner && ($inner eq $call || $inner =~ /_access$|_storage$/);
    my $rest = substr $code, $begin, 3000;
    my $depth = 1; my $end = 0;
    while ($depth && $rest =~ /[()]/g) { $depth += $& eq '(' ? 1 : -1; $end = pos $rest }
    my $tail = substr $rest, $end;
    next if $tail =~ /^\s*(?:const\s*)?(?:noexcept\s*)?=\s*delete/;
    next if !$class && $code =~ /\b(?:struct|class)\s+$call\b/;    # a deduction guide
    my $full = $class ? "$class\::$call" : $call;
    next if $seen{$full}++;
    # Its comment: the lines with //! above its first line.
    my $line = substr($code, 0, $begin - length($before)) =~ tr/\n//;
    ++$line if $before =~ /\n/;
    ++$line while $line < @lines && ($lines[$line] !~ /^\s*(?:[\w\[~]|template)/ || $lines[$line] =~ /^\s*(?:public|protected|private):/);
    my $comment = '';
    for (my $up = $line - 1; $up >= 0 && $lines[$up] =~ m{^\s*//!? ?(.*)}; --$up) { $comment = "$1 $comment" }
    my ($time, $memory) = stated($comment);
    my $simple = constant_time(body_of($code, $inner, $call), \%quick);
    $quick{$call} = 1 if $simple && !defined $time;
    $time //= $simple ? 'O(1)' : $header_time;
    $memory //= $simple ? 'none' : $header_memory;
    $memory = index($memory, "`$call`") > 0 ? 'allocates' : 'none' if defined $memory && $memory =~ /^only/;
    push @missing, $full unless defined $time && defined $memory;
    $time //= '?'; $memory //= '?';
    my $key = "$time\t$memory";
    push @keys, $key unless $groups{$key};
    push @{$groups{$key}}, [$class, $call];
    ++$calls;
  }
  next unless @keys;
  complain($file, "no `O(...)` or no word on allocations, neither in the head nor above @missing") if @missing;
  push @order, $room unless $rooms{$room};
  my $of = -e "docs/algorithms/$name.md" ? "[$name](algorithms/$name.md)" : "`$name`";
  for my $key (@keys) {
    my ($time, $memory) = split /\t/, $key;
    $time =~ s/\|/\\|/g;
    my @left = @{$groups{$key}};
    while (@left) {
      my ($cell, $open) = ('', undef);
      while (@left) {
        my ($class, $call) = @{$left[0]};
        my $more = $cell eq '' ? ($class ? "`$class`: `$call`" : "`$call`") :
          $class eq $open ? ", `$call`" : $class ? "; `$class`: `$call`" : "; `$call`";
        last if $cell ne '' && length("$cell$more") > 98;
        ($cell, $open) = ("$cell$more", $class);
        shift @left;
      }
      $rooms{$room} .= "| $of | $cell | $time | $memory |\n";
      $of = '';
    }
  }
}
my $new = join '', map { "\n## $_\n\n| header | calls | time | memory |\n|---|---|---|---|\n$rooms{$_}" } @order;
if (@ARGV && $ARGV[0] eq '--fix') {
  open my $out, '>', $page or die "$page: cannot write\n";
  print $out "$head$mark$new";
} elsif ($text ne "$head$mark$new") {
  my %had = map { $_ => 1 } split /\n/, $text;
  my %has = map { $_ => 1 } split /\n/, $new;
  complain($page, "not in a header: $_") for grep { /^\|/ && !$has{$_} } split /\n/, (split /\Q$mark\E/, $text, 2)[1] // '';
  complain($page, "missing: $_") for grep { /^\|/ && !$had{$_} } split /\n/, $new;
  complain($page, 'differs from the headers: perl scripts/lint/reference.pl --fix');
}
done($calls);
