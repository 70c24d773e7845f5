import {
  approvedOperation,
  type ChatKind,
  type ChatMode,
  type Kind,
  type Kinds,
  type Operation,
  type OperationOf,
  type Result,
  type SeenEvent,
  type SeenMessage,
} from '../history/operations.ts'
import { createRandomOf } from '../../random.ts'

/** What an operation of a simulated history adds to its kind and arguments. */
type Details<K extends Kind> = Partial<Pick<OperationOf<K>, 'process' | 'result' | 'status' | 'reply' | 'error' | 'tries'>>

/** A history of a service without faults, whose operations take effect at one moment each, while many are under way. */
export interface Simulation {
  history: Operation[]
  random(): number
  /** Adds an operation that takes effect now. */
  add<K extends Kind>(client: string, kind: K, args: Kinds[K]['args'], details?: Details<K>): OperationOf<K>
}

const processes = ['replica-1#1', 'replica-2#1', 'replica-3#1']

/** Milliseconds between two operations, and the longest time between the moment of an operation and its begin or end. */
const stepMs = 100
const overlapMs = 350

export function createSimulation(seed: number): Simulation {
  const random = createRandomOf(seed)('simulation')
  const history: Operation[] = []
  let now = 1000
  return {
    history,
    random,
    add(client, kind, args, details = {}) {
      now += stepMs
      const { result = 'ok', status = result === 'ok' ? 200 : undefined, reply } = details
      const process = details.process ?? processes[Math.floor(random() * processes.length)]
      const times = { invokedAt: now - random() * overlapMs, endedAt: now + random() * overlapMs }
      const operation = { client, process, kind, args, ...times, ...details, result, status, reply }
      history.push(operation as Operation)
      return operation
    },
  }
}

const kinds: readonly ChatKind[] = ['talk', 'write', 'seal', 'read', 'doubt']
const modes: readonly ChatMode[] = ['json', 'stream', 'async']
const clientCount = 4
const sessionCount = 3

/** A history with every kind of operation and without any anomaly. */
export function simulate(seed: number, chatCount = 60): Operation[] {
  const simulation = createSimulation(seed)
  const sessions = new Map<string, SeenMessage[]>()
  const chats: SimulatedChat[] = []
  for (let n = 0; n < chatCount; n++) {
    const chat = newChat(n, simulation, chats)
    chats.push(chat)
    const messages = sessions.get(chat.session) ?? []
    sessions.set(chat.session, messages)
    messages.push({ role: 'human', content: `${chat.requestId} ${chat.kind}`, requestId: undefined, finish: undefined })
    messages.push({ role: 'ai', content: chat.output, requestId: chat.requestId, finish: 'stop' })
    addChat(chat, simulation)
    addReads(chats, sessions, simulation)
    addAdministration(n, simulation)
  }
  for (const [session, messages] of sessions) simulation.add('last', 'read session', { session, isLast: true }, { reply: { messages } })
  for (const chat of chats) addLastReads(chat, simulation)
  return simulation.history.sort((a, b) => a.endedAt - b.endedAt)
}

interface SimulatedChat {
  client: string
  requestId: string
  session: string
  position: number
  mode: ChatMode
  kind: ChatKind
  output: string
}

function newChat(n: number, { random }: Simulation, earlier: readonly SimulatedChat[]): SimulatedChat {
  const client = `c${n % clientCount}`
  const session = `s${Math.floor(random() * sessionCount)}`
  const position = earlier.filter((chat) => chat.client === client && chat.session === session).length
  return {
    client,
    requestId: `r${n}`,
    session,
    position,
    mode: modes[n % modes.length]!,
    kind: kinds[n % kinds.length]!,
    output: `Answer ${n}`,
  }
}

/** Events of a run: a text that ends in the number of the chat, and the last event. */
export function eventsOf({ output }: Pick<SimulatedChat, 'output'>): SeenEvent[] {
  const tokens = output.split(/(?<= )/).map((token) => ({ label: 'answer', token, finish: undefined as string | undefined }))
  return [...tokens, { label: 'answer', token: '', finish: 'stop' }].map((event, index) => ({ ...event, number: index + 1 }))
}

function addChat(chat: SimulatedChat, simulation: Simulation): void {
  const { client, output, ...rest } = chat
  const { requestId, kind, mode } = rest
  const args = { ...rest, caller: 'admin' }
  if (kind === 'write') simulation.add('ledger', 'effect', { requestId, operation: 'record', key: 'call-1' })
  const operation = approvedOperation[kind]
  if (operation) {
    simulation.add(client, 'decide', { requestId, callId: 'call-1', decision: 'approve' })
    simulation.history.at(-1)!.invokedAt -= overlapMs
    simulation.add('ledger', 'effect', { requestId, operation, key: 'call-1' })
  }
  if (mode === 'json') simulation.add(client, 'chat', args, { reply: { output, finish: 'stop' } })
  if (mode === 'async') {
    simulation.add(client, 'chat', args, { reply: {} })
    simulation.add('receiver', 'callback', { requestId, id: `callback of ${requestId}` })
  }
  if (mode === 'stream') addStream(chat, args, simulation)
}

/** A stream that breaks off in the middle and is continued from there. */
function addStream({ client, requestId, output }: SimulatedChat, args: Kinds['chat']['args'], { add }: Simulation): void {
  const events = eventsOf({ output })
  const { endedAt } = add(client, 'chat', args, { result: 'unknown', status: 200, reply: { events: events.slice(0, 1) } })
  const following = add(client, 'follow', { requestId, reader: client, after: 1 }, { reply: { events: events.slice(1) } })
  Object.assign(following, { invokedAt: endedAt + 1, endedAt: endedAt + overlapMs })
}

function addReads(
  chats: readonly SimulatedChat[],
  sessions: ReadonlyMap<string, readonly SeenMessage[]>,
  { add, random }: Simulation,
): void {
  const { requestId, session, output, mode } = chats[Math.floor(random() * chats.length)]!
  add('reader', 'read session', { session, isLast: false }, { reply: { messages: [...sessions.get(session)!] } })
  add('reader', 'read run', { requestId, isLast: false }, { reply: { state: 'success', output, hasUnknownOutcome: false } })
  if (mode === 'stream')
    add('reader', 'follow', { requestId, reader: `reader ${random()}`, after: 0 }, { reply: { events: eventsOf({ output }) } })
  add('reader', 'list sessions', {}, { reply: { sessions: [...sessions.keys()] } })
  add('reader', 'list runs', {}, { reply: { runs: [{ requestId, state: 'success' }] } })
}

/** The configuration is written after what was read, keys are revoked, limits reached, memories deleted. */
function addAdministration(n: number, { add }: Simulation): void {
  add('a', 'read configuration', {}, { process: 'replica-1#1', reply: { version: `v${n}`, value: n === 0 ? '' : `value ${n}` } })
  add('a', 'write configuration', { ifMatch: `v${n}`, value: `value ${n + 1}` }, { reply: { version: `v${n + 1}` } })
  add('b', 'write configuration', { ifMatch: `v${n}`, value: `other ${n}` }, { result: 'fail', status: 412 })
  add('k', 'use key', { key: `key ${n}` })
  add('k', 'revoke key', { key: `key ${n}` }).invokedAt += overlapMs
  const result: Result = 'fail'
  if (n > 8) add('k', 'use key', { key: `key ${n - 9}` }, { result, status: 401 })
  if (n < 20) add('l', 'limited request', { caller: 'l', limit: 20 }, { process: 'replica-1#1' })
  else add('l', 'limited request', { caller: 'l', limit: 20 }, { result, status: 429 })
  const memories = [{ id: `m${n}`, content: `fact ${n}` }]
  add('m', 'list memories', { caller: 'm' }, { reply: { memories } })
  add('m', 'forget memory', { caller: 'm', id: `m${n}` })
}

function addLastReads({ requestId, output, mode }: SimulatedChat, { add }: Simulation): void {
  add('last', 'read run', { requestId, isLast: true }, { reply: { state: 'success', output, hasUnknownOutcome: false } })
  if (mode === 'stream') add('last', 'follow', { requestId, reader: 'last', after: 0 }, { reply: { events: eventsOf({ output }) } })
}
