local function burn(n)
  local x = 1
  for i = 1, n do
    x = x * 48271 % 2147483647
  end
  return x
end
Shop = {}
function Shop.total(n) local a = Shop:pay(n)
  return a + 1 end
function Shop:pay(n) local b = burn(n)
  return b end
function deep(depth, n)
  if depth > 0 then
    local d = deep(depth - 1, n)
    return d
  end
  local d = burn(n)
  return d
end
local meta = setmetatable({}, {
  __index = function(t, k) local v = burn(k)
    return v end,
  __add = function(a, b) local v = burn(b)
    return v end,
  __call = function(self, n) local v = burn(n)
    return v end,
})
local function tail(n) return burn(n) end
local function iterate(n, i) if i < 1 then
  local v = burn(n)
  return i + 1, v end end
local function variadic(...)
  local v = burn(...)
  return v end
local function yielding(n)
  local v = burn(n)
  coroutine.yield(v)
  v = burn(n)
  return v end
local function fill(n)
  local t = {}
  for i = 1, n do
    t[i] = i
  end
  return t end
local function fib(i) if i < 2 then return i end
  local a = fib(i - 1)
  local b = fib(i - 2)
  return a + b end
local ordered = {__lt = function(a, b) return a[1] < b[1] end}
local function shuffled(count, of)
  local t, x = {}, 1
  for i = 1, count do
    x = x * 48271 % 2147483647
    t[i] = of(x)
  end
  return t end
local function numbers() for i = 1, 3000 do
  coroutine.yield(i) end end
local n = 20000
while true do
  Shop.total(n)
  deep(50, n)
  local a = meta[n]
  a = meta + n
  a = meta(n)
  a = tail(n)
  for i, v in iterate, n, 0 do a = v end
  pcall(burn, n)
  a = pcall(function() local b = burn(n)
    return b end)
  table.sort({2, 1}, function(x, y) local b = burn(n)
    return x < y end)
  string.gsub("x", "x", function() local b = burn(n)
    return "y" end)
  local co = coroutine.wrap(function() local b = burn(n)
    return b end)
  co()
  co = coroutine.create(yielding)
  coroutine.resume(co, n)
  coroutine.resume(co, n)
  a = variadic(n, n)
  a = string.rep("x", 100000)
  a = fill(n)
  fib(16)
  a = shuffled(2000, function(x) return x end)
  table.sort(a, function(x, y) return x < y end)
  a = shuffled(1000, function(x) return setmetatable({x}, ordered) end)
  table.sort(a)
  for v in coroutine.wrap(numbers) do a = v end
  a = string.rep("x", 3000):gsub("x", function(c) return c end)
end
