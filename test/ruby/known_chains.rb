def burn(n)
  x = 1
  i = 0
  while i < n
    x = x * 48271 % 2147483647
    i += 1
  end
  x
end
class Shop
  def pay(n) burn(n) end
  def self.total(n)
    new
      .pay(n)
  end
  define_method(:sell) { |n| burn(n) }
  def method_missing(name, n) burn(n) end
  class << self
    def own(n) burn(n) end
  end
end
module Tools
  def self.tool(n) burn(n) end
  def helped(n) burn(n) end
end
Shop.include(Tools)
def deep(depth, n)
  depth > 0 ?
    deep(depth - 1, n) :
    burn(n)
end
def rescued(n)
  raise "x"
rescue
  burn(n)
end
def each_of(n) yield n end
def fiber(n) Fiber.new { burn(n) }.resume end
Thread.new { while true do burn(20000) end }
shop = Shop.new
n = 20000
while true
  Shop.total(n)
  [n].each { |m| burn(m) }
  deep(400, n)
  shop.sell(n)
  shop.other(n)
  Shop.own(n)
  Tools.tool(n)
  shop.helped(n)
  rescued(n)
  each_of(n) { |m| burn(m) }
  eval("burn(n)")
  [n].sort_by { |m| burn(m) }
  1.times { burn(n) }
  fiber(n)
  ("x" * (1 << 20)).reverse
end
