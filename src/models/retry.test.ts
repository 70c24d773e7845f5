import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ignoreEvents,
  ModelError,
  type Model,
  type ModelErrorCode,
  type ModelEvent,
  type ModelReply,
  type ModelRequest,
} from '../agent/model.ts'
import { collectReply, fail, say, ScriptedModel } from '../agent/scripted-model.ts'
import { withRetry } from './retry.ts'

const request = { system: '', messages: [], tools: [] }

function broken(code: ModelErrorCode, text = '', retryAfterMs?: number) {
  return fail(new ModelError(code, `scripted-1 is ${code}`, { retryAfterMs }), text)
}

/** Calls the models; sleeps are only recorded. */
async function ask(models: Model[], signal = new AbortController().signal, modelRequest: ModelRequest = request) {
  const slept: number[] = []
  const sleep = async (ms: number) => void slept.push(ms)
  const events: ModelEvent[] = []
  let reply: ModelReply | undefined
  let error: unknown
  try {
    const asked = withRetry(models, { sleep, random: () => 1 })
    ;({ reply } = await collectReply(asked, modelRequest, signal, (event) => events.push(event)))
  } catch (thrown) {
    error = thrown
  }
  return { events, reply, error, slept }
}

test('temporary failures are retried with growing delays', async () => {
  const model = new ScriptedModel(broken('unavailable'), broken('rate_limited'), say('Hello'))
  const { events, reply, slept } = await ask([model])
  assert.deepEqual(events, [{ type: 'text', text: 'Hello' }])
  assert.equal(reply?.text, 'Hello')
  assert.deepEqual(slept, [500, 1000])
  model.assertComplete()
})

test('a new attempt invalidates the events sent before, once', async () => {
  const model = new ScriptedModel(broken('unavailable', 'Hel'), broken('unavailable'), say('Hello'))
  const { events } = await ask([model])
  assert.deepEqual(events, [{ type: 'text', text: 'Hel' }, { type: 'retrying' }, { type: 'text', text: 'Hello' }])
})

test('after three attempts the next model is called', async () => {
  const first = new ScriptedModel(broken('unavailable'), broken('unavailable'), broken('unavailable', 'x'))
  const second = new ScriptedModel(say('Hello'))
  const { events, reply, slept } = await ask([first, second])
  assert.deepEqual(events, [{ type: 'text', text: 'x' }, { type: 'retrying' }, { type: 'text', text: 'Hello' }])
  assert.equal(reply?.text, 'Hello')
  assert.deepEqual(slept, [500, 1000])
  first.assertComplete()
})

test('a refused request is not sent to the same model again', async () => {
  for (const code of ['refused', 'unauthorized'] as const) {
    const { reply, slept } = await ask([new ScriptedModel(broken(code)), new ScriptedModel(say('Hello'))])
    assert.deepEqual({ text: reply?.text, slept }, { text: 'Hello', slept: [] })
  }
})

test('a retry-after of up to 30 s is respected; above that the next model is called', async () => {
  const patient = await ask([new ScriptedModel(broken('rate_limited', '', 30_000), say('Hello'))])
  assert.deepEqual(patient.slept, [30_000])
  const model = new ScriptedModel(broken('rate_limited', '', 30_001))
  const hasty = await ask([model, new ScriptedModel(say('Hello'))])
  assert.deepEqual({ slept: hasty.slept, text: hasty.reply?.text }, { slept: [], text: 'Hello' })
})

test('when all fail, the last error names each failure', async () => {
  const failing = new ScriptedModel(broken('unauthorized'))
  const single = await ask([failing])
  assert.equal((single.error as ModelError).message, 'scripted-1 is unauthorized')
  const { error } = await ask([new ScriptedModel(broken('unauthorized')), new ScriptedModel(broken('refused'))])
  assert.ok(error instanceof ModelError)
  assert.deepEqual(
    { code: error.code, message: error.message },
    { code: 'refused', message: 'scripted-1 is unauthorized; scripted-1 is refused' },
  )
})

test('an unexpected error is not retried', async () => {
  const { error } = await ask([new ScriptedModel(fail(new TypeError('bug'))), new ScriptedModel()])
  assert.ok(error instanceof TypeError)
})

test('an aborted call is not retried', async () => {
  const stop = new AbortController()
  const model = new ScriptedModel({ ...broken('unavailable'), before: () => stop.abort(new Error('enough')) })
  const { error, slept } = await ask([model, new ScriptedModel()], stop.signal)
  assert.deepEqual({ message: (error as Error).message, slept }, { message: 'scripted-1 is unavailable', slept: [] })
})

test('an abort ends the wait at once', async () => {
  const stop = new AbortController()
  const model = new ScriptedModel(broken('rate_limited', '', 30_000))
  const asking = withRetry([model]).reply(request, ignoreEvents, stop.signal)
  setImmediate(() => stop.abort())
  await assert.rejects(asking, { name: 'AbortError' })
})

test('a sink that fails ends the call without another attempt', async () => {
  const model = new ScriptedModel(say(['a', 'b']))
  const replying = withRetry([model, new ScriptedModel()]).reply(
    request,
    () => Promise.reject(new Error('gone')),
    new AbortController().signal,
  )
  await assert.rejects(replying, { message: 'gone' })
  assert.equal(model.requests.length, 1)
})

class BlindModel extends ScriptedModel {
  override readonly seesImages = false
}

const picture = { mediaType: 'image/png', data: 'AAAA' }

test('a model without vision is skipped for a question with images', async () => {
  const modelRequest: ModelRequest = { ...request, messages: [{ role: 'user', text: 'What is it?', images: [picture] }] }
  const blind = new BlindModel()
  const sees = new ScriptedModel(broken('refused'), say('A cat.'))
  assert.equal((await ask([blind, new ScriptedModel(say('A cat.'))], undefined, modelRequest)).reply?.text, 'A cat.')
  const { error } = await ask([sees, blind], undefined, modelRequest)
  assert.ok(error instanceof ModelError && error.message.endsWith('is refused; scripted-1 cannot see images'))
  assert.equal(withRetry([blind, sees]).seesImages, false)
  assert.equal(withRetry([sees, blind]).seesImages, true)
})

test('the first model decides which files are read, and a fallback that hears no audio is skipped', async () => {
  const song = { name: 'a.mp3', mediaType: 'audio/mpeg', data: 'AAAA' }
  const modelRequest: ModelRequest = { ...request, messages: [{ role: 'user', text: 'What is it?', files: [song] }] }
  const hears = new ScriptedModel(broken('refused'))
  hears.fileTypes = ['audio/mpeg']
  const { error } = await ask([hears, new ScriptedModel()], undefined, modelRequest)
  assert.ok(error instanceof ModelError && error.message.endsWith('is refused; scripted-1 cannot hear audio'))
  assert.equal(withRetry([hears, new ScriptedModel()]).readsFiles?.('audio/mpeg'), true)
  assert.equal(withRetry([new ScriptedModel(), hears]).readsFiles?.('audio/mpeg'), false)
})

test('images of results become notes for a model without vision, and do not skip the model', async () => {
  const image = { ...picture, name: 'a.png', requestId: 'r', n: 100 }
  const result: ModelRequest['messages'][number] = {
    role: 'tool',
    callId: 'c',
    name: 'look',
    text: 'Seen.',
    isError: false,
    images: [image],
  }
  const blind = new BlindModel(say('Well.'))
  assert.equal((await ask([blind], undefined, { ...request, messages: [result] })).reply?.text, 'Well.')
  assert.deepEqual(blind.requests[0]!.messages, [
    {
      role: 'tool',
      callId: 'c',
      name: 'look',
      text: 'Seen.\n\n[Images that came with this result, not shown here: a.png]',
      isError: false,
    },
  ])
})

test('images of earlier turns become notes for a model without vision', async () => {
  const earlier = { ...picture, earlier: { name: 'cat.png' } }
  const last = { role: 'user' as const, text: 'And now?' }
  const modelRequest: ModelRequest = { ...request, messages: [{ role: 'user', text: 'What is it?', images: [earlier, earlier] }, last] }
  const blind = new BlindModel(say('Well.'))
  await ask([blind], undefined, modelRequest)
  const [first, second] = blind.requests[0]!.messages
  assert.deepEqual(first, { role: 'user', text: 'What is it?\n\n[Images that came with this message, not shown here: cat.png, cat.png]' })
  assert.deepEqual(second, last)
})

test('an empty answer is asked for again, and its tokens are counted', async () => {
  const usage = { model: 'scripted-1', input: 100, output: 7, cachedInput: 50, cacheWrite: 3, reasoning: 6 }
  const thoughts = { events: [{ type: 'reasoning' as const, text: 'Hm.' }], reply: { usage } }
  const model = new ScriptedModel(thoughts, say(' \n'), say('Hello'))
  const { events, reply, slept } = await ask([model])
  assert.deepEqual(events, [
    { type: 'reasoning', text: 'Hm.' },
    { type: 'retrying' },
    { type: 'text', text: ' \n' },
    { type: 'retrying' },
    { type: 'text', text: 'Hello' },
  ])
  assert.deepEqual(reply?.usage, { model: 'scripted-1', input: 120, output: 17, cachedInput: 50, cacheWrite: 3, reasoning: 6 })
  assert.deepEqual(slept, [500, 1000])
})

test('after three empty answers the next model answers, or the error says so', async () => {
  const empty = () => new ScriptedModel(say(''), say(''), say(''))
  assert.equal((await ask([empty(), new ScriptedModel(say('Hello'))])).reply?.text, 'Hello')
  const { error } = await ask([empty()])
  assert.ok(error instanceof ModelError)
  assert.deepEqual({ code: error.code, message: error.message }, { code: 'unavailable', message: 'scripted-1 gave an empty answer' })
})

test('an answer without text is complete with calls, files, calls of the provider, or an end that explains itself', async () => {
  const call = { id: 'c', name: 'search', input: {} }
  const complete = [
    say('', { name: 'look', arguments: '{}' }),
    { events: [], reply: { files: [{ mediaType: 'image/png', data: 'AAAA' }] } },
    {
      events: [
        { type: 'call_start' as const, call },
        { type: 'call_end' as const, call, output: null, isError: false },
      ],
    },
    { events: [], reply: { finish: 'length' as const } },
    { events: [], reply: { finish: 'content_filter' as const } },
  ]
  for (const scripted of complete) assert.equal((await ask([new ScriptedModel(scripted)])).error, undefined)
})

test('a turn whose answer was written before its calls may end without a word', async () => {
  const said = (text: string): ModelRequest => ({
    ...request,
    messages: [
      { role: 'user', text: 'Look.' },
      { role: 'assistant', text, toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }] },
      { role: 'tool', callId: 'c', name: 'look', text: 'Seen.', isError: false },
    ],
  })
  assert.equal((await ask([new ScriptedModel(say(''))], undefined, said('It is red.'))).error, undefined)
  assert.equal((await ask([new ScriptedModel(say(''), say('Red.'))], undefined, said(''))).reply?.text, 'Red.')
})
