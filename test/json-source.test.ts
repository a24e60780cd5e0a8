// A rejected row is kept as it was written, and one that was accepted fails no run (properties).

import fc from "fast-check";
import { expect, test } from "vitest";
import { elementTexts, stringsIn } from "../src/core/contract/json-source.ts";

test("the elements of a list are as they are written: order, escapes, repeated names and spaces", () => {
  const rows = [
    String.raw`{ "10":1,"2":"\u0041\/" , "a":"]},{\"", "a":[1.0,{"b":[]}] }`,
    "-0.10e+5",
    String.raw`"\\"`,
    "[ ]",
    "{}",
    "null",
    `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
  ];
  const list = `[\t${rows.join("\r\n,\n ")} ]`;
  const text = String.raw` { "list":[0], "data" : {"list":[1]}, "d\u0061ta" :{"x":"list","list":${list}},"z":{} } `;
  expect(elementTexts(text, ["data", "list"])).toEqual(rows);
  expect(elementTexts(text, ["list"])).toEqual(["0"]);
  expect(elementTexts(list, [])).toEqual(rows);
  expect(elementTexts('{"a":[]}', ["a"])).toEqual([]);
});

test("where there is no list under the name, none is found", () => {
  for (const text of ['{"a":{}}', '{"b":[1]}', "[[1]]", '"a"', "", "{", '{"a":"'])
    expect([text, elementTexts(text, ["a"])]).toEqual([text, undefined]);
});

test("the elements of any list, however it is indented, are what they are parsed to", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.nat(3), (list, indent) => {
      const text = JSON.stringify({ a: '"]', data: { list, b: [{}] } }, null, indent);
      const texts = elementTexts(text, ["data", "list"]) ?? expect.unreachable();
      expect(texts.map((one) => JSON.parse(one))).toEqual(JSON.parse(JSON.stringify(list)));
      if (indent === 0) expect(texts).toEqual(list.map((one) => JSON.stringify(one)));
    }),
  );
});

test("all strings of a text are found, those too that parsing drops", () => {
  const text = String.raw`{"a":"1","a":["\u0041\"",{"b":"c\\"}], "d":2}`;
  expect(stringsIn(text)).toEqual(["a", "1", "a", 'A"', "b", "c\\", "d"]);
});
