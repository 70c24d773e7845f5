import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { readLines } from './module-process.ts'

async function read(pieces: readonly (string | Buffer)[]): Promise<string[]> {
  const lines: string[] = []
  const stream = new PassThrough()
  readLines(stream, (line) => lines.push(line))
  for (const piece of pieces) stream.write(piece)
  const ended = new Promise((resolve) => stream.once('end', resolve))
  stream.end()
  await ended
  return lines
}

test('lines are logged whole, for any chunks', async () => {
  const [first, second] = [Buffer.from('grün').subarray(0, 3), Buffer.from('grün').subarray(3)]
  assert.deepEqual(await read(['a', 'b\n\nc', '\n', first, second]), ['ab', 'c', 'grün'])
})

test('a long line is cut, and lines beyond the limit are counted', async () => {
  const long = await read(['x'.repeat(10_000)])
  assert.deepEqual(
    long.map(({ length }) => length),
    [4000],
  )
  const many = await read(Array.from({ length: 250 }, (_, n) => `${n}\n`))
  assert.deepEqual([many.length, many[99], many[100]], [101, '99', '[150 lines left out]'])
})

test('endless output is read no faster than the log accepts it', { timeout: 10_000 }, async () => {
  const stream = new PassThrough()
  let lines = 0
  readLines(stream, () => lines++)
  const started = performance.now()
  const piece = `${'y'.repeat(1000)}\n`.repeat(64)
  for (let sent = 0; sent < 3 * 1024 * 1024; sent += piece.length)
    if (!stream.write(piece)) await new Promise((resolve) => stream.once('drain', resolve))
  assert.ok(performance.now() - started > 1_500)
  assert.ok(lines < 500)
})
