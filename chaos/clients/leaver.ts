import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../test/fixtures/service-client.ts'
import { longMs } from '../outside.ts'
import { recorded, requestOf, sendChat, type NewChat } from './chat.ts'
import { send, toAnswer, toSeen, untilKnown, type Load } from './service.ts'

/** Longer than `limits.reconnect_grace`, after which a run without its client is cancelled. */
const longestAwayMs = 4000

/** Leaves its chats in the middle, and sends them again sooner or later. Deletes some sessions while their runs are executed. */
export async function leave(client: string, load: Load): Promise<void> {
  for (let n = 0; load.isActive(); n++) {
    const session = `own-${client}-${n}`
    const chat = {
      client,
      requestId: `${client}-${n}`,
      session,
      position: 0,
      mode: load.random() < 0.5 ? 'json' : 'stream',
      kind: 'slow',
    } as const
    // Only in long tests, so that the end of a short test waits for no long run.
    const isLong = load.random() < 0.1 && load.msLeft() > 2 * longMs
    await (isLong ? sendChat({ ...chat, mode: 'async', kind: 'long' }, load) : leaveOnce(chat, load))
    if (load.random() < 0.15) await deleteSession(client, session, load)
    else {
      await sleep(load.random() < 0.5 ? load.random() * 1000 : load.random() * longestAwayMs)
      if (!isLong) await sendChat(chat, load)
    }
  }
}

/** Sends a chat and closes the connection while the run is executed. */
async function leaveOnce(chat: NewChat, load: Load): Promise<void> {
  const { url, key, history } = load.caller
  const { headers, body } = requestOf(chat)
  const awayAt = 200 + load.random() * 1500
  await history.record(...recorded(chat, load), async () => {
    if (chat.mode === 'json') return toAnswer<'chat'>(await createClient(url, key).chat(body, headers, AbortSignal.timeout(awayAt)))
    const stream = await createClient(url, key).stream(body, headers)
    const first = stream.status === 200 ? await stream.next() : undefined
    await sleep(awayAt / 2)
    stream.leave()
    return { ...toAnswer<'chat'>(stream), result: 'unknown', reply: { events: first ? [toSeen(first, chat.requestId)] : [] } }
  })
}

export async function deleteSession(client: string, session: string, load: Load): Promise<void> {
  const request = { method: 'DELETE', path: `/core/v1/sessions/${session}` }
  await untilKnown(load, () => send(load.caller, [client, 'delete session', { session }], request, () => ({})))
}
