import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from './canonical.ts'

test('equal values have equal texts', () => {
  assert.equal(canonicalJson({ b: 1.0, a: [true, null, 'ä'] }), canonicalJson(JSON.parse('{"a": [true, null, "\\u00e4"], "b": 1e0}')))
  assert.notEqual(canonicalJson({ a: 1 }), canonicalJson({ a: '1' }))
})

test('half a surrogate pair has a text', () => {
  assert.equal(canonicalJson({ '\ud800': 'x\udc00' }), '{"\ufffd":"x\ufffd"}')
})
