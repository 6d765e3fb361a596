# dalli.rb DATA SERVER... - takes turns for vbench; see peer.go for what it is told
# and what it answers.
require 'dalli'

def line(io) = io.gets.chomp

values, batches = {}, []
File.open(ARGV[0], 'rb') do |f|
  line(f).to_i.times do
    key, size = line(f).split(' ')
    values[key] = f.read(size.to_i)
    f.gets
  end
  line(f).to_i.times { batches << Array.new(line(f).to_i) { line(f) } }
end
hits = batches.map { |b| b.count { |k| values.key?(k) } }
client = Dalli::Client.new(ARGV.drop(1), socket_timeout: 2)
clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }

$stdout.sync = true
puts "ready Dalli #{Dalli::VERSION} on Ruby #{RUBY_VERSION}"
n = 0
$stdin.each_line do |order|
  length = order.to_i
  begin
    call = lambda do
      i = n % batches.length
      n += 1
      t = clock.call
      got = client.get_multi(*batches[i])
      took = clock.call - t
      raise "#{got.length} hits, want #{hits[i]}" if got.length != hits[i]
      got.each { |k, v| raise "wrong value for #{k}" unless v.b == values[k] }
      took
    end
    call.call
    times = []
    allocated = GC.stat(:total_allocated_objects)
    before = Process.times
    start = clock.call
    loop do
      times << call.call
      break if clock.call - start >= length
    end
    elapsed = clock.call - start
    after = Process.times
    allocated = GC.stat(:total_allocated_objects) - allocated
    times.sort!
    at = ->(q) { times[(q * (times.length - 1)).round] }
    puts [times.length, elapsed, at[0.25], at[0.5], at[0.99],
          ((after.utime - before.utime) * 1e9).to_i, ((after.stime - before.stime) * 1e9).to_i, allocated].join(' ')
  rescue StandardError => e
    puts "error #{e.class}: #{e.message}"
  end
end
