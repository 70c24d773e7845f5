import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Provider } from '../../configuration/providers.ts'
import { PartCollector } from './reply.ts'

const a = { type: 'source', sourceType: 'url', id: '1', url: 'https://a.example/x', title: 'A' } as const
const b = { ...a, id: '2', url: 'https://b.example/y', title: 'B' } as const
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never

/** The sources of a reply, each with the text that it supports. */
function sourcesOf(provider: Provider, parts: LanguageModelV4StreamPart[], providerMetadata?: object) {
  const collector = new PartCollector({ label: provider, secrets: [] }, provider, [])
  for (const part of parts) collector.accept(part)
  const end = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage, providerMetadata } as LanguageModelV4StreamPart
  collector.accept(end)
  const { sources = [], text } = collector.toReply('m')
  return sources.map(({ title, text: quote, start, end: to }) => [title, start === undefined ? undefined : text.slice(start, to), quote])
}

const text = (id: string, delta: string): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta },
]

test('Claude: a citation supports its block of text, and pages that are not cited support nothing', () => {
  const parts: LanguageModelV4StreamPart[] = [
    a,
    b,
    ...text('0', 'I looked. '),
    { type: 'text-end', id: '0' },
    ...text('1', 'It is red'),
    { type: 'text-end', id: '1', citations: [{ source: a, citedText: 'Red it is.' }] },
    ...text('0', ', I think.'),
    { type: 'text-end', id: '0' },
  ]
  assert.deepEqual(sourcesOf('anthropic', parts), [['A', 'It is red', 'Red it is.']])
})

test('OpenAI and xAI: an annotation counts from the begin of its message', () => {
  const annotation = { type: 'url_citation', url: b.url, title: 'B', start_index: 3, end_index: 9 }
  const parts: LanguageModelV4StreamPart[] = [
    ...text('1', 'First. '),
    { type: 'text-end', id: '1' },
    ...text('2', 'It is red.'),
    { type: 'raw', rawValue: { type: 'response.output_text.annotation.added', annotation } },
    b,
    { type: 'text-end', id: '2', citations: [{ source: b, startIndex: 3, endIndex: 9 }] },
  ]
  for (const provider of ['openai', 'xai'] as const) assert.deepEqual(sourcesOf(provider, parts), [['B', 'is red', undefined]])
})

test('Gemini: segments in bytes become characters, and a segment that is not in the text has no place', () => {
  const said = 'Größe 😀: zwölf. Ende.'
  const bytes = (part: string) => Buffer.from(said.slice(0, said.indexOf(part))).length
  const segment = { startIndex: bytes('zwölf'), endIndex: bytes('. Ende'), text: 'zwölf' }
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: a.url, title: 'A' } }, { web: { uri: b.url, title: 'B' } }],
    groundingSupports: [
      { segment, groundingChunkIndices: [1, 7] },
      { segment: { endIndex: Buffer.from('Größe 😀').length, text: 'Größe 😀' }, groundingChunkIndices: [0] },
      { segment: { startIndex: 1, endIndex: 4, text: 'Ende' }, groundingChunkIndices: [0] },
      { segment: null, groundingChunkIndices: null },
    ],
  }
  assert.deepEqual(sourcesOf('google', [a, b, ...text('0', said)], { google: { groundingMetadata } }), [
    ['B', 'zwölf', undefined],
    ['A', 'Größe 😀', undefined],
  ])
})

test('Sources without a place count for the whole answer', () => {
  assert.deepEqual(sourcesOf('google', [a, ...text('0', 'Yes.')], { google: { groundingMetadata: null } }), [['A', undefined, undefined]])
})
