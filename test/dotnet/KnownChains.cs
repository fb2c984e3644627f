// Computes in known chains of calls. dotnet_frames.js knows them, and their lines.
//
// compile.sh makes what is in test/data/dotnet of it; so that has to be run when this is changed.
// Programs that are one file lack much of the framework, so of that only what they have is used:
// ONE_FILE is set for those.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Known
{
	interface IShape
	{
		int Area(int n);
	}

	abstract class Shape : IShape
	{
		public abstract int Area(int n);
		[MethodImpl(MethodImplOptions.NoInlining)]
		public virtual int Twice(int n) { return Area(n) + 1; }
	}

	class Square : Shape
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public override int Area(int n) { return Chains.Burn(n) + 1; }

		public class Corner : IShape
		{
			[MethodImpl(MethodImplOptions.NoInlining)]
			int IShape.Area(int n) { return Chains.Burn(n) + 2; }
		}
	}

	class Box<T>
	{
		readonly T value;
		public Box(T v) { value = v; }
		[MethodImpl(MethodImplOptions.NoInlining)]
		public int Open(int n) { return Chains.Burn(n) + (value == null ? 0 : 1); }
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static int Both<U>(T a, U b, int n) { return Chains.Burn(n) + (b == null ? 0 : 1); }
	}

	class ByWork : IComparer<string>
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public int Compare(string a, string b) { return Chains.Burn(2000) * 0 + string.CompareOrdinal(a, b); }
	}

	static class Chains
	{
		static Func<object, string> toJson;
		static readonly Regex question = new Regex(@"(\w+)\s+(?:to|that|is)\s+question");

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static int Burn(int n)
		{
			int x = 0;
			for (int i = 0; i < n; i++)
				x = (x * 31 + i) % 1000003;
			return x;
		}

		// The compiler may leave a variable on the evaluation stack, where the runtime knows no lines,
		// unless its address is taken.
		static void Keep<T>(ref T variable) { }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Deep(int k, int n) { return k == 0 ? Burn(n) + 1 : Deep(k - 1, n) + 1; }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Many(int a, double b, long c, object d, int e, double f, long g, int n)
		{
			return Burn(n) + a + (int)b + (int)c + e + (int)f + (int)g + (d == null ? 0 : 1);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Throws(int n)
		{
			try {
				if (Burn(n) >= 0)
					throw new InvalidOperationException();
			} catch (InvalidOperationException) {
				return Caught(n);
			} finally {
				Finally(n);
			}
			return 0;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Caught(int n) { return Burn(n) + 1; }
		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Finally(int n) { return Burn(n) + 1; }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static async Task<int> Later(int n)
		{
			await Task.Yield();
			return Burn(n) + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static IEnumerable<int> Made(int n)
		{
			yield return Burn(n) + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Lambdas(int n)
		{
			Func<int, int> f = k => Burn(k) + 1;
			Keep(ref f);
			return f(n) + 1;
		}

		// what is compiled already: the framework
		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Sorting()
		{
			var names = new List<string>();
			for (int i = 0; i < 64; i++)
				names.Add((i * 7919 % 64).ToString());
			names.Sort(new ByWork());
			return names.Count;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Matching()
		{
			int n = 0;
			for (int i = 0; i < 2000; i++)
				n += question.IsMatch("to be, or not to be: that is the question " + i.ToString()) ? 1 : 0;
			return n;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Building()
		{
			var b = new StringBuilder();
			for (int i = 0; i < 20000; i++)
				b.Append(i).Append(", ").AppendFormat("{0:x}", i);
			return b.ToString().Split(',').Select(s => s.Length).ToArray().Length;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Writing()
		{
			int n = 0;
			for (int i = 0; i < 200; i++)
				n += toJson(new Dictionary<string, int[]> { { "one", new[] { 1, 2, i } }, { "two", new int[50] } }).Length;
			return n;
		}

		static Func<object, string> FindJson()
		{
			var serializer = Type.GetType("System.Text.Json.JsonSerializer, System.Text.Json", true);
			var options = Type.GetType("System.Text.Json.JsonSerializerOptions, System.Text.Json", true);
			var method = serializer.GetMethod("Serialize", new[] { typeof(object), typeof(Type), options });
			return o => method == null ? o.ToString() : (string)method.Invoke(null, new object[] { o, o.GetType(), null });
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Round(int n)
		{
			IShape square = new Square(), corner = new Square.Corner();
			Keep(ref square);
			Keep(ref corner);
			square.Area(n);
			((Shape)square).Twice(n);
			corner.Area(n);
			new Box<int>(1).Open(n);
			new Box<string>("x").Open(n);
			Box<string>.Both<object>("x", null, n);
			Deep(50, n);
			Many(1, 2, 3, null, 5, 6, 7, n);
			Throws(n);
#if !ONE_FILE // the programs lack what awaiting needs
			Later(n).GetAwaiter().GetResult();
#endif
			foreach (int i in Made(n))
				if (i < 0)
					return;
			Lambdas(n);
			Sorting();
			Matching();
			Building();
			Writing();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Work()
		{
			for (;;)
				Round(300000);
		}

		static void Main(string[] args)
		{
			toJson = FindJson();
			Console.WriteLine("ready");
			new Thread(Work) { IsBackground = true, Name = "second" }.Start();
			Work();
		}
	}
}
