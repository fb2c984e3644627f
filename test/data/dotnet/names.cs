// mcs -target:library -out:names.dll names.cs
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Shop
{
	public class Basket<TItem>
	{
		public class Entry
		{
			public int Total() { return 1; }
		}
		public class Pair<TOther>
		{
			public int Both<TResult>(TItem a, TOther b) { return a == null || b == null ? 0 : 1; }
		}
		public static async Task<int> Load() { await Task.Yield(); return 1; }
		public static IEnumerable<int> Each() { yield return 1; }
		public static Func<int, int> Pay() { return n => n + 1; }
		public static Func<int> Owe(int n) { return () => n; }
	}
}
class Bare : IComparable<string>
{
	int IComparable<string>.CompareTo(string s) { return new Shop.Basket<string>().GetHashCode(); }
}
