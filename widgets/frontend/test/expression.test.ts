import { expect, test } from "vitest";
import { pieces, type Written } from "../src/trace/expression";
import type { Expression } from "../src/trace/types";

const byName: Written = (operand) => operand;
const expressionText = (expression: Expression, written = byName): string =>
  pieces(expression, written)
    .map((each) => each.text)
    .join("");
const operandsOf = (expression: Expression): string[] => [...new Set(pieces(expression, byName).flatMap((each) => each.operand ?? []))];

const LINES: [Expression, string][] = [
  ["grad", "grad"],
  [["mul", "grad", "other"], "grad · other"],
  [["mul", "grad", 3], "grad · 3"],
  [["mul", "grad", -0.5], "grad · (-0.5)"],
  [["mul", ["neg", "grad"], ["div", ["div", "self", "other"], "other"]], "−grad · (self / other / other)"],
  [["matmul", "grad", ["swapaxes", "mat2", -1, -2]], "grad @ mat2ᵀ"],
  [["matmul", ["mul", "grad", 2], "mat2"], "(grad · 2) @ mat2"],
  [["add", ["mul", "a", "b"], ["sub", "a", ["sub", "b", 1]]], "a · b + (a − (b − 1))"],
  [["mul", ["add", "a", "b"], "c"], "(a + b) · c"],
  [["mul", "grad", ["mul", ["sub", 1, "result"], "result"]], "grad · (1 − result) · result"],
  [["mul", "grad", ["div", "a", "b"]], "grad · (a / b)"],
  [["neg", ["add", "a", "b"]], "−(a + b)"],
  [["pow", ["neg", "a"], 2], "(−a) ** 2"],
  [["reshape", ["sum", "grad", ["tuple", 0], true], ["tuple", 2]], "grad.sum(0, keepdim).reshape(2)"],
  [["sum", ["mul", "grad", "a"], null, false], "(grad · a).sum()"],
  [["broadcast_to", "grad", ["tuple", 2, 2]], "grad.expand(2, 2)"],
  [["getitem", "grad", ["tuple", ["slice", null, null, null], 0]], "grad[:, 0]"],
  [["stack", ["tuple", "grads[0]", "grads[1]"], 0], "stack((grads[0], grads[1]), 0)"],
  [["TanhBackward", "grad", "result"], "tanh_backward(grad, result)"],
  [["MaxPool2DWithIndicesBackwardBackward0", "grad"], "max_pool2d_with_indices_backward(grad)"],
  [["SmoothL1Loss", "a"], "smooth_l1_loss(a)"],
  [["Deg2RadBackward0", "grad"], "deg2rad(grad)"],
  [["PlaceBackward0", "grad", "index"], "place(grad, index)"],
  [["scatter", "grad", ["tuple", 0, ["ellipsis"]], ["tuple", 3, 2]], "zeros(3, 2) with [0, …] = grad"],
  [["masked", ["ne", "self", 0], "grad"], "where(self ≠ 0, grad, 0)"],
  [["masked", ["invert", ["le", "result", 0]], "grad"], "where(result > 0, grad, 0)"],
  [["invert", "mask"], "not mask"],
  [["invert", ["constructor", "a"]], "not constructor(a)"],
  [["toString", "__proto__"], "to_string(__proto__)"],
  [["output", ["FlashAttentionBackward", "grad", null], 1], "flash_attention_backward(grad, None)[1]"],
  [["cast", "grad", ["dtype", "float32"]], "grad.to(float32)"],
  [["fold", ["text", "mean"], ["float", "-inf"]], 'fold("mean", -inf)'],
];

test.each(LINES)("%j", (expression, line) => expect(expressionText(expression)).toBe(line));

test("operands are written as they are asked for, and negative ones keep apart", () => {
  const values: Record<string, string> = { grad: "[1., 1.]", other: "-2." };
  expect(expressionText(["mul", "grad", "other"], (name) => values[name] ?? name)).toBe("[1., 1.] · (-2.)");
});

test("a number keeps apart from what is written behind it", () => {
  expect(expressionText(["broadcast_to", "grad", ["tuple", 2]], () => "1.")).toBe("(1.).expand(2)");
  expect(expressionText(["swapaxes", "mat2", -1, -2], () => "2×3 ‖4.2‖")).toBe("(2×3 ‖4.2‖)ᵀ");
});

test("the operands of an expression are each named once", () => {
  expect(operandsOf(["mul", "grad", ["mul", "self", "self"]])).toEqual(["grad", "self"]);
  expect(operandsOf(["cast", "grad", ["text", "self"]])).toEqual(["grad"]);
});

test("what is nested without end is cut", () => {
  let deep: Expression = "grad";
  for (let at = 0; at < 90; at++) deep = ["neg", deep];
  expect(expressionText(deep)).toContain("…");
});
