import { setTimeout as sleep } from 'node:timers/promises'
import { decideOrCancel } from './approver.ts'
import { createClient } from '../../../test/fixtures/service-client.ts'
import { longMs } from '../outside.ts'
import { recorded, requestOf, sendChat, toJsonAnswer, type NewChat } from './chat.ts'
import { isReadFailure, send, toAnswer, toSeen, untilKnown, type Load } from './service.ts'

/** Longer than `limits.reconnect_grace`, after which a run without its client is cancelled. */
const longestAwayMs = 4000

/** A text of strangers would hold later calls of a session, so each chat has a session of its own. The run of `study` has a checkpoint before its slow answer. */
const kinds = ['seal', 'doubt', 'slow', 'slow', 'study', 'study'] as const

/** Leaves chats in the middle, and sends the chats again sooner or later. Deletes some sessions with runs in execution. */
export async function leave(client: string, load: Load): Promise<void> {
  for (let n = 0; load.isActive(); n++) {
    const session = `own-${client}-${n}`
    const chat = {
      client,
      requestId: `${client}-${n}`,
      session,
      position: 0,
      mode: load.random() < 0.5 ? 'json' : 'stream',
      kind: kinds[Math.floor(load.random() * kinds.length)]!,
    } as const
    // Only in long tests, so that the end of a short test waits for no long run.
    const isLong = load.random() < 0.1 && load.msLeft() > 2 * longMs
    await (isLong ? sendChat({ ...chat, mode: 'async', kind: 'long' }, load) : leaveOnce(chat, load))
    if (load.random() < 0.15) await deleteSession(client, session, load)
    else {
      await sleep(load.random() < 0.5 ? load.random() * 1000 : load.random() * longestAwayMs)
      if (!isLong) await comeBack(chat, load)
    }
  }
}

/** Sends the chat again, often several times at once, so that processes continue its run at the same time. */
async function comeBack(chat: NewChat, load: Load): Promise<void> {
  const copies = load.random() < 0.6 ? 3 : 1
  // Each copy is a reader of its own, which continues its own stream.
  const clients = Array.from({ length: copies }, (_, n) => (n === 0 ? chat.client : `${chat.client} copy ${n}`))
  const results = await Promise.all(clients.map((client) => sendChat({ ...chat, client }, load)))
  const waiting = results.find(({ outcome }) => outcome === 'waits')
  if (waiting) await decideOrCancel(chat, waiting.waits, load)
}

/** The error of an operation whose client did not wait for the answer. */
export const left = 'Left'

/** Sends a chat and closes the connection while the run is executed. */
async function leaveOnce(chat: NewChat, load: Load): Promise<void> {
  const { url, key, history } = load.caller
  const { headers, body } = requestOf(chat)
  const awayAt = 200 + load.random() * 1500
  await history.record(...recorded(chat, load), async () => {
    if (chat.mode === 'json') {
      // A timeout takes whole milliseconds.
      const away = AbortSignal.timeout(Math.round(awayAt))
      const reply = await createClient(url, key)
        .chat(body, headers, away)
        .catch((error: unknown) => {
          if (!away.aborted) throw error
        })
      return reply ? toJsonAnswer(reply) : { result: 'unknown', error: left }
    }
    const stream = await createClient(url, key).stream(body, headers)
    const first = stream.status === 200 ? await stream.next() : undefined
    await sleep(awayAt / 2)
    stream.leave()
    const events = (first ? [toSeen(first, chat.requestId)] : []).filter((event) => !isReadFailure(event, 0))
    return { ...toAnswer<'chat'>(stream), result: 'unknown', error: left, reply: { events } }
  })
}

export async function deleteSession(client: string, session: string, load: Load): Promise<void> {
  const request = { method: 'DELETE', path: `/core/v1/sessions/${session}` }
  await untilKnown(load, () => send(load.caller, [client, 'delete session', { session }], request, () => ({})))
}
