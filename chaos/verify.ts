import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../test/fixtures/service-client.ts'
import { describe, type Chat } from './chats.ts'
import type { Outside } from './outside.ts'

export interface Evidence {
  chats: readonly Chat[]
  /** Ids of requests repeated by the load balancer. */
  repeated: ReadonlySet<string>
  client: Client
  outside: Outside
  /** Queries the database directly. */
  query(sql: string): Promise<Record<string, unknown>[]>
  replicas: number
  violations: string[]
}

const settleMs = 90_000
const endings = new Set(['success', 'error', 'cancelled', 'timeout'])

/** Waits until all runs have ended, then verifies all guarantees. Returns the time until all runs had ended, in milliseconds. */
export async function verify(evidence: Evidence): Promise<number> {
  const startedAt = Date.now()
  await settle(evidence)
  const settledMs = Date.now() - startedAt
  const statuses = await verifyRuns(evidence)
  await verifySessions(evidence, statuses)
  verifyWrites(evidence)
  verifyCallbacks(evidence)
  await verifyStore(evidence)
  return settledMs
}

/** Waits until all runs have ended and all callbacks are delivered. Refused callbacks are retried for a while. */
async function settle({ chats, outside, query }: Evidence): Promise<void> {
  const areCallbacksDelivered = () =>
    chats.filter(isAsync).every(({ requestId }) => (outside.callbacks.get(requestId)?.deliveries ?? 0) > 0)
  for (const until = Date.now() + settleMs; Date.now() < until; await sleep(250)) {
    const [row] = await query(`select count(*)::int as n from runs where status in ('pending', 'running')`)
    if (row?.['n'] === 0 && areCallbacksDelivered()) return
  }
}

function isAsync({ mode, isAcknowledged }: Chat): boolean {
  return mode === 'async' && isAcknowledged
}

/** Every acknowledged run is stored and has ended, and the stored output equals the output seen by the client. */
async function verifyRuns({ chats, client, violations }: Evidence): Promise<Map<string, string>> {
  const statuses = new Map<string, string>()
  for (const chat of chats) {
    const { status, body, text } = await client.run(chat.requestId)
    if (status === 404 && !chat.isAcknowledged) continue
    if (status !== 200) violations.push(`${describe(chat)} was acknowledged, but GET run is answered with status ${status}: ${text}`)
    else if (!endings.has(body.status)) violations.push(`${describe(chat)} is still ${body.status}`)
    else statuses.set(chat.requestId, body.status)
    if (chat.isCancelled && body?.status !== 'cancelled')
      violations.push(`${describe(chat)} was cancelled, but its status is ${body?.status}`)
    const output = body?.outcome?.output
    if (chat.output !== undefined && body?.status === 'success' && output !== chat.output) {
      violations.push(
        `${describe(chat)} was answered with ${JSON.stringify(chat.output)}, but the stored output is ${JSON.stringify(output)}`,
      )
    }
  }
  return statuses
}

interface StoredMessage {
  role: string
  content: string
  response_metadata?: { request_id: string }
}

/** Sessions hold each acknowledged message once, in the order of its client, directly followed by the answer. */
async function verifySessions({ chats, repeated, client, violations }: Evidence, statuses: ReadonlyMap<string, string>): Promise<void> {
  const sessions = Map.groupBy(chats, ({ session }) => session)
  const isRepeated = ({ requestId, tries }: Chat): boolean => tries > 1 || repeated.has(requestId)
  for (const [session, sessionChats] of sessions) {
    const { status, body } = await client.session(session)
    if (status === 404 && sessionChats.every(({ isAcknowledged }) => !isAcknowledged)) continue
    const messages = body.messages as StoredMessage[]
    const byText = new Map(sessionChats.map((chat) => [chat.text, chat]))
    const counts = new Map<string, number>()
    const lastPosition = new Map<number, number>()
    for (const [index, { role, content, response_metadata: metadata }] of messages.entries()) {
      if (role !== 'human') {
        const before = messages[index - 1]
        // The answer to a repeated chat may follow later messages.
        const wasRepeated = sessionChats.some((chat) => chat.requestId === metadata?.request_id && isRepeated(chat))
        if (!wasRepeated && (before?.role !== 'human' || !before.content.startsWith(`${metadata?.request_id} `))) {
          violations.push(`Session ${session}: the answer of ${metadata?.request_id} follows ${JSON.stringify(before?.content)}`)
        }
        continue
      }
      counts.set(content, (counts.get(content) ?? 0) + 1)
      const chat = byText.get(content)
      if (!chat) {
        violations.push(`Session ${session} has a message that no client sent: ${content}`)
        continue
      }
      if (chat.position < (lastPosition.get(chat.sender) ?? -1))
        violations.push(`${describe(chat)} follows a later message of the same client`)
      lastPosition.set(chat.sender, chat.position)
      const followingMessages = messages.slice(index + 1, isRepeated(chat) ? undefined : index + 2)
      const isAnswered = followingMessages.some(
        (message) => message.role === 'ai' && message.response_metadata?.request_id === chat.requestId,
      )
      if (statuses.get(chat.requestId) === 'success' && !isAnswered) violations.push(`${describe(chat)} succeeded, but has no answer`)
    }
    for (const chat of sessionChats) {
      const count = counts.get(chat.text) ?? 0
      const mayBeMissing = !chat.isAcknowledged || statuses.get(chat.requestId) === 'cancelled'
      if (count > 1 || (count === 0 && !mayBeMissing)) violations.push(`${describe(chat)}: the session holds the message ${count} times`)
    }
  }
}

/** Every write is executed at most once. */
function verifyWrites({ chats, outside, violations }: Evidence): void {
  for (const chat of chats) {
    const keys = outside.writes.get(chat.requestId) ?? new Map<string, number>()
    const times = [...keys.values()].reduce((sum, count) => sum + count, 0)
    const maxWrites = chat.kind === 'write' || chat.kind === 'both' ? 1 : 0
    if (times > maxWrites) violations.push(`${describe(chat)} wrote ${times} times, under ${keys.size} keys`)
  }
}

/** Every acknowledged asynchronous chat has a single callback, in any number of attempts. */
function verifyCallbacks({ chats, outside, violations }: Evidence): void {
  for (const chat of chats) {
    const callback = outside.callbacks.get(chat.requestId)
    if (chat.mode !== 'async' && callback) violations.push(`${describe(chat)} has a callback without a request for a callback`)
    if (!isAsync(chat)) continue
    if (!callback?.deliveries) violations.push(`${describe(chat)}: the callback was never delivered`)
    if (callback && callback.ids.size > 1) violations.push(`${describe(chat)} has callbacks with ${callback.ids.size} ids`)
  }
  violations.push(...outside.violations)
}

/** No run is pending, no session is held, and metrics count each run once. */
async function verifyStore({ query, replicas, violations }: Evidence): Promise<void> {
  const expectNone = async (label: string, sql: string) => {
    const rows = await query(sql)
    if (rows.length > 0) violations.push(`${label}: ${JSON.stringify(rows.slice(0, 5))}`)
  }
  await expectNone('Runs that have not ended', `select request_id, status, holder from runs where status in ('pending', 'running')`)
  await expectNone('Sessions held by a run', 'select session_id, active_run from sessions where active_run is not null')
  await expectNone(
    'Runs counted twice in the metrics',
    `select 1 from (select sum(success + error + cancelled + timeout)::int as counted from metrics) as m,
      (select count(*)::int as ended from runs where ended_at is not null and operation <> 'tool_execute') as r where m.counted <> r.ended`,
  )
  const [row] = await query('select count(*)::int as n from processes where alive_until > extract(epoch from now()) * 1000')
  if (row?.['n'] !== replicas) violations.push(`${String(row?.['n'])} of ${replicas} processes are alive`)
}
