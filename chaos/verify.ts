import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../test/fixtures/service-client.ts'
import { describe, type Chat } from './chats.ts'
import type { Outside } from './outside.ts'

export interface Evidence {
  chats: readonly Chat[]
  /** Ids of the requests that the balancer repeated by itself. */
  repeated: ReadonlySet<string>
  client: Client
  outside: Outside
  /** Asks the database itself. */
  query(sql: string): Promise<Record<string, unknown>[]>
  replicas: number
  faults: string[]
}

const settleMs = 90_000
const endings = new Set(['success', 'error', 'cancelled', 'timeout'])

/** Waits until nothing is under way, then looks for all that must not be. Answers with how long that took, in milliseconds. */
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

/** Callbacks that were not taken are sent again for a while. */
async function settle({ chats, outside, query }: Evidence): Promise<void> {
  const told = () => chats.filter(isAsync).every(({ requestId }) => (outside.callbacks.get(requestId)?.taken ?? 0) > 0)
  for (const until = Date.now() + settleMs; Date.now() < until; await sleep(250)) {
    const [row] = await query(`select count(*)::int as n from runs where status in ('pending', 'running')`)
    if (row?.['n'] === 0 && told()) return
  }
}

function isAsync({ way, isAcknowledged }: Chat): boolean {
  return way === 'async' && isAcknowledged
}

/** What was acknowledged is there, and has ended; what its reader saw is what is kept. */
async function verifyRuns({ chats, client, faults }: Evidence): Promise<Map<string, string>> {
  const statuses = new Map<string, string>()
  for (const chat of chats) {
    const { status, body, text } = await client.run(chat.requestId)
    if (status === 404 && !chat.isAcknowledged) continue
    if (status !== 200) faults.push(`${describe(chat)} was acknowledged, and GET run answers ${status} ${text}`)
    else if (!endings.has(body.status)) faults.push(`${describe(chat)} is still ${body.status}`)
    else statuses.set(chat.requestId, body.status)
    if (chat.isCancelled && body?.status !== 'cancelled') faults.push(`${describe(chat)} was cancelled, and is ${body?.status}`)
    const output = body?.outcome?.output
    if (chat.output !== undefined && body?.status === 'success' && output !== chat.output) {
      faults.push(`${describe(chat)} was answered ${JSON.stringify(chat.output)}, and keeps ${JSON.stringify(output)}`)
    }
  }
  return statuses
}

interface StoredMessage {
  role: string
  content: string
  response_metadata?: { request_id: string }
}

/** Each acknowledged message once, in the order in which its sender sent it, its answer right behind it. */
async function verifySessions({ chats, repeated, client, faults }: Evidence, statuses: ReadonlyMap<string, string>): Promise<void> {
  const sessions = Map.groupBy(chats, ({ session }) => session)
  const isRepeated = ({ requestId, tries }: Chat): boolean => tries > 1 || repeated.has(requestId)
  for (const [session, own] of sessions) {
    const { status, body } = await client.session(session)
    if (status === 404 && own.every(({ isAcknowledged }) => !isAcknowledged)) continue
    const messages = body.messages as StoredMessage[]
    const byText = new Map(own.map((chat) => [chat.text, chat]))
    const counts = new Map<string, number>()
    const lastOf = new Map<number, number>()
    for (const [index, { role, content, response_metadata: metadata }] of messages.entries()) {
      if (role !== 'human') {
        const before = messages[index - 1]
        // One that failed and was sent again is answered later, behind what came meanwhile.
        const wasRepeated = own.some((chat) => chat.requestId === metadata?.request_id && isRepeated(chat))
        if (!wasRepeated && (before?.role !== 'human' || !before.content.startsWith(`${metadata?.request_id} `))) {
          faults.push(`Session ${session}: the answer of ${metadata?.request_id} stands behind ${JSON.stringify(before?.content)}`)
        }
        continue
      }
      counts.set(content, (counts.get(content) ?? 0) + 1)
      const chat = byText.get(content)
      if (!chat) {
        faults.push(`Session ${session} has a message that nobody sent: ${content}`)
        continue
      }
      if (chat.n < (lastOf.get(chat.sender) ?? -1)) faults.push(`${describe(chat)} stands behind what its sender sent later`)
      lastOf.set(chat.sender, chat.n)
      const behind = messages.slice(index + 1, isRepeated(chat) ? undefined : index + 2)
      const isAnswered = behind.some((one) => one.role === 'ai' && one.response_metadata?.request_id === chat.requestId)
      if (statuses.get(chat.requestId) === 'success' && !isAnswered) faults.push(`${describe(chat)} ended well, and has no answer`)
    }
    for (const chat of own) {
      const count = counts.get(chat.text) ?? 0
      const mayBeMissing = !chat.isAcknowledged || statuses.get(chat.requestId) === 'cancelled'
      if (count > 1 || (count === 0 && !mayBeMissing)) faults.push(`${describe(chat)}: its message is there ${count} times`)
    }
  }
}

/** A write is made at most once; once where the run says that it went well. */
function verifyWrites({ chats, outside, faults }: Evidence): void {
  for (const chat of chats) {
    const keys = outside.writes.get(chat.requestId) ?? new Map<string, number>()
    const times = [...keys.values()].reduce((sum, count) => sum + count, 0)
    const most = chat.kind === 'write' || chat.kind === 'both' ? 1 : 0
    if (times > most) faults.push(`${describe(chat)} wrote ${times} times, under ${keys.size} keys`)
  }
}

/** Told once, by whatever number of attempts. */
function verifyCallbacks({ chats, outside, faults }: Evidence): void {
  for (const chat of chats) {
    const told = outside.callbacks.get(chat.requestId)
    if (chat.way !== 'async' && told) faults.push(`${describe(chat)} had a callback that nobody asked for`)
    if (!isAsync(chat)) continue
    if (!told?.taken) faults.push(`${describe(chat)}: its callback was never delivered`)
    if (told && told.ids.size > 1) faults.push(`${describe(chat)} was told under ${told.ids.size} ids`)
  }
  faults.push(...outside.faults)
}

/** Nothing is held by anybody any more. */
async function verifyStore({ query, replicas, faults }: Evidence): Promise<void> {
  const expectNone = async (what: string, sql: string) => {
    const rows = await query(sql)
    if (rows.length > 0) faults.push(`${what}: ${JSON.stringify(rows.slice(0, 5))}`)
  }
  await expectNone('Runs that have no end', `select request_id, status, holder from runs where status in ('pending', 'running')`)
  await expectNone('Sessions that somebody holds', 'select session_id, active_run from sessions where active_run is not null')
  await expectNone(
    'Runs that ended twice in the metrics',
    `select 1 from (select sum(success + error + cancelled + timeout)::int as counted from metrics) as m,
      (select count(*)::int as ended from runs where ended_at is not null and operation <> 'tool_execute') as r where m.counted <> r.ended`,
  )
  const [row] = await query('select count(*)::int as n from processes where alive_until > extract(epoch from now()) * 1000')
  if (row?.['n'] !== replicas) faults.push(`${String(row?.['n'])} processes are alive, of ${replicas}`)
}
