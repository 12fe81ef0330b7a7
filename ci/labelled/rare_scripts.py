# SPDX-License-Identifier: GPL-2.0-only
"""The sources of of_rare_engines.py. Each prints "ready" and runs for about two seconds."""

ONEDNN = r"""
#include <chrono>
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>
using namespace dnnl;

int main()
{
	engine cpu(engine::kind::cpu, 0);
	stream commands(cpu);
	memory::desc square({192, 192}, memory::data_type::f32, memory::format_tag::ab);
	memory a(square, cpu), b(square, cpu), product(square, cpu);
	matmul multiply(matmul::primitive_desc(matmul::desc(square, square, square), cpu));
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);

	puts("ready");
	fflush(stdout);
	while (std::chrono::steady_clock::now() < end)
		multiply.execute(commands, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b},
					    {DNNL_ARG_DST, product}});
}
"""

SONIC = """
package main
import ("fmt"; "time"; "github.com/bytedance/sonic")
type T struct { Number int; Text string; Numbers []float64; Words map[string]int }
func main() {
	t := &T{1, "hello world", make([]float64, 50), map[string]int{"a": 1, "b": 2}}
	for i := range t.Numbers { t.Numbers[i] = float64(i) * 1.25 }
	fmt.Println("ready")
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		bytes, err := sonic.Marshal(t)
		if err != nil { panic(err) }
		if err := sonic.Unmarshal(bytes, &T{}); err != nil { panic(err) }
	}
}
"""

# Runs for as short a time as its start takes, which is mostly in the C library.
SHORT_JAVASCRIPT = """
function leaf(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 31 + i) % 65521; return s; }
require('fs').writeSync(1, 'ready\\n');
const end = Date.now() + 80;
while (Date.now() < end) leaf(3000);
"""

HASKELL = """
import qualified Data.Map as M
import System.IO
build :: Int -> M.Map Int Int
build n = foldr (\\k m -> M.insertWith (+) (k * 31 `mod` 65521) k m) M.empty [1 .. n]
{-# NOINLINE build #-}
main :: IO ()
main = do
  putStrLn "ready"
  hFlush stdout
  print (sum [M.size (build (2000 + i)) | i <- [1 .. 900]])
"""
