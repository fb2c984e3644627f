// Generic functions and the standard library, for lines.sh: nobody runs it.
const std = @import("std");

fn Pair(comptime K: type, comptime V: type) type {
    return struct {
        key: K,
        value: V,

        fn less(_: void, a: @This(), b: @This()) bool {
            return a.value < b.value;
        }
    };
}

fn sorted(comptime T: type, all: []T) u64 {
    std.mem.sort(T, all, {}, T.less);
    var sum: u64 = 0;
    for (all, 0..) |x, i| sum +%= @as(u64, @intCast(x.value)) *% i;
    return sum;
}

pub fn main() void {
    var a: [64]Pair(u8, u32) = undefined;
    var b: [64]Pair(u64, u16) = undefined;
    var random = std.Random.DefaultPrng.init(@intFromPtr(&a));
    for (&a, 0..) |*x, i| x.* = .{ .key = @truncate(i), .value = random.random().int(u32) };
    for (&b, 0..) |*x, i| x.* = .{ .key = i, .value = random.random().int(u16) };
    var text: [256]u8 = undefined;
    const shown = std.fmt.bufPrint(&text, "{d} {x} {s}", .{
        sorted(Pair(u8, u32), &a), sorted(Pair(u64, u16), &b), "end",
    }) catch "too long";
    std.debug.print("{s} {d}\n", .{ shown, std.hash.Wyhash.hash(1, shown) });
}
