import { Session } from 'node:inspector/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { event, sendEvent } from '../../test/fixtures/async-client.ts'
import { startReceiver } from '../../test/fixtures/callback-receiver.ts'
import type { ModelScript } from '../../test/fixtures/model-server.ts'
import { startService } from '../../test/fixtures/service.ts'
import { callOf, fakeTool } from '../../test/fixtures/tools.ts'

/** What one kind of chat enters in `src/`. */
export interface Entered {
  /** Paths below `src/`, sorted. */
  files: string[]
  /** Named functions that are called. */
  functions: number
}

export const chatKinds = ['plain', 'known session', 'tool call', 'stream', 'async with callback'] as const
export type ChatKind = (typeof chatKinds)[number]

type Chats = Record<ChatKind, () => Promise<unknown>>

const src = path.join(import.meta.dirname, '../../src/')
/** Timers of the service fall into some chats. A file and a function count if each of these chats enters them. */
const repeats = 4

/**
 * Starts the service in this process, on SQLite and with a scripted model, and measures by V8's coverage what each kind of chat enters. The
 * first chats load files and fill caches, and are not measured.
 */
export async function measureChats(): Promise<Record<ChatKind, Entered>> {
  const closing: (() => unknown)[] = []
  const scope = { after: (close?: unknown) => void closing.push(close as () => unknown) }
  try {
    const chats = await startChats(scope)
    for (const kind of [...chatKinds, ...chatKinds]) await chats[kind]()
    const session = new Session()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    const entered: Partial<Record<ChatKind, Entered>> = {}
    for (const kind of chatKinds) entered[kind] = await measure(session, chats[kind])
    session.disconnect()
    return entered as Record<ChatKind, Entered>
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function startChats(scope: { after(close?: unknown): void }): Promise<Chats> {
  const receiver = await startReceiver(scope)
  const script: ModelScript = ({ body }) => {
    const last = body.messages.at(-1)
    return last.role === 'user' && last.content === 'add' ? callOf('add', { a: 1 }) : { text: ['It is ', '3.'] }
  }
  const add = fakeTool('add', () => Promise.resolve({ sum: 3 }))
  const environment = { OUTBOUND_ALLOW: receiver.host, CALLBACK_SECRET: `whsec_${btoa('0123456789abcdef0123456789abcdef')}` }
  const { client } = await startService(scope, { tools: [add], script, environment })
  let events = 0
  return {
    plain: () => client.chat('hello'),
    'known session': () => client.chat('hello', { 'session-id': 'known' }),
    'tool call': () => client.chat('add'),
    stream: async () => (await client.stream('hello')).rest(),
    'async with callback': async () => {
      const body = { messages: [{ role: 'user', content: 'hello' }], callback_url: receiver.url }
      await sendEvent(client, event(`event-${++events}`, body))
      await receiver.reaches(events)
    },
  }
}

async function measure(session: Session, chat: () => Promise<unknown>): Promise<Entered> {
  let common: Map<string, Set<string>> | undefined
  for (let times = 0; times < repeats; times++) {
    await session.post('Profiler.takePreciseCoverage')
    await chat()
    const entered = toEntered((await session.post('Profiler.takePreciseCoverage')).result)
    common = common ? intersect(common, entered) : entered
  }
  const functions = [...common!.values()].map((names) => [...names].filter((name) => !name.startsWith('@')).length)
  return { files: [...common!.keys()].sort(), functions: functions.reduce((sum, count) => sum + count, 0) }
}

interface Script {
  url: string
  functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[]
}

/** The called functions by file. A function without a name has its offset with an `@`. */
function toEntered(scripts: Script[]): Map<string, Set<string>> {
  const entered = new Map<string, Set<string>>()
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:') || !fileURLToPath(url).startsWith(src)) continue
    const called = functions.filter(({ ranges }) => ranges[0]!.count > 0)
    const names = called.map(({ functionName, ranges }) => `${functionName === '' ? '@' : functionName}${ranges[0]!.startOffset}`)
    if (names.length > 0) entered.set(fileURLToPath(url).slice(src.length), new Set(names))
  }
  return entered
}

function intersect(first: Map<string, Set<string>>, second: Map<string, Set<string>>): Map<string, Set<string>> {
  const both = [...first].map(([file, names]) => [file, new Set([...names].filter((name) => second.get(file)?.has(name)))] as const)
  return new Map(both.filter(([, names]) => names.size > 0))
}
