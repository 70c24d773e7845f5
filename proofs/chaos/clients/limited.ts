import { setTimeout as sleep } from 'node:timers/promises'
import { sendChat } from './chat.ts'
import { send, type Load } from './service.ts'

/** Sends more requests than the caller's limit. */
export async function exceedRate(client: string, { caller, random, isActive }: Load, limit: number): Promise<void> {
  while (isActive()) {
    await send(caller, [client, 'limited request', { caller: caller.name, limit }], { path: '/core/v1/me' }, () => ({}))
    await sleep(100 + random() * 300)
  }
}

/** Sends slow chats, each in a new session. Several clients with the same key exceed the limit of concurrent runs. */
export async function exceedRuns(client: string, load: Load): Promise<void> {
  for (let n = 0; load.isActive(); n++) {
    const requestId = `${client}-${n}`
    await sendChat({ client, requestId, session: `of-${requestId}`, position: 0, mode: 'json', kind: 'slow' }, load)
    await sleep(load.random() * 500)
  }
}
