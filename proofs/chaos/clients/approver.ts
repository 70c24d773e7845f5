import { setTimeout as sleep } from 'node:timers/promises'
import { follow, sendChat, type NewChat } from './chat.ts'
import { readRun } from './reads.ts'
import { send, untilKnown, type Load } from './service.ts'

/** Runs that have lost two processes are executed in turn. */
const patienceMs = 300_000

/** Decides on a call or cancels the run, and waits for the end. `waits`: the id of the call; undefined for an asynchronous chat. */
export async function decideOrCancel(chat: NewChat, waits: string | undefined, load: Load): Promise<void> {
  const callId = waits ?? (await findCall(chat, load))
  if (callId === undefined) return
  const waiting = isImpatient(chat, load) ? waitForEnd(chat, load) : undefined
  if (chat.mode === 'json' && load.random() < 0.2) await sendChat(chat, load)
  if (load.random() < 0.15) {
    await cancel(chat, load)
    // A decision after the end is refused.
    if (load.random() < 0.5) await decide(chat, callId, 'approve', load)
    return waiting
  }
  await sleep(load.random() * 200)
  const decision = load.random() < 0.7 ? 'approve' : 'reject'
  const decisions = [decide(chat, callId, decision, load)]
  if (load.random() < 0.2) decisions.push(decide(chat, callId, decision, load))
  const areAccepted = await Promise.all(decisions)
  if (waiting || !areAccepted.includes(true)) return waiting
  await waitForEnd(chat, load)
}

/** True for a client that waits for the end before the decision. A JSON chat has no such wait. */
function isImpatient({ mode }: NewChat, { random }: Load): boolean {
  return mode === 'stream' && random() < 0.4
}

async function waitForEnd(chat: NewChat, load: Load): Promise<void> {
  if (chat.mode === 'json') await sendChat(chat, load)
  if (chat.mode === 'stream')
    await follow({ requestId: chat.requestId, reader: `${chat.client} decided`, after: 0 }, load, {
      client: chat.client,
      isBeyondPause: true,
    })
}

/** Polls an asynchronous chat for a call without approval; undefined where the run ends before. */
async function findCall({ client, requestId }: NewChat, { caller, random }: Load): Promise<string | undefined> {
  for (const until = Date.now() + patienceMs; Date.now() < until; await sleep(100 + random() * 200)) {
    const { reply, result } = await readRun(caller, client, requestId)
    if (reply?.waits) return reply.waits
    const isOpen = reply && ['pending', 'running', 'interrupted'].includes(reply.state)
    if (result === 'fail' || (reply && !isOpen)) return undefined
  }
  return undefined
}

/** True where the decision was accepted. */
async function decide({ client, requestId }: NewChat, callId: string, decision: 'approve' | 'reject', load: Load): Promise<boolean> {
  const request = { method: 'POST', path: `/core/v1/runs/${requestId}/approvals`, body: { tool_call_id: callId, decision } }
  const { result } = await untilKnown(load, () =>
    send(load.caller, [client, 'decide', { requestId, callId, decision }], request, () => ({})),
  )
  return result === 'ok'
}

/** Repeats a cancellation until the service confirms or refuses. */
export async function cancel({ client, requestId }: NewChat, load: Load): Promise<void> {
  const request = { method: 'DELETE', path: `/core/v1/runs/${requestId}` }
  await untilKnown(load, () => send(load.caller, [client, 'cancel', { requestId }], request, ({ status }) => ({ state: status })))
}
