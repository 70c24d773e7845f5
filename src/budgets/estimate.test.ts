import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tiktoken } from 'js-tiktoken/lite'
import cl100k from 'js-tiktoken/ranks/cl100k_base'
import o200k from 'js-tiktoken/ranks/o200k_base'
import type { Message } from '../agent/messages.ts'
import type { ModelRequest } from '../agent/model.ts'
import type { ModelPrices } from '../configuration/model-schema.ts'
import { amountOf, inputTokens, keepCount, mostOf, outputWithin, textTokens } from './estimate.ts'

const rates = { input: 1, output: 3, cached_input: 0.1, cache_write: 1.25 }
const prices: ModelPrices = { rates, long: { above: 1000, rates: { input: 2, output: 6 } } }
const user = (text: string): Message => ({ role: 'user', text })
const requestOf = (messages: Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({ system: '', messages, tools: [], ...more })

const texts = {
  english: 'The committee met on Tuesday to discuss the proposal, and nobody was surprised by the outcome. ',
  german: 'Die Bundesregierung hat beschlossen, die Wohnungsbaugenossenschaften künftig stärker zu fördern. ',
  russian: 'Комитет собрался во вторник, чтобы обсудить предложение. ',
  chinese: '委员会于星期二开会讨论该提案，没有人对结果感到惊讶。',
  japanese: '委員会は火曜日に集まり、提案について話し合った。',
  korean: '위원회는 화요일에 모여 제안을 논의했으며 아무도 결과에 놀라지 않았다.',
  arabic: 'اجتمعت اللجنة يوم الثلاثاء لمناقشة الاقتراح، ولم يتفاجأ أحد بالنتيجة. ',
  hindi: 'समिति मंगलवार को प्रस्ताव पर चर्चा करने के लिए मिली। ',
  json: '{"id":1,"name":"item one","price":13.7,"tags":["red","small"],"active":true},\n',
  code: 'export function canPay(state: AccountState): boolean {\n  return leftIn(state).nanoUsd >= 0\n}\n',
}
/** Half of the bytes are too few for these: at most all bytes are tokens. */
const dense = {
  emoji: '😀🎉👩‍💻🏳️‍🌈🧑🏽‍🚀🦖🪼🫨🥷🏿',
  digits: '1,2,3,4,5,6,7,8,9,0,',
  base64: 'q83vEjRWeJCrze8SNFZ4kKvN7xI0Vnj/',
  amharic: 'ኮሚቴው ማክሰኞ ዕለት ተሰብስቦ ሐሳቡን ተወያየ። ',
}

test('the estimate of prose and code is an upper bound for real tokenizers, and that of dense texts at least half of their tokens', () => {
  for (const encoding of [new Tiktoken(cl100k), new Tiktoken(o200k)]) {
    const countedOf = (text: string) => encoding.encode(text.repeat(4)).length
    const estimateOf = (text: string) => inputTokens(requestOf([user(text.repeat(4))]))
    for (const [name, text] of Object.entries(texts)) assert.ok(countedOf(text) <= estimateOf(text), name)
    for (const [name, text] of Object.entries(dense)) assert.ok(countedOf(text) <= 2 * estimateOf(text), name)
    // The body has a wrapper around each message, whose tokens count too.
    assert.ok(encoding.encode('<|im_start|>user\nHi<|im_end|>', 'all').length <= 3 + estimateOf('Hi'))
    assert.ok(countedOf(texts.english) <= textTokens([texts.english.repeat(4)]))
  }
})

test('images, files, tools, schemas, calls, reasoning and data of the provider have their part', () => {
  const plain = inputTokens(requestOf([user('x'.repeat(100))]))
  assert.equal(plain, 62)
  const image = { type: 'image/png', data: '' }
  const withImages = { ...user('x'.repeat(100)), images: [image, image] } as unknown as Message
  assert.equal(inputTokens(requestOf([withImages])), plain + 4000)
  const file = {
    ...user('x'.repeat(100)),
    files: [{ data: 'A'.repeat(1600), mediaType: 'application/pdf', name: 'a.pdf' }],
  } as unknown as Message
  assert.equal(inputTokens(requestOf([file])), plain + 100)
  // A hundred pages may be compressed into a few bytes.
  const paged = { ...file, files: [{ data: 'A'.repeat(1600), mediaType: 'application/pdf', name: 'a.pdf', pages: 100 }] } as Message
  assert.equal(inputTokens(requestOf([paged])), plain + 100 + 200_000)
  const offer = { name: 'look', description: 'y'.repeat(72), schema: { type: 'object' }, effect: 'read' as const }
  const schemaBytes = JSON.stringify(offer.schema).length
  const framed = { system: 'z'.repeat(40), tools: [offer], idleTools: [offer], responseSchema: offer.schema }
  const frame = 40 + 2 * (24 + 4 + 72 + schemaBytes) + schemaBytes
  assert.equal(inputTokens(requestOf([user('x'.repeat(100))], framed)), Math.ceil((124 + frame) / 2))
  const vendor = { provider: 'openai', data: 'e'.repeat(80) }
  const said: Message = {
    role: 'assistant',
    text: 'a',
    reasoning: 'b',
    vendor,
    toolCalls: [{ id: 'c', name: 'look', arguments: '{"a":1}' }],
  }
  const bytes = 24 + 1 + 1 + (24 + 4 + 7) + JSON.stringify(vendor).length
  assert.equal(inputTokens(requestOf([user('x'.repeat(100)), said])), Math.ceil((124 + bytes) / 2))
})

test('after a counted call the estimate is the count and what was added; a shorter frame is not worth more than all bytes', () => {
  const first = requestOf([user('x'.repeat(10_000))], { system: 's'.repeat(1000) })
  assert.equal(inputTokens(first), 5512)
  keepCount(first, { model: 'm', input: 2500, output: 7, cachedInput: 0, reasoning: 0 })
  const next = requestOf([...first.messages, { role: 'assistant', text: 'y'.repeat(76), toolCalls: [] }], { system: first.system })
  assert.equal(inputTokens(next), 2550)
  assert.equal(inputTokens({ ...next, system: 's'.repeat(1200) }), 2650)
  assert.equal(inputTokens({ ...next, system: '' }), 2550)
  // Another transcript, and one that has lost messages, know nothing of the count.
  assert.equal(inputTokens(requestOf([user('x'.repeat(10_000))], { system: first.system })), 5512)
  keepCount(next, { model: 'm', input: 9000, output: 7, cachedInput: 0, reasoning: 0 })
  assert.equal(inputTokens(first), 5512)
})

test('amounts are whole, rounded up, and exact where the price is', () => {
  assert.deepEqual(amountOf({ input: 100, output: 300 }, { rates }), { nanoUsd: 1_000_000, tokens: 400 })
  assert.deepEqual(amountOf({ input: 1, output: 0 }, { rates: { input: 0.0001, output: 0 } }), { nanoUsd: 1, tokens: 1 })
  assert.deepEqual(amountOf({ input: 3, output: 0 }, { rates: { input: 0.1, output: 0 } }), { nanoUsd: 300, tokens: 3 })
  assert.deepEqual(amountOf({ input: 3, output: 0 }, undefined), { nanoUsd: 0, tokens: 3 })
})

test('cached and written input have their own price, and a long call the price of its length', () => {
  assert.equal(amountOf({ input: 1000, output: 0, cachedInput: 900 }, prices).nanoUsd, 100_000 + 90_000)
  assert.equal(amountOf({ input: 1000, output: 0, cacheWrite: 1000 }, prices).nanoUsd, 1_250_000)
  assert.equal(amountOf({ input: 1001, output: 10 }, prices).nanoUsd, 2_002_000 + 60_000)
  // Reasoning is a part of the output.
  assert.equal(amountOf({ input: 0, output: 10, reasoning: 8 }, prices).nanoUsd, 30_000)
})

test('the most is never below the cost of a call with at most these tokens', () => {
  for (const input of [0, 1, 500, 1000, 1001, 5000])
    for (const output of [0, 256, 8192]) {
      const most = mostOf(input, output, prices)
      for (const part of [0, 0.5, 1]) {
        const used = { input: Math.floor(input * part), output: Math.floor(output * part) }
        for (const extra of [{}, { cachedInput: used.input }, { cacheWrite: used.input }])
          assert.ok(amountOf({ ...used, ...extra }, prices).nanoUsd <= most.nanoUsd, JSON.stringify({ input, output, part, extra }))
      }
    }
})

test('the output that fits is the largest whose amount fits, less one token for the rounding', () => {
  for (const left of [0, 999, 1_000_000, 1_234_567, 50_000_000]) {
    const output = outputWithin({ nanoUsd: left }, 100, prices)
    if (output >= 0) assert.ok(mostOf(100, output, prices).nanoUsd <= left, String(left))
    assert.ok(mostOf(100, output + 3, prices).nanoUsd > left, String(left))
  }
  assert.equal(outputWithin({ tokens: 356 }, 100, prices), 256)
  assert.equal(outputWithin({ tokens: 356, nanoUsd: 125_000 + 300_001 }, 100, { rates }), 99)
  assert.equal(outputWithin({ nanoUsd: 0, tokens: 356 }, 100, { rates: { input: 0, output: 0 } }), 256)
  assert.equal(outputWithin({ nanoUsd: 5 }, 100, { rates: { input: 1, output: 0 } }), 0)
})
