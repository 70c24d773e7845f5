import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from './canonical.ts'

test('equal values have equal texts', () => {
  assert.equal(canonicalJson({ b: 1.0, a: [true, null, 'ä'] }), canonicalJson(JSON.parse('{"a": [true, null, "\\u00e4"], "b": 1e0}')))
  assert.notEqual(canonicalJson({ a: 1 }), canonicalJson({ a: '1' }))
})

test('members without a value are left out, and what is no number is null, as in JSON', () => {
  assert.equal(canonicalJson({ b: undefined, a: [undefined, NaN, new Date(0)] }), '{"a":[null,null,"1970-01-01T00:00:00.000Z"]}')
})

test('half a surrogate pair has a text', () => {
  assert.equal(canonicalJson({ '\ud800': 'x\udc00' }), '{"\ufffd":"x\ufffd"}')
})
