# gnuplot -e "table='bench.csv'; picture='bench.svg'" plot.gp: plots the ratio to a plain read over the rows of V = 128 256.
set datafile separator ','
set terminal svg size 900,420 font 'sans,11'
set output picture
set logscale xy 2
set xlabel 'rows'
set ylabel 'time / one plain read of the rows'
set key outside right top noenhanced
set grid
set xtics (1, 8, 64, 512)
set xrange [0.9:600]
# Our functions, and alternatives if they were timed.
wanted = "specverify:digest+sample specverify:argmax specverify:select_256 specverify:log_sum_exp specverify:verify_3 \
  torch:softmax+draw torch:argmax torch:select_256 torch:log_sum_exp vllm-style:verify_3 flashinfer-style:verify_3"
there = system("awk -F, '{ print $1 \":\" $2 }' " . table . " | sort -u | tr '\\n' ' '")
ours = ''
others = ''
do for [pair in wanted] {
  if (strstrt(there, pair . ' ')) {
    if (pair[1:10] eq 'specverify') { ours = ours . ' ' . pair } else { others = others . ' ' . pair }
  }
}
data(pair) = sprintf("< awk -F, -v w='%s' '$1 \":\" $2 == w && $3 == \"float32\" && $5 == 128256' %s", pair, table)
plot for [pair in ours] data(pair) using 4:9 with linespoints linewidth 2.5 title pair, \
  for [pair in others] data(pair) using 4:9 with linespoints dashtype 3 title pair, 1 with lines dashtype 2 lc 'black' notitle
