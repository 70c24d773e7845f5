import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRan, readTold } from './check-report.ts'

const limits = { maxCharacters: 100, written: { files: 2, bytes: 10 } }
const ran = { type: 'ran', told: '{}', stdout: '', stderr: '', notGiven: [], files: [], left: [] }
const fileOf = (size: number) => ({ path: 'a', bytes: new Uint8Array(size) })

test('an answer within its limits is taken', () => {
  assert.ok(isRan(ran, limits))
  assert.ok(isRan({ ...ran, told: 'x'.repeat(11_200), stdout: 'y'.repeat(200_000), files: [fileOf(4), fileOf(6)], left: ['b'] }, limits))
})

test('an answer that is larger than ordered, or of another shape, is none', () => {
  const wrong = [
    { told: 'x'.repeat(11_201) },
    { told: { toString: () => '{}' } },
    { stdout: 'y'.repeat(300_000) },
    { stderr: undefined },
    { files: [fileOf(1), fileOf(1), fileOf(1)] },
    { files: [fileOf(4), fileOf(7)] },
    { files: [{ path: 'a', bytes: { byteLength: 1 } }] },
    { files: [{ path: 'a'.repeat(5_000), bytes: new Uint8Array(1) }] },
    { files: { length: 1 } },
    { files: [null] },
    { left: [7] },
    { notGiven: 'all' },
  ]
  for (const part of wrong) assert.equal(isRan({ ...ran, ...part }, limits), false, JSON.stringify(part).slice(0, 80))
})

test('the outcome of a run has texts alone', () => {
  assert.deepEqual(readTold('{"result":"1"}'), { result: '1', stopped: false })
  for (const text of ['null', '7', '{"error":{"length":1}}', '{"result":1}', '{']) assert.throws(() => readTold(text))
})
