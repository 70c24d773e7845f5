import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedPaths, mergePatch, patchBetween, prunePatch, type ConfigData } from './merge.ts'

test('the examples of RFC 7396 with an object as target', () => {
  const cases: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [target, patch, result] of cases) {
    const copy = structuredClone(target)
    assert.deepEqual(mergePatch(target, patch), result, JSON.stringify([target, patch]))
    assert.deepEqual(target, copy)
  }
})

test('an absent target starts as the default', () => {
  assert.deepEqual(mergePatch({}, { a: { b: 1 } }, { a: { c: 2 } }), { a: { b: 1, c: 2 } })
  assert.deepEqual(mergePatch({ a: {} }, { a: { b: 1 } }, { a: { c: 2 } }), { a: { b: 1 } })
})

test('values without effect are pruned from a patch', () => {
  assert.equal(prunePatch({ a: 1, b: { c: [1, { d: 2 }] } }, { a: 1, b: { c: [1, { d: 2 }], e: 5 } }), undefined)
  assert.deepEqual(prunePatch({ a: 2, b: { c: [1] }, f: null }, { a: 1, b: { c: [1], e: 5 } }), { a: 2, f: null })
})

test('patchBetween turns the first value into the second', () => {
  const texts: ConfigData[] = [{}, { a: 1 }, { a: { b: 1, c: [1] } }, { a: { b: 2 }, d: [] }, { a: { c: [1, 2] } }]
  for (const before of texts) for (const after of texts) assert.deepEqual(mergePatch(before, patchBetween(before, after)), after)
})

test('changed paths identify elements by name, otherwise by index', () => {
  const tool = (name: string, paths: string[] = []) => ({ name, config: { paths } })
  const cases: [unknown, unknown, string[]][] = [
    [{ a: { b: 1 } }, { a: { b: 2 } }, ['a.b']],
    [{ a: 1 }, {}, ['a']],
    [{ headers: { 'x y': 1 } }, { headers: { 'x y': 2 } }, ['headers["x y"]']],
    [{ tools: [tool('a'), tool('b')] }, { tools: [tool('b', ['x']), tool('c')] }, ['tools[a]', 'tools[b].config.paths', 'tools[c]']],
    [{ tools: [tool('a'), tool('b')] }, { tools: [tool('b'), tool('a')] }, ['tools']],
    [{ f: [{ m: 1 }, { m: 2 }] }, { f: [{ m: 1 }, { m: 3 }] }, ['f[1].m']],
    [{ f: [{ m: 1 }, { m: 2 }] }, { f: [{ m: 2 }] }, ['f[0]']],
    [{ f: [] }, { f: [{ m: 1 }] }, ['f[0]']],
    [{ f: [1] }, { f: [1, 2] }, ['f']],
  ]
  for (const [before, after, paths] of cases)
    assert.deepEqual(changedPaths(before, after).toSorted(), paths, JSON.stringify([before, after]))
})
