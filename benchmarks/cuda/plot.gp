# gnuplot -e "table='bench.csv'; picture='bench.svg'" plot.gp: the ratio to a plain read, against rows of V = 128 256.
set datafile separator ','
set terminal svg size 900,420 font 'sans,11'
set output picture
set logscale xy 2
set xlabel 'rows'
set ylabel 'time / one plain read of the rows'
set key outside right top noenhanced
set grid
set xtics (1, 8, 64, 512)
tasks = system("awk -F, 'NR > 1 && $3 == \"float32\" && $5 == 128256 { print $1 \":\" $2 }' " . table . " | sort -u")
data(pair) = sprintf("< awk -F, -v w='%s' '$1 \":\" $2 == w && $3 == \"float32\" && $5 == 128256' %s", pair, table)
plot for [pair in tasks] data(pair) using 4:9 with linespoints title pair, 1 with lines dashtype 2 lc 'black' notitle
