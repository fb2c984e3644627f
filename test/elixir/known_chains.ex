defmodule Shop do
  def burn(0, x), do: x
  def burn(n, x), do: burn(n - 1, rem(x * 48271, 2147483647))
  def pay(n) do
    r = burn(n, 1)
    r + 1
  end
  def each(n) do
    r = Enum.map([1, 2], fn _ -> pay(n) + 1 end)
    length(r)
  end
  def deep(0, n), do: pay(n) + 1
  def deep(d, n), do: deep(d - 1, n) + 1
  def piped(n), do: 1..2 |> Stream.map(fn _ -> pay(n) end) |> Enum.sum()
  def loop do
    each(20000)
    deep(50, 20000)
    piped(20000)
    loop()
  end
end
