import { describe, expect, it } from "vitest";
import { inline } from "../src/trace/format";
import type { Value } from "../src/trace/types";
import { unpack } from "../src/trace/file";

const packed = (values: object[], bytes: Uint8Array): Parameters<typeof unpack>[0] =>
  ({ values, numbers: btoa(String.fromCharCode(...bytes)) });

function integers(...data: bigint[]): Value {
  const bytes = new Uint8Array(BigInt64Array.from(data).buffer);
  return unpack(packed([{ shape: [data.length], dtype: "int64", at: 0 }], bytes)).values[0] as Value;
}

describe("a packed trace", () => {
  it("keeps every digit of an integer", () => {
    expect(integers(1n, 2n ** 53n - 1n, 2n ** 53n + 1n, -(2n ** 63n)).data)
      .toEqual([1, 2 ** 53 - 1, "9007199254740993", "-9223372036854775808"]);
    expect(inline(integers(2n ** 53n + 1n, 7n))).toBe("tensor([9007199254740993, 7])");
  });

  it("is refused if its previews read the same numbers again and again", () => {
    const value = (at: number): object => ({ shape: [4], dtype: "uint8", at });
    const bytes = new Uint8Array(8);
    expect(unpack(packed([value(0), value(4)], bytes)).values.map((v) => v.data)).toEqual([[0, 0, 0, 0], [0, 0, 0, 0]]);
    expect(() => unpack(packed([value(0), value(4), value(0)], bytes)))
      .toThrow("this is not a whole trace: its previews hold 12 bytes, of which the file has 8");
    expect(() => unpack(packed([{ shape: [Number.NaN], dtype: "uint8", at: 0 }], bytes))).toThrow("not a whole trace");
  });
});
