import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonScan, maxBodyDepth, maxJsonValues } from './json-scan.ts'

/** Scans a text in chunks of `chunkBytes`. */
function scan(text: string, chunkBytes = text.length) {
  const scan = new JsonScan()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const refusal = scan.add(bytes.subarray(at, at + chunkBytes))
    if (refusal) return { values: scan.values, refusal: refusal.code }
  }
  return { values: scan.values, refusal: undefined }
}

test('objects, lists and elements are counted, but not the content of strings', () => {
  for (const [text, values] of [
    ['{}', 1],
    ['[1,2,3]', 3],
    ['{"a":1,"b":[{},{}]}', 6],
    ['{"a,b":"[{,,"}', 1],
    [String.raw`["\",,,", "\\", ",", "\\\",[{"]`, 4],
    ['"é,[{"', 0],
  ] as const) {
    for (const chunkBytes of [1, 2, 3, 7, 100]) assert.equal(scan(text, chunkBytes).values, values, `${text} in chunks of ${chunkBytes}`)
  }
})

test('strings with random escapes are skipped as JSON.parse reads them, in chunks of any size', () => {
  let seed = 1
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
  for (let round = 0; round < 300; round++) {
    const texts = Array.from({ length: 1 + random(5) }, () => Array.from({ length: random(12) }, () => '\\",[]{}a'[random(8)]).join(''))
    const text = JSON.stringify(texts)
    assert.equal(scan(text, 1 + random(6)).values, texts.length, text)
  }
})

test('a text with too many values or too deep nesting is refused', () => {
  assert.equal(scan(`[${'0,'.repeat(maxJsonValues - 1)}0]`, 1000).refusal, undefined)
  assert.equal(scan(`[${'0,'.repeat(maxJsonValues)}0]`, 1000).refusal, 'input_too_large')
  assert.equal(scan(`[${'{},'.repeat(maxJsonValues)}{}]`, 65_536).refusal, 'input_too_large')
  assert.equal(scan('['.repeat(maxBodyDepth) + ']'.repeat(maxBodyDepth)).refusal, undefined)
  assert.equal(scan('['.repeat(maxBodyDepth + 1)).refusal, 'validation')
  assert.equal(scan('{"a":'.repeat(maxBodyDepth + 1)).refusal, 'validation')
  assert.equal(scan(`[${'[],'.repeat(maxBodyDepth * 2)}0]`).refusal, undefined)
})

test('an incomplete text does not affect the count of the next text', () => {
  for (const broken of ['"', '"\\', '['.repeat(maxBodyDepth), ']'.repeat(5000), '{"a']) {
    const scan = new JsonScan()
    scan.begin()
    scan.add(Buffer.from(broken))
    const before = scan.values
    scan.begin()
    assert.equal(scan.add(Buffer.from('["a",{},{}]')), undefined, broken)
    assert.equal(scan.values - before, 5, broken)
    scan.begin()
    assert.equal(scan.add(Buffer.from('['.repeat(maxBodyDepth + 1)))?.code, 'validation', broken)
  }
})

test('scanning takes linear time, whatever the text contains', () => {
  const cost = (text: string) => {
    const bytes = Buffer.from(text)
    const before = process.cpuUsage()
    new JsonScan().add(bytes)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  for (const unit of ['\\\\', String.raw`\"`, 'a', ' ']) {
    cost(`"${unit.repeat(100_000)}"`)
    const [one, eight] = [1, 8].map((times) => Math.min(...[1, 2, 3].map(() => cost(`"${unit.repeat(times * 500_000)}"`))))
    assert.ok(eight! < 30 * one! + 30_000, `${unit}: ${one} -> ${eight} us`)
  }
})
