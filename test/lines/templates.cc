// Templates, lambdas and inlined calls of the standard library, for lines.sh: nobody runs it.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shop {
namespace {
int rounded(double price) { return static_cast<int>(price + 0.5); }
} // namespace

struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
};

template <class T> struct Square : Shape {
	explicit Square(T side) : side(side) {}
	double area() const override { return static_cast<double>(side) * side; }
	T side;
};

template <class Key, class Value> class Cart
{
      public:
	template <class... More> void add(Key key, Value value, More... more)
	{
		items[key].push_back(value);
		if constexpr (sizeof...(more) > 1)
			add(more...);
	}
	template <class F> auto each(F f) const
	{
		std::vector<decltype(f(std::declval<const Value &>()))> out;
		for (const auto &[key, values] : items)
			std::transform(values.begin(), values.end(), std::back_inserter(out), f);
		std::sort(out.begin(), out.end());
		return out;
	}

      private:
	std::map<Key, std::vector<Value>> items;
};

using Word = std::variant<int, double, std::string>;

static std::string text_of(const Word &w)
{
	return std::visit(
		[](const auto &x) {
			std::ostringstream out;
			out << x;
			return out.str();
		},
		w);
}

template <class T> static T sum(const std::vector<T> &all)
{
	return std::accumulate(all.begin(), all.end(), T{});
}
} // namespace shop

int main(int argc, char **argv)
{
	using namespace shop;
	Cart<std::string, int> a;
	Cart<int, double> b;
	Cart<double, std::string> c;
	a.add("x", argc, "y", 2, "z", 3);
	b.add(argc, 1.5, 7, 2.5);
	c.add(1.0, argv[0], 2.0, "two");
	auto lengths = c.each([](const std::string &s) { return s.size(); });
	auto doubled = b.each([](double d) { return rounded(d * 2); });
	auto squares = a.each([](int x) { return std::to_string(x * x); });

	std::vector<std::unique_ptr<Shape>> shapes;
	for (int i = 0; i < argc; i++) {
		shapes.push_back(std::make_unique<Square<int>>(i));
		shapes.push_back(std::make_unique<Square<float>>(static_cast<float>(i)));
	}
	std::sort(shapes.begin(), shapes.end(),
		  [](const auto &x, const auto &y) { return x->area() < y->area(); });

	std::unordered_map<std::string, std::function<int(int)>> calls;
	calls["add"] = [&](int x) { return x + argc; };
	calls["times"] = [&](int x) { return x * argc; };
	std::regex words("([a-z]+)-([0-9]{2,4})|x(y|z)*");
	std::smatch found;
	std::string line = argv[0];
	while (std::regex_search(line, found, words)) {
		std::cout << found[1] << calls[found[1]](argc) << '\n';
		line = found.suffix();
	}
	std::cout << text_of(argc) << text_of(2.0) << text_of(std::string("w")) << sum(lengths)
		  << sum(doubled) << sum(squares) << shapes.size() << '\n';
}
