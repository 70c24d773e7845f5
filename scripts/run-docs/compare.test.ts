import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareJson } from './compare-json.ts'
import { compareText } from './compare-text.ts'

test('JSON: other values of the same types agree', () => {
  assert.deepEqual(compareJson('{"id": "a", "n": 1, "list": [true], "o": null}', '{"n":2.5,"id":"b","list":[false],"o":null}'), [])
})

test('JSON: a missing member, an extra one, another type and another length are found', () => {
  assert.deepEqual(compareJson('{"a": 1, "b": {"c": "x"}}', '{"b":{"c":"x"}}'), ['a is missing'])
  assert.deepEqual(compareJson('{"b": {"c": "x"}}', '{"b":{"c":"x","d":1}}'), ['b.d is not on the page'])
  assert.deepEqual(compareJson('{"b": {"c": "x"}}', '{"b":{"c":1}}'), ['b.c is number, expected string'])
  assert.deepEqual(compareJson('{"a": [1, 2]}', '{"a":[1]}'), ['a has 1 elements, expected 2'])
  assert.deepEqual(compareJson('{"a": [{"b": 1}]}', '{"a":null}'), ['a is null, expected list'])
})

test('JSON: the value of a status, a finish reason, an error type, a decision and a role counts', () => {
  assert.deepEqual(compareJson('{"a": {"status": "success"}}', '{"a":{"status":"error"}}'), ['a.status is "error", expected "success"'])
})

test('JSON: an elision stands for members, elements, values and the rest of the document', () => {
  const actual = '{"a":{"b":1,"c":[1,"x",{"d":2}]},"e":"f"}'
  for (const expected of [
    '{"a": {...}, "e": "f"}',
    '{"a": ..., "e": "f"}',
    '{...}',
    '{"a": {"b": 1, ...}, ...}',
    '{"a": {..., "c": [1, ...]}, ...}',
    '{"a": {"b": 1, "c": [..., {"d": 2}]}, "e": "f"}',
    '{"a": {"b": 1, "c": [1,\n...',
    '...',
  ])
    assert.deepEqual(compareJson(expected, actual), [], expected)
  assert.deepEqual(compareJson('{"a": {"x": 1, ...}, ...}', actual), ['a.x is missing'])
  assert.deepEqual(compareJson('{"a": {..., "c": [..., 3]}, ...}', actual), ['a.c[2] is object, expected number'])
  assert.deepEqual(compareJson('{"a": {..., "c": [1, 2, ..., 3, 4]}, ...}', actual), ['a.c has 3 elements, expected at least 4'])
})

test('JSON: answers of several requests are documents that follow each other', () => {
  assert.deepEqual(compareJson('{"a": 1}\n{"b": "}{"}', '{"a":1}{"b":"{"}'), [])
  assert.deepEqual(compareJson('{"a": 1}\n{"b": 2}', '{"a":1}'), ['The page shows 2 JSON documents, the output has 1.'])
  assert.deepEqual(compareJson('{"a": 1}\n{"b": 2}', '{"a":1}\n{"b":"2"}'), ['document 2.b is string, expected number'])
})

test('JSON: an output that is not JSON is found, and so is an expectation', () => {
  assert.deepEqual(compareJson('{"a": 1}', 'curl: (7) Failed to connect'), ['The output is not JSON.'])
  assert.deepEqual(compareJson('{"a": 1}', ''), ['The page shows 1 JSON documents, the output has 0.'])
  assert.throws(() => compareJson('{"a": 1', '{"a":1}'))
})

test('text: ids, times, durations and keys agree, other text must be equal', () => {
  const shown = 'run 01a1fd5d-67f6-7502-b401-06e47c62549c at 2026-11-22T17:33:35.311Z took 12 ms'
  assert.deepEqual(compareText(shown, 'run 01a1ffff-67f6-7502-b401-06e47c62549c at 2026-12-01T00:00:00.000Z took 0.3 s\n'), [])
  assert.deepEqual(compareText('one\ntwo', 'one\nthree'), ['line 2 is "three", expected "two"'])
  assert.deepEqual(compareText('one\ntwo', 'one'), ['line 2 is missing, expected "two"'])
  assert.deepEqual(compareText('one', 'one\ntwo'), ['line 2 is not on the page: two'])
})

test('text: `...` stands for text within a line, and alone for lines', () => {
  assert.deepEqual(compareText('a...c', 'abbc'), [])
  assert.deepEqual(compareText('a...c...', 'abbc and more'), [])
  assert.notDeepEqual(compareText('a...c', 'abbd'), [])
  assert.notDeepEqual(compareText('a...bc', 'abx'), [])
  assert.deepEqual(compareText('a\n...\nd', 'a\nb\nc\nd'), [])
  assert.deepEqual(compareText('a\n...\nd', 'a\nd'), [])
  assert.deepEqual(compareText('...\nd\n...\ne', 'a\nd\nd\ne'), [])
  assert.notDeepEqual(compareText('a\n...\nd', 'a\nd\ne'), [])
  assert.notDeepEqual(compareText('a\n...\nd\n...', 'a\nb\nc'), [])
})
