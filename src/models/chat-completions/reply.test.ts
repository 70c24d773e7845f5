import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError, type ModelReply } from '../../agent/model.ts'
import { fieldsOf } from '../../json/shape.ts'
import { ReplyBuilder } from './reply.ts'

const origin = { label: 'openai-compatible m', secrets: [] }
const usage = { model: 'm', input: 10, output: 4, cachedInput: 0, reasoning: 0 }

function build(chunks: unknown[], speechFormat?: string): ReplyBuilder {
  const builder = new ReplyBuilder({ provider: 'openai-compatible', model: 'm', speechFormat }, origin)
  for (const chunk of chunks) builder.accept(JSON.stringify(chunk))
  return builder
}

function finish(builder: ReplyBuilder): ModelReply {
  builder.end()
  while (builder.take());
  return builder.toReply()
}

const delta = (delta: object) => ({ choices: [{ index: 0, delta }] })
const end = (extra: object = {}) => ({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...extra })
const reply = (...chunks: unknown[]) => finish(build([delta({ content: 'Hi.' }), ...chunks, end()]))
const usageOf = (wire: object, place: (usage: object) => object = (usage) => ({ choices: [], usage })) =>
  reply(place({ prompt_tokens: 10, completion_tokens: 4, total_tokens: 14, ...wire })).usage

test('tokens of the cache are read where each server counts them', () => {
  assert.deepEqual(usageOf({ prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 2 } }), {
    ...usage,
    cachedInput: 8,
    cacheWrite: 2,
  })
  assert.deepEqual(usageOf({ cached_tokens: 8 }), { ...usage, cachedInput: 8 })
  assert.deepEqual(usageOf({ prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 }), { ...usage, cachedInput: 8 })
  assert.deepEqual(usageOf({ cache_creation_input_tokens: 3 }), { ...usage, cacheWrite: 3 })
})

test('reasoning that a server counts beside its completion is part of the output', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 100 } }
  assert.deepEqual(usageOf({ ...details, total_tokens: 114 }), { ...usage, output: 104, reasoning: 100 })
  assert.deepEqual(usageOf({ total_tokens: 114 }), { ...usage, output: 104, reasoning: 100 })
  assert.deepEqual(usageOf({ completion_tokens: 104, ...details, total_tokens: 114 }), { ...usage, output: 104, reasoning: 100 })
})

test('usage is read where Groq and Moonshot put it', () => {
  assert.deepEqual(
    usageOf({}, (usage) => ({ choices: [], x_groq: { id: 'r', usage } })),
    usage,
  )
  assert.deepEqual(
    usageOf({}, (usage) => ({ choices: [{ index: 0, delta: {}, usage }] })),
    usage,
  )
})

test('a server that ends for want of resources, or with an error, has not answered', () => {
  for (const [reason, message] of [
    ['insufficient_system_resource', / ended before its answer was complete \(insufficient_system_resource\)$/],
    ['error', / ended before its answer was complete$/],
  ] as const) {
    const builder = build([delta({ content: 'Hi.' }), { choices: [{ delta: {}, finish_reason: reason }] }])
    assert.equal(builder.isWhole, false)
    assert.throws(
      () => finish(builder),
      (error: unknown) => error instanceof ModelError && error.code === 'unavailable' && message.test(error.message),
    )
  }
})

test('an error behind the finish counts unless the answer was complete', () => {
  const error = { error: { message: 'Provider returned error', code: 502 } }
  const withFinish = (reason: string) => ({ choices: [{ delta: {}, finish_reason: reason }] })
  const isWhole = (...chunks: unknown[]) => {
    const builder = build([delta({ content: 'Hi.' }), ...chunks.slice(0, -1)])
    assert.throws(() => builder.accept(JSON.stringify(chunks.at(-1))), ModelError)
    return builder.isWhole
  }
  assert.equal(isWhole(withFinish('length'), error), false)
  assert.equal(isWhole({ ...withFinish('length'), ...error }), false)
  assert.equal(isWhole({ ...withFinish('stop'), ...error }), false)
  assert.equal(isWhole(withFinish('stop'), error), true)
})

test('a whole completion is an answer, another body is none', () => {
  const builder = build([])
  const tool_calls = [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }]
  const message = { role: 'assistant', content: 'I look.', reasoning_content: 'Hm.', tool_calls }
  const body = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: { prompt_tokens: 10, completion_tokens: 4 } }
  assert.equal(builder.acceptWhole(JSON.stringify(body)), true)
  const { text, reasoning, toolCalls, usage: counted } = finish(builder)
  assert.deepEqual(
    { text, reasoning, toolCalls, counted },
    { text: 'I look.', reasoning: 'Hm.', toolCalls: [{ name: 'look', arguments: '{}' }], counted: usage },
  )
  for (const other of ['{"error":"no"}', '{"choices":[]}', '{"choices":[{}]}', 'null', '[1]', '<html>', ''])
    assert.equal(build([]).acceptWhole(other), false)
})

test('sources of annotations keep their place, once each, and only web addresses', () => {
  const citation = (fields: object) => ({ type: 'url_citation', url_citation: fields })
  const one = { url: 'https://a.test/x', title: 'A', content: 'Quoted.', start_index: 0, end_index: 3 }
  const bad = [{ url: 'javascript:alert(1)' }, { url: `https://a.test/${'x'.repeat(2048)}` }, { url: 7 }, {}]
  const { sources } = reply(delta({ annotations: [citation(one), citation(one), { type: 'file' }, null, ...bad.map(citation)] }))
  assert.deepEqual(sources, [{ url: 'https://a.test/x', title: 'A', text: 'Quoted.', start: 0, end: 3 }])
  const long = reply(delta({ annotations: [citation({ url: 'https://b.test', content: 'x'.repeat(5000), start_index: 3, end_index: 1 })] }))
  assert.deepEqual(long.sources, [{ url: 'https://b.test/', title: 'b.test', text: 'x'.repeat(2000) }])
  const many = Array.from({ length: 150 }, (_, index) => citation({ url: `https://c.test/${index}` }))
  assert.equal(reply(delta({ annotations: many })).sources?.length, 100)
  assert.equal(reply().sources, undefined)
})

test('sources of Perplexity stand at the top of each chunk', () => {
  const lists = {
    citations: ['https://a.test/', 'ftp://b.test'],
    search_results: [{ title: 'A', url: 'https://a.test/', snippet: 'Words.' }],
  }
  assert.deepEqual(reply({ ...delta({ content: 'x' }), ...lists }, { ...delta({ content: 'y' }), ...lists }).sources, [
    { url: 'https://a.test/', title: 'A', text: 'Words.' },
  ])
  assert.deepEqual(reply({ choices: [], citations: lists.citations }).sources, [{ url: 'https://a.test/', title: 'a.test' }])
})

test('pictures of a model are files, anything else in their place is dropped', () => {
  const image = (url: unknown) => ({ type: 'image_url', image_url: { url } })
  const images = [
    image('data:image/png;base64,aGk='),
    image('https://a.test/x.png'),
    image('data:image/png;base64,<script>'),
    image(7),
    null,
  ]
  assert.deepEqual(reply(delta({ images })).files, [{ mediaType: 'image/png', data: 'aGk=' }])
  assert.equal(reply(delta({ images: [] })).files, undefined)
})

test('speech of a model is one file, and its transcript is the text', () => {
  const samples = [Buffer.from([1, 2, 3]), Buffer.from([4])]
  const pieces = samples.map((bytes, index) => delta({ audio: { id: 'a', data: bytes.toString('base64'), transcript: ` word${index}` } }))
  const { text, files } = finish(build([...pieces, end()], 'mp3'))
  assert.equal(text, ' word0 word1')
  assert.deepEqual(files, [{ mediaType: 'audio/mpeg', data: Buffer.from([1, 2, 3, 4]).toString('base64') }])
  const [wav] = finish(build([...pieces, end()], 'pcm16')).files!
  const bytes = Buffer.from(wav!.data, 'base64')
  assert.deepEqual(
    { type: wav!.mediaType, form: bytes.toString('latin1', 0, 4), size: bytes.readUInt32LE(40), rest: bytes.length - 44 },
    {
      type: 'audio/wav',
      form: 'RIFF',
      size: 4,
      rest: 4,
    },
  )
})

test('pictures and details count to the limit of an answer', () => {
  const url = `data:image/png;base64,${'A'.repeat(6 * 1024 * 1024)}`
  const picture = delta({ images: [{ image_url: { url } }] })
  assert.throws(() => build([picture, picture, picture]), /the answer is too long/)
  const detail = delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x'.repeat(6 * 1024 * 1024), index: 0 }] })
  assert.throws(() => build([detail, detail, detail]), /the answer is too long/)
})

test('pieces of reasoning in the same form are read as JSON.parse reads them', () => {
  const pieces = [' one', ' two', '"', '\\n', '\n', 'Grüße 🌍', ' end']
  const chunks = pieces.map((reasoning_content) => delta({ content: null, reasoning_content }))
  const mixed = [...chunks, delta({ content: 'Text', reasoning_content: null }), delta({ content: ' more', reasoning_content: null })]
  const { reasoning, text, vendor } = finish(build([...mixed, end()]))
  assert.deepEqual({ reasoning, text }, { reasoning: pieces.join(''), text: 'Text more' })
  assert.deepEqual(fieldsOf(vendor?.data)['reasoning'], { field: 'reasoning_content', text: pieces.join('') })
})

test('details without a field of text are shown as reasoning', () => {
  const { reasoning } = reply(delta({ reasoning_details: [{ type: 'reasoning.summary', summary: 'In short.', index: 0 }] }))
  assert.equal(reasoning, 'In short.')
})

test('an answer without a finish reason is complete if its usage and the end follow', () => {
  const closing = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 4 } }
  const complete = build([delta({ content: 'Hi.' }), closing])
  complete.accept('[DONE]')
  assert.equal(finish(complete).finish, 'stop')
  const cut = [[], [{ ...delta({ content: '.' }), usage: closing.usage }]].map((chunks) => build([delta({ content: 'Hi.' }), ...chunks]))
  for (const builder of cut) {
    builder.accept('[DONE]')
    assert.throws(() => finish(builder), ModelError)
  }
  assert.throws(() => finish(build([delta({ content: 'Hi.' }), closing])), ModelError)
  const whole = build([])
  whole.acceptWhole(JSON.stringify({ choices: [{ message: { content: 'Hi.' }, finish_reason: '' }] }))
  assert.equal(finish(whole).finish, 'stop')
})
