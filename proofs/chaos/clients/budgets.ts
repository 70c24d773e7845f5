import { setTimeout as sleep } from 'node:timers/promises'
import type { ChatKind, ChatMode } from '../history/operations.ts'
import { sendChat, type NewChat } from './chat.ts'
import { readRun } from './reads.ts'
import { send, untilKnown, type Caller, type Load } from './service.ts'

const kinds: readonly ChatKind[] = ['talk', 'talk', 'read', 'write']
const modes: readonly ChatMode[] = ['json', 'stream', 'async']
/** USD that pay for no call of the full length. */
const usedUp = 0.002
/** USD by which limits are raised: enough for some twenty calls of a run that waits, and for some seconds of all spenders. */
const more = { extend: 0.003, override: 0.01 }

/** Sends chats until the budget of the caller is used up, and then goes on. */
export async function spend(client: string, load: Load): Promise<void> {
  const { random, isActive } = load
  for (let n = 0; isActive(); n++) {
    if (random() < 0.2) await complete(client, load)
    else await sendChat(newChat(client, n, modes, random), load)
    await sleep(200 + random() * 600)
  }
}

/** Sends chats that wait when the budget of the caller is used up, and lets these go on. */
export async function pause(client: string, load: Load, administrator: Caller): Promise<void> {
  const { random, isActive } = load
  for (let n = 0; isActive(); n++) {
    const chat = newChat(client, n, ['json', 'async'], random)
    await sendChat(chat, load)
    await finish(chat, load, administrator)
    await sleep(200 + random() * 600)
  }
}

/** Raises the limit of the spender some seconds after the budget is used up. No further client changes limits. */
export async function raiseLimits(client: string, { caller, random, isActive }: Load): Promise<void> {
  const budget = 'spenders'
  while (isActive()) {
    const { reply } = await send(caller, [client, 'read budgets', { budget }], { path: `/core/v1/budgets?name=${budget}` }, toWindows)
    const window = reply?.windows.find(({ subject }) => subject.endsWith(' spender'))
    if (window && window.remaining < usedUp) {
      const usd = Number((window.usd + more.override).toFixed(9))
      const body = { subject: window.subject, limit: { usd }, until: window.resetsAt }
      const request = { method: 'PUT', path: `/core/v1/budgets/${budget}/override`, body }
      await send(caller, [client, 'override', { budget, usd }], request, () => ({}))
    }
    await sleep(3000 + random() * 6000)
  }
}

interface BudgetView {
  subject: string
  limit: { usd: number }
  remaining: { usd: number }
  resets_at: string
}

function toWindows({ budgets }: { budgets: BudgetView[] }) {
  const toWindow = ({ subject, limit, remaining, resets_at: resetsAt }: BudgetView) => {
    return { subject, usd: limit.usd, remaining: remaining.usd, resetsAt }
  }
  return { windows: budgets.map(toWindow) }
}

function newChat(client: string, n: number, among: readonly ChatMode[], random: () => number): NewChat {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const requestId = `${client}-${n}`
  return { client, requestId, session: `of-${requestId}`, position: 0, mode: pick(among), kind: pick(kinds) }
}

/** A client of OpenAI's interface, whose runs have ids of the service. */
async function complete(client: string, { caller }: Load): Promise<void> {
  await caller.history.record(client, 'completion', { caller: caller.name }, async () => {
    const response = await fetch(`${caller.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'agent-core', messages: [{ role: 'user', content: 'hi' }] }),
      signal: AbortSignal.timeout(60_000),
    })
    const { error } = (await response.json()) as { error?: { type: string; code: string } }
    const { status, headers } = response
    const retry = headers.get('x-should-retry')
    return { status, process: headers.get('x-replica') ?? undefined, error: error && `${error.type} ${error.code} ${retry}`, reply: {} }
  })
}

/** Runs that have lost two processes are executed in turn. */
const patienceMs = 300_000
const unended = ['pending', 'running', 'interrupted']

/** Follows a run to its end. Where the run waits for the budget, its limit is raised, or the wait is refused. */
async function finish({ client, requestId }: NewChat, load: Load, administrator: Caller): Promise<void> {
  const { caller, random } = load
  for (const until = Date.now() + patienceMs; Date.now() < until; await sleep(100 + random() * 200)) {
    const { reply, result } = await readRun(caller, client, requestId)
    if (result === 'fail' || (reply && !unended.includes(reply.state))) return
    if (reply?.waits === undefined) continue
    const decision = random() < 0.8 ? 'extend' : 'reject'
    const body = { decision, ...(decision === 'extend' && { limit: { usd: more.extend } }) }
    const request = { method: 'POST', path: `/core/v1/runs/${requestId}/approvals`, body }
    await untilKnown(load, () => send(administrator, [client, 'decide budget', { requestId, decision }], request, () => ({})))
  }
}
