import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRan, readOutcome } from './messages.ts'

const limits = { maxCharacters: 100, written: { files: 2, bytes: 10 } }
const ran = { type: 'ran', outcome: '{}', stdout: '', stderr: '', rejectedFiles: [], files: [], omittedFiles: [] }
const fileOf = (size: number) => ({ path: 'a', bytes: new Uint8Array(size) })

test('an answer within its limits is accepted', () => {
  assert.ok(isRan(ran, limits))
  assert.ok(
    isRan({ ...ran, outcome: 'x'.repeat(11_200), stdout: 'y'.repeat(200_000), files: [fileOf(4), fileOf(6)], omittedFiles: ['b'] }, limits),
  )
})

test('an answer above its limits or with another shape is rejected', () => {
  const wrong = [
    { outcome: 'x'.repeat(11_201) },
    { outcome: { toString: () => '{}' } },
    { stdout: 'y'.repeat(300_000) },
    { stderr: undefined },
    { files: [fileOf(1), fileOf(1), fileOf(1)] },
    { files: [fileOf(4), fileOf(7)] },
    { files: [{ path: 'a', bytes: { byteLength: 1 } }] },
    { files: [{ path: 'a'.repeat(5_000), bytes: new Uint8Array(1) }] },
    { files: { length: 1 } },
    { files: [null] },
    { omittedFiles: [7] },
    { rejectedFiles: 'all' },
  ]
  for (const part of wrong) assert.equal(isRan({ ...ran, ...part }, limits), false, JSON.stringify(part).slice(0, 80))
})

test('the outcome of a run has only texts', () => {
  assert.deepEqual(readOutcome('{"result":"1"}'), { result: '1', stopped: false })
  for (const text of ['null', '7', '{"error":{"length":1}}', '{"result":1}', '{']) assert.throws(() => readOutcome(text))
})
