import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const modules = path.resolve(import.meta.dirname, '../../node_modules')
const tsc = path.join(modules, 'typescript/bin/tsc')

/**
 * Types of the SDK by kind of answer. The service adds fields for approvals, calls and files, leaves out empty `citations`, and the usage of a
 * stream has the fields of a message.
 */
const preamble = `import type Anthropic from '${modules}/@anthropic-ai/sdk/index.js'
type More = { approval_required?: object; client_tool_calls?: object; generated_artifacts?: object[] }
type Lacking<T> = T extends { type: 'text'; citations: infer C } ? Omit<T, 'citations'> & { citations?: C } : T
type Message = Omit<Anthropic.Message, 'content' | '_request_id'> & { content: Lacking<Anthropic.ContentBlock>[] } & More
type Sent = Exclude<Anthropic.RawMessageStreamEvent, { type: 'message_start' | 'content_block_start' | 'message_delta' }>
  | (Omit<Anthropic.RawMessageStartEvent, 'message'> & { message: Message })
  | (Omit<Anthropic.RawContentBlockStartEvent, 'content_block'> & { content_block: Lacking<Anthropic.RawContentBlockStartEvent['content_block']> })
  | (Omit<Anthropic.RawMessageDeltaEvent, 'usage'> & More & { usage: Anthropic.MessageDeltaUsage & Partial<Anthropic.Usage> })
  | { type: 'ping' }
`
const kinds = { message: 'Message', event: 'Sent', error: 'Anthropic.ErrorResponse' } as const

function kindOf({ type }: { type: string }): keyof typeof kinds {
  return type === 'message' || type === 'error' ? type : 'event'
}

/** The JSON of all answers in texts: a body in a line, or the data of an event. */
function answersIn(text: string): { type: string }[] {
  const lines = text.split('\n').map((line) => line.replace(/^data: /, ''))
  return lines.filter((line) => /^\{"(?:type|id)":/.test(line)).map((line) => JSON.parse(line))
}

/** What the compiler says of the answers. */
async function check(t: TestContext, answers: readonly { type: string }[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-types-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'answers.ts')
  const lines = [...new Set(answers.map((answer) => `const _: ${kinds[kindOf(answer)]} = ${JSON.stringify(answer)}`))]
  await writeFile(file, preamble + lines.map((line, index) => line.replace('_', `_${index}`)).join('\n'))
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2024', '--module', 'nodenext', '--types', '', '--ignoreConfig']
  return new Promise((done) => void execFile(process.execPath, [tsc, ...flags, file], (_, stdout) => done(stdout)))
}

test('Anthropic: every recorded answer and event has a type of the SDK', async (t) => {
  const texts = await Promise.all(
    ['json', 'stream'].map((name) => readFile(path.join(import.meta.dirname, `recorded/anthropic-${name}.txt`), 'utf8')),
  )
  const answers = texts.flatMap(answersIn)
  assert.deepEqual(Object.keys(Object.groupBy(answers, kindOf)).sort(), Object.keys(kinds).sort())
  assert.equal(await check(t, answers), '')
  const wrong = [
    { ...answers[0]!, stop_reason: 'over' },
    { ...answers[0]!, unknown: 1 },
  ]
  for (const answer of wrong) assert.notEqual(await check(t, [answer]), '', 'the compiler finds another value and another field')
})

test('Anthropic: thoughts, calls of a client, refusals and cut answers have types of the SDK', async (t) => {
  const usage = { input: 100, output: 7, cached: 80, reasoning: 3 }
  const script = [
    { text: 'Let me see.', reasoning: 'I look first.', ...callOf('look'), usage },
    { text: 'I ask.', reasoning: 'Now the weather.', ...callOf('weather', { city: 'Basel' }), usage },
    { text: 'It is', finish: 'length', usage },
    { text: 'No', finish: 'content_filter', usage },
  ]
  const input_schema = { type: 'object', properties: { city: { type: 'string' } } }
  const answers: { type: string }[] = []
  for (const stream of [false, true]) {
    const { client } = await startService(t, { script, tools: [fakeTool('look', async () => 'seen')] })
    const ask = async (messages: object[]) => {
      const body = { model: 'agent-core', max_tokens: 1000, stream, thinking: { type: 'adaptive' }, messages }
      const { text } = await client.request('POST', '/v1/messages', {
        body: { ...body, tools: [{ name: 'weather', input_schema }] },
      })
      answers.push(...answersIn(text))
    }
    for (let index = 0; index < 3; index++) await ask([{ role: 'user', content: 'The weather?' }])
  }
  const text = JSON.stringify(answers)
  for (const part of ['thinking_delta', 'signature_delta', 'input_json_delta', 'tool_use', 'max_tokens', 'refusal'])
    assert.match(text, new RegExp(`"${part}"`))
  assert.equal(await check(t, answers), '')
})
