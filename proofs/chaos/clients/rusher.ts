import { setTimeout as sleep } from 'node:timers/promises'
import { cancel } from './approver.ts'
import { sendChat, type NewChat } from './chat.ts'
import type { Load } from './service.ts'

/** Chats of one client in a session before the next session. */
const chatsPerSession = 6

/** Sends chats into a session that the clients of a group share: slow chats, repeated chats, and some chats that are cancelled at once. */
export async function rush(client: string, group: number, load: Load): Promise<void> {
  const { random } = load
  for (let n = 0; load.isActive(); n++) {
    const session = `rush-${group}-${Math.floor(n / chatsPerSession)}`
    const chat: NewChat = {
      client,
      requestId: `${client}-${n}`,
      session,
      position: n % chatsPerSession,
      mode: random() < 0.6 ? 'json' : 'async',
      kind: random() < 0.7 ? 'talk' : 'slow',
      fields: {},
    }
    const sending = [sendChat(chat, load)]
    if (random() < 0.2) sending.push(sendChat(chat, load))
    if (random() < 0.3) {
      await sleep(random() * 1500)
      await cancel(chat, load)
    }
    await Promise.all(sending)
  }
}
