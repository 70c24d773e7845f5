import assert from 'node:assert/strict'
import { progressText } from '../../agent/run-tool.ts'
import { test } from 'node:test'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { createProgressReport, toOutput } from './call.ts'

async function outputOf(result: Partial<CallToolResult>, fails = false) {
  const files: [string, string, string][] = []
  const output = await toOutput(
    { content: [], ...result },
    async (name, type, bytes) => {
      if (fails) throw new Error('The disk is full.')
      files.push([name, type, Buffer.from(bytes).toString()])
      return { id: '1', name, type, size: bytes.length, sha256: '', tool: 't', createdAt: 0 }
    },
    100,
  )
  return { output, files }
}

const text = (content: string) => ({ type: 'text' as const, text: content })
const base64 = (content: string) => Buffer.from(content).toString('base64')

test('texts are joined; structured content is returned alone, or together with a different text', async () => {
  assert.equal((await outputOf({ content: [text('a'), text('b')] })).output, 'a\nb')
  assert.equal((await outputOf({})).output, '')
  const structuredContent = { sum: 3, of: [1, 2] }
  assert.deepEqual((await outputOf({ structuredContent })).output, structuredContent)
  assert.deepEqual((await outputOf({ structuredContent, content: [text('{ "of": [1, 2], "sum": 3 }')] })).output, structuredContent)
  assert.equal((await outputOf({ structuredContent: { result: '3' }, content: [text('3')] })).output, '3')
  assert.deepEqual((await outputOf({ structuredContent: { result: [1, 2] }, content: [text('[1,2]')] })).output, [1, 2])
  assert.deepEqual((await outputOf({ structuredContent, content: [text('Three.')] })).output, {
    structured_content: structuredContent,
    text: 'Three.',
  })
})

test('images, audio and resources become files named by address and type', async () => {
  const { output, files } = await outputOf({
    content: [
      text('Look:'),
      { type: 'image', data: base64('png'), mimeType: 'image/png' },
      { type: 'audio', data: base64('mp3'), mimeType: 'audio/mpeg; codecs=x' },
      { type: 'resource', resource: { uri: 'file:///a/b/report%20one.csv?x=1', mimeType: 'text/csv', text: 'a,b' } },
      { type: 'resource', resource: { uri: 'db://rows/7', blob: base64('bytes') } },
      { type: 'resource', resource: { uri: 'x', mimeType: 'a\r\nb', text: 'plain' } },
      { type: 'resource_link', uri: 'https://example.com/y', name: 'y', title: 'Why', mimeType: 'text/html' },
    ],
  })
  assert.deepEqual(files, [
    ['image-2.png', 'image/png', 'png'],
    ['audio-3.mp3', 'audio/mpeg', 'mp3'],
    ['report one.csv', 'text/csv', 'a,b'],
    ['7.bin', 'application/octet-stream', 'bytes'],
    ['x.txt', 'text/plain', 'plain'],
  ])
  assert.deepEqual(String(output).split('\n'), [
    'Look:',
    '[image (image/png, 3 bytes) is kept as the file image-2.png]',
    '[audio (audio/mpeg, 3 bytes) is kept as the file audio-3.mp3]',
    '[resource file:///a/b/report%20one.csv?x=1 (text/csv, 3 bytes) is kept as the file report one.csv]',
    'a,b',
    '[resource db://rows/7 (application/octet-stream, 5 bytes) is kept as the file 7.bin]',
    '[resource x (text/plain, 5 bytes) is kept as the file x.txt]',
    'plain',
    '[resource https://example.com/y: Why, text/html]',
  ])
})

test('a file that cannot be kept is reported, and the call succeeds', async () => {
  const { output } = await outputOf({ content: [text('Done.'), { type: 'image', data: base64('x'), mimeType: 'image/png' }] }, true)
  assert.equal(output, 'Done.\n[image (image/png, 1 bytes) could not be kept: The disk is full.]')
})

test('an error result throws its text, cut to the limit', async () => {
  await assert.rejects(outputOf({ isError: true, content: [text('no such row')] }), { message: 'no such row' })
  await assert.rejects(outputOf({ isError: true }), { message: 'The tool failed without giving a reason.' })
  await assert.rejects(outputOf({ isError: true, content: [text('x'.repeat(1000))] }), ({ message }: Error) => message.length === 100)
})

test('progress is passed on at a bounded rate, and lasts as long as the call', () => {
  let now = 0
  const lines: { at: number; text: string }[] = []
  const log = createProgressReport(
    (report) => lines.push({ at: now, text: progressText(report) }),
    () => now,
  )
  for (let step = 0; step < 5000; step++) log({ progress: step, total: 5000 })
  assert.deepEqual([lines.length, lines[0], lines.at(-1)?.text], [20, { at: 0, text: '0 of 5000' }, '19 of 5000'])
  for (now = 100; now < 30 * 60_000; now += 100) log({ progress: now, message: 'working' })
  const pauses = lines.slice(19).flatMap(({ at }, index, late) => (index > 0 ? [at - late[index - 1]!.at] : []))
  assert.equal(pauses[0], 500)
  assert.ok(
    pauses.every((pause, index) => pause >= (pauses[index - 1] ?? 0)),
    JSON.stringify(pauses),
  )
  assert.deepEqual([lines.length, lines.at(-1)?.text], [50, '1615000: Further progress is left out.'])
  assert.ok(lines.at(-1)!.at > 20 * 60_000, JSON.stringify(lines.at(-1)))
})
