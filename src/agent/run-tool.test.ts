import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { JsonObject, JsonValue } from './messages.ts'
import { fakeTool, keepNothing, contextOf } from './react-fixture.ts'
import { type Tool, type ToolContext } from './tool.ts'
import { runTool } from './run-tool.ts'

const scope = contextOf({ callId: 'c1' })

function outcomeOf(traits: Partial<Tool>, signal: AbortSignal = new AbortController().signal, input: JsonObject = {}) {
  let time = 0
  return runTool(fakeTool('look', traits), input, { context: scope, keepArtifact: keepNothing, signal, now: () => (time += 5) })
}

/** Holds the process while only an unreferenced timer runs. */
async function awake<T>(work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => {}, 5000)
  return work.finally(() => clearTimeout(timer))
}

test('text stays text, other output is JSON for the model, a missing output is null', async () => {
  const outputs: [JsonValue | undefined, string][] = [
    ['plain', 'plain'],
    [{ a: [1, null] }, '{"a":[1,null]}'],
    [undefined, 'null'],
  ]
  for (const [output, text] of outputs) {
    assert.deepEqual(await outcomeOf({ execute: async () => output as JsonValue }), {
      isError: false,
      output: output ?? null,
      text,
      log: 'Done.',
      durationMs: 5,
      artifacts: [],
      returned: [],
      images: [],
    })
  }
})

test('the log of a tool comes before its outcome', async () => {
  const execute = async (_: JsonObject, { log }: ToolContext) => {
    log('12 rows')
    throw new Error('Row 13 is broken.')
  }
  const outcome = await outcomeOf({ execute })
  assert.deepEqual(outcome, {
    isError: true,
    output: { error: 'Row 13 is broken.' },
    text: '{"error":"Row 13 is broken."}',
    log: '12 rows\nRow 13 is broken.',
    durationMs: 5,
    artifacts: [],
    returned: [],
    images: [],
  })
})

test('a throw without a message is a failure all the same', async () => {
  for (const thrown of [new Error(''), 'text', undefined]) {
    assert.deepEqual((await outcomeOf({ execute: () => Promise.reject(thrown) })).output, { error: 'The tool failed.' })
  }
})

test('output that is no JSON is a failure, and the log does not end with Done', async () => {
  const circular: { [key: string]: JsonValue } = {}
  circular.self = circular
  const { isError, log } = await outcomeOf({ execute: async () => circular })
  assert.equal(isError, true)
  assert.doesNotMatch(log, /^Done\./)
})

test('output that is nested too deeply is a failure', async () => {
  let deep: JsonValue = []
  for (let level = 0; level < 1000; level++) deep = [deep]
  const { isError, text } = await outcomeOf({ execute: async () => deep })
  assert.deepEqual({ isError, text }, { isError: true, text: '{"error":"The output is nested too deeply."}' })
})

test('a tool that exceeds its time limit fails with that reason, and its signal is aborted', async () => {
  let aborted = false
  const execute = (_: JsonObject, { signal }: ToolContext) =>
    new Promise<JsonValue>((_, reject) =>
      signal.addEventListener('abort', () => {
        aborted = true
        reject(new Error('mine'))
      }),
    )
  const { isError, output } = await awake(outcomeOf({ timeoutMs: 20, execute }))
  assert.deepEqual({ isError, output, aborted }, { isError: true, output: { error: 'look did not finish within 0.02 s.' }, aborted: true })
})

test('a tool that ignores its signal is left behind, and its late failure has no effect', async () => {
  const late = Promise.withResolvers<JsonValue>()
  const { output } = await awake(outcomeOf({ timeoutMs: 20, execute: () => late.promise }))
  late.reject(new Error('too late'))
  await new Promise(setImmediate)
  assert.deepEqual(output, { error: 'look did not finish within 0.02 s.' })
})

test('a fractional time limit in milliseconds is accepted', async () => {
  assert.equal((await outcomeOf({ timeoutMs: 1.001 * 1000 })).isError, false)
})

test('a tool is not started when the run has been cancelled', async () => {
  let started = false
  const execute = async () => (started = true)
  assert.deepEqual((await outcomeOf({ execute }, AbortSignal.abort())).output, { error: 'The call was cancelled.' })
  assert.equal(started, false)
})

test('a tool that cancels its own run at once is not waited for', async () => {
  const controller = new AbortController()
  const execute = () => {
    controller.abort()
    return new Promise<JsonValue>(() => {})
  }
  assert.deepEqual((await outcomeOf({ execute }, controller.signal)).output, { error: 'The call was cancelled.' })
})

test('output over the limit is cut for the model and kept whole for the caller', async () => {
  const { output, text } = await outcomeOf({ maxOutputCharacters: 4, execute: async () => 'abcdefgh' })
  assert.equal(output, 'abcdefgh')
  assert.equal(text, 'abcd\n[cut: 4 of 8 characters left out]')
  assert.equal((await outcomeOf({ maxOutputCharacters: 8, execute: async () => 'abcdefgh' })).text, 'abcdefgh')
})

test('very long output is stored as the model saw it', async () => {
  const { output, text } = await outcomeOf({ execute: async () => ({ rows: 'x'.repeat(300_000) }) })
  assert.equal(output, text)
  assert.equal(text.length, 1000 + '\n[cut: 299011 of 300011 characters left out]'.length)
})

test('a cut does not break a character', async () => {
  const { text } = await outcomeOf({ maxOutputCharacters: 4, execute: async () => 'abc😀def' })
  assert.ok(text.isWellFormed(), text)
  assert.ok(text.startsWith('abc'))
})
